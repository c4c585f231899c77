// The parameters of a model: named blocks of leaves, side by side on a tape. Their numbers are one flat span, their
// gradients another; an optimiser needs nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../view/matrix.hpp"

namespace burtorch {

/// What a block is for: it decides how the block starts, and whether it decays.
enum class ParameterRole : std::uint8_t { weight, bias, gain, table };

/// A block of parameters as layers use it: a matrix of leaves and its number among the blocks.
struct Parameter {
  Index first = 0, rows = 0, columns = 0;
  Index id = static_cast<Index>(maxIndex);
  ParameterRole role = ParameterRole::weight;

  bool isPresent() const { return rows > 0; }
  std::size_t size() const { return std::size_t{rows} * columns; }
  Block block() const { return {first, static_cast<Index>(size())}; }
};

template <class T, Config C = defaultConfig> class Parameters {
 public:
  explicit Parameters(Tape<T, C>& tape) : tape_(tape), first_(tape.size()) {}

  /// Appends a block, named as PyTorch names it. All blocks come before anything else is recorded.
  Parameter add(std::string name, ParameterRole role, std::size_t rows, std::size_t columns = 1) {
    if (tape_.size() != first_ + size_) fail("parameter %s is added after other nodes", name.c_str());
    const auto first = static_cast<Index>(tape_.size());
    tape_.leaves(rows * columns);
    size_ += rows * columns;
    const Parameter block{first, static_cast<Index>(rows), static_cast<Index>(columns),
                          static_cast<Index>(blocks_.size()), role};
    blocks_.push_back(block);
    names_.push_back(std::move(name));
    return block;
  }

  /// Appends leaves that nobody uses, so that columns start at a cache line.
  void align() {
    const std::size_t line = 64 / sizeof(T) > 0 ? 64 / sizeof(T) : 1, rest = tape_.size() % line;
    if (rest != 0) tape_.leaves(line - rest);
  }

  std::size_t size() const { return size_; }
  std::span<T> values() const { return tape_.values().subspan(first_, size_); }
  std::span<T> gradients() const { return tape_.gradients().subspan(first_, size_); }
  std::span<T> values(const Parameter& block) const {
    return tape_.values().subspan(block.first, block.size());
  }
  std::span<T> gradients(const Parameter& block) const {
    return tape_.gradients().subspan(block.first, block.size());
  }
  std::span<const Parameter> blocks() const { return blocks_; }
  const std::string& name(const Parameter& block) const { return names_[block.id]; }
  Tape<T, C>& tape() const { return tape_; }

 private:
  Tape<T, C>& tape_;
  std::size_t first_, size_ = 0;
  std::vector<Parameter> blocks_;
  std::vector<std::string> names_;
};

}  // namespace burtorch
