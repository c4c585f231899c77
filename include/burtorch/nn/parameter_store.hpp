// The numbers of a layout: values and gradients, two flat spans. Optimisers, files and other processes need nothing else.
//
// Tapes are bound to a store (Tape::bind): layers read the values where they lie and add to the gradients. The values may be
// the store's own or the caller's (a mapped file, an array of NumPy, a second iterate), and any number of tapes in any
// number of threads may share them while nobody writes; each thread then takes a GradientBuffer of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../base/rng.hpp"
#include "../core/storage.hpp"
#include "parameter_layout.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// The gradients of a layout, zero to begin with. Setting them to zero writes nothing: it notes for each block that it is
/// zero, the first layer that reaches the block stores instead of adding, and what no layer reached is filled in when
/// somebody looks.
template <class T> class GradientBuffer {
 public:
  explicit GradientBuffer(const ParameterLayout& layout) : GradientBuffer(layout, static_cast<T*>(nullptr)) {
    owned_ = std::make_unique<Owned>();
    owned_->allocate(layout.size());
    data_ = owned_->data();
  }
  /// In memory that `moveTo` names later.
  GradientBuffer(const ParameterLayout& layout, std::nullptr_t)
      : GradientBuffer(layout, static_cast<T*>(nullptr)) {}
  /// In the caller's memory, whose numbers are forgotten.
  GradientBuffer(const ParameterLayout& layout, std::span<T> memory) : GradientBuffer(layout, memory.data()) {
    requireSize(memory.size());
  }

  std::size_t size() const { return size_; }
  /// From now on in other memory of the caller's, whose numbers are forgotten.
  void moveTo(std::span<T> memory) {
    requireSize(memory.size());
    data_ = memory.data();
    zero();
  }
  void zero() { std::fill(unwritten_.begin(), unwritten_.end(), ~std::uint64_t{0}); }
  /// All gradients, zeros included.
  std::span<T> all() {
    for (std::size_t word = 0; word < unwritten_.size(); ++word)
      if (unwritten_[word] != 0) writeZeros(word);
    return {data_, size_};
  }
  /// Those of one block, zeros included.
  std::span<T> block(std::size_t id) {
    const std::size_t first = id > 0 ? ends_[id - 1] : 0;
    const std::uint64_t bit = std::uint64_t{1} << (id % 64);
    if ((unwritten_[id / 64] & bit) != 0) std::fill(data_ + first, data_ + ends_[id], T{0});
    unwritten_[id / 64] &= ~bit;
    return {data_ + first, ends_[id] - first};
  }

  /// Adds the gradients of another buffer of the same layout, block by block; a block that is zero is not read.
  void add(const GradientBuffer& other) {
    if (other.ends_ != ends_) fail("gradients of %zu parameters: cannot add those of another layout", size_);
    for (std::size_t id = 0; id < ends_.size(); ++id) {
      const std::uint64_t bit = std::uint64_t{1} << (id % 64);
      if ((other.unwritten_[id / 64] & bit) != 0) continue;
      T* to = data_ + (id > 0 ? ends_[id - 1] : 0);
      const T* from = other.data_ + (to - data_);
      const std::size_t count = ends_[id] - static_cast<std::size_t>(to - data_);
      if ((unwritten_[id / 64] & bit) != 0)
        std::copy(from, from + count, to);
      else
        addTo(to, from, count);
      unwritten_[id / 64] &= ~bit;
    }
  }

  // For a binding: blocks whose bit is set are zero, whatever lies there.
  T* data() { return data_; }
  std::uint64_t* unwritten() { return unwritten_.data(); }
  std::size_t unwrittenWords() const { return unwritten_.size(); }
  std::span<const std::uint32_t> blockEnds() const { return ends_; }
  std::uint64_t bordersSum() const { return bordersSum_; }

 private:
  GradientBuffer(const ParameterLayout& layout, T* data)
      : data_(data), size_(layout.size()), unwritten_((layout.blocks().size() + 63) / 64) {
    for (const Parameter& block : layout.blocks()) {
      ends_.push_back(block.first + static_cast<std::uint32_t>(block.size()));
      bordersSum_ = Rng(bordersSum_, ends_.back()).next();
    }
    zero();
  }

  // A load that follows a store to the same place of another page waits for it, as far as the first comparison of the two
  // addresses can see. So gradients start elsewhere in a page than values.
  using Owned = Buffer<T, true, 2112>;

  void requireSize(std::size_t found) const {
    if (found != size_)
      fail("gradients of %zu parameters: expected memory for as many, got %zu", size_, found);
  }
  static void addTo(T* to, const T* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] = to[i] + from[i];
  }
  void writeZeros(std::size_t word) {
    for (std::size_t id = 64 * word; id < std::min(64 * (word + 1), ends_.size()); ++id)
      if ((unwritten_[word] >> (id % 64) & 1) != 0)
        std::fill(data_ + (id > 0 ? ends_[id - 1] : 0), data_ + ends_[id], T{0});
    unwritten_[word] = 0;
  }

  std::unique_ptr<Owned> owned_;
  T* data_;
  std::size_t size_;
  std::vector<std::uint32_t> ends_;  // of each block
  std::uint64_t bordersSum_ = 0;
  std::vector<std::uint64_t> unwritten_;
};

