// A block of nodes as a matrix, row by row, and how a layer is put on the tape.
//
// In layers a row is a feature and a column one sample, or one position of a sample: `X(feature, column)`. Then what
// belongs to one feature lies side by side, every layer is a loop over columns in vector registers, and weights are read
// in place. Views copy nothing; every element is an ordinary Value.
#pragma once

#include <span>

#include "../core/value.hpp"
#include "compiled.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T, Config C = defaultConfig> class Matrix {
 public:
  Matrix() = default;
  Matrix(Handle<C> first, std::size_t rows, std::size_t columns, bool needsGradient = true)
      : first_(first),
        rows_(static_cast<std::uint32_t>(rows)),
        columns_(static_cast<std::uint32_t>(columns)),
        needsGradient_(needsGradient) {}
  /// The nodes of a range, row by row.
  Matrix(const Range<T, C>& range, std::size_t rows, std::size_t columns)
      : Matrix(handleOf(range, rows, columns), rows, columns) {}

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t size() const { return std::size_t{rows_} * columns_; }
  Block block() const {
    return {currentTape<T, C>().indexOf(first_), static_cast<NodeIndex>(size()), false, needsGradient_};
  }
  /// The same numbers as data: layers leave out their gradients.
  Matrix withoutGradient() const {
    Matrix data = *this;
    data.needsGradient_ = false;
    return data;
  }
  bool needsGradient() const { return needsGradient_; }

  Value<T, C> operator()(std::size_t row, std::size_t column) const {
    if (row >= rows_ || column >= columns_)
      fail(ErrorCode::outOfRange, "element (%zu, %zu) is out of range for a Matrix of %u x %u", row, column,
           rows_, columns_);
    return range()[row * columns_ + column];
  }
  Range<T, C> range() const { return {first_, size()}; }
  Range<T, C> row(std::size_t i) const { return range().subrange(i * columns_, columns_); }
  Range<T, C> column(std::size_t j) const {
    return range().every(j, rows_, static_cast<std::int32_t>(columns_));
  }
  /// Some of its rows, which are a matrix again.
  Matrix rowsFrom(std::size_t first, std::size_t count) const {
    if (first > rows_ || count > rows_ - first)
      fail(ErrorCode::outOfRange, "rows %zu to %zu are out of range for a Matrix of %u rows", first,
           first + count, rows_);
    Matrix some(range().subrange(first * columns_, count * columns_), count, columns_);
    some.needsGradient_ = needsGradient_;
    return some;
  }
  std::span<T> values() const { return range().values(); }
  std::span<T> gradients() const { return range().gradients(); }

 private:
  /// Of the first node, if the range has as many as the matrix.
  static Handle<C> handleOf(const Range<T, C>& range, std::size_t rows, std::size_t columns) {
    const bool isShape =
        rows > 0 && columns > 0 && columns <= range.size() / rows && rows * columns == range.size();
    if (!isShape || range.stride() != 1)
      fail("a range of %zu nodes with stride %d is not a Matrix of %zu x %zu", range.size(), range.stride(),
           rows, columns);
    return range[0].handle();
  }

  Handle<C> first_;
  std::uint32_t rows_ = 0, columns_ = 0;
  bool needsGradient_ = true;
};

/// Numbers as a matrix of leaves that are data: row by row, without gradients.
template <class T, Config C = defaultConfig>
Matrix<T, C> data(std::span<const T> numbers, std::size_t rows, std::size_t columns) {
  return Matrix<T, C>(currentTape<T, C>().leaves(numbers), rows, columns).withoutGradient();
}

/// Puts a layer on the current tape and computes its results. `own`, then `more` (`times` over), are words for its rules
/// to read.
template <class Op, class T, Config C = defaultConfig>
Handle<C> recordLayer(std::span<const Block> operands, std::span<const Word> own, std::span<const Word> more,
                      std::size_t results, std::size_t times = 1) {
  const std::size_t words = 1 + 2 * operands.size() + own.size() + times * more.size();
  Tape<T, C>& tape = Tape<T, C>::withRoom({results, 1, words});
  const Opcode op = opcodeOn<Op>(tape);
  Word* word = tape.nextWord();
  const auto at = static_cast<Word>(word - tape.words());
  *word++ = static_cast<Word>(operands.size());
  for (const Block& block : operands) {
    *word++ = tape.operandWord(block, Op::name);
    *word++ = block.count;
  }
  for (const Word w : own) *word++ = w;
  for (std::size_t i = 0; i < times; ++i)
    for (const Word w : more) *word++ = w;
  tape.commitWords(words);
  const auto first = static_cast<NodeIndex>(tape.size());
  T* values = tape.appendBlock(op, at, results);
  layerValue<Op>(Layer<T>{tape.frame(), tape.words() + at, first}, values);
  return tape.handleOf(first);
}
template <class Op, class T, Config C = defaultConfig>
Handle<C> recordLayer(std::span<const Block> operands, std::span<const Word> own, std::size_t results) {
  return recordLayer<Op, T, C>(operands, own, {}, results);
}

}  // namespace burtorch::inline BURTORCH_TARGET
