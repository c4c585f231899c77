// Compression block by block: a vector is divided as the parameters of a model are, and each block is compressed on its own, with
// its share and its key, so that a block can be sent as soon as its gradient is final (interleaved.hpp).
//
// A compressor that is contractive with alpha_b on block b is so with min alpha_b on the whole, since the errors of the blocks add
// up; an unbiased one has max omega_b. The vectors of all blocks follow each other in an answer. One block is the whole vector:
// then everything is as without blocks, to the last byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../nn/parameter_layout.hpp"
#include "encode.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Where a vector is divided; by default nowhere.
class VectorBlocks {
 public:
  VectorBlocks() = default;
  /// Blocks of these sizes, one after the other.
  explicit VectorBlocks(std::span<const std::size_t> sizes) {
    for (const std::size_t size : sizes) {
      if (size == 0) fail("VectorBlocks: expected blocks of at least 1 number");
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + size);
    }
  }
  /// The blocks of a model's parameters.
  explicit VectorBlocks(const ParameterLayout& layout) {
    for (const Parameter& block : layout.blocks()) ends_.push_back(block.first + block.size());
  }

  std::size_t count() const { return ends_.empty() ? 1 : ends_.size(); }
  std::size_t first(std::size_t block) const { return block > 0 ? ends_[block - 1] : 0; }
  /// How many of d numbers a block has.
  std::size_t size(std::size_t block, std::size_t d) const {
    return ends_.empty() ? d : ends_[block] - first(block);
  }
  template <class T> std::span<T> of(std::span<T> vector, std::size_t block) const {
    return vector.subspan(first(block), size(block, vector.size()));
  }
  /// Fails unless d numbers can be divided so and the compressor takes each block.
  void check(const AnyCompressor& compressor, std::size_t d) const {
    if (!ends_.empty() && ends_.back() != d)
      fail("VectorBlocks: blocks of %zu numbers in all cannot divide %zu", ends_.back(), d);
    for (std::size_t block = 0; block < count(); ++block) checkCompressor(compressor, size(block, d));
  }
  /// What the random choices of a block depend on.
  CompressionKey keyOf(const CompressionKey& key, std::size_t block) const {
    constexpr std::uint64_t blocks = 0x626c6f636b73;  // apart from what else is drawn from the seed
    return count() == 1 ? key : CompressionKey{Rng(key.seed ^ blocks, block).next(), key.round, key.worker};
  }

 private:
  std::vector<std::size_t> ends_;
};

/// The contraction of a compressor that takes d numbers block by block: that of its worst block.
inline double alpha(const AnyCompressor& any, const VectorBlocks& blocks, std::size_t d) {
  double least = 1;
  for (std::size_t block = 0; block < blocks.count(); ++block)
    least = std::min(least, alpha(any, blocks.size(block, d)));
  return least;
}
/// The variance of an unbiased one: that of its worst block.
inline double omega(const AnyCompressor& any, const VectorBlocks& blocks, std::size_t d) {
  double most = 0;
  for (std::size_t block = 0; block < blocks.count(); ++block)
    most = std::max(most, omega(any, blocks.size(block, d)));
  return most;
}

/// A block of a source, as a source.
template <CompressionSource Source> struct BlockOf {
  using Scalar = typename Source::Scalar;
  Source whole;
  std::size_t first, count;
  std::size_t size() const { return count; }
  Scalar operator[](std::size_t i) const { return whole[first + i]; }
};

/// Appends the compressed blocks of a source to a message.
template <CompressionSource Source>
void encodeBlocks(const AnyCompressor& compressor, const VectorBlocks& blocks, const CompressionKey& key,
                  MessageForm form, const Source& x, CompressorMemory& memory,
                  std::vector<std::byte>& message) {
  if (blocks.count() == 1) return encode(compressor, key, form, x, memory, message, message.size());
  for (std::size_t block = 0; block < blocks.count(); ++block)
    encode(compressor, blocks.keyOf(key, block), form,
           BlockOf<Source>{x, blocks.first(block), blocks.size(block, x.size())}, memory, message,
           message.size());
}

/// How the vectors of an answer must look: what server and client agree on.
struct VectorForm {
  AnyCompressor compressor{};
  VectorBlocks blocks{};
  MessageForm form = MessageForm::unbiased;

  /// The header of a block.
  template <class T>
  MessageHeader headerOfBlock(std::size_t block, std::size_t d, const CompressionKey& key) const {
    return headerOf<T>(compressor, blocks.size(block, d), blocks.keyOf(key, block), form);
  }
  /// Calls `use(block, header, bytes)` for the vectors of a message; what is left over comes with the last one.
  template <class T, class Use>
  void forEachVector(std::span<const std::byte> message, std::size_t d, const CompressionKey& key,
                     Use use) const {
    for (std::size_t block = 0; block < blocks.count(); ++block) {
      const MessageHeader header = headerOfBlock<T>(block, d, key);
      const bool isLast = block + 1 == blocks.count();
      const std::size_t bytes = isLast ? message.size() : std::min(detail::bytesOf(header), message.size());
      use(block, header, message.first(bytes));
      message = message.subspan(bytes);
    }
  }
  /// The most bytes that the vectors take, whatever the key.
  template <class T> std::size_t mostBytes(std::size_t d) const {
    std::size_t sum = 0;
    for (std::size_t block = 0; block < blocks.count(); ++block)
      sum += MessageHeader::bytes + sizeof(T) + blocks.size(block, d) * (sizeof(T) + sizeof(std::uint32_t));
    return sum;
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET
