#!/bin/sh
# What is not asked of a compile-time graph is not in its machine code: the value of a gradient that can do without it, the
# derivatives with respect to other inputs, a tape.
# usage: removed_work.sh <source folder> <compiler>
set -eu
root=$1
compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

cat >"$folder/graphs.cpp" <<'END'
#include <burtorch/graph/compile.hpp>
using namespace burtorch;
constexpr auto loss = compile([](auto a, auto b) { return logarithm(a * b); });
constexpr auto waves = compile([](auto a, auto b) { return a * a * 3.0 + sin(b); });
constexpr auto lists = compile([](const auto& x, const auto& y) { return reduceSum(x) + logSumExp(y); });
constexpr auto dead = compile([](auto a) { [[maybe_unused]] const auto unused = exp(a) / a; return a * a; });
constexpr auto tiny = compile([](auto a, auto b) { return sqr((a + b) - (a * b + pow3(b))) / 2.0; });
extern "C" {
double loss_value(double a, double b) { return loss.value(a, b); }
void loss_grad(double a, double b, double* g) { auto d = loss.grad(a, b); g[0] = d[0]; g[1] = d[1]; }
double waves_grad_a(double a, double b) { return waves.grad<0>(a, b); }
double waves_grad_b(double a, double b) { return waves.grad<1>(a, b); }
double waves_value(double a, double b) { return waves.value(a, b); }
void tiny_grad(double a, double b, double* g) { auto d = tiny.grad(a, b); g[0] = d[0]; g[1] = d[1]; }
double tiny_grad_a(double a, double b) { return tiny.grad<0>(a, b); }
double tiny_partial_a(double a, double b) { return tiny.partial<0>(a, b); }
double lists_grad_x(const std::array<double, 4>& x, const std::array<double, 4>& y) { return lists.grad<0>(x, y)[1]; }
double lists_grad_y(const std::array<double, 4>& x, const std::array<double, 4>& y) { return lists.grad<1>(x, y)[1]; }
double dead_value(double a) { return dead.value(a); }
double dead_grad(double a) { return dead.grad(a); }
void tiny_value_and_grad(double a, double b, double* g) {
  auto r = tiny.valueAndGrad(a, b);
  g[0] = r.gradient[0]; g[1] = r.gradient[1]; g[2] = r.value;
}
}
END
"$compiler" -std=c++20 -O2 -DNDEBUG -I"$root/include" -S "$folder/graphs.cpp" -o "$folder/graphs.s"

# code <function>: its instructions.
code() {
  awk -v name="$1:" '$1 == name { on = 1; next } on && /^[a-zA-Z_]/ { exit } on && /^\t[a-z]/' "$folder/graphs.s"
}
# arithmetic <function>: how many floating-point operations it has.
arithmetic() { code "$1" | grep -cE '^	v?(f?n?m?(add|sub)|mul|div|fmadd|xor)[a-z0-9]*[sp]d' || true; }

expect() {
  if ! eval "$2"; then
    echo "$1"
    failures=$((failures + 1))
  fi
}
# A function that is not found would have nothing in it either.
for function in loss_value loss_grad waves_value waves_grad_a waves_grad_b tiny_grad tiny_grad_a tiny_partial_a \
  tiny_value_and_grad lists_grad_x lists_grad_y dead_value dead_grad; do
  expect "self-test: $function has code" "[ -n \"\$(code $function)\" ]"
done
expect "self-test: the value of a logarithm calls log" 'code loss_value | grep -qE "(call|jmp).*\blog\b"'
expect "self-test: the value of waves calls sin" 'code waves_value | grep -qE "(call|jmp).*\bsin\b"'
expect "the gradient of a logarithm does not need its value" '! code loss_grad | grep -qE "call|jmp.*log"'
expect "d/da of waves needs no sine or cosine" '! code waves_grad_a | grep -qE "(call|jmp).*(sin|cos)"'
expect "d/db of waves needs the cosine" 'code waves_grad_b | grep -qE "(call|jmp).*\bcos\b"'
expect "d/db of waves needs no sine" '! code waves_grad_b | grep -qE "(call|jmp).*\bsin\b"'
expect "a gradient without functions calls nothing" '! code tiny_grad | grep -q call'
expect "a gradient uses no thread-local tape" '! code tiny_grad | grep -q "%fs:"'
expect "self-test: the gradient of logSumExp calls for it" 'code lists_grad_y | grep -qE "(call|jmp).*(exp|LogSumExp)"'
expect "d/dx of lists does without logSumExp" '! code lists_grad_x | grep -qE "(call|jmp).*(exp|log|LogSumExp)"'
expect "a value does without what nobody uses" '! code dead_value | grep -qE "div|call|jmp.*exp"'
expect "a gradient does without what nobody uses" '! code dead_grad | grep -qE "div|call|jmp.*exp"'
all=$(arithmetic tiny_grad) first=$(arithmetic tiny_grad_a) partial=$(arithmetic tiny_partial_a)
both=$(arithmetic tiny_value_and_grad)
expect "d/da ($first operations) takes less than the gradient ($all)" '[ "$first" -gt 0 ] && [ "$first" -lt "$all" ]'
expect "partial<0> ($partial) takes what grad<0> takes ($first)" '[ "$partial" -eq "$first" ]'
expect "the gradient ($all) takes less than value and gradient ($both)" '[ "$all" -lt "$both" ]'
[ "$failures" -eq 0 ]
