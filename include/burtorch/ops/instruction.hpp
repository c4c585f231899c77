// An instruction of the tape: one 64-bit word, opcode and two 28-bit operands. What an operand means depends on the
// operator's arity:
//   leaf      b: how many                       unary   a: node
//   binary    a, b: nodes                       constant  a: node, b: where its constant lies among the words
//   ternary   a: node, b: where the other two lie among the words
//   varying, pair, block   a: where its lists lie among the words, b: how many elements each has
//   layer     a: where its description lies among the words (layer.hpp), b: how many results it has
// Where the results go is not stored. Results are appended in the order of the instructions, one scalar each (leaf,
// block and layer: b scalars), so whoever walks the tape knows. A node costs 8 bytes besides its value and gradient.
#pragma once

#include <cstdint>
#include <string_view>

#include "list.hpp"
#include "scalar.hpp"

namespace burtorch::inline BURTORCH_TARGET {

using Opcode = std::uint8_t;

class Instruction {
 public:
  // Not uint64_t: on common platforms that is the type of the tape's counters, and a compiler that must assume that
  // storing an instruction changes a counter reloads the counter after every node.
  using Word = unsigned long long;

  constexpr Instruction() = default;
  constexpr Instruction(Opcode op, NodeIndex a, NodeIndex b)
      : word_(op | (Word{a} << 8) | (Word{b} << (8 + indexBits))) {}

  constexpr Opcode op() const { return static_cast<Opcode>(word_); }
  constexpr NodeIndex a() const {
    return static_cast<NodeIndex>(word_ >> 8) & static_cast<NodeIndex>(maxIndex);
  }
  constexpr NodeIndex b() const { return static_cast<NodeIndex>(word_ >> (8 + indexBits)); }

 private:
  Word word_;
};
static_assert(sizeof(Instruction) == 8);

/// Numbers side by side that a layer reads: nodes, or parameters that the tape is bound to.
struct Block {
  NodeIndex first = 0, count = 0;
  bool isParameter = false;   // `first` counts from the first parameter
  bool needsGradient = true;  // data need none, and layers then leave it out
};

/// Where an operand of a layer lies, as one word of the tape.
class OperandWord {
 public:
  explicit constexpr OperandWord(Word word) : word_(word) {}
  explicit constexpr OperandWord(const Block& block)
      : word_(block.first | (block.isParameter ? parameterBit : 0) | (block.needsGradient ? 0 : dataBit)) {}

  constexpr Word word() const { return word_; }
  constexpr NodeIndex first() const { return word_ & static_cast<NodeIndex>(maxParameters); }
  constexpr bool isParameter() const { return (word_ & parameterBit) != 0; }
  constexpr bool needsGradient() const { return (word_ & dataBit) == 0; }

  /// Offsets of parameters have 30 bits, more than the indices of nodes.
  static constexpr std::size_t maxParameters = (std::size_t{1} << 30) - 1;

 private:
  static constexpr Word parameterBit = Word{1} << 31, dataBit = Word{1} << 30;
  Word word_;
};

/// Conditions are numbers, 1 or 0, through which no gradient flows. A choice takes one and passes a gradient only to the
/// operand that it chooses. Operators say so themselves.
template <class Op> inline constexpr bool isCondition = requires { requires Op::isCondition; };
template <class Op> inline constexpr bool isChoice = requires { requires Op::isChoice; };

/// What a walk over instructions needs to know of an operator.
struct OpShape {
  Arity arity;
  bool hasBias = false, isCondition = false, isChoice = false;

