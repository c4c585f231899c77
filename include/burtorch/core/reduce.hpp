// Functions of lists of numbers, in every mode: plain numbers, Value, Dual.
//
// A list is anything with std::data and std::size over numbers (array, vector, span, initialiser list). For Values it
// may also be a Range (contiguous or strided) or a list of Ranges, which is read as one list without being copied.
// Handles that happen to lie at equal distances are recognised, so a vector of neighbours runs the SIMD kernel.
#pragma once

#include <array>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "value.hpp"

namespace burtorch {

namespace detail {

template <class X> struct ElementOfItem { using Type = X; };
template <class T, Config C> struct ElementOfItem<Range<T, C>> { using Type = Value<T, C>; };
template <class L> using ItemOf = std::remove_cvref_t<decltype(*std::data(std::declval<const L&>()))>;

template <class L> struct ElementOfList {};
template <class L>
requires requires(const L& list) {
  std::data(list);
  std::size(list);
}
struct ElementOfList<L> {
  using Type = typename ElementOfItem<ItemOf<L>>::Type;
};
template <class T, Config C> struct ElementOfList<Range<T, C>> { using Type = Value<T, C>; };

}  // namespace detail

/// The number type of a list: Value<double> for a vector of them, for a Range and for a vector of Ranges.
template <class L> using ElementOf = typename detail::ElementOfList<L>::Type;
template <class L>
concept NumberList = Number<ElementOf<L>>;

namespace detail {

inline void requireElements(std::size_t count, std::string_view name) {
  if (count == 0) fail("%.*s of an empty list", static_cast<int>(name.size()), name.data());
  if (count > maxIndex)  // a list of ranges may name the same numbers many times
    fail("%.*s of %zu numbers: a list holds at most %zu", static_cast<int>(name.size()), name.data(), count,
         maxIndex);
}
inline void requireEqual(std::size_t x, std::size_t y, std::string_view name) {
  if (x != y) fail("%.*s of lists of %zu and %zu numbers", static_cast<int>(name.size()), name.data(), x, y);
}

/// Writes lists of Values as the tape stores them (list.hpp). Nothing is committed, so an error changes nothing.
template <class T, Config C> class ListWriter {
 public:
  explicit ListWriter(Tape<T, C>& tape) : tape_(tape), begin_(tape.nextWord()), at_(begin_) {}

  static std::size_t count(const Range<T, C>& range) { return range.size(); }
  template <class L> static std::size_t count(const L& list) {
    if constexpr (std::is_same_v<ItemOf<L>, Value<T, C>>) {
      return std::size(list);
    } else {
      std::size_t sum = 0;
      for (const auto& range : std::span(std::data(list), std::size(list))) sum += range.size();
      return sum;
    }
  }
  /// How many words a list takes. Exact: a tape with the room that an earlier run used must do.
  static std::size_t wordCount(const Range<T, C>& range) {
    return range.size() == 0 ? 0 : range.stride() == 1 ? 1 : 2;
  }
  template <class L> static std::size_t wordCount(const L& list) {
    if constexpr (std::is_same_v<ItemOf<L>, Value<T, C>>) {
      std::int32_t stride = 1;
      if (!isEven(std::span(std::data(list), std::size(list)), stride)) return 1 + std::size(list);
      return stride == 1 ? 1 : 2;
    } else {
      return areContiguous(std::span(std::data(list), std::size(list))) ? 1 + 2 * std::size(list)
                                                                        : 1 + count(list);
    }
  }

  void write(Index word) { *at_++ = word; }
  void write(const Range<T, C>& range) {
    if (range.size() > 0) writeEven(range.first(), range.stride());
  }
  template <class L> void write(const L& list) {
    if constexpr (std::is_same_v<ItemOf<L>, Value<T, C>>)
      writeHandles(std::span(std::data(list), std::size(list)));
    else
      writeRanges(std::span(std::data(list), std::size(list)));
  }

  std::size_t words() const { return static_cast<std::size_t>(at_ - begin_); }
  Index position() const { return static_cast<Index>(begin_ - tape_.words()); }

 private:
  static Index indexOf(const Value<T, C>& handle) { return currentTapeSlot<T, C>->indexOf(handle.handle()); }
  /// Whether the nodes lie at equal distances.
  static bool isEven(std::span<const Value<T, C>> handles, std::int32_t& stride) {
    if (handles.size() < 2) return true;
    Index previous = indexOf(handles[1]);
    stride = static_cast<std::int32_t>(previous - indexOf(handles[0]));
    bool areEven = true;
    for (std::size_t i = 2; i < handles.size(); ++i) {
      const Index index = indexOf(handles[i]);
      areEven = areEven && static_cast<std::int32_t>(index - previous) == stride;
      previous = index;
    }
    return areEven;
  }
  static bool areContiguous(std::span<const Range<T, C>> ranges) {
    bool are = true;
    for (const auto& range : ranges) are = are && (range.stride() == 1 || range.size() < 2);
    return are;
  }

  void writeEven(Index first, std::int32_t stride) {
    write(listHead(stride == 1 ? ListForm::contiguous : ListForm::strided, first));
    if (stride != 1) write(static_cast<Index>(stride));
  }
  void writeHandles(std::span<const Value<T, C>> handles) {
    std::int32_t stride = 1;
    if (isEven(handles, stride)) {
      writeEven(indexOf(handles[0]), stride);
    } else {
      write(listHead(ListForm::scattered, 0));
      for (const auto& handle : handles) write(indexOf(handle));
    }
  }
  void writeRanges(std::span<const Range<T, C>> ranges) {
    if (areContiguous(ranges)) {
      write(listHead(ListForm::ranges, static_cast<Index>(ranges.size())));
      for (const auto& range : ranges) {
        write(range.size() > 0 ? range.first() : 0);
        write(static_cast<Index>(range.size()));
      }
    } else {
      write(listHead(ListForm::scattered, 0));
      for (const auto& range : ranges)
        for (std::size_t i = 0; i < range.size(); ++i) write(range[i].sysGetRawNodeIndex());
    }
  }

  Tape<T, C>& tape_;
  Index* const begin_;
  Index* at_;
};

/// What list operators do in each mode. Plain and dual numbers lie in memory and are simply computed on.
template <class X> struct ListMode {
  template <class L> static List<X> listOf(const L& list) {
    return {std::data(list), ListShape::contiguous(std::size(list))};
  }

  template <class Op, class L, class... Extra> static X varying(const L& xs, Extra... extra) {
    requireElements(std::size(xs), Op::name);
    return Op::value(listOf(xs), extra...);
  }
  template <class Op, class L, class M> static X pair(const L& xs, const M& ys) {
    requireElements(std::size(xs), Op::name);
    requireEqual(std::size(xs), std::size(ys), Op::name);
    return Op::value(listOf(xs), listOf(ys));
  }
  template <class Op, class L, class M> static X pairWithBias(const L& xs, const M& ys, X bias) {
    return pair<Op>(xs, ys) + bias;
  }
};

/// On Values they append one node, or a block of them, whose operands are lists among the tape's words.
template <class T, Config C> struct ListMode<Value<T, C>> {
  using V = Value<T, C>;
  using Writer = ListWriter<T, C>;

  static List<T> listAt(Tape<T, C>& tape, Index position, std::size_t count) {
    return {tape.frame().values, ListShape::decode(tape.words() + position, count)};
  }

  template <class Op, bool isValueSkipped = false, class L, class... Extra>
  static V varying(const L& xs, Extra... extra) {
    const std::size_t count = Writer::count(xs);
    requireElements(count, Op::name);
    Tape<T, C>& tape = Tape<T, C>::withRoom({1, 1, Writer::wordCount(xs) + sizeof...(extra)});
    Writer writer(tape);
    writer.write(xs);
    (writer.write(static_cast<Index>(extra)), ...);
    const Index at = writer.position();
    T value{std::numeric_limits<PlainOf<T>>::quiet_NaN()};
    if constexpr (!isValueSkipped) value = Op::value(listAt(tape, at, count), extra...);
    const Opcode op = opcodeOn<Op>(tape);
    tape.commitWords(writer.words());
    const auto node = tape.append(op, at, static_cast<Index>(count), value);
    return isValueSkipped ? V(node) : V(node, value);
  }

  template <class Op, class L, class M> static V pair(const L& xs, const M& ys) {
    return pairOf<Op>(xs, ys, static_cast<const V*>(nullptr));
  }
  template <class Op, class L, class M> static V pairWithBias(const L& xs, const M& ys, const V& bias) {
    return pairOf<Op>(xs, ys, &bias);
  }

  /// Appends a block of results, one for each element.
  template <class Op, class L> static Range<T, C> block(const L& xs) {
    const std::size_t count = Writer::count(xs);
    requireElements(count, Op::name);
    Tape<T, C>& tape = Tape<T, C>::withRoom({count, 1, Writer::wordCount(xs)});
    Writer writer(tape);
    writer.write(xs);
    const Opcode op = opcodeOn<Op>(tape);
    tape.commitWords(writer.words());
    const auto first = static_cast<Index>(tape.size());
    T* results = tape.appendBlock(op, writer.position(), count);
    Op::value(listAt(tape, writer.position(), count), results);
    return {tape.handleOf(first), count};
  }

 private:
  template <class Op, class L, class M> static V pairOf(const L& xs, const M& ys, const V* bias) {
    const std::size_t count = Writer::count(xs);
    requireElements(count, Op::name);
    requireEqual(count, Writer::count(ys), Op::name);
    Tape<T, C>& tape = Tape<T, C>::withRoom(
        {1, 1, (bias != nullptr ? 1u : 0u) + Writer::wordCount(xs) + Writer::wordCount(ys)});
    Writer writer(tape);
    if (bias != nullptr) writer.write(tape.indexOf(bias->handle()));
    const Index at = writer.position();
    const auto xAt = static_cast<Index>(at + writer.words());
    writer.write(xs);
    const auto yAt = static_cast<Index>(at + writer.words());
    writer.write(ys);
    T value = Op::value(listAt(tape, xAt, count), listAt(tape, yAt, count));
    if (bias != nullptr) value = value + tape.valueAt(tape.indexOf(bias->handle()));
    const Opcode op = opcodeOn<Op>(tape);
    tape.commitWords(writer.words());
    return V(tape.append(op, at, static_cast<Index>(count), value), value);
  }
};

}  // namespace detail

/// Carries out a list operator, the library's or the user's own, on a list of numbers of any mode.
template <class Op, NumberList L> ElementOf<L> applyToList(const L& xs) {
  return detail::ListMode<ElementOf<L>>::template varying<Op>(xs);
}

template <NumberList L> auto reduceSum(const L& xs) { return applyToList<ops::AddVarying>(xs); }
template <NumberList L> auto reduceSub(const L& xs) { return applyToList<ops::SubVarying>(xs); }
template <NumberList L> auto reduceMean(const L& xs) { return applyToList<ops::MeanVarying>(xs); }
template <NumberList L> auto reduceNegativeMean(const L& xs) {
  return applyToList<ops::NegativeMeanVarying>(xs);
}
template <NumberList L> auto reduceSumOfSquares(const L& xs) {
  return applyToList<ops::SumOfSquaresVarying>(xs);
}
template <NumberList L> auto reduceMeanSquares(const L& xs) {
  return applyToList<ops::MeanSquaresVarying>(xs);
}
template <NumberList L> auto varianceBiased(const L& xs) { return applyToList<ops::VarianceBiased>(xs); }
template <NumberList L> auto variance(const L& xs) { return applyToList<ops::Variance>(xs); }
template <NumberList L> auto logSumExp(const L& xs) { return applyToList<ops::LogSumExp>(xs); }
/// The mean and the mean of squares, two nodes.
template <NumberList L> auto reduceMeanAndMeanSquares(const L& xs) {
  return std::pair(reduceMean(xs), reduceMeanSquares(xs));
}

/// -log of the softmax probability of element `target`, fused: exact for logits of any size.
template <NumberList L> ElementOf<L> crossEntropy(const L& logits, std::size_t target) {
  using X = ElementOf<L>;
  std::size_t count = 0;
  if constexpr (TracedNumber<X> && requires { detail::ListMode<X>::Writer::count(logits); })
    count = detail::ListMode<X>::Writer::count(logits);
  else
    count = std::size(logits);
  detail::requireElements(count, ops::CrossEntropy::name);
  if (target >= count) fail("crossEntropy with target %zu of %zu logits", target, count);
  return detail::ListMode<X>::template varying<ops::CrossEntropy>(logits, target);
}

template <NumberList L> ElementOf<L> reduceMul(const L& xs) {
  using X = ElementOf<L>;
  if constexpr (requires { detail::ListMode<X>::template block<ops::MulVarying>(xs); }) {
    const auto products = detail::ListMode<X>::template block<ops::MulVarying>(xs);
    return products[products.size() - 1];
  } else {
    detail::requireElements(std::size(xs), ops::MulVarying::name);
    return ops::MulVarying::product(detail::ListMode<X>::listOf(xs));
  }
}

template <NumberList L, NumberList M> ElementOf<L> innerProduct(const L& xs, const M& ys) {
  return detail::ListMode<ElementOf<L>>::template pair<ops::InnerProductNoBias>(xs, ys);
}
template <NumberList L, NumberList M>
ElementOf<L> innerProductWithBias(const L& xs, const M& ys, ElementOf<L> bias) {
  return detail::ListMode<ElementOf<L>>::template pairWithBias<ops::InnerProductWithBias>(xs, ys, bias);
}

/// exp(x_i) / sum exp(x_j), as a block of nodes.
template <NumberList L>
requires requires(const L& xs) { detail::ListMode<ElementOf<L>>::template block<ops::Softmax>(xs); }
auto softmax(const L& xs) { return detail::ListMode<ElementOf<L>>::template block<ops::Softmax>(xs); }
/// The same into a list of the same length, in every mode.
template <NumberList L> void softmax(const L& xs, std::span<ElementOf<L>> out) {
  using X = ElementOf<L>;
  if constexpr (requires { softmax(xs); }) {
    const std::size_t count = detail::ListMode<X>::Writer::count(xs);
    detail::requireElements(count, ops::Softmax::name);
    detail::requireEqual(count, out.size(), ops::Softmax::name);  // before anything is recorded
    const auto block = softmax(xs);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = block[i];
  } else {
    detail::requireElements(std::size(xs), ops::Softmax::name);
    detail::requireEqual(std::size(xs), out.size(), ops::Softmax::name);
    ops::Softmax::value(detail::ListMode<X>::listOf(xs), out.data());
  }
}

// The same on a list in braces: reduceSum({a, b, c}).
template <Number X> X reduceSum(std::initializer_list<X> xs) { return applyToList<ops::AddVarying>(xs); }
template <Number X> X reduceSub(std::initializer_list<X> xs) { return applyToList<ops::SubVarying>(xs); }
template <Number X> X reduceMul(std::initializer_list<X> xs) {
  return reduceMul(std::span(xs.begin(), xs.size()));
}
template <Number X> X reduceMean(std::initializer_list<X> xs) { return applyToList<ops::MeanVarying>(xs); }
template <Number X> X reduceNegativeMean(std::initializer_list<X> xs) {
  return applyToList<ops::NegativeMeanVarying>(xs);
}
template <Number X> X reduceSumOfSquares(std::initializer_list<X> xs) {
  return applyToList<ops::SumOfSquaresVarying>(xs);
}
template <Number X> X reduceMeanSquares(std::initializer_list<X> xs) {
  return applyToList<ops::MeanSquaresVarying>(xs);
}
template <Number X> X varianceBiased(std::initializer_list<X> xs) {
  return applyToList<ops::VarianceBiased>(xs);
}
template <Number X> X variance(std::initializer_list<X> xs) { return applyToList<ops::Variance>(xs); }
template <Number X> X logSumExp(std::initializer_list<X> xs) { return applyToList<ops::LogSumExp>(xs); }
template <Number X> X crossEntropy(std::initializer_list<X> logits, std::size_t target) {
  return crossEntropy(std::span(logits.begin(), logits.size()), target);
}
template <Number X> X innerProduct(std::initializer_list<X> xs, std::initializer_list<X> ys) {
  return innerProduct(std::span(xs.begin(), xs.size()), std::span(ys.begin(), ys.size()));
}

}  // namespace burtorch
