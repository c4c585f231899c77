#!/usr/bin/env bash
# Every header compiles on its own: it includes what it uses. One that needs MPI is left out where there is none.
# usage: headers.sh <source directory> <compiler>
set -euo pipefail
. "$1/tests/mpi_flags.sh"
cd "$1/include"
export compiler=$2
check() {
  local flags
  flags=$(flags_for "$1") || { echo "$1 is left out: there is no MPI"; return 0; }
  # shellcheck disable=SC2086  # flags are separate words
  "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I . $flags -x c++ /dev/null -include "$1"
}
export -f check flags_for
find burtorch -name '*.hpp' -print0 | sort -z | xargs -0 -n 1 -P "$(nproc)" bash -c 'check "$0" || exit 255'
