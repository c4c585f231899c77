#!/usr/bin/env bash
# Checks that the sources are formatted as .clang-format says; `format.sh SOURCE_DIR --fix` rewrites them.
# Versions of clang-format disagree in details, so only version 14 is asked; without it the check is skipped,
# exit code 77.
set -euo pipefail
cd "${1:?usage: format.sh SOURCE_DIR [--fix]}"

for tool in clang-format-14 clang-format; do
  if command -v "$tool" >/dev/null && "$tool" --version | grep -q 'version 14\.'; then break; fi
  tool=
done
if [ -z "$tool" ]; then
  echo "skipped: clang-format 14 is not installed"
  exit 77
fi

folders=()
for folder in include src tests benchmarks examples apps; do
  [ ! -d "$folder" ] || folders+=("$folder")
done
# The listing is the paper's text, letter by letter.
mapfile -t files < <(find "${folders[@]}" -type f '(' -name '*.hpp' -o -name '*.cpp' -o -name '*.h' ')' \
  ! -path examples/listing.cpp)

if [ "${2:-}" = --fix ]; then exec "$tool" -i "${files[@]}"; fi
# A copy is formatted, and compared: --dry-run objects to the comments behind inline namespaces, which it would write just so.
# Many files at a time, because starting the tool takes longer than a file.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp --parents .clang-format "${files[@]}" "$copy"
(cd "$copy" && printf '%s\0' "${files[@]}" | xargs -0 -n 60 -P "$(nproc)" "$tool" -i)
wrong=0
for file in "${files[@]}"; do
  cmp -s "$copy/$file" "$file" || { echo "$file: not formatted"; wrong=1; }
done
[ $wrong -eq 0 ] || echo "to format everything, run: tests/format.sh . --fix"
exit $wrong
