// Value: a number that remembers how it was made. Every operator on it appends one node to the current tape.
//
// A handle is an index. The result of an operator also carries its number, so that the next operator finds it in a
// register: through memory it would come back some nine cycles later, at every node. The number of a computed node is
// therefore fixed when it is recorded; a leaf's may be changed at any time, and is always read from the tape.
// Range: neighbouring nodes as one thing (parameters, a layer's outputs), whose elements are Values.
#pragma once

#include <cstring>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>

#include "../ops/comparison.hpp"
#include "op_dispatch.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Where the number of a Value is.
enum class Origin : std::uint8_t {
  zero = 0,    // in the handle: a default-constructed Value is 0 and has no node
  result = 1,  // in the handle: of an operator's result
  leaf = 2,    // on the tape
  node = 3,    // on the tape; a leaf or an element of a computed block
};

template <class T, Config C> class Value {
 public:
  using Scalar = T;

  /// The number 0, as T() is for every number type. It has no node: an operator on it records a leaf first.
  Value() = default;
  /// A leaf on the current tape.
  Value(T number)
      : handle_(Tape<T, C>::withRoom().appendLeaf(number)), origin_(Origin::leaf), number_(number) {}
  Value(T number, std::string_view name) : origin_(Origin::leaf), number_(number) {
    // TapeCapacity for both first: a leaf without its name must not stay behind.
    handle_ = Tape<T, C>::withRoom(TapeCapacity{1, 1, Tape<T, C>::wordsOfName(name)}).appendLeaf(number);
    setName(name);
  }
  explicit Value(Handle<C> handle, Origin origin = Origin::node) : handle_(handle), origin_(origin) {}
  /// The result of an operator.
  Value(Handle<C> handle, T number) : handle_(handle), origin_(Origin::result), number_(number) {}

  T value() const { return isZero() ? T{0} : tape().values()[index()]; }
  T grad() const { return isZero() ? T{0} : tape().gradients()[index()]; }
  /// The node's index into the tape's values and gradients.
  NodeIndex index() const {
    if (isZero()) fail("a default-constructed Value is the number 0 and has no node; assign it first");
    return tape().indexOf(handle_);
  }
  // The paper's names for the same.
  T dataCopy() const { return value(); }
  T gradCopy() const { return grad(); }
  NodeIndex sysGetRawNodeIndex() const { return index(); }

  /// Changes the number of a leaf. Nodes that were computed from it keep theirs.
  void setData(T number) {
    if (isZero()) return void(*this = Value(number));
    const NodeIndex node = index();
    if (origin_ == Origin::result || (origin_ == Origin::node && !tape().isLeaf(node)))
      fail("setData: node %u was computed, only leaves can change", node);
    tape().values()[node] = number;
    number_ = number;
  }
  void setGrad(T gradient) {
    if (isZero()) *this = Value(T{0});
    tape().gradients()[index()] = gradient;
    tape().touchGradient(index());
  }

  void setName([[maybe_unused]] std::string_view name) {
    if constexpr (C.names) {
      if (isZero())
        *this = Value(T{0}, name);
      else
        tape().setName(index(), name);
    }
  }
  std::string_view name() const { return isZero() ? std::string_view{} : tape().nameOf(index()); }

  const Handle<C>& handle() const { return handle_; }
  /// Default-constructed: the number 0, without a node.
  BURTORCH_INLINE bool isZero() const { return origin_ == Origin::zero; }

  // For the engine.

  /// How much room the node of this operand still takes.
  TapeCapacity missing() const { return isZero() ? TapeCapacity{1, 1, 0} : TapeCapacity{}; }
  BURTORCH_INLINE T numberOn(const Tape<T, C>& tape) const {
    if constexpr (C.checks)
      if (!isZero()) check(tape.valueAt(tape.indexOf(handle_)));
    return isOnTape() ? tape.valueAt(handle_.index) : number_;
  }

 private:
  BURTORCH_INLINE bool isOnTape() const { return origin_ >= Origin::leaf; }
  static Tape<T, C>& tape() { return *currentTapeSlot<T, C>; }
  void check(T now) const {
    if (origin_ == Origin::result && !all(ScalarTraits<T>::isSame(now, number_)))
      fail(
          "node %u got another number by a load or through values(): its old handle cannot be used in a new "
          "operator",
          handle_.index);
  }

  Handle<C> handle_;
  Origin origin_ = Origin::zero;
  T number_{};  // of a leaf: what it was given last through this handle, for debuggers to show
};

