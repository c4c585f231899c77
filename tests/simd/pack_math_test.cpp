// exp, log, tanh, sin and the other functions of vectors: their errors over the whole range, what they give at the edges, and
// that a number has the same bits in every lane of a pack of every width.
//
// Floats: with a stride through all bit patterns, against double precision. Doubles: random ones, against long double, and a
// million against quadruple precision. The campaign takes all floats and a billion doubles; it runs with
//   simd_pack_math_test --gtest_also_run_disabled_tests --gtest_filter='*DISABLED*'
// and takes hours. The largest errors, in ulp, without fused multiply-add (AVX2): of all floats (of sin and cos every 13th), and of
// some million doubles:
//   exp 0.87, 0.87    log 1.11, 1.23     tanh 1.35, 1.31   sigmoid 1.99, 1.81   erf 1.42, 1.48
//   expm1 1.39, 1.85  log1p 1.67, 1.54   sin 1.58, 0.80    cos 1.58, 0.82       atan 1.41, 1.36
// At most 2 is promised; what is allowed here is close to what is reached, so that a wrong coefficient shows.
#include "burtorch/simd/pack_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "burtorch/base/rng.hpp"
#include "burtorch/ops/ops_unary.hpp"
#ifdef __SIZEOF_FLOAT128__
#include "burtorch/ops/fp128.hpp"
#endif
#include "burtorch/simd/pack.hpp"
#include "reference/ulps.hpp"

