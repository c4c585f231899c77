// Compressors by name, for command lines: "topk:0.05", "randk:100", "natural", "levels:4", "permk:10".
//
// Behind the colon stands a compressor's one option. A K without a point is a count; with one, or with a percent sign, it is
// a share of all coordinates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "compressor.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

/// Digits with at most one point. Not of the C library, whose point depends on the locale.
struct PlainDecimal {
  double value = 0;
  bool isNumber = false, hasPoint = false;

  explicit PlainDecimal(std::string_view text) {
    double digits = 0, scale = 1;
    std::size_t count = 0;
    for (const char c : text) {
      if (c == '.' && !hasPoint) {
        hasPoint = true;
        continue;
      }
      if (c < '0' || c > '9' || ++count > 15) return;  // fifteen digits are exact
      digits = 10 * digits + (c - '0');
      if (hasPoint) scale *= 10;
    }
    isNumber = count > 0;
    value = digits / scale;
  }
};

[[noreturn]] inline void failOption(std::string_view name, const char* expected, std::string_view found) {
  fail("compressor %.*s: expected %s, got \"%.60s\"", static_cast<int>(name.size()), name.data(), expected,
       std::string(found).c_str());
}
inline Share shareFromText(std::string_view name, std::string_view text) {
  const bool isPercent = text.ends_with('%');
  const PlainDecimal number(isPercent ? text.substr(0, text.size() - 1) : text);
  const bool isFraction = isPercent || number.hasPoint;
  const double value = isPercent ? number.value / 100 : number.value;
  if (!number.isNumber || !(value > 0) || (isFraction && value > 1))
    failOption(name, "K as a count (:100), a fraction (:0.05) or percent (:5%)", text);
  return isFraction ? Share{.fraction = value} : Share{.count = static_cast<std::uint64_t>(value)};
}
inline std::uint64_t countFromText(std::string_view name, std::string_view text, double most) {
  const PlainDecimal number(text);
  if (!number.isNumber || number.hasPoint || number.value < 1 || number.value > most)
    failOption(name, most < 1e5 ? "from 1 to 65535 levels (:4)" : "a number of workers (:10)", text);
  return static_cast<std::uint64_t>(number.value);
}
template <class C> C compressorWithOption(std::string_view text) {
  C compressor;
  if constexpr (requires { compressor.share; })
    compressor.share = shareFromText(C::name, text);
  else if constexpr (requires { compressor.workers; })
    compressor.workers = countFromText(C::name, text, UINT32_MAX);
  else if constexpr (requires { compressor.levels; })
    compressor.levels = countFromText(C::name, text, 65535);
  else
    failOption(C::name, "no option", text);
  return compressor;
}

}  // namespace detail

/// The compressor that a text names; an unknown name is an error that lists those there are.
inline AnyCompressor compressorFromText(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool hasOption = colon != std::string_view::npos;
  AnyCompressor any;
  bool isKnown = false;
  std::string names;
  const auto take = [&]<class C>(C compressor) {
    names += (names.empty() ? "" : ", ") + std::string(C::name);
    if (C::name != text.substr(0, colon)) return;
    isKnown = true;
    if (hasOption)
      any = detail::compressorWithOption<C>(text.substr(colon + 1));
    else if constexpr (requires { compressor.share; })
      detail::failOption(C::name, "K, for example topk:0.05 or randk:100", text);
    else if constexpr (requires { compressor.workers; })
      detail::failOption(C::name, "the number of workers, for example permk:10", text);
    else
      any = compressor;
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (take(std::variant_alternative_t<i, AnyCompressor>{}), ...);
  }
  (std::make_index_sequence<std::variant_size_v<AnyCompressor>>{});
  if (!isKnown)
    fail("there is no compressor called \"%.60s\": choose from %s", std::string(text).c_str(), names.c_str());
  return any;
}

}  // namespace burtorch::inline BURTORCH_TARGET
