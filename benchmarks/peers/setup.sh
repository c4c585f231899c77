#!/usr/bin/env bash
# Gets the systems that ./bench compares with; `./bench setup` calls it. Each step stands alone: what fails is listed at the end,
# what is there already is skipped, so it can be called again at any time.
set -uo pipefail

usage() {
  cat <<'END'
usage: benchmarks/peers/setup.sh [--venv DIR]

Installs the packages of benchmarks/peers/requirements.txt into the virtual environment build/peers, the libraries of the
peers in C++ as Debian packages and wheels, and builds these peers. Skips what is there; call it again to go on.
Ends with a list of what could not be had, and with code 1 only if there is nothing at all.

Options:
  --venv DIR             another virtual environment (for ./bench, set BURTORCH_PYTHON=DIR/bin/python)

Environment:
  BURTORCH_BENCH_CXX     the compiler (default g++)
END
}

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/build/peers
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --venv) venv=${2:?--venv wants a folder}; shift 2 ;;
    *) echo "setup: unknown argument '$1'; see --help" >&2; exit 2 ;;
  esac
done
compiler=${BURTORCH_BENCH_CXX:-g++}
build=$root/build/bench
[ "$compiler" = g++ ] || build=$build-${compiler##*/}
build=$build/benchmarks/peers
. "$root/tools/need.sh"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT # pip would end alone

mapfile -t requirements < <(sed -E 's/[[:space:]]*(#.*)?$//' "$here/requirements.txt" 2>/dev/null | grep .)
# Wheels that carry a library in C++; what their Python sides depend on is not wanted.
wheels=(cmeel-cppad==20250000.2 cmeel-cppadcodegen==2.4.3 httpstan==4.13.0)
peers=()
for source in "$here"/*_peer.cpp; do peers+=("$(basename "$source" _peer.cpp)"); done

steps=$((2 + ${#requirements[@]} + ${#wheels[@]} + 3 + ${#peers[@]}))
step=0
got=0
missing=()

# begin TEXT, then one of: finish TEXT, or lose REASON.
begin() {
  step=$((step + 1))
  what=$1
  printf '[%d/%d] %s ... ' "$step" "$steps" "$what"
  SECONDS=0
}
finish() { got=$((got + 1)); printf '%s\n' "$1"; }
lose() { missing+=("$what: $1"); printf 'could not be %s: %s\n' "${verb:-installed}" "$1"; }

# What a command said last, its complaint rather than what follows it.
reason() {
  local line
  line=$(grep -E '(error|ERROR|fatal)' "$log" | grep -v "pip's dependency resolver" | tail -n 1)
  [ -n "$line" ] || line=$(grep . "$log" | tail -n 1)
  printf '%s' "${line:-no message}"
}

# debian NAME:PACKAGE...: as need does, which ends the shell that it cannot help.
debian() {
  begin "${*//*:/}"
  if (need "$@") >"$log" 2>&1; then
    if [ -s "$log" ]; then finish "installed in $SECONDS s"; else finish "already there"; fi
  else
    # The command that need proposes is the last line that it says.
    lose "$(tail -n 1 "$log" | sed 's/^  */run: /')"
  fi
}

# The version that is installed, without its +local part.
installed() {
  "$venv/bin/python" -c 'import sys, importlib.metadata as m; print(m.version(sys.argv[1]).split("+")[0])' "$1" 2>/dev/null
}

# On Linux the ordinary build of torch brings gigabytes of CUDA, and needs them for import alone. The CPU's build has the same
# name and a version with +cpu: it is taken if pip is told of a place that has it (find-links, extra-index-url).
torch_build() {
  if "$venv/bin/pip" index versions torch 2>/dev/null | grep -Eq "[ ,]${1//./\\.}\+cpu(,|$)"; then
    echo "torch==$1+cpu"
  else
    echo "torch==$1"
  fi
}

# wheel NAME==VERSION [pip's options]
wheel() {
  local name=${1%%==*} version=${1##*==} wanted=$1
  shift
  begin "$wanted"
  if [ "$(installed "${name%%\[*}")" = "$version" ]; then finish "already there"; return; fi
  [ "$name" != torch ] || wanted=$(torch_build "$version")
  if "$venv/bin/pip" install --disable-pip-version-check --progress-bar off "$@" "$wanted" >"$log" 2>&1; then
    finish "installed in $SECONDS s"
  else
    lose "$(reason)"
  fi
}

# What all the rest needs; alone, it is nothing yet
debian g++:g++ cmake:cmake ninja:ninja-build
begin "virtual environment ${venv#"$root"/}"
if "$venv/bin/pip" --version >/dev/null 2>&1; then
  finish "already there"
elif { python3 -c 'import ensurepip' || (need "python3 -m venv:python3-venv"); } >"$log" 2>&1 &&
  python3 -m venv "$venv" >"$log" 2>&1; then
  finish "made in $SECONDS s"
else
  verb=made lose "$(reason)"
fi
got=0

# Python's packages, and the libraries in C++
for package in "${requirements[@]}"; do wheel "$package"; done
for package in "${wheels[@]}"; do wheel "$package" --no-deps; done
debian openblas_config.h:libopenblas-dev # the limit of ./bench gpt --shape
debian adolc/adolc.h:libadolc-dev
debian trilinos/Sacado_config.h:libtrilinos-sacado-dev trilinos/KokkosAlgorithms_config.h:libtrilinos-kokkos-dev
packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null)
if [ ! -d "$packages/torch" ]; then # an older LibTorch is better than none
  steps=$((steps + 1))
  debian torch/csrc/api/include/torch/version.h:libtorch-dev
fi

# The peers in C++
configured=no
cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
  -DPACKAGES_DIR="$packages" -DTORCH_DIR="$packages/torch" >"$log" 2>&1 && configured=yes
lacks=$(sed -n 's/^-- \(.*_peer: needs .*\)/\1/p' "$log")
why=$(reason)
verb=built
for peer in "${peers[@]}"; do
  begin "${peer}_peer"
  if [ $configured = no ]; then
    lose "$why"
  elif lack=$(grep "^${peer}_peer: " <<<"$lacks"); then
    rm -f "$build/${peer}_peer" # of a library that is gone
    lose "${lack#*: }"
  elif cmake --build "$build" --target "${peer}_peer" >"$log" 2>&1; then
    if grep -q 'no work to do' "$log"; then finish "already there"; else finish "built in $SECONDS s"; fi
  else
    lose "$(reason)"
  fi
done

if [ ${#missing[@]} -eq 0 ]; then
  echo "all there"
else
  echo "could not be had:"
  printf '  %s\n' "${missing[@]}"
fi
[ $got -gt 0 ]
