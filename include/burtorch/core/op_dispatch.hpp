// The one place that knows which arguments the rules of an operator take. Whoever carries out operators (the sweep, replay,
// unrolled code) hands over operands and says where gradients go; what is called with them is decided here, by arity.
//
//   valueOf<Op>(operands[, results])   the result; a block and a layer write to `results`
//   vjpOf<Op, i>(g, operands)        what operand i of a scalar operator gets
//   vjpOf<Op>(g, operands, sink)       passes a gradient on to all operands
// Operands have what the operator needs of x() y() z() constant() result(), bias() list(i) index() results()
// resultGradients(), layer(); a sink has add<i>(g), bias(g), list(i).
//
// Below: the operands of an instruction on a tape, and how one instruction is carried out.
#pragma once

#include "../ops/vjp_reads.hpp"
#include "layer.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Whether a slope may be infinite where the results are finite, as that of sqrt at 0. An operator that says nothing is
/// taken to have such poles: that is always right, and costs time only where gradients are zero.
template <class Op>
inline constexpr bool hasPoles = [] {
  if constexpr (requires { Op::hasPoles; })
    return Op::hasPoles;
  else
    return true;
}();

/// The constant of an instruction.
template <class T> PlainOf<T> constantAt(const Word* words, Word at) {
  PlainOf<T> constant;
  std::memcpy(&constant, words + at, sizeof constant);
  return constant;
}

/// How many numbers a scalar operator takes; 0 for all others.
template <class Op>
inline constexpr int operandCount = Op::arity == Arity::unary || Op::arity == Arity::constant ? 1
                                    : Op::arity == Arity::binary                              ? 2
                                    : Op::arity == Arity::ternary                             ? 3
                                                                                              : 0;
template <class Op> inline constexpr bool isScalarOp = operandCount<Op> > 0;
template <class Op> inline constexpr bool isLeafOp = Op::arity == Arity::leaf;
template <class Op> inline constexpr bool hasConstant = Op::arity == Arity::constant;
/// Whether a gradient goes from a scalar operator to its operand.
template <class Op, int operand>
inline constexpr bool passesTo = operand < operandCount<Op>&& infoOf<Op>().passesTo(operand);

/// Scalar operators go through `apply`, but for those without slopes: a dual number has nothing to carry along there.
template <class Op, class... X> BURTORCH_INLINE constexpr auto applied(const X&... x) {
  if constexpr (isCondition<Op> || isChoice<Op>)
    return Op::value(x...);
  else
    return apply<Op>(x...);
}

template <class Op, class Operands, class Results = std::nullptr_t>
BURTORCH_INLINE constexpr auto valueOf(const Operands& in, [[maybe_unused]] Results results = nullptr) {
  if constexpr (Op::arity == Arity::unary) {
    return applied<Op>(in.x());
  } else if constexpr (Op::arity == Arity::constant) {
    return applyConstant<Op>(in.x(), in.constant());
  } else if constexpr (Op::arity == Arity::binary) {
    return applied<Op>(in.x(), in.y());
  } else if constexpr (Op::arity == Arity::ternary) {
    return applied<Op>(in.x(), in.y(), in.z());
  } else if constexpr (Op::arity == Arity::pair) {
    if constexpr (Op::hasBias)
      return Op::value(in.list(0), in.list(1)) + in.bias();
    else
      return Op::value(in.list(0), in.list(1));
  } else if constexpr (Op::arity == Arity::block) {
    Op::value(in.list(0), results);
  } else if constexpr (Op::arity == Arity::layer) {
    layerValue<Op>(in.layer(), results);
  } else if constexpr (Op::takesIndex) {
    return Op::value(in.list(0), in.index());
  } else {
    return Op::value(in.list(0));
  }
}