  constexpr bool isLeaf() const { return arity == Arity::leaf; }
  constexpr bool hasConstant() const { return arity == Arity::constant; }
  constexpr bool isBlock() const { return arity == Arity::block; }
  constexpr bool isLayer() const { return arity == Arity::layer; }
  constexpr bool isScalar() const {
    return arity == Arity::unary || arity == Arity::constant || arity == Arity::binary ||
           arity == Arity::ternary;
  }
  constexpr bool writesMany() const { return isLeaf() || isBlock() || isLayer(); }
  constexpr std::size_t listCount() const {
    return arity == Arity::pair ? 2 : arity == Arity::varying || isBlock() ? 1 : 0;
  }
  /// Whether a gradient goes to a number that stands alone among the operands.
  constexpr bool passesTo(std::size_t operand) const { return !isCondition && !(isChoice && operand == 0); }
};

/// What is known of an operator at run time.
struct OpInfo : OpShape {
  std::string_view name, opcode, formula;
};

/// An operator of the user's own may leave out opcode and formula.
template <class Op> constexpr OpInfo infoOf() {
  OpInfo info{{.arity = Op::arity}, Op::name, Op::name, Op::name};
  if constexpr (requires { Op::opcode; }) info.opcode = Op::opcode;
  if constexpr (requires { Op::formula; }) info.formula = Op::formula;
  if constexpr (requires { Op::hasBias; }) info.hasBias = Op::hasBias;
  info.isCondition = isCondition<Op>;
  info.isChoice = isChoice<Op>;
  return info;
}

/// Calls `visit(first, count, stride)` for the operands of an instruction, in order: a block or a range is one call,
/// whatever its length, and a node that is used twice comes twice. Parameters that lie outside the tape are left out.
template <class Visit>
void forEachOperandRange(Instruction instruction, const OpShape& info, const Word* words, Visit visit) {
  const auto one = [&](NodeIndex node) { visit(node, NodeIndex{1}, std::int32_t{1}); };
  const auto visitList = [&](const ListShape& list) {
    const auto count = static_cast<NodeIndex>(list.count);
    switch (list.form) {
      case ListForm::contiguous:
      case ListForm::strided: return visit(list.first, count, list.stride);
      case ListForm::numbers: return;  // data, not nodes
      case ListForm::scattered:
        for (Word i = 0; i < count; ++i) one(list.words[i]);
        return;
      case ListForm::ranges:
        for (Word i = 0; i < list.first; ++i)
          if (list.words[2 * i + 1] > 0) visit(list.words[2 * i], list.words[2 * i + 1], std::int32_t{1});
    }
  };
  const Word* at = words + instruction.a();
  switch (info.arity) {
    case Arity::leaf: return;
    case Arity::unary:
    case Arity::constant: return one(instruction.a());
    case Arity::binary: one(instruction.a()); return one(instruction.b());
    case Arity::ternary:
      one(instruction.a());
      one(words[instruction.b()]);
      return one(words[instruction.b() + 1]);
    case Arity::varying:
    case Arity::block: return visitList(ListShape::decode(at, instruction.b()));
    case Arity::pair: {
      const Word* lists = at + (info.hasBias ? 1 : 0);
      const ListShape xs = ListShape::decode(lists, instruction.b());
      visitList(xs);
      visitList(ListShape::decode(lists + xs.wordCount(), instruction.b()));
      if (info.hasBias) one(*at);
      return;
    }
    case Arity::layer:
      for (const Word* block = at + 1; block < at + 1 + 2 * at[0]; block += 2)
        if (const OperandWord operand(block[0]); !operand.isParameter() && block[1] > 0)
          visit(operand.first(), block[1], std::int32_t{1});
  }
}

/// As above, for those operands that a gradient goes to: none of a condition's, and of a choice's the one that it chooses (in some lane of a pack).
template <class T, class Visit>
void forEachReachedRange(Instruction instruction, const OpShape& info, const Word* words, const T* values,
                         Visit visit) {
  if (info.isCondition) return;
  if (!info.isChoice) return forEachOperandRange(instruction, info, words, visit);
  const auto choosesZ = ScalarTraits<T>::isZero(values[instruction.a()]);
  if (!all(choosesZ)) visit(words[instruction.b()], NodeIndex{1}, std::int32_t{1});
  if (any(choosesZ)) visit(words[instruction.b() + 1], NodeIndex{1}, std::int32_t{1});
}
/// Of the lanes that reach an instruction, those that reach an operand.
template <class T, class Lanes = typename ScalarTraits<T>::Lanes>
Lanes lanesTo(NodeIndex operand, Instruction instruction, const OpShape& info, const Word* words,
              const T* values, std::type_identity_t<Lanes> lanes) {
  if (!info.isChoice) return lanes;
  const Word* yz = words + instruction.b();
  const Lanes choosesZ = ScalarTraits<T>::isZero(values[instruction.a()]);
  return lanes && ((operand == yz[0] ? !choosesZ : Lanes{}) || (operand == yz[1] ? choosesZ : Lanes{}));
}

}  // namespace burtorch::inline BURTORCH_TARGET
