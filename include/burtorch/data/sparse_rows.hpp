// Samples of a regression or classification: a matrix of samples by features, with a label for each sample.
//
// Rows are compressed (CSR: what is not stored is zero) or dense, whichever the caller gives; problems see a `Row`, which has the
// two things that a linear model needs: its product with a vector, and adding a multiple of itself to one. A compressed
// number costs its value and four bytes, so data more than about half full is better dense (`toDense`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../base/check.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// One row of a matrix that somebody else keeps, dense or compressed.
template <class T> class Row {
 public:
  /// Without columns, value i is that of column i. Columns ascend.
  Row(const T* values, const std::uint32_t* columns, std::size_t count)
      : values_(values), columns_(columns), count_(count) {}

  /// How many numbers are stored.
  std::size_t count() const { return count_; }
  std::size_t column(std::size_t i) const { return columns_ != nullptr ? columns_[i] : i; }
  T value(std::size_t i) const { return values_[i]; }

  /// The inner product with a vector that has a number for each column.
  T dot(const T* x) const {
    if (columns_ == nullptr) return sumOfProducts([x](std::size_t i) { return x[i]; });
    return sumOfProducts([x, columns = columns_](std::size_t i) { return x[columns[i]]; });
  }
  /// Adds a multiple of the row to such a vector.
  void addTo(T* into, T scale) const {
    if (columns_ == nullptr) {
      for (std::size_t i = 0; i < count_; ++i) into[i] = into[i] + scale * values_[i];
    } else {
      for (std::size_t i = 0; i < count_; ++i) into[columns_[i]] = into[columns_[i]] + scale * values_[i];
    }
  }
  double squaredNorm() const {
    double sum = 0;
    for (std::size_t i = 0; i < count_; ++i) sum += double{values_[i]} * double{values_[i]};
    return sum;
  }

 private:
  // Eight sums: a single one would wait for the latency of an addition at every step.
  template <class XAt> T sumOfProducts(XAt xAt) const {
    T sums[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= count_; i += 8)
      for (std::size_t lane = 0; lane < 8; ++lane)
        sums[lane] = sums[lane] + values_[i + lane] * xAt(i + lane);
    for (std::size_t lane = 0; i < count_; ++i, ++lane) sums[lane] = sums[lane] + values_[i] * xAt(i);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }

  const T* values_;
  const std::uint32_t* columns_;
  std::size_t count_;
};

