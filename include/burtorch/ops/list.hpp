// Lists of scalars, as varying operators read and write them: side by side, with a stride, as a list of ranges, or
// scattered. Whatever the form, elements come in blocks and in order, so a sum has the same bits in every form.
//
// On a tape a list is a few 32-bit words; the top 4 bits of the first say the form, the low 28 its first number:
//   contiguous [first]   strided [first, stride]   ranges [how many, first, count, first, count, ...]
//   scattered  [0, index, index, ...]
//   numbers    [how many words, plain numbers, ...]: data, which has no nodes and no gradients
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "scalar.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// The number of a node on its tape.
using NodeIndex = unsigned;  // as printf has it; std::uint32_t is long on some machines
/// One of the tape's 32-bit words: constants, lists, sizes of layers, names.
using Word = unsigned;
static_assert(sizeof(NodeIndex) == 4 && sizeof(Word) == 4);

/// Node indices and counts have 28 bits: an instruction (tape.hpp) is one 64-bit word.
inline constexpr unsigned indexBits = 28;
inline constexpr std::size_t maxIndex = (std::size_t{1} << indexBits) - 1;

enum class ListForm : Word { contiguous, strided, ranges, scattered, numbers };

constexpr Word listHead(ListForm form, Word low) { return (static_cast<Word>(form) << indexBits) | low; }

/// Where a list lies in its array. Knows nothing of the numbers themselves.
struct ListShape {
  ListForm form = ListForm::contiguous;
  NodeIndex first = 0;          // contiguous, strided; ranges: how many; numbers: how many words
  std::int32_t stride = 1;      // strided
  const Word* words = nullptr;  // ranges, scattered, numbers: what follows the head
  std::size_t count = 0;

  static constexpr ListShape contiguous(std::size_t count) { return {.count = count}; }

  static ListShape decode(const Word* words, std::size_t count) {
    const auto form = static_cast<ListForm>(words[0] >> indexBits);
    const NodeIndex low = words[0] & static_cast<NodeIndex>(maxIndex);
    const auto stride = form == ListForm::strided ? static_cast<std::int32_t>(words[1]) : 1;
    return {.form = form, .first = low, .stride = stride, .words = words + 1, .count = count};
  }

  /// How many words the list takes on the tape.
  std::size_t wordCount() const {
    switch (form) {
      case ListForm::contiguous: return 1;
      case ListForm::strided: return 2;
      case ListForm::ranges: return 1 + 2 * std::size_t{first};
      case ListForm::scattered: return 1 + count;
      case ListForm::numbers: return 1 + std::size_t{first};
    }
    return 0;
  }
};

/// Walks a list in runs of neighbours: `next(n)` says where the next at most n elements lie side by side.
class ListWalker {
 public:
  explicit ListWalker(const ListShape& shape) : shape_(shape) {}

  struct Run {
    std::size_t first, count;
  };

  Run next(std::size_t wanted) {
    switch (shape_.form) {
      case ListForm::contiguous: return take(shape_.first + position_, wanted);
      case ListForm::strided: {
        const auto offset = static_cast<std::int64_t>(position_) * shape_.stride;
        return take(static_cast<std::size_t>(shape_.first + offset), 1);
      }
      case ListForm::scattered: return take(shape_.words[position_], 1);
      case ListForm::numbers: position_ += wanted; return {position_ - wanted, 0};
      case ListForm::ranges: break;
    }
    while (shape_.words[2 * range_ + 1] == inRange_) {
      ++range_;
      inRange_ = 0;
    }
    const std::size_t left = shape_.words[2 * range_ + 1] - inRange_;
    const Run run = take(shape_.words[2 * range_] + inRange_, wanted < left ? wanted : left);
    inRange_ += run.count;
    return run;
  }

 private:
  Run take(std::size_t first, std::size_t count) {
    position_ += count;
    return {first, count};
  }

  ListShape shape_;
  std::size_t position_ = 0;
  std::size_t range_ = 0, inRange_ = 0;
};

