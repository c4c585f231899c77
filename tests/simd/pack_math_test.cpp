// exp, log, tanh and erf of vectors: their errors over the whole range, what they give at the edges, and that a number has
// the same bits in every lane of a pack of every width.
//
// Floats: with a stride through all bit patterns, against double precision. Doubles: random ones, against long double.
// The largest errors, in ulp, without fused multiply-add (this test's build) and with it (-march=native):
//           float, all 2^32     double, 10^8 random ones
//   exp     1.06, 1.08          1.05, 1.08
//   log     1.11, 0.96          1.31, 1.19
//   tanh    2.61, 2.60          2.70, 2.67
//   erf     1.42, 1.10          1.57, 1.29
// Core promises 4 ulp; what is allowed here is close to what is reached, so that a wrong coefficient shows.
#include "burtorch/simd/pack_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "burtorch/base/rng.hpp"
#include "burtorch/simd/pack.hpp"
#include "reference/ulps.hpp"

namespace burtorch {
namespace pack_math_test {

struct Exp {
  static constexpr double allowed = 1.25;
  template <class X> static X of(const X& x) {
    using std::exp;
    return exp(x);
  }
};
struct Log {
  static constexpr double allowed = 1.5;
  template <class X> static X of(const X& x) {
    using std::log;
    return log(x);
  }
};
struct Tanh {
  static constexpr double allowed = 2.8;
  template <class X> static X of(const X& x) {
    using std::tanh;
    return tanh(x);
  }
};
struct Erf {
  static constexpr double allowed = 1.7;
  template <class X> static X of(const X& x) {
    using std::erf;
    return erf(x);
  }
};

template <class F> class PackMath : public testing::Test {};
using Functions = testing::Types<Exp, Log, Tanh, Erf>;
struct FunctionName {
  template <class F> static std::string GetName(int) {
    return std::is_same_v<F, Exp>    ? "exp"
           : std::is_same_v<F, Log>  ? "log"
           : std::is_same_v<F, Tanh> ? "tanh"
                                     : "erf";
  }
};
TYPED_TEST_SUITE(PackMath, Functions, FunctionName);

template <class T> using WordOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
template <class T> T numberOf(WordOf<T> bits) {
  T number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}
template <class T> WordOf<T> bitsOf(T number) {
  WordOf<T> bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

/// The largest error of F among the numbers that it is given.
template <class F, class T> class Worst {
 public:
  void add(T x) {
    waiting_[count_++] = x;
    if (count_ == Pack<T>::count) flush();
  }
  void expectAllowed() {
    while (count_ != 0) add(T{1});
    EXPECT_LE(error_, F::allowed) << "at " << at_ << ": " << F::of(Pack<T>(at_))[0] << " instead of "
                                  << F::of(at_);
  }

 private:
  using Exact = std::conditional_t<sizeof(T) == 4, double, long double>;
  void flush() {
    const auto found = F::of(Pack<T>::load(waiting_));
    for (std::size_t i = 0; i < count_; ++i) {
      const auto error = static_cast<double>(ulps::error(found[i], F::of(Exact{waiting_[i]})));
      if (error > error_) error_ = error, at_ = waiting_[i];
    }
    count_ = 0;
  }
  T waiting_[Pack<T>::count], at_ = 0;
  std::size_t count_ = 0;
  double error_ = 0;
};

#ifdef __OPTIMIZE__
constexpr std::uint32_t stride = 401;
constexpr int samples = 400'000;
#else
constexpr std::uint32_t stride = 40'009;
constexpr int samples = 10'000;
#endif

TYPED_TEST(PackMath, OfFloatsFromAllOverTheRange) {
  Worst<TypeParam, float> worst;
  for (std::uint64_t bits = 0; bits <= UINT32_MAX; bits += stride)
    worst.add(numberOf<float>(static_cast<std::uint32_t>(bits)));
  worst.expectAllowed();
}

TYPED_TEST(PackMath, OfDoublesFromAllOverTheRange) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "long double is no better than double";
  Worst<TypeParam, double> worst;
  Rng random(20240917);
  const auto between = [&](double low, double high) { return low + (high - low) * random.uniform<double>(); };
  for (int i = 0; i < samples; ++i) {
    worst.add(numberOf<double>(random.next()));
    worst.add(between(-750, 715));   // where exp is neither 0 nor infinite
    worst.add(between(-746, -708));  // where it is denormal
    worst.add(between(-2.5, 2.5));   // where log, tanh and erf are steepest
    worst.add(between(-6.2, 6.2));   // where erf is neither 1 nor -1
    worst.add(between(0.7, 1.5));    // where log has its fits
    worst.add(std::ldexp(between(-1, 1), -static_cast<int>(random.below(60))));
  }
  worst.expectAllowed();
}

/// Where something changes: the ends of the range of results, of the fits, of the normal numbers.
template <class T> std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  const T ln2 = std::log(T{2});
  std::vector<T> all{T{0},
                     Limits::min(),
                     Limits::denorm_min(),
                     Limits::max(),
                     Limits::infinity(),
                     T{1},
                     T{2},
                     T{0.5},
                     std::sqrt(T{2}),
                     std::sqrt(T{0.5}),
                     std::log(Limits::max()),
                     -std::log(Limits::min()),
                     -std::log(Limits::denorm_min()),
                     ln2 / 2,
                     ln2 / 4,
                     3 * ln2 / 2};
  using L = vectors::Layout<T>;
  for (const T limit : {L::expIsInfinite, -L::expIsZero, L::tanhIsOne, L::erfIsOne}) all.push_back(limit);
  all.push_back(sizeof(T) == 4 ? T(3.9192058) : T(5.9215871957945));            // where erf becomes 1
  for (int digits = Limits::digits - 3; digits < Limits::digits + 3; ++digits)  // where tanh becomes 1
    all.push_back(static_cast<T>(digits) * ln2 / 2);
  return all;
}
template <class F, class T> void checkAroundEdges() {
  Worst<F, T> worst;
  for (const T edge : edges<T>())
    for (int offset = -1000; offset <= 1000; ++offset) {
      const T x = numberOf<T>(bitsOf(edge) + static_cast<WordOf<T>>(offset));
      worst.add(x), worst.add(-x);
    }
  worst.expectAllowed();
}
TYPED_TEST(PackMath, OfFloatsAroundTheEdges) { checkAroundEdges<TypeParam, float>(); }
TYPED_TEST(PackMath, OfDoublesAroundTheEdges) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "long double is no better than double";
  checkAroundEdges<TypeParam, double>();
}

