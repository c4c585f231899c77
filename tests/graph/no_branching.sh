#!/bin/sh
# What a compile-time graph cannot do does not compile, and the compiler's output says in a sentence what to do instead.
# usage: no_branching.sh <source folder> <compiler> [PART OF]    every OF-th snippet, beginning with snippet PART
set -eu
root=$1
compiler=$2
part=${3:-1}
of=${4:-1}
snippets=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# compiles <file> [options]: whether it does; what the compiler says goes to $folder/output.
compiles() {
  file=$1
  shift
  "$compiler" -std=c++20 -fsyntax-only -I"$root/include" "$@" "$file" >"$folder/output" 2>&1
}

# Makes a file of the snippet on the standard input: f is a compile-time graph, `use` runs it.
write() {
  {
    printf '#include <array>\n#include <burtorch/graph/compile.hpp>\n#include <vector>\nusing namespace burtorch;\n'
    cat
  } >"$folder/snippet.cpp"
}

# isMine: whether the next snippet belongs to this part.
isMine() {
  snippets=$((snippets + 1))
  [ $(((snippets - part) % of)) -eq 0 ]
}

# refuses <name> <sentence>: the snippet on the standard input does not compile, and the output has the sentence.
refuses() {
  isMine || return 0
  write
  if compiles "$folder/snippet.cpp"; then
    echo "$1: compiles"
    failures=$((failures + 1))
  elif ! grep -q -- "$2" "$folder/output"; then
    echo "$1: the compiler does not say \"$2\" but"
    grep -m 3 -E 'error' "$folder/output" || head -3 "$folder/output"
    failures=$((failures + 1))
  fi
}

# accepts <name>: the snippet compiles, without any warning.
accepts() {
  isMine || return 0
  write
  if ! compiles "$folder/snippet.cpp" -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror; then
    echo "$1: does not compile"
    grep -m 3 -E 'error' "$folder/output" || head -3 "$folder/output"
    failures=$((failures + 1))
  fi
}

# The check must see both outcomes.
printf 'int main() { return 0; }\n' >"$folder/right.cpp"
printf 'int main() { return none; }\n' >"$folder/wrong.cpp"
if ! compiles "$folder/right.cpp" || compiles "$folder/wrong.cpp"; then
  echo "self-test: $compiler does not tell right from wrong"
  exit 1
fi

# ---- what compiles ----

accepts select <<'END'
constexpr auto f = compile([](auto a, auto b) { return select(a < b, a, b) * max(a, b) * relu(a); });
double use(double a, double b) { return f.value(a, b) + f.grad<0>(a, b); }
END
accepts 'branches and loops over whole numbers' <<'END'
constexpr auto f = compile([](auto a) {
  for (int i = 0; i < 5; ++i)
    if (i % 2 == 0) a = i > 2 ? a * a : a * 0.5;
  return a;
});
double use(double a) { return f.grad(a); }
END
accepts 'whole numbers of every kind' <<'END'
constexpr auto f = compile([](auto a, auto b) { return a * b; });
double use(long a, unsigned long long b) { return f.value(a, b) + f.grad<0>(a, b) + f.partial<1>(a, b); }
double use(short a, unsigned b) { return f.value(a, b) + f.hessian(a, b)[0][1]; }
END
# clang does not evaluate exp in constant expressions (checked up to 19): there it is an error, as the tour says.
if ! "$compiler" --version | grep -q clang; then
accepts 'functions of constants' <<'END'
constexpr auto f = compile([](auto a) {
  using X = decltype(a);
  return a * exp(X(0.7)) * sqrt(X(2.0)) * pow(X(0.3), 1.7);
});
double use(double a) { return f.grad(a); }
END
fi
accepts 'a choice between two plain numbers' <<'END'
constexpr auto f = compile([](auto a) { return a * select(a > 0.0, 1.0, -0.5); });
double use(double a) { return f.grad(a); }
END

accepts 'blocks of a thousand numbers' <<'END'
constexpr auto product = compile([](const auto& x) { return reduceMul(x); });
constexpr auto probability = compile([](const auto& x) { return softmax(x)[7]; });
double use(const std::array<double, 1000>& x) { return product.grad(x)[0] + probability.grad(x)[0]; }
END

# ---- branching on data ----

