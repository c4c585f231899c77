// The parameters of a model as a plan: named blocks side by side, with their shapes, roles and first numbers. Offsets count
// from 0 and say nothing of where the numbers will lie; that is a ParameterStore's business (parameter_store.hpp), and any
// number of stores can follow one layout.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../core/layer.hpp"
#include "initialise.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What a block is for: it decides whether the block decays, and how its tensor is saved. `residual` is a weight whose
/// results are added to what went into its branch of the model.
enum class ParameterRole : std::uint8_t { weight, bias, gain, table, residual };

/// A block of parameters as layers use it: a matrix, row by row, and its number among the blocks.
struct Parameter {
  std::uint32_t first = 0, rows = 0, columns = 0;
  std::uint32_t id = static_cast<std::uint32_t>(maxIndex);
  ParameterRole role = ParameterRole::weight;

  bool isPresent() const { return rows > 0; }
  /// Whether weight decay is meant for it.
  bool decays() const { return role != ParameterRole::bias && role != ParameterRole::gain; }
  std::size_t size() const { return std::size_t{rows} * columns; }
  Block block() const { return {first, static_cast<std::uint32_t>(size()), true}; }
};

class ParameterLayout {
 public:
  /// Appends a block, named as PyTorch names it.
  Parameter add(std::string name, ParameterRole role, std::size_t rows, std::size_t columns = 1,
                FirstNumbers start = {}) {
    constexpr std::size_t most = OperandWord::maxParameters;
    if (rows == 0 || columns == 0 || rows > most || columns > most / rows || rows * columns > most - size_)
      fail("parameter %s of %zu x %zu: a layout holds 1 to %zu numbers, %zu are taken", name.c_str(), rows,
           columns, most, size_);
    const Parameter block{static_cast<std::uint32_t>(size_), static_cast<std::uint32_t>(rows),
                          static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(blocks_.size()),
                          role};
    blocks_.push_back(block);
    names_.push_back(std::move(name));
    starts_.push_back(start);
    size_ += rows * columns;
    return block;
  }
  /// Replaces how a block starts.
  void setStart(const Parameter& block, FirstNumbers start) { starts_[block.id] = start; }

  /// How many numbers all blocks have.
  std::size_t size() const { return size_; }
  std::span<const Parameter> blocks() const { return blocks_; }
  const std::string& name(const Parameter& block) const { return names_[block.id]; }
  const FirstNumbers& start(const Parameter& block) const { return starts_[block.id]; }

 private:
  std::size_t size_ = 0;
  std::vector<Parameter> blocks_;
  std::vector<std::string> names_;
  std::vector<FirstNumbers> starts_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