template <class T> struct Case { T x, want; };
template <class F, class T> void expectExactly(std::initializer_list<Case<T>> cases) {
  for (const auto& [x, want] : cases) {
    const T found = F::of(Pack<T>(x))[0];
    EXPECT_EQ(ulps::error(found, want), 0) << "at " << x << ": " << found << " instead of " << want;
  }
}
template <class T> void checkSpecialValues() {
  using Limits = std::numeric_limits<T>;
  constexpr T inf = Limits::infinity(), nan = Limits::quiet_NaN(), tiny = Limits::denorm_min();
  expectExactly<Exp, T>(
      {{0, 1}, {T{-0.0}, 1}, {tiny, 1}, {-tiny, 1}, {inf, inf}, {-inf, 0}, {nan, nan}, {-nan, nan}});
  expectExactly<Exp, T>({{Limits::max(), inf}, {-Limits::max(), 0}});
  expectExactly<Log, T>({{0, -inf}, {T{-0.0}, -inf}, {1, 0}, {inf, inf}, {nan, nan}, {-nan, nan}});
  expectExactly<Log, T>({{-1, nan}, {-tiny, nan}, {-inf, nan}, {-Limits::max(), nan}});
  expectExactly<Tanh, T>({{0, 0}, {T{-0.0}, T{-0.0}}, {inf, 1}, {-inf, -1}, {nan, nan}, {-nan, nan}});
  expectExactly<Tanh, T>({{tiny, tiny}, {-tiny, -tiny}, {Limits::max(), 1}, {-Limits::max(), -1}});
  expectExactly<Erf, T>({{0, 0}, {T{-0.0}, T{-0.0}}, {inf, 1}, {-inf, -1}, {nan, nan}, {-nan, nan}});
  // The least denormal times 2 / sqrt(pi) rounds to itself.
  expectExactly<Erf, T>({{tiny, tiny}, {-tiny, -tiny}, {Limits::max(), 1}, {-Limits::max(), -1}});
}
TEST(PackMathOf, SpecialFloats) { checkSpecialValues<float>(); }
TEST(PackMathOf, SpecialDoubles) { checkSpecialValues<double>(); }

