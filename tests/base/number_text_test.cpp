#include "burtorch/base/number_text.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "burtorch/base/rng.hpp"

#if defined(__cpp_lib_to_chars)  // otherwise there is nothing to compare with

namespace burtorch {
namespace number_text_test {

template <class T> class ByC : public testing::Test {
 public:
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static T of(Bits bits) {
    T number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  static std::string standard(T number) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
  }
  static void expectStandardText(T number) {
    const std::string ours = digits::shortestByC(number), theirs = standard(number);
    // Beside a power of two the nearest digits may not give the number back where others of the same length do.
    int exponent;
    if (std::abs(std::frexp(number, &exponent)) == T{0.5} && ours != theirs) {
      T back{};
      EXPECT_EQ(digits::read(ours.data(), ours.data() + ours.size(), back).ec, std::errc{});
      EXPECT_EQ(back, number);
      return;
    }
    EXPECT_EQ(ours, theirs);
  }
  static void expectStandardReading(const std::string& text) {
    T ours = T{-7}, theirs = T{-7};
    const auto one = digits::readByC(text.data(), text.data() + text.size(), ours);
    const auto other = std::from_chars(text.data(), text.data() + text.size(), theirs);
    EXPECT_EQ(one.ec, other.ec) << "'" << text << "'";
    EXPECT_EQ(one.ptr - text.data(), other.ptr - text.data()) << "'" << text << "'";
    EXPECT_EQ(std::memcmp(&ours, &theirs, sizeof ours), 0) << "'" << text << "'";
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ByC, Types);

TYPED_TEST(ByC, TheTextIsTheStandardLibrarys) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  for (const T number : {T{0}, T{-0.0}, T{1}, T{-1}, T(0.1), T{100}, T{1e5}, T{123456}, T(1e-3), T(1e-5),
                         T(3e-4), T(1e22), T(-2.5e-10), Limits::max(), Limits::min(), Limits::denorm_min(),
                         Limits::infinity(), -Limits::infinity()})
    this->expectStandardText(number);
  Rng rng(11);
  for (int i = 0; i < 20000; ++i) {
    const T anything = this->of(static_cast<typename TestFixture::Bits>(rng.next()));
    if (std::isfinite(anything)) this->expectStandardText(anything);
    this->expectStandardText(static_cast<T>(rng.below(1u << 30)) / 1024);
    this->expectStandardText(std::ldexp(T{1}, static_cast<int>(rng.below(200)) - 100));
  }
}

TYPED_TEST(ByC, ReadingIsTheStandardLibrarys) {
  for (const char* text : {"",       "1",
                           "-1",     "+1",
                           " 1",     "1.5",
                           "1.5,",   ".5",
                           "5.",     "-.5e3x",
                           "1e",     "1e+",
                           "1e5",    "1E-5 ",
                           "0x10",   "1e999",
                           "-1e999", "1e-999",
                           "1e-320", "--1",
                           ".",      "-",
                           "e5",     "1.2.3",
                           "00012",  "123456789012345678901234567890"})
    this->expectStandardReading(text);
  Rng rng(12);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::uint32_t k = rng.below(12); k > 0; --k) text += "0123456789.e-"[rng.below(13)];
    this->expectStandardReading(text);
  }
}

// A comma for the decimal point must neither be read nor written. Whether there is such a locale depends on the machine.
TYPED_TEST(ByC, NoLocaleChangesIt) {
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "there is no locale de_DE.UTF-8";
  this->expectStandardText(TypeParam(-0.3));
  this->expectStandardReading("2.75,5");
  this->expectStandardReading("2,75");
  std::setlocale(LC_NUMERIC, "C");
}

}  // namespace number_text_test
}  // namespace burtorch

#endif
