// One layer by itself, on arrays and without a tape: what ./bench kernels times. The rules get what the tape would give them.
#pragma once

#include <algorithm>
#include <burtorch/base/rng.hpp>
#include <burtorch/core/layer.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness.hpp"

namespace bench {

/// Memory that begins `shift` bytes behind the border of a page, as that of a tape.
template <class T> class Array {
 public:
  explicit Array(std::size_t count, std::size_t shift = 0)
      : memory_(std::aligned_alloc(page, (count * sizeof(T) + shift + page - 1) / page * page)),
        count_(count),
        first_(reinterpret_cast<T*>(static_cast<char*>(memory_.get()) + shift)) {
    if (memory_ == nullptr) burtorch::fail("bench: no memory for %zu numbers", count);
    std::fill(begin(), end(), T{0});
  }
  T* begin() const { return first_; }
  T* end() const { return first_ + count_; }
  std::size_t size() const { return count_; }

 private:
  static constexpr std::size_t page = 4096;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::size_t count_;
  T* first_;
};

/// Numbers that are uniform between middle - most and middle + most.
struct Operand {
  std::size_t size;
  double most = 1, middle = 0;
  bool hasGradient = true;
};

/// A layer to be timed.
struct LayerCase {
  std::string kernel;  // its name in rows
  Figures shape;
  std::vector<Operand> operands;
  std::size_t results, hidden = 0;  // hidden: what it remembers behind its results
  std::vector<burtorch::Word> own = {};
  std::optional<double> constant = {};  // the last own words, in the layer's precision
  double seed = 1;                      // the gradients of the results lie between -seed and seed

  /// How many numbers it works on.
  std::size_t count() const { return results == 1 ? operands[0].size : results; }
};

/// A few of many numbers: all rows and columns of a matrix have some.
template <class T> void sample(const T* numbers, std::size_t count, std::vector<double>& to) {
  constexpr std::size_t most = 20011;
  for (std::size_t i = 0, step = (count + most - 1) / most; i < count; i += step)
    to.push_back(static_cast<double>(numbers[i]));
}

template <class Op, class T> class LayerRun {
  using Word = burtorch::Word;

 public:
  explicit LayerRun(const LayerCase& layer)
      : case_(layer),
        first_(firstOf(layer)),
        values_(first_ + layer.results + layer.hidden),
        gradients_(values_.size(), 2048) {
    burtorch::Rng rng(7);
    const auto random = [&](double most) {
      return static_cast<T>(static_cast<float>(most) * (2 * rng.uniform<float>() - 1));
    };
    words_.push_back(static_cast<Word>(layer.operands.size()));
    std::size_t at = 0;
    for (const Operand& operand : layer.operands) {
      const burtorch::Block block{.first = static_cast<burtorch::NodeIndex>(at),
                                  .count = static_cast<burtorch::NodeIndex>(operand.size),
                                  .needsGradient = operand.hasGradient};
      words_.push_back(burtorch::OperandWord(block).word());
      words_.push_back(static_cast<Word>(operand.size));
      for (std::size_t i = 0; i < operand.size; ++i)
        values_.begin()[at + i] = random(operand.most) + static_cast<T>(static_cast<float>(operand.middle));
      at += operand.size;
    }
    words_.insert(words_.end(), layer.own.begin(), layer.own.end());
    if (layer.constant) {
      const T constant = static_cast<T>(static_cast<float>(*layer.constant));
      Word bytes[sizeof constant / sizeof(Word)];
      std::memcpy(bytes, &constant, sizeof constant);
      words_.insert(words_.end(), std::begin(bytes), std::end(bytes));
    }
    for (std::size_t i = 0; i < layer.results; ++i) gradients_.begin()[first_ + i] = random(layer.seed);
  }

  void value() { burtorch::layerValue<Op>(layer(), values_.begin() + first_); }
  void vjp() { burtorch::layerVjp<Op>(layer()); }

  /// Samples of the results, or of them and of the gradients, array after array, of one call.
  std::vector<std::vector<double>> outputs(bool hasGradients) {
    std::fill(gradients_.begin(), gradients_.begin() + first_, T{0});
    value();
    std::vector<std::vector<double>> found(1);
    sample(values_.begin() + first_, case_.results, found[0]);
    if (!hasGradients) return found;
    vjp();
    std::size_t at = 0;
    for (const Operand& operand : case_.operands) {
      if (operand.hasGradient) sample(gradients_.begin() + at, operand.size, found.emplace_back());
      at += operand.size;
    }
    return found;
  }

 private:
  static std::size_t firstOf(const LayerCase& layer) {
    std::size_t first = 0;
    for (const Operand& operand : layer.operands) first += operand.size;
    return first;
  }
  burtorch::Layer<T> layer() {
    return {{values_.begin(), gradients_.begin(), words_.data()},
            words_.data(),
            static_cast<burtorch::NodeIndex>(first_)};
  }

  LayerCase case_;
  std::size_t first_;
  std::vector<Word> words_;
  Array<T> values_, gradients_;
};

/// All arrays in one list, each divided by its largest number of `scales`: every array is judged by its own size.
inline std::vector<double> inOne(const std::vector<std::vector<double>>& arrays,
                                 const std::vector<std::vector<double>>& scales) {
  std::vector<double> all;
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    double most = 0;
    for (const double x : scales[k]) most = std::max(most, std::abs(x));
    for (const double x : arrays[k]) all.push_back(most > 0 ? x / most : x);
  }
  return all;
}

}  // namespace bench