/// Walks a list from its end, one element at a time.
class ListBackwards {
 public:
  explicit ListBackwards(const ListShape& shape)
      : shape_(shape), left_(shape.count), range_(shape.form == ListForm::ranges ? shape.first : 0) {}

  std::size_t next() {
    --left_;
    switch (shape_.form) {
      case ListForm::contiguous: return shape_.first + left_;
      case ListForm::strided:
        return static_cast<std::size_t>(shape_.first + static_cast<std::int64_t>(left_) * shape_.stride);
      case ListForm::scattered: return shape_.words[left_];
      case ListForm::numbers: return left_;
      case ListForm::ranges: break;
    }
    while (inRange_ == 0) inRange_ = shape_.words[2 * --range_ + 1];
    return shape_.words[2 * range_] + --inRange_;
  }

 private:
  ListShape shape_;
  std::size_t left_, range_, inRange_ = 0;
};

/// The numbers of a list, to read.
template <class T> struct List {
  const T* base;
  ListShape shape;

  std::size_t size() const { return shape.count; }
  /// Numbers among the words; nullptr: they are nodes.
  const Word* data() const { return shape.form == ListForm::numbers ? shape.words : nullptr; }
};

/// The lanes of a number in which something arrives: all, but where a choice went different ways in the lanes of a pack.
template <class T> struct ReachedLanes {
  static ReachedLanes of(const T&) { return {}; }
  static void add(T& to, const T& x) { to = to + x; }
  static void set(T& to, const T& x) { to = x; }
};
template <class T>
requires(hasLanes<T>) struct ReachedLanes<T> {
  typename ScalarTraits<T>::Lanes lanes = !typename ScalarTraits<T>::Lanes{};

  /// Where an unreached gradient is -0 (sweep.hpp).
  static ReachedLanes of(const T& g) { return {!ScalarTraits<T>::isUnreached(g)}; }
  void add(T& to, const T& x) const { set(to, to + x); }
  void set(T& to, const T& x) const { to = select(lanes, x, to); }
};

/// The lanes that reach at least one of some nodes, of whose gradients -0 says "never".
template <class T> auto reachedLanes(const T* gradients, NodeIndex first, NodeIndex last) {
  typename ScalarTraits<T>::Lanes lanes{};
  for (NodeIndex node = first; node <= last; ++node)
    lanes = lanes || !ScalarTraits<T>::isUnreached(gradients[node]);
  return lanes;
}

/// The gradients of a list, to add to.
template <class T> struct GradientList {
  T* base;
  ListShape shape;
  [[no_unique_address]] ReachedLanes<T> reached = {};

  std::size_t size() const { return shape.count; }
  void add(std::size_t at, const T& x) const { reached.add(base[at], x); }
};

/// Reads a list front to back in blocks.
template <class T> class ListReader {
 public:
  explicit ListReader(const List<T>& list) : base_(list.base), data_(list.data()), walker_(list.shape) {}

  /// The next `count` elements: in place where they are neighbours, otherwise gathered into `buffer`.
  const T* next(std::size_t count, T* buffer) {
    auto run = walker_.next(count);
    if (run.count == count) return base_ + run.first;
    if (data_ != nullptr) return readNumbers(run.first, count, buffer);
    for (std::size_t filled = 0;;) {
      for (std::size_t i = 0; i < run.count; ++i) buffer[filled + i] = base_[run.first + i];
      filled += run.count;
      if (filled == count) return buffer;
      run = walker_.next(count - filled);
    }
  }

 private:
  /// Numbers among the words: plain, and not aligned.
  const T* readNumbers(std::size_t first, std::size_t count, T* buffer) const {
    for (std::size_t i = 0; i < count; ++i) {
      PlainOf<T> number;
      std::memcpy(&number, data_ + (first + i) * (sizeof number / sizeof(Word)), sizeof number);
      buffer[i] = T(number);
    }
    return buffer;
  }

  const T* base_;
  const Word* data_;
  ListWalker walker_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
