// Numbers as files hold them - little-endian, of seven types, not aligned - as numbers of a program.
//
// A number stays what it is, or it does not fit and is found before anything is written. The one exception is wanted:
// fp64 as float rounds to 24 bits, and numbers below 1e-38 lose bits or become zero. Nothing here allocates or fails;
// formats (safetensors.hpp, npy.hpp) have their own names for the types and their own sentences.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "half.hpp"

namespace burtorch::inline BURTORCH_TARGET {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers");

template <class T>
concept TensorNumber = std::same_as<T, float> || std::same_as<T, double>;

/// Whole numbers are for labels, tokens and pixels.
template <class T>
concept FileNumber = TensorNumber<T> || std::same_as<T, std::int64_t> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::uint8_t>;

/// What a file holds.
enum class NumberType : std::uint8_t { f64, f32, f16, bf16, i64, i32, u8 };

constexpr bool isReal(NumberType type) { return type <= NumberType::bf16; }

/// Calls `use(i, x)` for each number of a type of the language.
template <class Stored, class Use> void forEachStored(std::span<const std::byte> bytes, Use&& use) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(Stored); ++i) {
    Stored x;
    std::memcpy(&x, bytes.data() + i * sizeof x, sizeof x);
    use(i, x);
  }
}

/// Calls `use(i, x)` for each number, x being of the smallest type of the language that holds all numbers of this type.
template <class Use> void forEachNumber(NumberType type, std::span<const std::byte> bytes, Use&& use) {
  const auto widened = [&](auto widen) {
    forEachStored<std::uint16_t>(bytes, [&](std::size_t i, std::uint16_t bits) { use(i, widen(bits)); });
  };
  switch (type) {
    case NumberType::f64: return forEachStored<double>(bytes, use);
    case NumberType::f32: return forEachStored<float>(bytes, use);
    case NumberType::f16: return widened(fromHalf);
    case NumberType::bf16: return widened(fromBfloat16);
    case NumberType::i64: return forEachStored<std::int64_t>(bytes, use);
    case NumberType::i32: return forEachStored<std::int32_t>(bytes, use);
    case NumberType::u8: return forEachStored<std::uint8_t>(bytes, use);
  }
}

/// T can hold x; a float holds any double that does not become infinite in it. A fraction never fits a whole number.
template <FileNumber T, class Stored> bool fits(Stored x) {
  if constexpr (std::floating_point<Stored>) {
    if constexpr (!std::floating_point<T>) return false;
    return sizeof(T) >= sizeof(Stored) || !std::isfinite(x) || std::isfinite(static_cast<T>(x));
  } else if constexpr (std::floating_point<T>) {
    // Above 2^24 (float) or 2^53 (double) some whole numbers are missing.
    constexpr std::int64_t largest = std::int64_t{1} << std::numeric_limits<T>::digits;
    return std::cmp_greater_equal(x, -largest) && std::cmp_less_equal(x, largest);
  } else {
    return std::in_range<T>(x);
  }
}

/// Which number is the first that T cannot hold; none if it can hold all.
template <FileNumber T>
std::optional<std::size_t> firstThatDoesNotFit(NumberType type, std::span<const std::byte> bytes) {
  std::optional<std::size_t> first;
  forEachNumber(type, bytes, [&](std::size_t i, auto x) {
    if (!fits<T>(x) && !first) first = i;
  });
  return first;
}

/// Calls `store(i, x)` for each number as a T; all of them must fit.
template <FileNumber T, class Store>
void convertNumbers(NumberType type, std::span<const std::byte> bytes, Store&& store) {
  forEachNumber(type, bytes, [&](std::size_t i, auto x) {
    if constexpr (std::floating_point<T> || !std::floating_point<decltype(x)>) store(i, static_cast<T>(x));
  });
}

/// True if these bytes are numbers of the type T already.
template <FileNumber T> constexpr bool isStoredAs(NumberType type) {
  if constexpr (std::same_as<T, double>) return type == NumberType::f64;
  if constexpr (std::same_as<T, float>) return type == NumberType::f32;
  if constexpr (std::same_as<T, std::int64_t>) return type == NumberType::i64;
  if constexpr (std::same_as<T, std::int32_t>) return type == NumberType::i32;
  return type == NumberType::u8;
}

/// The numbers one after the other; all of them must fit, and there must be as many as in `into`.
template <FileNumber T>
void convertNumbers(NumberType type, std::span<const std::byte> bytes, std::span<T> into) {
  if (isStoredAs<T>(type))
    std::copy_n(bytes.data(), bytes.size(), std::as_writable_bytes(into).data());
  else
    convertNumbers<T>(type, bytes, [&](std::size_t i, T x) { into[i] = x; });
}

}  // namespace burtorch::inline BURTORCH_TARGET