template <class T> class ParameterStore {
 public:
  using Scalar = T;

  /// In memory of its own, with the first numbers that the layout asks for; the seed decides which.
  explicit ParameterStore(const ParameterLayout& layout, std::uint64_t seed = 0)
      : layout_(layout), owned_(std::make_unique<Buffer<T>>()), gradients_(layout) {
    owned_->allocate(layout.size());
    values_ = {owned_->data(), layout.size()};
    Rng rng(seed);
    initialise(rng);
  }
  /// The values lie in the caller's memory and stay as they are; gradients are the store's own.
  ParameterStore(const ParameterLayout& layout, std::span<T> values)
      : layout_(layout), values_(values), gradients_(layout) {
    requireSize(values.size());
  }
  /// Both lie in the caller's memory; what was in that of the gradients is forgotten.
  ParameterStore(const ParameterLayout& layout, std::span<T> values, std::span<T> gradients)
      : layout_(layout), values_(values), gradients_(layout, gradients) {
    requireSize(values.size());
  }

  const ParameterLayout& layout() const { return layout_; }
  std::size_t size() const { return values_.size(); }
  std::span<T> values() { return values_; }
  std::span<const T> values() const { return values_; }
  std::span<T> values(const Parameter& block) { return values_.subspan(block.first, block.size()); }
  std::span<const T> values(const Parameter& block) const {
    return values_.subspan(block.first, block.size());
  }
  std::span<T> gradients() { return gradients_.all(); }
  std::span<T> gradients(const Parameter& block) { return gradients().subspan(block.first, block.size()); }
  /// The gradients of the store as a buffer, to add another one to them.
  GradientBuffer<T>& gradientBuffer() { return gradients_; }
  /// Sets all gradients to zero, at no cost.
  void zeroGrad() { gradients_.zero(); }

  /// What tapes are bound to: these values, and these gradients or the caller's own.
  Binding<T> binding() { return binding(gradients_); }
  Binding<T> binding(GradientBuffer<T>& gradients) const {
    return {.values = values_.data(),
            .gradients = gradients.data(),
            .size = values_.size(),
            .unwritten = gradients.unwritten(),
            .unwrittenWords = gradients.unwrittenWords(),
            .blockEnds = gradients.blockEnds().data(),
            .blockCount = gradients.blockEnds().size(),
            .bordersSum = gradients.bordersSum()};
  }

  /// Draws the first numbers of all blocks, in order.
  void initialise(Rng& rng) {
    for (const Parameter& block : layout_.blocks()) fill(values(block), layout_.start(block), rng);
  }

 private:
  void requireSize(std::size_t found) const {
    if (found != layout_.size()) fail("ParameterStore: expected %zu values, got %zu", layout_.size(), found);
  }

  ParameterLayout layout_;
  std::unique_ptr<Buffer<T>> owned_;
  std::span<T> values_;
  GradientBuffer<T> gradients_;
};

/// As GPT-2 starts: everything normal with deviation 0.02, biases 0, gains 1. Weights at the end of a residual branch have
/// deviation 0.02 / sqrt(number of branches), so that the sum over all branches does not grow with their number.
template <class T> void initialiseLikeGpt2(ParameterStore<T>& parameters, Rng& rng) {
  const auto blocks = parameters.layout().blocks();
  const auto branches = std::count_if(blocks.begin(), blocks.end(), [](const Parameter& block) {
    return block.role == ParameterRole::residual;
  });
  const auto startOf = [&](const Parameter& block) {
    switch (block.role) {
      case ParameterRole::bias: return FirstNumbers::constant(0);
      case ParameterRole::gain: return FirstNumbers::constant(1);
      case ParameterRole::residual: return FirstNumbers::normal(0.02 / std::sqrt(branches));
      default: return FirstNumbers::normal(0.02);
    }
  };
  for (const Parameter& block : blocks) fill(parameters.values(block), startOf(block), rng);
}

/// Sets the gradients of all parameters to zero.
template <class T> void zeroGrad(ParameterStore<T>& parameters) { parameters.zeroGrad(); }

}  // namespace burtorch::inline BURTORCH_TARGET
