// A rule (rules.hpp) at work on n parameters that lie side by side, with the memory that it needs.
//
// The memory is one flat array, taken once, from the heap or from the caller; a step allocates nothing. Values,
// gradients and memory go through packs, the last ones padded to a whole pack, so what happens to a parameter has the
// same bits wherever it lies. Cost of a step: one pass; Adam reads 4 numbers and writes 3 for each parameter.
//
//   Optimizer<float> optimizer(AdamW{.learningRate = 3e-4}, parameters.size());
//   optimizer.exemptFromDecay(biases);
//   optimizer.step(parameters.values(), parameters.gradients(), schedule.at(step));
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "../base/check.hpp"
#include "../simd/pack.hpp"
#include "rules.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// `count` parameters from `first` on.
struct ParameterBlock {
  std::size_t first = 0, count = 0;
};

/// `Rule` may be one rule, or AnyRule: whichever the program names while it runs.
template <std::floating_point T, class Rule = AnyRule> class Optimizer {
 public:
  /// How many numbers the rule remembers for so many parameters.
  static std::size_t memorySize(const Rule& rule, std::size_t parameters) {
    return visit(rule, [&](const auto& one) { return one.memories * parameters; });
  }

  Optimizer(const Rule& rule, std::size_t parameters) : rule_(rule), parameters_(parameters) {
    checkOptions(rule);
    owned_.resize(memorySize(rule, parameters));
    memory_ = owned_;
  }
  /// Remembers in the caller's memory, which must have memorySize(rule, parameters) numbers and is set to zeros.
  Optimizer(const Rule& rule, std::size_t parameters, std::span<T> memory)
      : rule_(rule), parameters_(parameters), memory_(memory) {
    checkOptions(rule);
    if (memory.size() != memorySize(rule, parameters))
      fail("Optimizer: expected a memory of %zu numbers for %zu parameters, got %zu",
           memorySize(rule, parameters), parameters, memory.size());
    std::fill(memory.begin(), memory.end(), T{0});
  }
  // A copy would share the memory.
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  /// Parameters in these blocks are not decayed: biases, norms. Replaces what was exempt before.
  void exemptFromDecay(std::span<const ParameterBlock> blocks) {
    for (const ParameterBlock& block : blocks)
      if (block.count > parameters_ || block.first > parameters_ - block.count)
        fail("a block of %zu parameters from %zu on is not among the %zu of the optimiser", block.count,
             block.first, parameters_);
    exempt_.assign(blocks.begin(), blocks.end());
    std::sort(exempt_.begin(), exempt_.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  }

  /// Every block of the layout that is not meant to decay: biases and gains.
  template <class Layout>
  requires requires(const Layout& layout) { layout.blocks(); }
  void exemptFromDecay(const Layout& layout) {
    std::vector<ParameterBlock> exempt;
    for (const auto& block : layout.blocks())
      if (!block.decays()) exempt.push_back({block.first, block.size()});
    exemptFromDecay(std::span<const ParameterBlock>(exempt));
  }

  /// Moves the values once. They, the gradients and the memory must not overlap.
  void step(std::span<T> values, std::span<const T> gradients) {
    step(values, gradients, visit(rule_, [](const auto& rule) { return rule.learningRate; }));
  }
  /// With the rate that a schedule gives for this step.
  void step(std::span<T> values, std::span<const T> gradients, double learningRate) {
    if (values.size() != parameters_ || gradients.size() != parameters_)
      fail("Optimizer: expected %zu values and gradients, got %zu values and %zu gradients", parameters_,
           values.size(), gradients.size());
    if (!(learningRate >= 0 && learningRate <= std::numeric_limits<double>::max()))
      fail("a step with learning rate %g: expected a finite number, 0 or more", learningRate);
    // Stops at the last number: beyond it Adam would correct its means by 1 - beta^0, which is 0.
    if (steps_ < UINT64_MAX) ++steps_;
    visit(rule_, [&](const auto& rule) { moveAll(rule, values.data(), gradients.data(), learningRate); });
  }

  const Rule& rule() const { return rule_; }
  std::string_view ruleName() const {
    return visit(rule_, [](const auto& rule) { return std::string_view(rule.name); });
  }
  std::size_t parameters() const { return parameters_; }

  /// All that a step depends on besides its arguments: with both restored, training goes on with the same bits.
  /// The memory holds one array of all parameters after the other, in the order of the rule's update.
  std::span<T> memory() { return memory_; }
  std::span<const T> memory() const { return memory_; }
  std::uint64_t steps() const { return steps_; }
  void setSteps(std::uint64_t steps) { steps_ = steps; }

 private:
  using P = Pack<T>;

  template <class Visit> static decltype(auto) visit(const Rule& rule, Visit use) {
    if constexpr (requires { std::variant_size<Rule>::value; })
      return std::visit(use, rule);
    else
      return use(rule);
  }

  template <class One> void moveAll(const One& rule, T* values, const T* gradients, double rate) {
    const auto update = rule.template update<T>(rate, steps_);
    if (rule.weightDecay == 0) {
      move<One>(0, parameters_, values, gradients, update, [](P&, P&) {});
      return;
    }
    const auto decay = [factor = static_cast<T>(One::decouplesDecay ? 1 - rate * rule.weightDecay
                                                                    : rule.weightDecay)](P& x, P& g) {
      if constexpr (One::decouplesDecay)
        x = factor * x;
      else
        g = g + factor * x;
    };
    std::size_t at = 0;
    for (const ParameterBlock& block : exempt_) {
      const std::size_t end = block.first + block.count;
      if (end <= at) continue;  // inside another block
      const std::size_t first = std::max(at, block.first);
      move<One>(at, first, values, gradients, update, decay);
      move<One>(first, end, values, gradients, update, [](P&, P&) {});
      at = end;
    }
    move<One>(at, parameters_, values, gradients, update, decay);
  }

  /// Up to a pack of parameters to move: the first, how many, and how many there are at least to the end of the array.
  struct Place {
    std::size_t first, count, room;
  };

  template <class One, class Update, class Decay>
  void move(std::size_t from, std::size_t to, T* values, const T* gradients, const Update& update,
            const Decay& decay) {
    std::size_t i = from;
    for (; i + P::count <= to; i += P::count)
      movePack<One>(Place{i, P::count, P::count}, values, gradients, update, decay);
    if (i < to) movePack<One>(Place{i, to - i, parameters_ - i}, values, gradients, update, decay);
  }
  template <class One, class Update, class Decay>
  BURTORCH_INLINE void movePack(const Place& at, T* values, const T* gradients, const Update& update,
                                const Decay& decay) {
    P x = load(values, at), g = load(gradients, at);
    std::array<P, One::memories> memory;
    for (std::size_t k = 0; k < One::memories; ++k) memory[k] = load(memory_.data() + k * parameters_, at);
    decay(x, g);
    std::apply([&](auto&... m) { update(x, std::as_const(g), m...); }, memory);
    store(x, values, at);
    for (std::size_t k = 0; k < One::memories; ++k) store(memory[k], memory_.data() + k * parameters_, at);
  }

  // Copies of a length that is not known to the compiler are slow, so they are left to the end of the array. Before
  // it, a pack reaches into the next block, and writes there what it found.
  BURTORCH_INLINE static P load(const T* array, const Place& at) {
    if (at.room >= P::count) return P::load(array + at.first);
    P pack(T{0});
    std::memcpy(&pack.lanes, array + at.first, at.count * sizeof(T));
    return pack;
  }
  BURTORCH_INLINE static void store(const P& pack, T* array, const Place& at) {
    if (at.count == P::count)
      pack.store(array + at.first);
    else if (at.room >= P::count)
      select(isLaneBelow(at.count), pack, P::load(array + at.first)).store(array + at.first);
    else
      std::memcpy(array + at.first, &pack.lanes, at.count * sizeof(T));
  }
  BURTORCH_INLINE static typename P::Mask isLaneBelow(std::size_t count) {
    T lane[P::count];
    for (std::size_t i = 0; i < P::count; ++i) lane[i] = static_cast<T>(i);
    return P::load(lane) < P(static_cast<T>(count));
  }

  Rule rule_;
  std::size_t parameters_;
  std::uint64_t steps_ = 0;
  std::vector<T> owned_;
  std::span<T> memory_;
  std::vector<ParameterBlock> exempt_;  // by their first parameter
};

}  // namespace burtorch::inline BURTORCH_TARGET