refuses 'if' 'use select' <<'END'
constexpr auto f = compile([](auto a, auto b) {
  if (a < b) return a;
  return b;
});
double use(double a, double b) { return f.grad<0>(a, b); }
END
refuses '?:' 'use select' <<'END'
constexpr auto f = compile([](auto a, auto b) { return a < b ? a : b; });
double use(double a, double b) { return f.grad<0>(a, b); }
END
refuses 'while' 'use select' <<'END'
constexpr auto f = compile([](auto a, auto b) {
  while (a < b) a = a * 2.0;
  return a;
});
double use(double a, double b) { return f.grad<0>(a, b); }
END
refuses 'for' 'use select' <<'END'
constexpr auto f = compile([](auto a) {
  for (; a > 1.0;) a = a * 0.5;
  return a;
});
double use(double a) { return f.grad(a); }
END
refuses 'if with a constant, not and and' 'use select' <<'END'
constexpr auto f = compile([](auto a, auto b) {
  if (!(a == 0.0) && b >= 1.0) return a;
  return b;
});
double use(double a, double b) { return f.value(a, b); }
END
refuses 'bool' 'use select' <<'END'
constexpr auto f = compile([](auto a, auto b) {
  const bool isLess = a < b;
  return isLess ? a : b;
});
double use(double a, double b) { return f.value(a, b); }
END

# ---- other sentences ----

refuses 'a capture' 'function without captures' <<'END'
double use(double a, double k) { return compile([k](auto x) { return x * k; }).value(a); }
END
refuses 'float and double' 'all be float or all be double' <<'END'
constexpr auto f = compile([](auto a, auto b) { return a * b; });
double use(float a, double b) { return f.value(a, b); }
END
refuses 'the gradient of float and double' 'all be float or all be double' <<'END'
constexpr auto f = compile([](auto a, auto b) { return a * b; });
double use(float a, double b) { return f.grad<0>(a, b); }
END
for call in 'f.grad(a)' 'f.valueAndGrad(a).gradient' 'f.partial<0>(a)' 'f.hvp(a, a)' 'f.hessian(a)[0][0]'; do
  refuses "$call of several outputs" 'use jacobian' <<END
constexpr auto f = compile([](auto a) { return std::array{a * a, a}; });
double use(double a) { return $call; }
END
done
refuses 'gradBatch of several outputs' 'use jacobian' <<'END'
constexpr auto f = compile([](auto a) { return std::array{a * a, a}; });
void use(const std::vector<double>& a, std::vector<double>& g) { f.gradBatch(a, g); }
END
refuses 'valueAndGradSum of several outputs' 'use jacobian' <<'END'
constexpr auto f = compile([](auto a, auto b) { return std::array{a * b, a}; });
double use(double a, const std::vector<double>& b) { return f.valueAndGradSum(a, b).value; }
END
refuses 'an argument that there is not' 'there is no such argument' <<'END'
constexpr auto f = compile([](auto a, auto b) { return a * b; });
double use(double a, double b) { return f.grad<5>(a, b); }
END
refuses 'an input that there is not' 'there is no such input' <<'END'
constexpr auto f = compile([](auto a, auto b) { return a * b; });
double use(double a, double b) { return f.partial<5>(a, b); }
END
refuses 'too many arguments' 'cannot be called with arguments of these shapes' <<'END'
constexpr auto f = compile([](auto a, auto b) { return a * b; });
double use(double a) { return f.value(a, a, a); }
END
refuses 'a vector' 'argument of a compile-time graph' <<'END'
constexpr auto f = compile([](const auto& a) { return a[0]; });
double use(const std::vector<double>& a) { return f.value(a); }
END
refuses 'a struct with more than numbers' 'holds numbers of its number type and nothing else' <<'END'
template <class X> struct Named { X x; char name; };
constexpr auto f = compile([](const auto& a) { return a.x; });
double use(const Named<double>& a) { return f.value(a); }
END
refuses 'a large Hessian' 'multiply it with vectors instead, by hvp' <<'END'
constexpr auto f = compile([](const auto& a) { return reduceSum(a); });
double use(const std::array<double, 65>& a) { return f.hessian(a)[0][0]; }
END
refuses 'a direction that is missing' 'then as many directions' <<'END'
constexpr auto f = compile([](auto a, auto b) { return a * b; });
double use(double a, double b) { return f.hvp(a, b, a)[0]; }
END
refuses 'a list of gradients that is missing' 'then one for every gradient' <<'END'
constexpr auto f = compile([](auto a, auto b) { return a * b; });
void use(const std::vector<double>& a, std::vector<double>& g) { f.gradBatch(a, a, g); }
END
refuses 'a number without a value' 'never given a value' <<'END'
constexpr auto f = compile([](auto a) {
  decltype(a) b;
  return a * b;
});
double use(double a) { return f.value(a); }
END
refuses 'a list of constants' 'nothing but constants' <<'END'
constexpr auto f = compile([](auto a) { return reduceSum(std::array{decltype(a)(1.0)}) * a; });
double use(double a) { return f.value(a); }
END

[ "$failures" -eq 0 ] || echo "$failures failed"
[ "$snippets" -ge "$of" ] || { echo "$snippets snippets are fewer than the $of parts"; exit 1; }
[ "$failures" -eq 0 ]
