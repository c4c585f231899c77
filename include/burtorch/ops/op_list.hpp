// The list of operators. Everything that must know all of them (opcodes, the reverse sweep, the gradient tests, the
// table in the docs) is generated from it. An operator's opcode is its place in the list.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "instruction.hpp"
#include "ops_varying.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {
struct Leaf : LeafOp {
  static constexpr std::string_view name = "leaf", opcode = "eLeaf", formula = "x";
};
}  // namespace ops

template <class... Ops> struct TypeList {
  static constexpr std::size_t size = sizeof...(Ops);

  template <class Op> static constexpr bool contains = (std::is_same_v<Op, Ops> || ...);

  template <class Op> static consteval Opcode indexOf() {
    std::size_t index = 0;
    (void)((std::is_same_v<Op, Ops> || (++index, false)) || ...);
    return static_cast<Opcode>(index);
  }

  /// Calls `visit.operator()<Op>()` for every operator, in order.
  template <class Visit> static constexpr void forEach(Visit&& visit) {
    (visit.template operator()<Ops>(), ...);
  }

  /// Calls `visit.operator()<Op>()` for the operator with this opcode; false if there is none among the chosen ones. The
  /// chain of comparisons with constants is a jump table after optimisation (checked on g++ 12 and clang 14).
  template <OpSet chosen = OpSet{}, class Visit>
  BURTORCH_INLINE static constexpr bool visitAt(Opcode op, const Visit& visit) {
    return visitAt<chosen>(op, visit, std::make_index_sequence<size>{});
  }

  static constexpr std::array<OpInfo, size> infos{infoOf<Ops>()...};
  /// What walks over a tape need of them, without their names.
  static constexpr std::array<OpShape, size> shapes{infoOf<Ops>()...};

 private:
  template <OpSet chosen, class Visit, std::size_t... I>
  BURTORCH_INLINE static constexpr bool visitAt(Opcode op, const Visit& visit, std::index_sequence<I...>) {
    return (visitIf<chosen.has(I), I, Ops>(op, visit) || ...);
  }
  template <bool isChosen, std::size_t place, class Op, class Visit>
  BURTORCH_INLINE static constexpr bool visitIf(Opcode op, const Visit& visit) {
    if constexpr (isChosen)
      return op == place && (visit.template operator()<Op>(), true);
    else
      return false;
  }
};

using OpList = TypeList<ops::Leaf,
                        // one number
                        ops::Relu, ops::Tanh, ops::Exp, ops::NegLog, ops::Sigmoid, ops::Inv, ops::Sqr,
                        ops::Cub, ops::Log, ops::Sqrt, ops::InvSqrt, ops::Neg, ops::Sin, ops::Cos, ops::Abs,
                        ops::Softplus, ops::Erf, ops::Gelu, ops::GeluTanh, ops::Log1p, ops::Expm1, ops::Atan,
                        // two numbers
                        ops::Add, ops::Sub, ops::Mul, ops::Div, ops::Mean, ops::AddSquares, ops::MeanSquares,
                        ops::NegativeMean, ops::Max, ops::Min,
                        // a number and a constant
                        ops::MulByConst, ops::AddConst, ops::SubFromConst, ops::DivByConst, ops::ConstDiv,
                        ops::MaxConst, ops::MinConst, ops::LeakyRelu, ops::Pow,
                        // lists
                        ops::AddVarying, ops::SubVarying, ops::MulVarying, ops::MeanVarying,
                        ops::SumOfSquaresVarying, ops::MeanSquaresVarying, ops::NegativeMeanVarying,
                        ops::InnerProductNoBias, ops::InnerProductWithBias, ops::VarianceBiased,
                        ops::Variance, ops::LogSumExp, ops::CrossEntropy, ops::Softmax>;

/// Opcodes from here on belong to the user's own operators, in the order in which a tape first meets them.
inline constexpr std::size_t firstUserOpcode = OpList::size;
inline constexpr std::size_t maxUserOps = 64;
static_assert(firstUserOpcode + maxUserOps <= 256);

/// For Config::ops: these operators and leaves, and no others.
template <class... Ops>
inline constexpr OpSet onlyOps = [] {
  static_assert((OpList::contains<Ops> && ...),
                "onlyOps takes operators of the library; your own need no choice");
  OpSet set{};
  std::size_t place = 0;
  OpList::forEach([&]<class Op>() {
    if (!(std::is_same_v<Op, Ops> || ... || std::is_same_v<Op, ops::Leaf>))
      set.leftOut[place / 64] |= std::uint64_t{1} << (place % 64);
    ++place;
  });
  return set;
}();
static_assert(OpList::size <= 64 * std::size(OpSet{}.leftOut));

}  // namespace burtorch::inline BURTORCH_TARGET
