#!/usr/bin/env bash
# The programs that this compiler does not build have none of its warnings: benchmarks and moons, read only. The sanitized build
# has the apps and the other examples.
# usage: syntax.sh <source directory> <compiler>
set -euo pipefail
cd "$1"
. tests/mpi_flags.sh
export compiler=$2
check() {
  local flags
  flags=$(flags_for "$1") || { echo "$1 is left out: there is no MPI"; return 0; }
  # shellcheck disable=SC2086  # flags are separate words
  "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Iinclude \
    -DBENCH_{COMPILER,FLAGS,PROGRAMS,CXX,SOURCES,PEERS,DATA,INCLUDE}='""' $flags "$1"
}
export -f check flags_for

# It must see a warning.
planted=$(mktemp --suffix=.cpp)
trap 'rm -f "$planted"' EXIT
echo 'int f(long x) { return x; }' >"$planted"
if check "$planted" 2>/dev/null; then echo "self-test: a planted warning is not seen"; exit 1; fi

# Peers need the libraries that they measure.
find benchmarks examples/moons -name '*.cpp' ! -path '*/peers/*' -print0 | sort -z |
  xargs -0 -n 1 -P "$(nproc)" bash -c 'check "$0" || exit 255'
