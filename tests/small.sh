#!/bin/sh
# What a small configuration leaves out is not in the object file: other operators and their mathematics, the allocator,
# thread-local variables, printf. The ordinary configuration has all of it, so that the names here are the right ones.
# usage: small.sh <source folder> <compiler>
set -eu
root=$1
compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

compile() {
  "$compiler" -std=c++20 -O2 -DNDEBUG -fno-exceptions -fno-rtti -I"$root/include" "$@" -c "$root/tests/small.cpp" \
    -o "$folder/object.o" &&
    nm -C "$folder/object.o" | grep -v 'TypeList<' >"$folder/names"  # the list of all operators is in the names of its parts
}
left_out='U (tanh|exp|erf|log|malloc|realloc|mmap|vsnprintf)(@|$)|ops::(Tanh|Add|CrossEntropy)\b|ThreadTape'

compile -DEVERYTHING
for name in tanh erf realloc mmap vsnprintf; do
  grep -qE "U $name(@|\$)" "$folder/names" || { echo "the ordinary configuration does not use $name"; exit 1; }
done
readelf -sW "$folder/object.o" | grep -qE 'TLS.*currentTapeSlot' || { echo "its current tape is not thread-local"; exit 1; }

compile -DBURTORCH_MESSAGES=0
if grep -E "$left_out" "$folder/names"; then echo "the names above are in the small configuration"; exit 1; fi
if readelf -sW "$folder/object.o" | grep -E ' TLS '; then echo "the small configuration has thread-local variables"; exit 1; fi
grep -qE 'U sin(@|$)|U sincos' "$folder/names" || { echo "the small configuration has not what it uses"; exit 1; }

if compile -DFORBIDDEN 2>"$folder/errors"; then echo "an operator that was not chosen can be used"; exit 1; fi
grep -q 'add it to the tape' "$folder/errors" || { cat "$folder/errors"; echo "the error does not say what to do"; exit 1; }
