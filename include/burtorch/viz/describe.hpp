// asString: one node as text, for a debugger or a log (paper F.6).
#pragma once

#include <cstdio>
#include <string>
#include <type_traits>

#include "../core/value.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {
inline std::string numberAsString(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}
/// A dual number shows both its parts.
template <class T> std::string scalarAsString(const T& x) {
  if constexpr (std::is_floating_point_v<T>)
    return numberAsString(static_cast<double>(x));
  else
    return scalarAsString(x.value) + "+" + scalarAsString(x.tangent) + "e";
}
}  // namespace detail

/// "c = eBinaryAdd(#0, #1), data -39, grad -35, #2": name, operator, operands, value, gradient, index.
template <class T, Config C> std::string asString(const Value<T, C>& value) {
  if (value.isZero()) return "default-constructed, data 0, no node";
  const Tape<T, C>& tape = *currentTapeSlot<T, C>;
  const NodeIndex node = value.index();
  const OpInfo& info = tape.opOf(node);
  const Instruction code = tape.instruction(tape.find(node).instruction);
  std::string text(value.name());
  if (!text.empty()) text += " = ";
  text += info.opcode;
  std::string operands;
  constexpr std::size_t shown = 8;
  std::size_t count = 0;
  forEachOperandRange(code, info, tape.words(), [&](NodeIndex first, NodeIndex length, std::int32_t stride) {
    for (std::int64_t i = 0; i < length && count + static_cast<std::size_t>(i) < shown; ++i)
      operands += (operands.empty() ? "#" : ", #") + std::to_string(first + i * stride);
    count += length;
  });
  if (count > shown) operands += ", ... " + std::to_string(count) + " in all";
  if (!operands.empty()) text += "(" + operands + ")";
  text += ", data " + detail::scalarAsString(value.value());
  text += ", grad " + detail::scalarAsString(value.grad());
  return text + ", #" + std::to_string(node);
}

}  // namespace burtorch::inline BURTORCH_TARGET