/// A matrix of samples by features, and a label for each sample.
template <class T> class SampleRows {
 public:
  using Scalar = T;

  SampleRows() = default;
  /// Row after row, each with a value for every feature.
  static SampleRows dense(std::size_t features, std::vector<T> values, std::vector<double> labels) {
    const std::size_t rows = labels.size();
    if (features == 0 ? !values.empty() : values.size() % features != 0 || values.size() / features != rows)
      fail("SampleRows: expected %zu values for each of %zu labels, got %zu in all", features, rows,
           values.size());
    SampleRows result(features, std::move(values), std::move(labels));
    return result;
  }
  /// Row i has the values from `starts[i]` up to `starts[i + 1]`, in columns that ascend.
  static SampleRows sparse(std::size_t features, std::vector<std::size_t> starts,
                           std::vector<std::uint32_t> columns, std::vector<T> values,
                           std::vector<double> labels) {
    if (starts.size() != labels.size() + 1 || starts.front() != 0 || starts.back() != values.size() ||
        columns.size() != values.size() || !std::is_sorted(starts.begin(), starts.end()))
      fail("SampleRows: %zu row starts, %zu columns, %zu values and %zu labels do not belong together",
           starts.size(), columns.size(), values.size(), labels.size());
    if (features > UINT32_MAX) fail("SampleRows: expected at most 4294967295 features, got %zu", features);
    for (std::size_t row = 0; row < labels.size(); ++row)
      for (std::size_t i = starts[row]; i < starts[row + 1]; ++i)
        if (columns[i] >= features || (i > starts[row] && columns[i] <= columns[i - 1]))
          fail(ErrorCode::outOfRange,
               "SampleRows: expected ascending columns below %zu in row %zu, got column %u", features, row,
               unsigned{columns[i]});
    SampleRows result(features, std::move(values), std::move(labels));
    result.starts_ = std::move(starts);
    result.columns_ = std::move(columns);
    return result;
  }

  /// How many samples there are.
  std::size_t size() const { return labels_.size(); }
  std::size_t features() const { return features_; }
  /// How many numbers are stored.
  std::size_t storedCount() const { return values_.size(); }
  bool isSparse() const { return !starts_.empty(); }
  std::span<const double> labels() const { return labels_; }
  double label(std::size_t i) const { return labels_[i]; }
  /// Row i, which must be there; valid as long as the rows are and do not change.
  Row<T> row(std::size_t i) const {
    if (!isSparse()) return {values_.data() + i * features_, nullptr, features_};
    return {values_.data() + starts_[i], columns_.data() + starts_[i], starts_[i + 1] - starts_[i]};
  }

  /// The same with every number stored, zeros too.
  SampleRows toDense() const {
    if (!isSparse()) return *this;
    if (features_ > 0 && size() > values_.max_size() / features_)
      fail(ErrorCode::outOfMemory, "SampleRows: %zu samples of %zu features are too many to be dense", size(),
           features_);
    std::vector<T> values(size() * features_);
    for (std::size_t i = 0; i < size(); ++i) row(i).addTo(values.data() + i * features_, T{1});
    return SampleRows(features_, std::move(values), labels_);
  }
  /// The same without the zeros.
  SampleRows toSparse() const {
    return collected(features_, everyRow(), [](const Row<T>&, auto&&) {});
  }
  /// The same with one feature more, at the end, that is `value` for every sample: the weight of a bias.
  SampleRows withBias(T value = T{1}) const {
    if (isSparse())
      return collected(features_ + 1, everyRow(),
                       [&](const Row<T>&, auto&& add) { add(static_cast<std::uint32_t>(features_), value); });
    std::vector<T> values;
    values.reserve(size() * (features_ + 1));
    for (std::size_t i = 0; i < size(); ++i) {
      const auto first = values_.begin() + static_cast<std::ptrdiff_t>(i * features_);
      values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(features_));
      values.push_back(value);
    }
    return SampleRows(features_ + 1, std::move(values), labels_);
  }
  /// Some of the samples, in this order, with or without repeats.
  SampleRows chosen(std::span<const std::size_t> samples) const {
    for (const std::size_t sample : samples)
      if (sample >= size())
        fail(ErrorCode::outOfRange, "SampleRows: sample %zu is out of range for %zu samples", sample, size());
    SampleRows result = collected(features_, samples, [](const Row<T>&, auto&&) {});
    return isSparse() ? result : result.toDense();
  }

  /// Divides every row by its Euclidean norm; a row of zeros stays.
  void normaliseRows() {
    for (std::size_t i = 0; i < size(); ++i) {
      const Row<T> old = row(i);
      const double norm = std::sqrt(old.squaredNorm());
      if (norm == 0) continue;
      T* const first = values_.data() + (isSparse() ? starts_[i] : i * features_);
      for (std::size_t k = 0; k < old.count(); ++k) first[k] = static_cast<T>(double{first[k]} / norm);
    }
  }
  /// The largest absolute value of every feature; 1 for one that is always zero.
  std::vector<T> columnScales() const {
    std::vector<T> scales(features_);
    for (std::size_t i = 0; i < size(); ++i) {
      const Row<T> r = row(i);
      for (std::size_t k = 0; k < r.count(); ++k)
        scales[r.column(k)] = std::max(scales[r.column(k)], std::abs(r.value(k)));
    }
    std::replace(scales.begin(), scales.end(), T{0}, T{1});
    return scales;
  }
  /// Divides every feature by its scale: the `columnScales` of these rows, or those of the rows that a model was trained on.
  void divideColumns(std::span<const T> scales) {
    if (scales.size() != features_)
      fail("SampleRows: expected a scale for each of %zu features, got %zu", features_, scales.size());
    for (std::size_t i = 0; i < size(); ++i) {
      const Row<T> r = row(i);
      T* const first = values_.data() + (isSparse() ? starts_[i] : i * features_);
      for (std::size_t k = 0; k < r.count(); ++k) first[k] = first[k] / scales[r.column(k)];
    }
  }

  friend bool operator==(const SampleRows&, const SampleRows&) = default;

 private:
  SampleRows(std::size_t features, std::vector<T> values, std::vector<double> labels)
      : features_(features), values_(std::move(values)), labels_(std::move(labels)) {}

  std::vector<std::size_t> everyRow() const {
    std::vector<std::size_t> rows(size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
    return rows;
  }
  /// Compressed copies of rows without their zeros; `more(row, add)` appends to each.
  template <class More>
  SampleRows collected(std::size_t features, std::span<const std::size_t> samples, const More& more) const {
    std::vector<std::size_t> starts{0};
    std::vector<std::uint32_t> columns;
    std::vector<T> values;
    std::vector<double> labels;
    const auto add = [&](std::uint32_t column, T value) {
      columns.push_back(column);
      values.push_back(value);
    };
    for (const std::size_t sample : samples) {
      const Row<T> r = row(sample);
      for (std::size_t k = 0; k < r.count(); ++k)
        if (r.value(k) != T{0}) add(static_cast<std::uint32_t>(r.column(k)), r.value(k));
      more(r, add);
      starts.push_back(values.size());
      labels.push_back(labels_[sample]);
    }
    return sparse(features, std::move(starts), std::move(columns), std::move(values), std::move(labels));
  }

  std::size_t features_ = 0;
  std::vector<T> values_;
  std::vector<double> labels_;
  std::vector<std::size_t> starts_;  // compressed rows only
  std::vector<std::uint32_t> columns_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
