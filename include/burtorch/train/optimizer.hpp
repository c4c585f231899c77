// A method (methods.hpp) at work on n parameters that lie side by side, with the state it needs.
//
// The state is one flat array, taken once, from the heap or from the caller; a step allocates nothing. Values,
// gradients and state go through packs, the last ones padded to a whole pack, so what happens to a parameter has the
// same bits wherever it lies. Cost of a step: one pass; Adam reads 4 numbers and writes 3 for each parameter.
//
//   Optimizer<float> optimizer(AdamW{.learningRate = 3e-4}, parameters.size());
//   optimizer.exemptFromDecay(biases);
//   optimizer.step(parameters.values(), parameters.gradients(), schedule.at(step));
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
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
#include "../base/workers.hpp"
#include "../simd/pack.hpp"
#include "methods.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// `count` parameters from `first` on.
struct ParameterBlock {
  std::size_t first = 0, count = 0;
};

/// `Method` is one of methods.hpp, or AnyMethod: whichever the program names while it runs.
template <std::floating_point T, class Method = AnyMethod> class Optimizer {
 public:
  /// How many numbers the method remembers for so many parameters.
  static std::size_t stateSize(const Method& method, std::size_t parameters) {
    return visit(method, [&](const auto& one) { return one.stateCount * parameters; });
  }

  Optimizer(const Method& method, std::size_t parameters) : method_(method), parameters_(parameters) {
    checkOptions(method);
    owned_.resize(stateSize(method, parameters));
    state_ = owned_;
  }
  /// Keeps its state in the caller's array, which must have stateSize(method, parameters) numbers and is set to zeros.
  Optimizer(const Method& method, std::size_t parameters, std::span<T> state)
      : method_(method), parameters_(parameters), state_(state) {
    checkOptions(method);
    if (state.size() != stateSize(method, parameters))
      fail("Optimizer: expected a state of %zu numbers for %zu parameters, got %zu",
           stateSize(method, parameters), parameters, state.size());
    std::fill(state.begin(), state.end(), T{0});
  }
  // A copy would share the state.
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  /// Parameters in these blocks are not decayed: biases, norms. Replaces what was exempt before.
  void exemptFromDecay(std::span<const ParameterBlock> blocks) {
    for (const ParameterBlock& block : blocks)
      if (block.count > parameters_ || block.first > parameters_ - block.count)
        fail(ErrorCode::outOfRange,
             "a block of %zu parameters from %zu on is not among the %zu of the optimiser", block.count,
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

  /// Moves the values once. They, the gradients and the state must not overlap.
  void step(std::span<T> values, std::span<const T> gradients) {
    step(values, gradients, visit(method_, [](const auto& method) { return method.learningRate; }));
  }
  /// With the rate that a schedule gives for this step.
  void step(std::span<T> values, std::span<const T> gradients, double learningRate) {
    if (values.size() != parameters_ || gradients.size() != parameters_)
      fail("Optimizer: expected %zu values and gradients, got %zu values and %zu gradients", parameters_,
           values.size(), gradients.size());
    if (!(learningRate >= 0 && learningRate <= std::numeric_limits<double>::max()))
      fail(std::isfinite(learningRate) ? ErrorCode::invalidArgument : ErrorCode::notFinite,
           "a step with learning rate %g: expected a finite number, 0 or more", learningRate);
    // Stops at the last number: beyond it Adam would correct its means by 1 - beta^0, which is 0.
    if (steps_ < UINT64_MAX) ++steps_;
    visit(method_,
          [&](const auto& method) { moveAll(method, values.data(), gradients.data(), learningRate); });
  }

  const Method& method() const { return method_; }
  std::string_view methodName() const {
    return visit(method_, [](const auto& method) { return std::string_view(method.name); });
  }
  std::size_t parameterCount() const { return parameters_; }

  /// All that a step depends on besides its arguments: with both restored, training resumes with the same bits.
  /// The state holds one array of all parameters after the other, in the order of the method's update.
  std::span<T> state() { return state_; }
  std::span<const T> state() const { return state_; }
  std::uint64_t steps() const { return steps_; }
  void setSteps(std::uint64_t steps) { steps_ = steps; }

 private:
  using P = Pack<T>;

  template <class Visit> static decltype(auto) visit(const Method& method, Visit use) {
    if constexpr (requires { std::variant_size<Method>::value; })
      return std::visit(use, method);
    else
      return use(method);
  }

  template <class One> void moveAll(const One& method, T* values, const T* gradients, double rate) {
    const auto update = method.template update<T>(rate, steps_);
    if (method.weightDecay == 0) {
      move<One>(0, parameters_, values, gradients, update, [](P&, P&) {});
      return;
    }
    const auto decay = [factor = static_cast<T>(One::decouplesDecay ? 1 - rate * method.weightDecay
                                                                    : method.weightDecay)](P& x, P& g) {
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
    constexpr std::size_t leastNumbers = std::size_t{1} << 14;  // for another thread
    forEachPartOfLoop(to - from, P::count, Worth{1, leastNumbers},
                      [=, this](std::size_t first, std::size_t end) BURTORCH_INLINE_LAMBDA {
                        std::size_t i = from + first;
                        for (; i + P::count <= from + end; i += P::count)
                          movePack<One>(Place{i, P::count, P::count}, values, gradients, update, decay);
                        if (i < to && end == to - from)
                          movePack<One>(Place{i, to - i, parameters_ - i}, values, gradients, update, decay);
                      });
  }
  template <class One, class Update, class Decay>
  BURTORCH_INLINE void movePack(const Place& at, T* values, const T* gradients, const Update& update,
                                const Decay& decay) {
    P x = load(values, at), g = load(gradients, at);
    std::array<P, One::stateCount> state;
    for (std::size_t k = 0; k < One::stateCount; ++k) state[k] = load(state_.data() + k * parameters_, at);
    decay(x, g);
    std::apply([&](auto&... m) { update(x, std::as_const(g), m...); }, state);
    store(x, values, at);
    for (std::size_t k = 0; k < One::stateCount; ++k) store(state[k], state_.data() + k * parameters_, at);
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

  Method method_;
  std::size_t parameters_;
  std::uint64_t steps_ = 0;
  std::vector<T> owned_;
  std::span<T> state_;
  std::vector<ParameterBlock> exempt_;  // by their first parameter
};

}  // namespace burtorch::inline BURTORCH_TARGET
