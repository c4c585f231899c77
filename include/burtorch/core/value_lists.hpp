// Lists of Values: how they are written among the words of the tape, and the nodes that list operators append.
// Handles that happen to lie at equal distances are recognised, so a vector of neighbours runs the SIMD kernel.
#pragma once

#include <cstring>
#include <limits>
#include <span>

#include "list_mode.hpp"
#include "value.hpp"

namespace burtorch::inline BURTORCH_TARGET::detail {

/// Writes lists of Values as the tape stores them (list.hpp). First it is asked how many words all lists take, then
/// `start` makes room, then they are written. Nothing is committed, so an error changes nothing. Default-constructed
/// Values share one leaf of 0, recorded by `start`; until then its index is known already.
template <class T, Config C> class ListWriter {
 public:
  ListWriter() : tape_(currentTape<T, C>()), zero_(static_cast<NodeIndex>(tape_.size())) {}

  /// Makes room for the lists, `words` long, and for what comes with them.
  Tape<T, C>& start(std::size_t results, std::size_t words) {
    const std::size_t zeros = hasZeros_ ? 1 : 0;
    Tape<T, C>::withRoom({results, 1, words});  // before the sum, which could wrap
    Tape<T, C>::withRoom({results + zeros, 1 + zeros, words});
    if (hasZeros_) tape_.appendLeaf(T{0});
    begin_ = at_ = tape_.nextWord();
    return tape_;
  }

  static std::size_t count(const Range<T, C>& range) { return range.size(); }
  template <class L> static std::size_t count(const L& list) {
    if constexpr (std::is_same_v<ItemOf<L>, Value<T, C>> || Plain<ItemOf<L>>) {
      return std::size(list);
    } else {
      std::size_t sum = 0;
      for (const auto& range : std::span(std::data(list), std::size(list))) sum += range.size();
      return sum;
    }
  }
  /// How many words a list takes. Exact: a tape with the room that an earlier run used must do.
  std::size_t wordCount(const Range<T, C>& range) {
    if (range.size() > 0) range.first();  // may fail, before anything changes
    return range.size() == 0 ? 0 : range.stride() == 1 ? 1 : 2;
  }
  template <class L> std::size_t wordCount(const L& list) {
    if constexpr (Plain<ItemOf<L>>)
      return 1 + std::size(list) * wordsPerNumber;
    else if constexpr (std::is_same_v<ItemOf<L>, Value<T, C>>) {
      std::int32_t stride = 1;
      if (!isEven(std::span(std::data(list), std::size(list)), stride)) return 1 + std::size(list);
      return stride == 1 ? 1 : 2;
    } else {
      for (const Range<T, C>& range : std::span(std::data(list), std::size(list))) wordCount(range);
      return areContiguous(std::span(std::data(list), std::size(list))) ? 1 + 2 * std::size(list)
                                                                        : 1 + count(list);
    }
  }

  template <class L, class I> static std::size_t count(const Gathered<L, I>& list) { return list.size(); }
  template <class L, class I> std::size_t wordCount(const Gathered<L, I>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) indexOf(list[i]);  // may fail, before anything changes
    return 1 + list.size();
  }
  template <class L, class I> void write(const Gathered<L, I>& list) {
    write(listHead(ListForm::scattered, 0));
    for (std::size_t i = 0; i < list.size(); ++i) write(indexOf(list[i]));
  }

  void write(NodeIndex word) { *at_++ = word; }
  void write(const Range<T, C>& range) {
    if (range.size() > 0) writeEven(range.first(), range.stride());
  }
  template <class L> void write(const L& list) {
    if constexpr (Plain<ItemOf<L>>)
      writeNumbers(std::span(std::data(list), std::size(list)));
    else if constexpr (std::is_same_v<ItemOf<L>, Value<T, C>>)
      writeHandles(std::span(std::data(list), std::size(list)));
    else
      writeRanges(std::span(std::data(list), std::size(list)));
  }

  Tape<T, C>& tape() const { return tape_; }
  std::size_t words() const { return static_cast<std::size_t>(at_ - begin_); }
  NodeIndex position() const { return static_cast<NodeIndex>(begin_ - tape_.words()); }
  NodeIndex indexOf(const Value<T, C>& value) {
    if (!value.isZero()) return tape_.indexOf(value.handle());
    hasZeros_ = true;
    return zero_;
  }