template <class Op, int operand, class G, class Operands>
BURTORCH_INLINE constexpr G vjpOf(G g, const Operands& in) {
  static_assert(passesTo<Op, operand>);
  if constexpr (Op::arity == Arity::unary)
    return Op::vjp(g, in.x(), in.result());
  else if constexpr (Op::arity == Arity::constant)
    return Op::vjp(g, in.x(), in.constant(), in.result());
  else if constexpr (Op::arity == Arity::binary && operand == 0)
    return Op::vjpX(g, in.x(), in.y(), in.result());
  else if constexpr (Op::arity == Arity::binary)
    return Op::vjpY(g, in.x(), in.y(), in.result());
  else if constexpr (operand == 0)
    return Op::vjpX(g, in.x(), in.y(), in.z(), in.result());
  else if constexpr (operand == 1)
    return Op::vjpY(g, in.x(), in.y(), in.z(), in.result());
  else
    return Op::vjpZ(g, in.x(), in.y(), in.z(), in.result());
}

template <class Op, class G, class Operands, class Sink>
BURTORCH_INLINE constexpr void vjpOf(const G& g, const Operands& in, Sink&& sink) {
  if constexpr (isScalarOp<Op>) {
    if constexpr (passesTo<Op, 0>) sink.template add<0>(vjpOf<Op, 0>(g, in));
    if constexpr (passesTo<Op, 1>) sink.template add<1>(vjpOf<Op, 1>(g, in));
    if constexpr (passesTo<Op, 2>) sink.template add<2>(vjpOf<Op, 2>(g, in));
  } else if constexpr (Op::arity == Arity::layer) {
    layerVjp<Op>(in.layer());
  } else if constexpr (Op::arity == Arity::pair) {
    if constexpr (Op::hasBias) sink.bias(g);
    Op::vjp(g, in.list(0), in.list(1), sink.list(0), sink.list(1));
  } else if constexpr (Op::arity == Arity::block) {
    Op::vjp(in.resultGradients(), in.list(0), in.results(), sink.list(0));
  } else if constexpr (Op::arity == Arity::varying) {
    if constexpr (Op::takesIndex)
      Op::vjp(g, in.list(0), in.result(), sink.list(0), in.index());
    else
      Op::vjp(g, in.list(0), in.result(), sink.list(0));
  }
}

/// Operands as plain data, for rules behind a pointer; only those that the operator takes are filled in.
template <class T> struct PlainOperands {
  T numbers[3], resultNumber, biasNumber;
  PlainOf<T> constantNumber;
  List<T> lists[2];
  std::size_t indexNumber;
  const T *resultList, *resultGradientList;

  constexpr const T& x() const { return numbers[0]; }
  constexpr const T& y() const { return numbers[1]; }
  constexpr const T& z() const { return numbers[2]; }
  constexpr const T& result() const { return resultNumber; }
  constexpr const T& bias() const { return biasNumber; }
  constexpr PlainOf<T> constant() const { return constantNumber; }
  constexpr const List<T>& list(std::size_t i) const { return lists[i]; }
  constexpr std::size_t index() const { return indexNumber; }
  constexpr const T* results() const { return resultList; }
  constexpr const T* resultGradients() const { return resultGradientList; }
};
/// Takes what goes to each operand.
template <class T> struct PlainGradients {
  T numbers[3], biasNumber;
  GradientList<T> lists[2];

  template <int i> constexpr void add(const T& g) { numbers[i] = g; }
  constexpr void bias(const T& g) { biasNumber = g; }
  constexpr const GradientList<T>& list(std::size_t i) const { return lists[i]; }
};

/// The operands of an instruction; `last` is the last scalar that it writes.
template <class Op, class T> struct TapeOperands {
  Frame<T> frame;
  Instruction code;
  NodeIndex last;

  BURTORCH_INLINE T x() const { return frame.values[code.a()]; }
  BURTORCH_INLINE T y() const { return frame.values[at<1>()]; }
  BURTORCH_INLINE T z() const { return frame.values[at<2>()]; }
  BURTORCH_INLINE T result() const { return frame.values[last]; }
  BURTORCH_INLINE PlainOf<T> constant() const { return constantAt<T>(frame.words, code.b()); }
  NodeIndex biasNode() const { return words()[0]; }
  const T& bias() const { return frame.values[biasNode()]; }
  List<T> list(std::size_t i) const { return {frame.values, shape(i)}; }
  std::size_t index() const { return words()[shape(0).wordCount()]; }
  NodeIndex first() const { return last + 1 - (infoOf<Op>().writesMany() ? code.b() : 1); }
  const T* results() const { return frame.values + first(); }
  const T* resultGradients() const { return frame.gradients + first(); }
  Layer<T> layer() const { return {frame, words(), first()}; }

  /// Where operand i of a scalar operator lies.
  template <int i> BURTORCH_INLINE NodeIndex at() const {
    if constexpr (i == 0)
      return code.a();
    else if constexpr (operandCount<Op> == 2)
      return code.b();
    else
      return frame.words[code.b() + (i - 1)];
  }
  ListShape shape(std::size_t i) const {
    const Word* at = words() + (infoOf<Op>().hasBias ? 1 : 0);
    const auto first = ListShape::decode(at, code.b());
    return i == 0 ? first : ListShape::decode(at + first.wordCount(), code.b());
  }

 private:
  const Word* words() const { return frame.words + code.a(); }
};

/// Adds gradients where the operands of an instruction have theirs.
template <class Op, class T> struct TapeSink {
  TapeOperands<Op, T> in;
  [[no_unique_address]] ReachedLanes<T> reached = {};

  template <int i> BURTORCH_INLINE void add(const T& g) const { addAt(in.template at<i>(), g); }
  void bias(const T& g) const { addAt(in.biasNode(), g); }
  GradientList<T> list(std::size_t i) const {
    const ListShape shape = in.shape(i);
    return {shape.form == ListForm::numbers ? nullptr : in.frame.gradients, shape, reached};  // data has none
  }

 private:
  BURTORCH_INLINE void addAt(NodeIndex node, const T& g) const { reached.add(in.frame.gradients[node], g); }
};

/// What a scalar operator passes on, all computed before any of it is added: x and y may be the same node.
template <class Op, class T> struct Vjps {
  T x, y, z;

  BURTORCH_INLINE Vjps(T g, const TapeOperands<Op, T>& in) {
    if constexpr (passesTo<Op, 0>) x = vjpOf<Op, 0>(g, in);
    if constexpr (passesTo<Op, 1>) y = vjpOf<Op, 1>(g, in);
    if constexpr (passesTo<Op, 2>) z = vjpOf<Op, 2>(g, in);
  }

  /// Whether the slope depends on numbers at all; that of x + y does not, and never makes a NaN out of a zero.
  static constexpr bool readValues = hasConstant<Op> || !vjpReads<Op, T>().readsNothing();
  /// Whether a NaN came out of a gradient of 0, in any lane.
  BURTORCH_INLINE bool hasNanFromZero(const T& g) const {
    using Traits = ScalarTraits<T>;
    if constexpr (!readValues)
      return false;
    else if constexpr (operandCount<Op> == 1)
      return any(Traits::isNan(x) && Traits::isZero(g));
    else if constexpr (operandCount<Op> == 2)
      return any(Traits::isNan(x, y) && Traits::isZero(g));
    else
      return any((Traits::isNan(passesTo<Op, 0> ? x : y) || Traits::isNan(y, z)) && Traits::isZero(g));
  }
};

/// What is known of a node whose gradient is passed on: perhaps the root does not depend on it, or it does, or it does in the
/// lanes where its gradient is not -0. Numbers of one lane that are asked about lanes are reached.
enum class Reached : std::uint8_t { maybe, all, lanes };

