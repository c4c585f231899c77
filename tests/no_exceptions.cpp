// The library without exceptions and RTTI: the listing, most of core, and an error that reaches the installed handler.
// Also what the search for recursion looks at, so it instantiates as much as it can. Returns 0 if all is right.
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>

#include "burtorch/burtorch.hpp"

namespace {

using namespace burtorch;

int failures = 0;
void expect(bool isRight, const char* claim) {
  if (isRight) return;
  std::printf("not so: %s\n", claim);
  ++failures;
}
bool isNear(double x, double y, double tolerance) { return std::abs(x - y) <= tolerance; }

struct Halve : UnaryOp {
  static constexpr std::string_view name = "halve";
  template <class T> static T value(T x) { return x * T{0.5}; }
  template <class T> static T vjp(T g, Unread, Unread) { return g * T{0.5}; }
};

template <class X> X listing(X a, X b) {
  X c = a + b;
  X d = a * b + pow3(b);
  c += c + 1.0;
  c += 1.0 + c - a;
  d += d * 2.0 + relu(b + a);
  d += 3.0 * d + relu(b - a);
  const X e = c - d;
  const X f = sqr(e);
  X g = f / 2.0;
  g += 10.0 / f;
  return g;
}

/// Every operator of scalars, at a point where all of them are defined.
template <class X> X scalars(X x, X y) {
  X s = relu(x) + tanh(x) - exp(x) * negativeLog(x) / sigmoid(y) + inv(x) + sqr(y) + pow3(y) + logarithm(x) +
        log(x);
  s += sqrt(x) + invSqrt(x) + -y + +x + sin(x) + cos(y) + abs(y) + softplus(x) + erf(x) + gelu(y) + log1p(x) +
       expm1(y);
  s += mean(x, y) + addSquares(x, y) + meanSquares(x, y) + negativeMean(x, y) + max(x, y) + min(x, y);
  s += 3.0 * x + x * 2 + 1.5f + x - 4u;
  s -= 2.0 - y;
  s *= x / 3.0 + 4.0 / x;
  s /= max(x, 0.25) + min(y, 7.0) + max(0.5, x) + min(9.0, y);
  s += leakyRelu(y) + pow(x, 1.7) + mulByConstant(x, 0.3) + apply<Halve>(x);
  return s;
}

/// The in-place functions, on numbers of ours.
template <class X> X inPlace(X x) {
  X s = x;
  addInplace(s, x);
  subInplace(s, 0.25);
  multInplace(s, x);
  divInplace(s, 1.25);
  return s;
}

/// Every operator of lists of one number type.
template <class L> auto lists(const L& x) {
  auto s = reduceSum(x) + reduceSub(x) + reduceMul(x) + reduceMean(x) + reduceNegativeMean(x);
  s += reduceSumOfSquares(x) + reduceMeanSquares(x) + varianceBiased(x) + variance(x) + logSumExp(x);
  const auto moments = reduceMeanAndMeanSquares(x);
  s += moments.first * moments.second + crossEntropy(x, 1) + innerProduct(x, x) +
       innerProductWithBias(x, x, s);
  return s;
}

void testListing() {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto a = Value(-4.0);
  const auto b = Value(2.0);
  const auto g = listing(a, b);
  backward(g);
  expect(isNear(g.dataCopy(), 24.70408163, 5e-9), "the listing's value");
  expect(isNear(a.gradCopy(), 138.8338192, 5e-8), "the listing's da");
  expect(isNear(b.gradCopy(), 645.5772595, 5e-8), "the listing's db");
  expect(isNear(listing(-4.0, 2.0), 24.70408163, 5e-9), "the listing's value in plain numbers");
  expect(isNear(listing(Dual(-4.0, 1.0), Dual(2.0)).tangent, 138.8338192, 5e-8),
         "the listing's da in forward mode");
}

void testScalars() {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto x = Value(0.7);
  const auto y = Value(0.4);
  backward(scalars(x, y));
  backward(inPlace(x), 0.0);
  expect(isNear(scalars(Dual(0.7, 1.0), Dual(0.4)).tangent, x.gradCopy(), 1e-11),
         "reverse and forward mode agree");
  expect(gradcheck([](auto v) { return scalars(v[0], v[1]); }, std::array{0.7, 0.4}, 1e-5).isOk,
         "gradcheck agrees");
  Tape<float> single;
  CurrentTape there(single);
  const auto z = Value(0.7f);
  backward(scalars(z, Value(0.4f)));
  expect(isNear(static_cast<double>(z.gradCopy()), x.gradCopy(), 1e-3), "single precision agrees");
}

void testLists() {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto x = tape.leaves(std::array{0.3, -0.4, 1.1, 0.8, -0.2});
  const std::array scattered{x[0], x[3], x[1]};
  const std::array ranges{x.subrange(0, 2), x.subrange(3, 2)};
  const auto p = softmax(x);
  const auto root = lists(x) + lists(x.every(4, 3, -2)) + lists(scattered) + lists(ranges) +
                    innerProduct(p, x) + reduceSum({x[0], x[1]});
  backward(root);
  const double simple = x[2].gradCopy();
  tape.zeroGrad();
  std::array<std::uint64_t, 64> scratch;
  backwardWithScratchStorage(root, std::span<std::uint64_t>(scratch));
  expect(x[2].gradCopy() == simple, "scratch storage gives the same bits");
  zeroGrad(x);
  const std::array roots{root, p[1]};
  const std::array seeds{1.0, 0.0};
  backward(std::span<const Value<double>>(roots), std::span<const double>(seeds));
  expect(x[2].gradCopy() == simple, "two roots, one with seed 0, give the same bits");
  const std::array plain{0.3, -0.4, 1.1};
  std::array<double, 3> probabilities;
  softmax(plain, std::span<double>(probabilities));
  expect(isNear(reduceSum(probabilities), 1.0, 1e-15), "probabilities sum to 1");
  expect(gradcheck([](auto v) { return lists(v); }, plain, 1e-5).isOk, "gradcheck of lists");
  backward(withoutValue<ops::MeanSquaresVarying>(x));
  backward(withoutValue<ops::Sqr>(x[0]));
  backward(withoutValue<ops::Mul>(x[0], x[1]));
  expect(firstNonFinite(tape) >= p.first(), "leaves are finite");
}

void testPoles() {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto x = Value(0.0);
  logarithm(x);
  backward(x * 3.0);
  expect(x.gradCopy() == 3.0, "a dead pole does not disturb");
  backward(logarithm(x) * 0.0);
  expect(std::isnan(x.gradCopy()), "a reached one does");
}

void testDuals() {
  const std::array x{0.3, -0.4, 1.1}, v{1.0, -0.5, 0.25};
  std::array<double, 3> product, gradient;
  hvp<double>([](auto u) { return lists(u) + scalars(u[2], u[2]); }, x, v, product, gradient);
  expect(std::isfinite(product[0] + product[1] + product[2]), "a Hessian-vector product");
}

void testText() {
  Tape<double> tape;
  CurrentTape here(tape);
  Value<double> a(2.0, "a");
  expect(asString(a * 3.0) == "eBinaryMultByConst(#0), data 6, grad 0, #1", "a node as text");
  expect(a.name() == "a" || !defaultConfig.names, "a name");
  expect(a > 1 && a == 2.0 && a < Value(3.0), "comparisons");
  a.setData(5.0);
  a.setGrad(7.0);
  expect(a.dataCopy() == 5.0 && a.gradCopy() == 7.0, "data and gradient can be set");
}

std::jmp_buf afterFailure;
char reported[256];

/// Whether `action` fails, with a sentence that begins so, and through the handler.
template <class Action> bool fails(Action action, const char* beginning) {
  reported[0] = '\0';
  const FailureHandler previous = setFailureHandler([](const char* sentence) {
    std::snprintf(reported, sizeof reported, "%s", sentence);
    std::longjmp(afterFailure, 1);
  });
  // No object with a destructor lies between setjmp and longjmp.
  if (setjmp(afterFailure) == 0) action();
  setFailureHandler(previous);
  return std::strncmp(reported, beginning, std::strlen(beginning)) == 0;
}

void testFailures() {
  static std::array<std::byte, 256> memory;
  static Tape<double> tape{std::span<std::byte>(memory)};
  CurrentTape here(tape);
  const auto start = tape.mark();
  const auto x = Value(0.5);
  expect(fails(
             [] {
               for (;;) Value(0.25);
             },
             "the tape is full"),
         "a full tape reaches the handler");
  const std::size_t size = tape.size();
  expect(fails([] { Value(0.25); }, "the tape is full"), "and again");
  expect(tape.size() == size && x.dataCopy() == 0.5, "nothing has changed");
  expect(fails([] { reduceSum(std::span<const double>()); }, "reduceSum of an empty list"), "an empty list");
  tape.rewind(start);
  const auto y = Value(0.75);
  backward(y * y);
  expect(y.gradCopy() == 1.5, "the tape still works");
}

}  // namespace

int main() {
  testListing();
  testScalars();
  testLists();
  testPoles();
  testDuals();
  testText();
  testFailures();
  return failures == 0 ? 0 : 1;
}
