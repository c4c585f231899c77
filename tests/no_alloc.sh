#!/bin/sh
# An object file that uses a borrowed tape refers to no function that allocates.
# usage: no_alloc.sh <source folder> <compiler>
set -eu
root=$1
compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

forbidden='^(malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|memalign|valloc|free|mmap|mprotect|munmap|_Zn[wa].*|_Zd[la].*)$'

# The check must see what it looks for.
printf '#include <cstdlib>\nvoid* f(int n) { return std::realloc(nullptr, n); }\nint* g() { return new int; }\n' \
  >"$folder/planted.cpp"
"$compiler" -std=c++20 -O2 -c "$folder/planted.cpp" -o "$folder/planted.o"
found=$(nm -u "$folder/planted.o" | awk '{print $NF}' | grep -cE "$forbidden" || true)
if [ "$found" -ne 2 ]; then
  echo "self-test: 2 planted allocations, $found found"
  exit 1
fi

"$compiler" -std=c++20 -O2 -DNDEBUG -fno-exceptions -fno-rtti -I"$root/include" -c "$root/tests/no_alloc.cpp" \
  -o "$folder/no_alloc.o"
if nm -u "$folder/no_alloc.o" | awk '{print $NF}' | grep -E "$forbidden"; then
  echo "an object file with a borrowed tape refers to the functions above"
  exit 1
fi