namespace burtorch {
namespace pack_math_test {

/// A function of packs and of plain numbers, and the largest error in ulp.
#define TEST_FUNCTION(Name, name, ulps)          \
  struct Name {                                  \
    static constexpr const char* called = #name; \
    static constexpr double allowed = ulps;      \
    template <class X> static X of(const X& x) { \
      using std::name;                           \
      return name(x);                            \
    }                                            \
  };
TEST_FUNCTION(Exp, exp, 1)
TEST_FUNCTION(Log, log, 1.4)
TEST_FUNCTION(Tanh, tanh, 1.4)
TEST_FUNCTION(Erf, erf, 1.7)
TEST_FUNCTION(Expm1, expm1, 1.95)
TEST_FUNCTION(Log1p, log1p, 1.8)
TEST_FUNCTION(Sin, sin, 1.6)
TEST_FUNCTION(Cos, cos, 1.6)
TEST_FUNCTION(Atan, atan, 1.5)
#undef TEST_FUNCTION
struct Sigmoid {
  static constexpr const char* called = "sigmoid";
  static constexpr double allowed = 2;
  template <class X> static X of(const X& x) { return ops::Sigmoid::value(x); }
};

template <class F> class PackMath : public testing::Test {};
using Functions = testing::Types<Exp, Log, Tanh, Erf, Expm1, Log1p, Sin, Cos, Atan, Sigmoid>;
struct FunctionName {
  template <class F> static std::string GetName(int) { return F::called; }
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

/// The largest error of F among the numbers that it is given, against a more precise type.
template <class F, class T, class Exact = std::conditional_t<sizeof(T) == 4, double, long double>>
class Worst {
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
  void flush() {
    const auto found = F::of(Pack<T>::load(waiting_));
    for (std::size_t i = 0; i < count_; ++i) {
      const auto error = static_cast<double>(ulps::error(found[i], F::of(Exact(waiting_[i]))));
      if (error > error_) error_ = error, at_ = waiting_[i];
    }
    count_ = 0;
  }
  T waiting_[Pack<T>::count], at_ = 0;
  std::size_t count_ = 0;
  double error_ = 0;
};

#ifdef __OPTIMIZE__
constexpr std::uint32_t stride = 809;
constexpr long samples = 1'500'000;
#else
constexpr std::uint32_t stride = 40'009;
constexpr long samples = 100'000;
#endif

template <class F> void checkFloats(std::uint64_t step) {
  Worst<F, float> worst;
  for (std::uint64_t bits = 0; bits <= UINT32_MAX; bits += step)
    worst.add(numberOf<float>(static_cast<std::uint32_t>(bits)));
  worst.expectAllowed();
}
/// Doubles from all over the range, and from where something happens.
template <class F, class Exact> void checkDoubles(std::uint64_t seed, long count) {
  Worst<F, double, Exact> worst;
  Rng random(seed);
  const auto between = [&](double low, double high) { return low + (high - low) * random.uniform<double>(); };
  for (long i = 0; i < count; i += 10) {
    worst.add(numberOf<double>(random.next()));
    worst.add(between(-750, 715));      // where exp is neither 0 nor infinite
    worst.add(between(-746, -708));     // where it is denormal
    worst.add(between(-2.5, 2.5));      // where most are steepest
    worst.add(between(-6.2, 6.2));      // where erf is neither 1 nor -1
    worst.add(between(0.7, 1.5));       // where log has its fits
    worst.add(between(-0.5, 0.5));      // and expm1, log1p, atan
    worst.add(between(-1.1e6, 1.1e6));  // angles that packs take by themselves, and a few larger ones
    worst.add(std::floor(between(-7e5, 7e5)) * (std::numbers::pi / 2));  // next to zeros of sin and cos
    worst.add(std::ldexp(between(-1, 1), -static_cast<int>(random.below(60))));
  }
  worst.expectAllowed();
}
constexpr bool hasMoreThanDouble = std::numeric_limits<long double>::digits >= 64;

TYPED_TEST(PackMath, OfFloatsFromAllOverTheRange) { checkFloats<TypeParam>(stride); }
TYPED_TEST(PackMath, OfDoublesFromAllOverTheRange) {
  if (!hasMoreThanDouble) GTEST_SKIP() << "long double is no better than double";
  checkDoubles<TypeParam, long double>(20240917, samples);
}
#ifdef __SIZEOF_FLOAT128__
TYPED_TEST(PackMath, OfDoublesAgainstQuadruplePrecision) { checkDoubles<TypeParam, Fp128>(4, samples / 15); }
#endif
TYPED_TEST(PackMath, DISABLED_OfAllFloats) { checkFloats<TypeParam>(1); }
TYPED_TEST(PackMath, DISABLED_OfABillionDoubles) { checkDoubles<TypeParam, long double>(7, 1'000'000'000); }

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
  for (const T limit : {L::expIsInfinite, -L::expIsZero, L::erfIsOne, vectors::largestAngle<T>, T(0.625),
                        T(64), T(2.414213562373095)})
    all.push_back(limit);
  for (int quarters = 1; quarters < 9; ++quarters)
    all.push_back(static_cast<T>(quarters * std::numbers::pi / 4));
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
  expectExactly<Expm1, T>({{0, 0}, {T{-0.0}, T{-0.0}}, {inf, inf}, {-inf, -1}, {nan, nan}, {-nan, nan}});
  expectExactly<Expm1, T>({{tiny, tiny}, {-tiny, -tiny}, {Limits::max(), inf}, {-Limits::max(), -1}});
  expectExactly<Log1p, T>({{0, 0}, {T{-0.0}, T{-0.0}}, {inf, inf}, {-1, -inf}, {nan, nan}, {-nan, nan}});
  expectExactly<Log1p, T>({{tiny, tiny}, {-tiny, -tiny}, {-2, nan}, {-inf, nan}, {-Limits::max(), nan}});
  expectExactly<Sin, T>({{0, 0}, {T{-0.0}, T{-0.0}}, {inf, nan}, {-inf, nan}, {nan, nan}, {-nan, nan}});
  expectExactly<Sin, T>({{tiny, tiny}, {-tiny, -tiny}});
  expectExactly<Cos, T>({{0, 1}, {T{-0.0}, 1}, {inf, nan}, {-inf, nan}, {nan, nan}, {tiny, 1}, {-tiny, 1}});
  expectExactly<Atan, T>({{0, 0}, {T{-0.0}, T{-0.0}}, {nan, nan}, {-nan, nan}, {tiny, tiny}, {-tiny, -tiny}});
  constexpr T quarter = static_cast<T>(std::numbers::pi / 2);
  expectExactly<Atan, T>({{inf, quarter}, {-inf, -quarter}, {Limits::max(), quarter}});
  expectExactly<Sigmoid, T>({{0, T(0.5)}, {T{-0.0}, T(0.5)}, {inf, 1}, {-inf, 0}, {nan, nan}, {-nan, nan}});
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
TEST(PackMathOf, SinIsOdd) { expectOdd<Sin, float>(), expectOdd<Sin, double>(); }
TEST(PackMathOf, AtanIsOdd) { expectOdd<Atan, float>(), expectOdd<Atan, double>(); }
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

/// The size of large angles is for the C library, in their lanes only.
TEST(PackMathOf, LargeAnglesAreThoseOfTheLibrary) {
  const float angles[] = {1e6f, 2e6f, -3e7f, 1e20f, -2e6f, 3.4e38f, 0.5f, -1e10f};
  const auto sines = sin(Pack<float, 8>::load(angles)), cosines = cos(Pack<float, 8>::load(angles));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_LE(ulps::error(sines[i], std::sin(double{angles[i]})), 1.6) << angles[i];
    EXPECT_LE(ulps::error(cosines[i], std::cos(double{angles[i]})), 1.6) << angles[i];
  }
}

TEST(PackMathOf, BareVectors) {
  const Pack<float>::Vector x = Pack<float>(0.7f).lanes;
  EXPECT_EQ(vectors::exp(x)[0], exp(Pack<float>(0.7f))[0]);
  EXPECT_EQ(vectors::log(x)[0], log(Pack<float>(0.7f))[0]);
  EXPECT_EQ(vectors::tanh(x)[0], tanh(Pack<float>(0.7f))[0]);
  EXPECT_EQ(vectors::erf(x)[0], erf(Pack<float>(0.7f))[0]);
}

}  // namespace pack_math_test
}  // namespace burtorch
