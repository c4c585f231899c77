#!/bin/sh
# Makes one page of moons.cpp and page.html, which a browser opens without a server. usage: build.sh OUTPUT.html
set -eu
output=$1
cd "$(dirname "$0")"
exec em++ -std=c++20 -O2 -msimd128 -DNDEBUG -fno-exceptions -fno-rtti -I../../include moons.cpp --shell-file page.html --no-entry \
  -sSINGLE_FILE=1 -sEXPORTED_FUNCTIONS=_step,_right -sALLOW_MEMORY_GROWTH=1 -sMINIFY_HTML=0 -o "$output"
