#!/bin/sh
# Names go at compile time without a change in the source: one file, compiled with and without.
# usage: names.sh <source folder> <compiler>
set -eu
root=$1
compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for names in 0 1; do
  "$compiler" -std=c++20 -O2 -DBURTORCH_NAMES=$names -I"$root/include" -c "$root/tests/names.cpp" -o "$folder/$names.o"
done

for name in the_name_of_a_node another_name_of_a_node; do
  if ! strings -a "$folder/1.o" | grep -q "$name"; then
    echo "with names: $name is not in the object file"
    exit 1
  fi
  if strings -a "$folder/0.o" | grep -q "$name"; then
    echo "without names: $name is still in the object file"
    exit 1
  fi
done
if nm "$folder/0.o" | grep -E "setName|nameOf"; then
  echo "without names: the functions above are still in the object file"
  exit 1
fi
