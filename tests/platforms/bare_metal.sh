#!/usr/bin/env bash
# examples/bare_metal on a Cortex-M4F without an operating system, in an emulator: the programs learn, are as small as is said
# in docs/platforms.md, hold nothing that they should not, and compute the bits of this machine.
# usage: bare_metal.sh <source folder>
set -euo pipefail
root=$1
. "$root/tests/platforms/tools.bash"
tools arm-none-eabi-g++:gcc-arm-none-eabi arm-none-eabi-size:binutils-arm-none-eabi \
  /usr/include/newlib/c++:libstdc++-arm-none-eabi-newlib qemu-system-arm:qemu-system-arm
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

arm-none-eabi-g++ --version | sed -n 1p
qemu-system-arm --version | sed -n 1p

# What would mean a heap, exceptions, RTTI, threads, printf or an operating system.
unwanted='malloc|realloc|_sbrk|_Zn[wa]|_Zd[la]|__cxa_|_Unwind|_ZTI|emutls|aeabi_read_tp|printf|_write|_kill|impure'

# runs PROGRAM BYTES: builds it, looks at it, lets the emulator run it.
runs() {
  local program=$1 limit=$2 elf=$folder/$1.elf size code=0
  "$root/examples/bare_metal/build.sh" "$program" "$elf"
  if arm-none-eabi-nm "$elf" | grep -E "$unwanted"; then fail "$program holds the names above"; fi
  size=$(arm-none-eabi-size "$elf" | awk 'NR == 2 { print $1 + $2 }')
  echo "$program: $size bytes of flash, of $limit"
  [ "$size" -le "$limit" ] || fail "$program is larger than $limit bytes"
  timeout 120 qemu-system-arm -M mps2-an386 -nographic -monitor none -serial none -semihosting -kernel "$elf" \
    >"$folder/$program.txt" 2>&1 </dev/null || code=$?
  sed 's/^/  /' "$folder/$program.txt"
  [ "$code" -eq 0 ] || fail "$program returned $code"
}
runs compiled 4096
runs tape 12288

# The tangens hyperbolicus of the exclusive or is each C library's own; the two moons use nothing but + - * /.
"$root/examples/bare_metal/build.sh" tape "$folder/host" host
"$folder/host" >"$folder/host.txt"
moons() { sed -n '/two moons/,$p' "$1"; }
[ "$(moons "$folder/host.txt" | wc -l)" -eq 8 ] || fail "the program says too little about the two moons"
[ "$(moons "$folder/host.txt")" = "$(moons "$folder/tape.txt")" ] || { cat "$folder/host.txt"; fail "other bits than above"; }
echo "two moons: the bits of this machine"