template <PlainFloat T> Value(T) -> Value<T>;
template <PlainFloat T> Value(T, std::string_view) -> Value<T>;
template <std::integral N> Value(N) -> Value<double>;

/// `count` nodes from `first` on, `stride` apart.
template <class T, Config C> class Range {
 public:
  using Element = Value<T, C>;

  Range() = default;
  Range(Handle<C> first, std::size_t count, std::int32_t stride = 1, Origin origin = Origin::node)
      : first_(first), count_(static_cast<NodeIndex>(count)), stride_(stride), origin_(origin) {}

  std::size_t size() const { return count_; }
  std::int32_t stride() const { return stride_; }
  NodeIndex first() const { return currentTape<T, C>().indexOf(first_); }

  Element operator[](std::size_t i) const {
    if constexpr (C.checks)
      if (i >= count_)
        fail(ErrorCode::outOfRange, "index %zu is out of range for a Range of %u elements", i, count_);
    return Element(currentTape<T, C>().handleOf(at(i)), origin_);
  }
  Range subrange(std::size_t from, std::size_t count) const { return every(from, count, 1); }
  /// Elements from, from + step, ...: a column of a matrix, or the reverse with a negative step.
  Range every(std::size_t from, std::size_t count, std::int32_t step) const {
    if (count == 0) return {};
    if (from >= count_ || count > maxIndex)
      fail(ErrorCode::outOfRange, "%zu elements from %zu on are out of range for a Range of %u elements",
           count, from, count_);
    const auto end = static_cast<std::int64_t>(from) + static_cast<std::int64_t>(count - 1) * step;
    if (end < 0 || end >= static_cast<std::int64_t>(count_))
      fail(ErrorCode::outOfRange, "elements %zu to %lld are out of range for a Range of %u elements", from,
           static_cast<long long>(end), count_);
    // The step of a single element is never taken, and its product might overflow.
    return {currentTape<T, C>().handleOf(at(from)), count, count == 1 ? 1 : step * stride_, origin_};
  }

  /// The numbers and their gradients, where they lie side by side (stride 1).
  std::span<T> values() const { return slice(currentTape<T, C>().values()); }
  std::span<T> gradients() const { return slice(currentTape<T, C>().gradients()); }

 private:
  NodeIndex at(std::size_t i) const {
    return static_cast<NodeIndex>(static_cast<std::int64_t>(first()) +
                                  static_cast<std::int64_t>(i) * stride_);
  }
  std::span<T> slice(std::span<T> all) const {
    if (count_ == 0) return {};
    if (stride_ != 1) fail("a range with stride %d has no contiguous span", static_cast<int>(stride_));
    if (first() + std::size_t{count_} > all.size())
      fail("a Range of %u elements from node %u on reaches beyond the tape of %zu: it was rewound since",
           count_, first(), all.size());
    return all.subspan(first(), count_);
  }

  Handle<C> first_;
  NodeIndex count_ = 0;
  std::int32_t stride_ = 1;
  Origin origin_ = Origin::node;
};

template <class T, Config C> Range<T, C> Tape<T, C>::leaves(std::span<const T> values) {
  const std::size_t first = size(),
                    offset = offsetWithin(arrays_.values.data(), first * sizeof(T), values.data());
  const Range<T, C> block = leaves(values.size());
  const T* from = offset == notWithin ? values.data() : arrays_.values.data() + offset / sizeof(T);
  for (std::size_t i = 0; i < values.size(); ++i) arrays_.values.data()[first + i] = from[i];
  return block;
}
template <class T, Config C> Range<T, C> Tape<T, C>::leaves(std::size_t count, T value) {
  if (count == 0) return {};
  ensure({count, 1, 0});
  const std::size_t first = size();
  T* at = appendBlock(OpList::indexOf<ops::Leaf>(), 0, count);
  for (std::size_t i = 0; i < count; ++i) at[i] = value;
  return {handleOf(static_cast<NodeIndex>(first)), count, 1, Origin::leaf};
}

template <class T, Config C> void Tape<T, C>::bind(const Range<T, C>& nodes) {
  if (nodes.stride() != 1)
    fail("bind: parameters lie side by side, got a range with stride %d", static_cast<int>(nodes.stride()));
  bind(Binding<T>{.size = nodes.size()});
  areParametersNodes_ = true;
  firstParameter_ = nodes.size() > 0 ? indexOf(nodes[0].handle()) : 0;
}