/// Passes the gradient of one instruction on to its operands. Returns false, and passes nothing on, if 0 * inf would
/// produce a NaN and the node is not known to be reached.
template <class Op, class T>
[[gnu::noinline]] bool pull(Frame<T> frame, Instruction code, NodeIndex last, Reached reached) {
  using Traits = ScalarTraits<T>;
  const TapeOperands<Op, T> in{frame, code, last};
  TapeSink<Op, T> sink{in};
  const T g = frame.gradients[last];
  if constexpr (hasLanes<T>)
    if (reached == Reached::lanes) sink.reached = {reachedLanes(frame.gradients, in.first(), last)};
  if constexpr (isScalarOp<Op>) {
    const Vjps<Op, T> vjps(g, in);
    if (reached == Reached::maybe && vjps.hasNanFromZero(g)) return false;
    if constexpr (passesTo<Op, 0>) sink.template add<0>(vjps.x);
    if constexpr (passesTo<Op, 1>) sink.template add<1>(vjps.y);
    if constexpr (passesTo<Op, 2>) sink.template add<2>(vjps.z);
  } else if constexpr (!isLeafOp<Op>) {
    if (reached == Reached::maybe) {
      // Without poles finite results have finite slopes; zeros arriving here are then only zeros further down.
      auto isZero = Traits::isZero(g), isFinite = isZero;
      for (NodeIndex node = in.first(); node <= last && any(isZero); ++node)
        isZero = isZero && Traits::isZero(frame.gradients[node]);
      for (NodeIndex node = in.first(); node <= last && any(isZero); ++node)
        isFinite = isFinite && Traits::isFinite(frame.values[node]);
      if (any(isZero && (hasPoles<Op> ? isZero : !isFinite))) return false;
      if (all(isZero)) return true;
    }
    vjpOf<Op>(g, in, sink);
  }
  return true;
}

/// Computes the results of one instruction again. `values` are those of the frame.
template <class Op, class T>
BURTORCH_INLINE void compute(Frame<T> frame, T* values, Instruction code, NodeIndex last) {
  const TapeOperands<Op, T> in{frame, code, last};
  if constexpr (isLeafOp<Op>)
    return;
  else if constexpr (infoOf<Op>().writesMany())
    valueOf<Op>(in, values + in.first());
  else
    values[last] = valueOf<Op>(in);
}

/// An operator of the user's own, for numbers of type T: how tapes carry out an instruction, and its rules, for code that
/// keeps its numbers elsewhere (compile-time graphs). A compiler calls through a constant pointer directly.
template <class T> struct UserOp {
  OpInfo info;
  bool (*pull)(Frame<T>, Instruction, NodeIndex last, Reached);
  void (*compute)(Frame<T>, T* values, Instruction, NodeIndex last);
  T (*value)(const PlainOperands<T>&, T* results) = nullptr;  // layers are for tapes only
  void (*vjp)(const T& g, const PlainOperands<T>&, PlainGradients<T>&) = nullptr;
};

template <class Op, class T> constexpr UserOp<T> makeUserOp() {
  UserOp<T> op{infoOf<Op>(), &pull<Op, T>, [](Frame<T> frame, T* values, Instruction code, NodeIndex last) {
                 compute<Op, T>(frame, values, code, last);
               }};
  if constexpr (Op::arity != Arity::layer) {
    op.value = [](const PlainOperands<T>& in, [[maybe_unused]] T* results) -> T {
      if constexpr (infoOf<Op>().writesMany()) {
        valueOf<Op>(in, results);
        return T{0};
      } else {
        return valueOf<Op>(in);
      }
    };
    op.vjp = [](const T& g, const PlainOperands<T>& in, PlainGradients<T>& out) { vjpOf<Op>(g, in, out); };
  }
  return op;
}
template <class Op, class T> inline constexpr UserOp<T> userOpOf = makeUserOp<Op, T>();

template <class Op, class T, Config C> BURTORCH_INLINE Opcode opcodeOn([[maybe_unused]] Tape<T, C>& tape) {
  if constexpr (OpList::contains<Op>) {
    static_assert(C.ops.has(OpList::indexOf<Op>()),
                  "this operator is not among Config::ops; add it to the tape's configuration");
    return OpList::indexOf<Op>();
  } else {
    return tape.userOpcode(&userOpOf<Op, T>);
  }
}

}  // namespace burtorch::inline BURTORCH_TARGET
