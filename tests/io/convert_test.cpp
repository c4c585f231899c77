// Numbers of files as numbers of a program: each stays what it is, or is found not to fit.
#include "burtorch/io/convert.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace burtorch {
namespace convert_test {

constexpr double infinity = std::numeric_limits<double>::infinity();
using Int64 = std::numeric_limits<std::int64_t>;

template <class T> std::vector<std::byte> bytesOf(const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}
template <class To, class From> std::vector<To> converted(NumberType type, const std::vector<From>& numbers) {
  std::vector<To> result(numbers.size());
  convertNumbers(type, bytesOf(numbers), std::span(result));
  return result;
}
/// Where the first number is that does not fit; -1 if all do.
template <class To, class From> int misfit(NumberType type, const std::vector<From>& numbers) {
  const auto at = firstThatDoesNotFit<To>(type, bytesOf(numbers));
  return at ? static_cast<int>(*at) : -1;
}

TEST(Convert, ANumberOfTheSameTypeKeepsItsBits) {
  const std::uint64_t signalling = 0xFFF0000000000123U;
  double nan = 0;
  std::memcpy(&nan, &signalling, sizeof nan);
  const std::vector<double> numbers{nan, -0.0, 5e-324, -infinity};
  EXPECT_EQ(bytesOf(converted<double>(NumberType::f64, numbers)), bytesOf(numbers));
  EXPECT_EQ(converted<std::int64_t>(NumberType::i64, std::vector{Int64::min(), Int64::max()}),
            (std::vector{Int64::min(), Int64::max()}));
}
TEST(Convert, SmallerTypesWidenExactly) {
  EXPECT_EQ(converted<double>(NumberType::f32, std::vector{0.1F, -0x1p-149F}),
            (std::vector{double{0.1F}, -0x1p-149}));
  EXPECT_EQ(converted<float>(NumberType::f16, std::vector<std::uint16_t>{0x3C00, 0x0001, 0xFC00}),
            (std::vector<float>{1, 0x1p-24F, -std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(converted<double>(NumberType::bf16, std::vector<std::uint16_t>{0x3F80, 0xC040}),
            (std::vector<double>{1, -3}));
  EXPECT_EQ(converted<float>(NumberType::u8, std::vector<std::uint8_t>{0, 1, 255}),
            (std::vector<float>{0, 1, 255}));
  EXPECT_EQ(converted<std::int64_t>(NumberType::i32, std::vector<std::int32_t>{-7, 2'147'483'647}),
            (std::vector<std::int64_t>{-7, 2'147'483'647}));
}
TEST(Convert, NumbersNeedNotBeAligned) {
  std::vector<std::byte> bytes{std::byte{9}};
  for (const std::byte b : bytesOf(std::vector{0.1, -7.0})) bytes.push_back(b);
  std::vector<double> result(2);
  convertNumbers(NumberType::f64, std::span<const std::byte>(bytes).subspan(1), std::span(result));
  EXPECT_EQ(result, (std::vector{0.1, -7.0}));
}
TEST(Convert, ADoubleFitsAFloatUnlessItBecomesInfinite) {
  const double largest = std::numeric_limits<float>::max();
  EXPECT_EQ(misfit<float>(NumberType::f64, std::vector{0.1, largest, infinity, std::nan(""), 1e-300}), -1);
  EXPECT_EQ(misfit<float>(NumberType::f64, std::vector{0.1, 1e39, -1e39}), 1);
  EXPECT_EQ(misfit<double>(NumberType::f64, std::vector{1e308}), -1);
}
TEST(Convert, WholeNumbersFitARealTypeUpToItsDigits) {
  const std::int64_t in53 = std::int64_t{1} << 53, in24 = 1 << 24;
  EXPECT_EQ(misfit<double>(NumberType::i64, std::vector{in53, -in53}), -1);
  EXPECT_EQ(misfit<double>(NumberType::i64, std::vector{in53, in53 + 1}), 1);
  EXPECT_EQ(misfit<double>(NumberType::i64, std::vector{-in53 - 1}), 0);
  EXPECT_EQ(misfit<float>(NumberType::i64, std::vector{in24, -in24, in24 + 1}), 2);
  EXPECT_EQ(misfit<float>(NumberType::i32, std::vector<std::int32_t>{16'777'216, -16'777'217}), 1);
  EXPECT_EQ(misfit<double>(NumberType::i64, std::vector{Int64::max()}), 0);
  EXPECT_EQ(misfit<double>(NumberType::i64, std::vector{Int64::min()}), 0);
}
TEST(Convert, WholeNumbersFitASmallerTypeWithinItsRange) {
  EXPECT_EQ(misfit<std::uint8_t>(NumberType::i64, std::vector<std::int64_t>{0, 255, 256}), 2);
  EXPECT_EQ(misfit<std::uint8_t>(NumberType::i32, std::vector<std::int32_t>{-1}), 0);
  EXPECT_EQ(misfit<std::int32_t>(NumberType::i64, std::vector<std::int64_t>{-2'147'483'648, 2'147'483'648}),
            1);
  EXPECT_EQ(misfit<std::int32_t>(NumberType::u8, std::vector<std::uint8_t>{255}), -1);
}
TEST(Convert, ARealNumberFitsNoWholeType) {
  EXPECT_EQ(misfit<std::int64_t>(NumberType::f64, std::vector{1.0}), 0);
  EXPECT_EQ(misfit<std::int32_t>(NumberType::f32, std::vector{1.0F}), 0);
  EXPECT_EQ(misfit<std::uint8_t>(NumberType::f16, std::vector<std::uint16_t>{0}), 0);
}
TEST(Convert, NoNumbersFitEverywhere) {
  EXPECT_EQ(misfit<float>(NumberType::f64, std::vector<double>{}), -1);
  EXPECT_EQ(misfit<std::uint8_t>(NumberType::f64, std::vector<double>{}), -1);
  EXPECT_EQ(converted<float>(NumberType::f64, std::vector<double>{}), std::vector<float>{});
}

}  // namespace convert_test
}  // namespace burtorch
