#!/usr/bin/env bash
# Every header compiles on its own: it includes what it uses.
# usage: headers.sh <source directory> <compiler>
set -euo pipefail
cd "$1/include"
find burtorch -name '*.hpp' -print0 | sort -z |
  xargs -0 -n 1 -P "$(nproc)" "$2" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I . -x c++ /dev/null -include
