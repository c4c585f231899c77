#!/usr/bin/env bash
# Random programs against the PyTorch of this machine: graph_dump writes them, make_graphs.py asks torch, graph_dump
# compares. Without torch it is skipped, exit code 77. BURTORCH_PYTHON names the interpreter.
# usage: torch_live.sh GRAPH_DUMP [COUNT [SEED]]
set -euo pipefail
graph_dump=${1:?usage: torch_live.sh GRAPH_DUMP [COUNT [SEED]]}
count=${2:-20000}
seed=${3:-2000000}
python=${BURTORCH_PYTHON:-python3}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if ! "$python" -c "import torch" 2>/dev/null; then
  echo "skipped: $python cannot import torch; set BURTORCH_PYTHON to one that can"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$graph_dump" "$seed" "$count" > "$folder/programs.txt"
"$python" "$here/make_graphs.py" < "$folder/programs.txt" > "$folder/answers.txt"
"$graph_dump" --check "$folder/answers.txt"
