#!/bin/sh
# Nothing in the tree hands text to a shell: no system(), no popen(), no shell=True.
# usage: no_shell.sh <source folder>
set -eu
cd "$1"
calls='(^|[^.[:alnum:]_])(system|popen)[[:space:]]*\(|os\.(system|popen)[[:space:]]*\(|shell[[:space:]]*=[[:space:]]*True'

# What it must find, and what it must leave alone.
for line in 'std::system("ls");' 'FILE* f = popen (command, "r");' 'os.system("ls")' 'run(x, shell=True)'; do
  echo "$line" | grep -qE "$calls" || { echo "no_shell.sh does not see: $line"; exit 1; }
done
for line in 'platform.system()' 'filesystem(x)' 'row.system == "limit"'; do
  ! echo "$line" | grep -qE "$calls" || { echo "no_shell.sh objects to: $line"; exit 1; }
done

found=$(grep -rnE "$calls" include src apps benchmarks examples tests tools \
  --include='*.h' --include='*.hpp' --include='*.cpp' --include='*.py' || true)
[ -z "$found" ] || { echo "$found"; echo "start programs directly, without a shell"; exit 1; }
