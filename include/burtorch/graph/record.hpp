// record(f, x): a function recorded once, on a tape of its own, and replayed many times with other numbers: the run-time
// answer to compile(f), for functions with captures, with sizes known only at run time, or too large to unroll.
//
//   auto f = burtorch::record([&](auto x) { return innerProduct(x, x) * scale; }, std::vector{1.0, 2.0, 3.0});
//   double value = f.valueAndGrad(x, gradient);
//
// What was recorded is fixed: a function that branches on its numbers replays the branch that it took while recording.
// Debug builds (checks on) record it again at every call and report a structure that has changed.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "../core/pack.hpp"
#include "../core/reduce.hpp"
#include "../core/replay.hpp"

namespace burtorch {

template <class F, class T, Config C = defaultConfig> class Recorded {
 public:
  /// Records f at x. `f` takes std::span<const X> of any number type X and returns an X.
  Recorded(F f, std::span<const T> x) : f_(std::move(f)), inputCount_(x.size()) {
    CurrentTape here(tape_);
    root_ = run(tape_, x);
    rootIndex_ = root_.sysGetRawNodeIndex();
    const auto position = tape_.find(rootIndex_);
    instructionCount_ = position.instruction + 1;
    listReached(position);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  std::size_t inputCount() const { return inputCount_; }
  /// What was recorded: numbers, instructions, words.
  Room used() const { return tape_.used(); }

  T value(std::span<const T> x) {
    forward(x);
    return tape_.values()[rootIndex_];
  }
  /// Writes the gradient, and returns the value.
  T valueAndGrad(std::span<const T> x, std::span<T> gradient) {
    requireCount(gradient.size(), inputCount_, "a gradient");
    forward(x);
    CurrentTape here(tape_);
    for (std::size_t i = 0; i < inputCount_; ++i) tape_.gradients()[i] = T{0};
    backward(root_);
    std::copy_n(tape_.gradients().data(), inputCount_, gradient.data());
    return tape_.values()[rootIndex_];
  }

  /// Many samples, one after the other in `xs`; their gradients, and their values if wanted. A pack of samples goes
  /// through every instruction at once.
  void gradBatch(std::span<const T> xs, std::span<T> gradients, std::span<T> values = {}) {
    const std::size_t samples = inputCount_ == 0 ? 0 : xs.size() / inputCount_;
    requireCount(xs.size(), samples * inputCount_, "a batch");
    requireCount(gradients.size(), xs.size(), "the gradients of a batch");
    if (!values.empty()) requireCount(values.size(), samples, "the values of a batch");
    if (hasUserOps_) return gradOneByOne(xs, gradients, values, samples);
    preparePacks();
    for (std::size_t at = 0; at < samples; at += width) {
      const std::size_t used = std::min(width, samples - at);
      if constexpr (C.checks)
        for (std::size_t lane = 0; lane < used; ++lane) checkStructure(xs.subspan((at + lane) * inputCount_, inputCount_));
      loadPacks(xs.data() + at * inputCount_, used);
      sweepPacks();
      for (std::size_t i = 0; i < inputCount_; ++i)
        for (std::size_t lane = 0; lane < used; ++lane)
          gradients[(at + lane) * inputCount_ + i] = packedGradients_[i][lane];
      for (std::size_t lane = 0; !values.empty() && lane < used; ++lane)
        values[at + lane] = packedValues_[rootIndex_][lane];
    }
  }

 private:
  // Wider than a register: the instructions are decoded once for all of it, and its parts do not wait for each other.
  static constexpr std::size_t width = 4 * packWidth<T>;
  using Packed = Pack<T, width>;

  static void requireCount(std::size_t found, std::size_t expected, const char* what) {
    if (found != expected) fail("%s of %zu numbers is given to a recorded function, %zu are expected", what, found, expected);
  }

  Value<T, C> run(Tape<T, C>& tape, std::span<const T> x) {
    const auto leaves = tape.leaves(x);
    std::vector<Value<T, C>> handles(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) handles[i] = leaves[i];
    return f_(std::span<const Value<T, C>>(handles));
  }

  void forward(std::span<const T> x) {
    requireCount(x.size(), inputCount_, "an input");
    if constexpr (C.checks) checkStructure(x);
    std::copy_n(x.data(), inputCount_, tape_.values().data());
    computeInstructions(tape_, instructionCount_, tape_.values().data());
  }

  /// Records the function anew and compares. A leaf's number is an input or a constant; constants must not change either.
  void checkStructure(std::span<const T> x) {
    Tape<T, C> again;
    CurrentTape here(again);
    run(again, x);
    const auto isSame = [](const auto& a, const auto& b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
    };
    const Room now = again.used(), before = tape_.used();
    if (now.scalars != before.scalars || now.instructions != before.instructions || now.words != before.words ||
        !isSame(std::span(again.code(), now.instructions), std::span(tape_.code(), before.instructions)) ||
        !isSame(std::span(again.words(), now.words), std::span(tape_.words(), before.words)))
      fail("a recorded function takes another path with these numbers than when it was recorded: record it again, or "
           "use select, relu, max instead of branches");
  }

  /// The instructions that the root depends on, from the last to the first: nothing else passes a gradient on.
  void listReached(typename Tape<T, C>::Position position) {
    std::vector<bool> isReached(rootIndex_ + 1u);
    isReached[rootIndex_] = true;
    Index last = position.last;
    for (std::size_t k = instructionCount_; k-- > 0;) {
      const Instruction code = tape_.instruction(k);
      const OpInfo& info = tape_.infoOf(code.op());
      const Index count = info.writesMany() ? code.b() : 1;
      bool isNeeded = false;
      for (Index node = last + 1 - count; node != last + 1; ++node)
        isNeeded = isNeeded || (node <= rootIndex_ && isReached[node]);
      if (isNeeded && info.arity != Arity::leaf) {
        reached_.push_back({code, last});
        hasUserOps_ = hasUserOps_ || code.op() >= firstUserOpcode;
        forEachOperand(code, info, tape_.words(), [&](Index node) { isReached[node] = true; });
      }
      last -= count;
    }
    for (std::size_t k = 0; k < instructionCount_; ++k)
      hasUserOps_ = hasUserOps_ || tape_.instruction(k).op() >= firstUserOpcode;
  }

  void gradOneByOne(std::span<const T> xs, std::span<T> gradients, std::span<T> values, std::size_t samples) {
    for (std::size_t s = 0; s < samples; ++s) {
      const T value = valueAndGrad(xs.subspan(s * inputCount_, inputCount_), gradients.subspan(s * inputCount_, inputCount_));
      if (!values.empty()) values[s] = value;
    }
  }

  void preparePacks() {
    if (!packedValues_.empty()) return;
    packedGradients_.resize(tape_.size());
    for (const T& number : tape_.values()) packedValues_.push_back(Packed(number));  // constants stay
  }
  /// A partial pack repeats its last sample.
  void loadPacks(const T* xs, std::size_t used) {
    for (std::size_t i = 0; i < inputCount_; ++i) {
      T lanes[width];
      for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] = xs[std::min(lane, used - 1) * inputCount_ + i];
      packedValues_[i] = Packed::load(lanes);
    }
  }
  void sweepPacks() {
    computeInstructions(tape_, instructionCount_, packedValues_.data());
    std::fill(packedGradients_.begin(), packedGradients_.end(), Packed(0));
    packedGradients_[rootIndex_] = Packed(1);
    const Frame<Packed> frame{packedValues_.data(), packedGradients_.data(), tape_.words()};
    for (const Reached& step : reached_)
      OpList::visitAt(step.code.op(), [&]<class Op>() { pull<Op, Packed>(frame, step.code, step.last, true); });
  }

  struct Reached {
    Instruction code;
    Index last;
  };

  F f_;
  std::size_t inputCount_, instructionCount_ = 0;
  Tape<T, C> tape_;
  Value<T, C> root_;
  Index rootIndex_ = 0;
  bool hasUserOps_ = false;
  std::vector<Reached> reached_;
  std::vector<Packed> packedValues_, packedGradients_;
};

/// Records `f` at `x`, which is any list of numbers. `f` takes std::span<const X>.
template <class F, class L> auto record(F f, const L& x) {
  using T = std::remove_cvref_t<decltype(*std::data(x))>;
  return Recorded<F, T>(std::move(f), std::span<const T>(std::data(x), std::size(x)));
}

}  // namespace burtorch