/// How operators act on a Value: they compute the number and append the node.
template <class T, Config C> struct Mode<Value<T, C>> {
  using Scalar = T;
  static constexpr bool recordsChoices = true;  // comparison.hpp
  using V = Value<T, C>;

  template <class Op> BURTORCH_INLINE static V unary(const V& x) {
    if (x.isZero()) [[unlikely]]
      return withLeaves<Op>(operandOf(x));
    return record<Op>(x);
  }
  template <class Op> BURTORCH_INLINE static V binary(const V& x, const V& y) {
    if (x.isZero() || y.isZero()) [[unlikely]]
      return withLeaves<Op>(operandOf(x), operandOf(y));
    return record<Op>(x, y);
  }
  template <class Op> BURTORCH_INLINE static V ternary(const V& x, const V& y, const V& z) {
    if (x.isZero() || y.isZero() || z.isZero()) [[unlikely]]
      return withLeaves<Op>(operandOf(x), operandOf(y), operandOf(z));
    return record<Op>(x, y, z);
  }
  template <class Op> BURTORCH_INLINE static V withConstant(const V& x, PlainOf<T> constant) {
    if (x.isZero()) [[unlikely]]
      return withLeafAndConstant<Op>(constant);
    return recordConstant<Op>(x, constant);
  }

  /// Records leaves of 0 for those operands that are default-constructed. What may fail with the operator itself, which
  /// takes `words`, fails here, before anything changes.
  template <class Op, class... Vs> static void recordZeros(std::size_t words, Vs&... operands) {
    Tape<T, C>& tape = Tape<T, C>::withRoom((TapeCapacity{1, 1, words} + ... + operands.missing()));
    opcodeOn<Op>(tape);
    (static_cast<void>(operands.numberOn(tape)), ...);
    (static_cast<void>(operands.isZero() ? operands = V(T{0}) : operands), ...);
  }

 private:
  template <class Op, class... Vs> BURTORCH_INLINE static V record(const V& x, const Vs&... others) {
    constexpr std::size_t words = sizeof...(others) == 2 ? 2 : 0;
    Tape<T, C>& tape = Tape<T, C>::template withRoom<words>();
    const T result = applied<Op>(x.numberOn(tape), others.numberOn(tape)...);
    const Opcode op = opcodeOn<Op>(tape);  // what may fail comes before anything changes
    const NodeIndex a = tape.indexOf(x.handle()), more[] = {tape.indexOf(others.handle())..., 0};
    return V(tape.append(op, a, words == 0 ? more[0] : tape.template appendWords<words>(more), result),
             result);
  }
  template <class Op> BURTORCH_INLINE static V recordConstant(const V& x, PlainOf<T> constant) {
    constexpr std::size_t words = sizeof constant / sizeof(Word);
    Tape<T, C>& tape = Tape<T, C>::template withRoom<words>();
    const T y = applyConstant<Op>(x.numberOn(tape), constant);
    const Opcode op = opcodeOn<Op>(tape);
    return V(tape.append(op, tape.indexOf(x.handle()), tape.template appendWords<words>(&constant), y), y);
  }

  // For the library's operators one function does: only an opcode of the user's own may not be had.
  template <class Op> using OpcodeOf = std::conditional_t<OpList::contains<Op>, ops::Leaf, Op>;
  // Default-constructed operands are out of the way of ordinary ones, which stay in registers if only their indices go there.
  using Operand = std::conditional_t<C.checks, V, Handle<C>>;
  BURTORCH_INLINE static Operand operandOf(const V& x) {
    if constexpr (C.checks)
      return x;
    else
      return x.handle();
  }
  static V operand(const V& x) { return x; }
  static V operand(Handle<C> x) { return x.index == Handle<C>{}.index ? V() : V(x); }
  template <class Op, class... X> [[gnu::cold, gnu::noinline]] static V withLeaves(X... operands) {
    return [](auto... x) {
      recordZeros<OpcodeOf<Op>>(sizeof...(x) == 3 ? 2 : 0, x...);
      return record<Op>(x...);
    }(operand(operands)...);
  }
  template <class Op> [[gnu::cold, gnu::noinline]] static V withLeafAndConstant(PlainOf<T> constant) {
    V x;
    recordZeros<OpcodeOf<Op>>(sizeof constant / sizeof(Word), x);
    return recordConstant<Op>(x, constant);
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET
