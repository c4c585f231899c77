#!/bin/sh
# Builds tape.cpp or compiled.cpp for a Cortex-M4F, as small as it gets, or for this machine, to compare results.
# usage: build.sh tape|compiled OUTPUT [host]
set -eu
program=$1 output=$2 machine=${3:-cortex-m4}
cd "$(dirname "$0")"

# No fused multiply-adds: then results have the same bits on both machines.
flags="-std=c++20 -Os -DNDEBUG -ffp-contract=off -fno-exceptions -fno-rtti -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -Werror -I../../include -DBURTORCH_MESSAGES=0"
# A compile-time graph is smallest dissolved, a tape if the compiler may call functions.
[ "$program" != tape ] || flags="$flags -DBURTORCH_INLINE_OPERATORS=0"

if [ "$machine" = host ]; then
  # shellcheck disable=SC2086  # the flags are separate words
  exec g++ $flags "$program.cpp" host.cpp -o "$output"
fi
# shellcheck disable=SC2086
exec arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard $flags -Wdouble-promotion \
  -fno-threadsafe-statics -ffunction-sections -fdata-sections -Wl,--gc-sections -nostartfiles -T cortex_m4.ld \
  "$program.cpp" cortex_m4.cpp -o "$output"
