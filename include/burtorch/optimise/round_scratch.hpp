// How a client computes: gradients that end early on request or report blocks on the way, of oracles that can and of those that
// cannot, and the memory for them, which is nobody's between two answers, so clients that work one after the other share it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "../oracle/finite_sum.hpp"
#include "blockwise.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Memory of a client at work: a gradient, and one more where differences need it.
template <class T> struct RoundScratch {
  std::vector<T> gradient, second;

  std::span<T> first(std::size_t d) {
    gradient.resize(d);
    return gradient;
  }
  std::span<T> other(std::size_t d) {
    second.resize(d);
    return second;
  }
};

/// Writes the gradient and its value and returns true, or returns false if `stop` said so. An oracle with knobs polls it during
/// the sweep and leaves out what is not wanted; any other one is asked only if `stop` says no before, and computes everything.
template <FiniteSum F>
bool roundGradient(F& f, std::span<const typename F::Scalar> x, Batch batch,
                   std::span<typename F::Scalar> into, const Wanted& wanted, FunctionRef<bool()> stop,
                   double& value) {
  if (stop && stop()) return false;
  if constexpr (GuidedSum<F>)
    if (stop || !wanted.isAll()) {
      GradientOptions<typename F::Scalar> options;
      options.stop = stop;
      options.wanted = wanted;
      const GradientResult result = f.gradient(x, batch, into, options);
      value = result.value;
      return static_cast<bool>(result);
    }
  value = f.gradient(x, batch, into);
  return true;
}

/// The same for a sum that may be divided into blocks: `onFinal(block, gradients)` is called once for each as soon as it is final,
/// which is during the sweep if the sum says so, and afterwards otherwise. A block of which nothing is wanted comes at the end.
template <FiniteSum F, class OnFinal>
bool roundGradientInBlocks(F& f, std::span<const typename F::Scalar> x, Batch batch,
                           std::span<typename F::Scalar> into, const Wanted& wanted, FunctionRef<bool()> stop,
                           const VectorBlocks& blocks, OnFinal onFinal, double& value) {
  using T = typename F::Scalar;
  std::vector<unsigned char> isReported(blocks.count());
  if constexpr (GuidedSum<F>) {
    const auto report = [&](const FinalBlock<T>& block) {
      if (block.id >= blocks.count() || block.first != blocks.first(block.id) ||
          block.gradients.size() != blocks.size(block.id, into.size()))
        fail("blocks are final that are not those of the message; divide it by the model's layout");
      isReported[block.id] = 1;
      onFinal(std::size_t{block.id}, std::span<const T>(block.gradients));
    };
    if (stop && stop()) return false;
    GradientOptions<T> options;
    options.stop = stop;
    options.wanted = wanted;
    options.onFinal = report;
    const GradientResult result = f.gradient(x, batch, into, options);
    if (!result) return false;
    value = result.value;
  } else {
    if (!roundGradient(f, x, batch, into, wanted, stop, value)) return false;
  }
  for (std::size_t block = 0; block < blocks.count(); ++block)
    if (isReported[block] == 0) onFinal(block, std::span<const T>(blocks.of(into, block)));
  return true;
}

/// The parts of an answer, in memory that stays from round to round.
class AnswerParts {
 public:
  void start(std::size_t count) {
    parts_.resize(count);
    isOpen_.assign(count, 0);
  }
  /// The memory of a block's vector, which is empty; a block has one.
  std::vector<std::byte>& open(std::size_t block) {
    if (block >= parts_.size() || isOpen_[block] != 0)
      fail(ErrorCode::badFile, "cannot take a part of an answer: its block is unknown, or was there before");
    isOpen_[block] = 1;
    parts_[block].clear();
    return parts_[block];
  }
  /// The whole answer, valid until the next call.
  std::span<const std::byte> joined(std::span<const std::byte> header) {
    whole_.assign(header.begin(), header.end());
    for (std::size_t block = 0; block < parts_.size(); ++block) {
      if (isOpen_[block] == 0) fail(ErrorCode::badFile, "an answer has no part for block %zu", block);
      whole_.insert(whole_.end(), parts_[block].begin(), parts_[block].end());
    }
    return whole_;
  }

 private:
  std::vector<std::vector<std::byte>> parts_;
  std::vector<unsigned char> isOpen_;
  std::vector<std::byte> whole_;
};

/// Memory for the coordinates that a client asks for.
struct WantedBlocks {
  std::vector<Block> all, ofOne;
};
/// The coordinates that an answer will hold, drawn before there is a gradient, as blocks in the caller's memory; everything if
/// they depend on values.
template <class T>
Wanted wantedOf(const VectorForm& form, std::size_t d, const CompressionKey& key, CoordinateSet& set,
                WantedBlocks& memory) {
  memory.all.clear();
  for (std::size_t block = 0; block < form.blocks.count(); ++block) {
    const MessageHeader header = form.headerOfBlock<T>(block, d, key);
    const bool isDrawn = header.kind == MessageKind::subset || header.kind == MessageKind::run ||
                         header.kind == MessageKind::part;
    if (!isDrawn) return {};
    detail::drawSet(header, set);
    set.blocks(memory.ofOne);
    for (Block part : memory.ofOne) {
      part.first += static_cast<NodeIndex>(form.blocks.first(block));
      memory.all.push_back(part);
    }
  }
  return std::span<const Block>(memory.all);
}

}  // namespace burtorch::inline BURTORCH_TARGET
