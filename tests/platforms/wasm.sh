#!/usr/bin/env bash
# WebAssembly with SIMD, by emscripten: core, compile-time graphs, layers and the mini GPT in node and in a headless browser, with the
# bits of this machine where the contract says so; a page that learns; burt for node.
# usage: wasm.sh <source folder>
set -euo pipefail
root=$(cd "$1" && pwd)
. "$root/tests/platforms/tools.bash"
tools em++:emscripten node:nodejs chromium:chromium cmake:cmake ninja:ninja-build g++:g++
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export NODE_PATH=/usr/share/nodejs  # where Debian keeps what emscripten's scripts want
cp "$root/tests/platforms/bits.html" "$folder"

em++ --version | sed -n 1p
echo "node $(node --version), $(chromium --version 2>/dev/null)"
# What emscripten 3.1.6 writes does not expect that node has a fetch of its own.
by_node() { node --no-experimental-fetch "$@"; }
in_browser() {
  timeout 300 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=100000 --dump-dom "file://$1" 2>/dev/null
}
# When node or em++ fail, they print whole programs: what fits a page is enough.
brief() { "$@" >"$folder/log" 2>&1 || { cut -c1-300 "$folder/log" | grep -v '^var Module' | tail -30; fail "$1 returned an error"; }; }

# The same bits.
brief g++ -std=c++20 -O2 -ffp-contract=off -I"$root/include" "$root/tests/platforms/bits.cpp" -o "$folder/bits"
brief em++ -std=c++20 -O2 -msimd128 -DNDEBUG -I"$root/include" "$root/tests/platforms/bits.cpp" -sSINGLE_FILE=1 \
  -sALLOW_MEMORY_GROWTH=1 -o "$folder/bits.js"
"$folder/bits" >"$folder/here"
by_node "$folder/bits.js" >"$folder/node" 2>&1 || fail "bits.js returned an error in node"
in_browser "$folder/bits.html" | sed -n 's/.*<pre id="lines">//; /^[a-z]* [a-z-]* [0-9a-f]\{16\}$/p' >"$folder/browser"
[ "$(grep -c '^exact ' "$folder/here")" -ge 8 ] && ! grep -q '^error' "$folder/here" || fail "bits.cpp: $(cat "$folder/here")"
for place in node browser; do
  while read -r kind name bits; do
    found=$(sed -n "s/^$kind $name //p" "$folder/$place")
    [ -n "$found" ] || fail "$place: there is no result '$name'"
    if [ "$found" = "$bits" ]; then
      echo "$place: $name has the bits of this machine"
    else
      echo "$place: $name has other bits"
      [ "$kind" = libm ] || fail "and $name must not"
    fi
  done <"$folder/here"
done

# A page that learns and draws.
brief "$root/examples/browser/build.sh" "$folder/page.html"
in_browser "$folder/page.html" >"$folder/dom"
grep -o 'loss [0-9.]* to [0-9.]*, 100 of 100 points on the right side' "$folder/dom" || fail "the page has not learned"
grep -qE 'points="0.0,5.0( [0-9.]+,[0-9.]+){199}"' "$folder/dom" || fail "the page has drawn no curve of 200 steps"
echo "page: $(wc -c <"$folder/page.html") bytes"

# burt for node.
cd "$root"
brief cmake --preset wasm -Wno-dev
brief cmake --build --preset wasm --target burt
burt=build/wasm/apps/burt
size=$(wc -c <"$burt.wasm")
echo "burt.wasm: $size bytes, $(gzip -9c "$burt.wasm" | wc -c) compressed"
[ "$size" -le 1200000 ] || fail "burt.wasm has more than 1,200,000 bytes"
by_node "$burt.js" train gpt --steps 10 --out "$folder/run" >"$folder/log" 2>&1 || { cut -c1-200 "$folder/log" | tail; fail "burt train"; }
by_node "$burt.js" train --resume "$folder/run" --steps 14 >"$folder/log" 2>&1 || { cut -c1-200 "$folder/log" | tail; fail "burt train --resume"; }
grep -o 'training loss.*(step 14)' "$folder/log" || fail "burt train --resume has not come to step 14"
by_node "$burt.js" sample --model "$folder/run" --length 60 >"$folder/text" 2>&1 || { cut -c1-200 "$folder/text"; fail "burt sample"; }
[ "$(wc -c <"$folder/text")" -ge 50 ] || fail "burt sample wrote no text"
echo "burt: trains, resumes and samples in node"
