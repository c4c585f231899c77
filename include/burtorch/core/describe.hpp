// asString: one node as text, for a debugger or a log (paper F.6).
#pragma once

#include <cstdio>
#include <string>

#include "value.hpp"

namespace burtorch {

namespace detail {
inline std::string numberAsString(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}
}  // namespace detail

/// "c = eBinaryAdd(#0, #1), data -39, grad -35, #2": name, operator, operands, value, gradient, index.
template <class T, Config C> std::string asString(const Value<T, C>& value) {
  const Tape<T, C>& tape = *currentTapeSlot<T, C>;
  const Index node = value.sysGetRawNodeIndex();
  const OpInfo& info = tape.opOf(node);
  const Instruction code = tape.instruction(tape.find(node).instruction);
  std::string text(value.name());
  if (!text.empty()) text += " = ";
  text += info.opcode;
  std::string operands;
  constexpr std::size_t shown = 8;
  std::size_t count = 0;
  forEachOperand(code, info, tape.words(), [&](Index operand) {
    if (++count > shown) return;
    operands += (operands.empty() ? "#" : ", #") + std::to_string(operand);
  });
  if (count > shown) operands += ", ... " + std::to_string(count) + " in all";
  if (!operands.empty()) text += "(" + operands + ")";
  text += ", data " + detail::numberAsString(static_cast<double>(value.dataCopy()));
  text += ", grad " + detail::numberAsString(static_cast<double>(value.gradCopy()));
  return text + ", #" + std::to_string(node);
}

}  // namespace burtorch
