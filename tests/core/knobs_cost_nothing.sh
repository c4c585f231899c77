#!/bin/sh
# Knobs that are not set are not in the machine code: `backward(root)` is the same with and without guided_sweep.hpp, calls
# nothing of a guided sweep, and a sweep with one knob holds no code of the others.
# usage: knobs_cost_nothing.sh <source folder> <compiler>
set -eu
root=$1
compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/plain.cpp" <<'END'
#ifdef WITH_KNOBS
#include <burtorch/core/guided_sweep.hpp>
#else
#include <burtorch/core/backward.hpp>
#include <burtorch/base/rng.hpp>
#endif
using V = burtorch::Value<double>;
void gradient(const V& a, const V& b) { backward(sqr((a + b) - (a * b + pow3(b))) / 2.0); }
END
assemble() {
  "$compiler" -std=c++20 -O2 -DNDEBUG -I"$root/include" "$@" -S "$folder/plain.cpp" -o - |
    grep -vE '^[[:space:]]*\.(file|ident|loc)' | sed -E 's/\.L([A-Z]*)[0-9]+/.L\1/g'  # numbers of labels say nothing
}
assemble >"$folder/without.s"
assemble -DWITH_KNOBS >"$folder/with.s"
grep -q runFast "$folder/without.s" || { echo "the sweep is not in the code"; exit 1; }
cmp "$folder/without.s" "$folder/with.s" || { echo "guided_sweep.hpp changes the code of backward"; exit 1; }
if grep -qE 'GuidedSweep|ReachedOnly' "$folder/with.s"; then echo "backward calls a guided sweep"; exit 1; fi

cat >"$folder/plain.cpp" <<'END'
#include <burtorch/core/guided_sweep.hpp>
using T = burtorch::Tape<double>;
using Options = burtorch::SweepOptions<double>;
using burtorch::detail::GuidedSweep, burtorch::detail::Knobs, burtorch::defaultConfig;
template <Knobs knobs> burtorch::SweepResult run(T& tape, burtorch::NodeIndex root, const Options& options) {
  return GuidedSweep<double, defaultConfig, knobs>(tape, root, options).run();
}
#ifdef WITH_KNOBS
template burtorch::SweepResult run<Knobs{false, false, true, false}>(T&, burtorch::NodeIndex, const Options&);
#else
template burtorch::SweepResult run<Knobs{true, false, false, false}>(T&, burtorch::NodeIndex, const Options&);
#endif
END
assemble >"$folder/stop.s"
assemble -DWITH_KNOBS >"$folder/keep.s"
# The constant of the random stream, in decimal as compilers print it.
stream='7046029254386353131|0x9e3779b97f4a7c15|-7046029254386353131'
grep -qE "$stream" "$folder/keep.s" || { echo "a sweep that drops edges draws no random numbers"; exit 1; }
if grep -qE "$stream" "$folder/stop.s"; then echo "a sweep that only stops draws random numbers"; exit 1; fi
for other in markVaried findFirstUses restoreUnwanted; do
  if grep -q "$other" "$folder/stop.s"; then echo "a sweep that only stops holds $other"; exit 1; fi
done