 private:
  /// Whether the nodes lie at equal distances.
  bool isEven(std::span<const Value<T, C>> handles, std::int32_t& stride) {
    if (handles.size() == 1) indexOf(handles[0]);  // even alone it may be a zero, or fail
    if (handles.size() < 2) return true;
    NodeIndex previous = indexOf(handles[1]);
    stride = static_cast<std::int32_t>(previous - indexOf(handles[0]));
    bool areEven = true;
    for (std::size_t i = 2; i < handles.size(); ++i) {
      const NodeIndex index = indexOf(handles[i]);
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

  void writeEven(NodeIndex first, std::int32_t stride) {
    write(listHead(stride == 1 ? ListForm::contiguous : ListForm::strided, first));
    if (stride != 1) write(static_cast<NodeIndex>(stride));
  }
  template <class N> void writeNumbers(std::span<const N> numbers) {
    write(listHead(ListForm::numbers, static_cast<Word>(numbers.size() * wordsPerNumber)));
    for (const N number : numbers) {
      const auto plain = static_cast<PlainOf<T>>(number);
      std::memcpy(at_, &plain, sizeof plain);
      at_ += wordsPerNumber;
    }
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
      write(listHead(ListForm::ranges, static_cast<Word>(ranges.size())));
      for (const auto& range : ranges) {
        write(range.size() > 0 ? range.first() : 0);
        write(static_cast<NodeIndex>(range.size()));
      }
    } else {
      write(listHead(ListForm::scattered, 0));
      for (const auto& range : ranges)
        for (std::size_t i = 0; i < range.size(); ++i) write(range[i].index());
    }
  }

  static constexpr std::size_t wordsPerNumber = sizeof(PlainOf<T>) / sizeof(Word);

  Tape<T, C>& tape_;
  const NodeIndex zero_;
  bool hasZeros_ = false;
  NodeIndex* begin_ = nullptr;
  NodeIndex* at_ = nullptr;
};

/// On Values they append one node, or a block of them, whose operands are lists among the tape's words.
template <class T, Config C> struct ListMode<Value<T, C>> {
  using V = Value<T, C>;
  using Writer = ListWriter<T, C>;
  static constexpr bool takesData = true;

  template <class L> static std::size_t count(const L& list) { return Writer::count(list); }
  static List<T> listAt(Tape<T, C>& tape, NodeIndex position, std::size_t count) {
    return {tape.frame().values, ListShape::decode(tape.words() + position, count)};
  }

  template <class Op, bool isValueSkipped = false, class L, class... Extra>
  static V varying(const L& xs, Extra... extra) {
    const std::size_t count = Writer::count(xs);
    requireElements(count, Op::name);
    Writer writer;
    const Opcode op = opcodeOn<Op>(writer.tape());
    Tape<T, C>& tape = writer.start(1, writer.wordCount(xs) + sizeof...(extra));
    writer.write(xs);
    (writer.write(static_cast<NodeIndex>(extra)), ...);
    const NodeIndex at = writer.position();
    T value{std::numeric_limits<PlainOf<T>>::quiet_NaN()};
    if constexpr (!isValueSkipped) value = Op::value(listAt(tape, at, count), extra...);
    tape.commitWords(writer.words());
    const auto node = tape.append(op, at, static_cast<NodeIndex>(count), value);
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
    Writer writer;
    const Opcode op = opcodeOn<Op>(writer.tape());
    Tape<T, C>& tape = writer.start(count, writer.wordCount(xs));
    writer.write(xs);
    tape.commitWords(writer.words());
    const auto first = static_cast<NodeIndex>(tape.size());
    T* results = tape.appendBlock(op, writer.position(), count);
    Op::value(listAt(tape, writer.position(), count), results);
    return {tape.handleOf(first), count};
  }

 private:
  template <class Op, class L, class M> static V pairOf(const L& xs, const M& ys, const V* bias) {
    const std::size_t count = Writer::count(xs);
    requireElements(count, Op::name);
    requireEqual(count, Writer::count(ys), Op::name);
    Writer writer;
    const Opcode op = opcodeOn<Op>(writer.tape());
    const NodeIndex biasNode = bias != nullptr ? writer.indexOf(*bias) : 0;
    const std::size_t words = writer.wordCount(xs) + writer.wordCount(ys) + (bias != nullptr ? 1 : 0);
    Tape<T, C>& tape = writer.start(1, words);
    if (bias != nullptr) writer.write(biasNode);
    const NodeIndex at = writer.position();
    const auto xAt = static_cast<NodeIndex>(at + writer.words());
    writer.write(xs);
    const auto yAt = static_cast<NodeIndex>(at + writer.words());
    writer.write(ys);
    T value = Op::value(listAt(tape, xAt, count), listAt(tape, yAt, count));
    if (bias != nullptr) value = value + tape.valueAt(biasNode);
    tape.commitWords(writer.words());
    return V(tape.append(op, at, static_cast<NodeIndex>(count), value), value);
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET::detail