/// Odd functions, to the bit: f(-x) = -f(x).
template <class F, class T> void expectOdd() {
  Rng random(5);
  for (int i = 0; i < 10'000; ++i) {
    const T x = std::ldexp(random.uniform<T>(), 4 - static_cast<int>(random.below(30)));
    EXPECT_EQ(bitsOf(F::of(Pack<T>(-x))[0]), bitsOf(-F::of(Pack<T>(x))[0])) << x;
  }
}
TEST(PackMathOf, TanhIsOdd) { expectOdd<Tanh, float>(), expectOdd<Tanh, double>(); }
TEST(PackMathOf, ErfIsOdd) { expectOdd<Erf, float>(), expectOdd<Erf, double>(); }

/// Not inlined: of a pack of which one lane is read, compilers may compute this lane only, and fuse other operations then.
template <class F, class P> [[gnu::noinline]] P calculate(const P& x) { return F::of(x); }

/// Every number in every lane of a pack of n, beside numbers of all kinds, against a pack of nothing but this number.
template <class F, class T, std::size_t n> void checkLanes() {
  Rng random(n);
  std::vector<T> numbers = edges<T>();
  numbers.push_back(std::numeric_limits<T>::quiet_NaN());
  for (int i = 0; i < 200; ++i) numbers.push_back(T{8} * random.uniform<T>() - T{4});
  for (const T x : numbers)
    for (std::size_t lane = 0; lane < n; ++lane) {
      Pack<T, n> pack;
      for (std::size_t i = 0; i < n; ++i) pack.set(i, numbers[random.below(numbers.size())]);
      pack.set(lane, x);
      const T found = calculate<F>(pack)[lane], alone = calculate<F>(Pack<T>(x))[0];
      EXPECT_EQ(bitsOf(found), bitsOf(alone))
          << x << " in lane " << lane << " of " << n << ": " << found << " instead of " << alone;
    }
}
template <class F, class T> void checkWidths() {
#if !defined(__clang__) || !defined(__FMA__)  // clang 14 fuses nothing in a vector of one
  checkLanes<F, T, 1>();
#endif
  checkLanes<F, T, 2>();
  checkLanes<F, T, 4>();
  checkLanes<F, T, 8>();
  checkLanes<F, T, 16>();
  checkLanes<F, T, 4 * packWidth<T>>();
}
TYPED_TEST(PackMath, AFloatHasTheSameBitsInEveryLaneOfEveryWidth) { checkWidths<TypeParam, float>(); }
TYPED_TEST(PackMath, ADoubleHasTheSameBitsInEveryLaneOfEveryWidth) { checkWidths<TypeParam, double>(); }

TEST(PackMathOf, BareVectors) {
  const Pack<float>::Vector x = Pack<float>(0.7f).lanes;
  EXPECT_EQ(vectors::exp(x)[0], exp(Pack<float>(0.7f))[0]);
  EXPECT_EQ(vectors::log(x)[0], log(Pack<float>(0.7f))[0]);
  EXPECT_EQ(vectors::tanh(x)[0], tanh(Pack<float>(0.7f))[0]);
  EXPECT_EQ(vectors::erf(x)[0], erf(Pack<float>(0.7f))[0]);
}

}  // namespace pack_math_test
}  // namespace burtorch
