// record(f, x): a function recorded once, on a tape of its own, and replayed many times with other numbers: the run-time
// answer to compile(f), for functions with captures, with sizes known only at run time, or too large to unroll.
//
//   auto f = burtorch::record([&](auto x) { return innerProduct(x, x) * scale; }, std::vector{1.0, 2.0, 3.0});
//   double value = f.valueAndGrad(x, gradient);
//
// What was recorded is fixed: a function that branches on its numbers replays the branch that it took while recording. `select`
// of a comparison chooses again at every replay (comparison.hpp).
// Debug builds (checks on) record it again at every call and report a structure that has changed.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "../core/reduce.hpp"
#include "replay_code.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class F, class T, Config C = defaultConfig> class Recorded {
 public:
  /// Records f at x. `f` takes std::span<const X> of any number type X and returns an X.
  Recorded(F f, std::span<const T> x)
      : f_(std::move(f)), inputCount_(x.size()), root_(run(tape_, x)), single_(tape_, root_, inputCount_) {
    for (std::size_t k = 0; k < tape_.used().instructions; ++k)
      hasUserOps_ = hasUserOps_ || tape_.instruction(k).op() >= firstUserOpcode;
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  std::size_t inputCount() const { return inputCount_; }
  /// What was recorded: numbers, instructions, words.
  TapeCapacity used() const { return tape_.used(); }

  T value(std::span<const T> x) {
    load(x);
    single_.forward();
    return single_.value();
  }
  /// Writes the gradient, and returns the value.
  T valueAndGrad(std::span<const T> x, std::span<T> gradient) {
    requireCount(gradient.size(), inputCount_, "a gradient");
    load(x);
    single_.forwardAndBackward();
    copy(single_.gradients(), gradient.data());
    return single_.value();
  }

  /// Many samples, one after the other in `xs`: their gradients, and their values if wanted. A pack of samples goes
  /// through every step at once.
  void gradBatch(std::span<const T> xs, std::span<T> gradients, std::span<T> values = {}) {
    const std::size_t samples = inputCount_ == 0 ? 0 : xs.size() / inputCount_;
    requireCount(xs.size(), samples * inputCount_, "a batch");
    requireCount(gradients.size(), xs.size(), "the gradient of a batch");
    if (!values.empty()) requireCount(values.size(), samples, "the value of a batch");
    if (hasUserOps_) return gradOneByOne(xs, gradients, values, samples);
    if (!packs_) packs_ = std::make_unique<graph::ReplayCode<Packed>>(tape_, root_, inputCount_);
    for (std::size_t at = 0; at < samples; at += width) {
      const std::size_t used = std::min(width, samples - at);
      loadPack(xs.subspan(at * inputCount_, used * inputCount_), used);
      packs_->forwardAndBackward();
      for (std::size_t lane = 0; lane < used; ++lane) {
        for (std::size_t i = 0; i < inputCount_; ++i)
          gradients[(at + lane) * inputCount_ + i] = packs_->gradients()[i][lane];
        if (!values.empty()) values[at + lane] = packs_->value()[lane];
      }
    }
  }

 private:
  using Packed = Pack<T>;
  static constexpr std::size_t width = Packed::count;

  static void requireCount(std::size_t found, std::size_t expected, const char* what) {
    if (found != expected) fail("record: expected %s of %zu numbers, got %zu", what, expected, found);
  }

  /// Returns the index of the root.
  NodeIndex run(Tape<T, C>& tape, std::span<const T> x) {
    CurrentTape here(tape);
    const auto leaves = tape.leaves(x);
    std::vector<Value<T, C>> handles(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) handles[i] = leaves[i];
    Value<T, C> root(f_(std::span<const Value<T, C>>(handles)));
    if (root.isZero()) root = T{0};
    return root.index();
  }

  void load(std::span<const T> x) {
    requireCount(x.size(), inputCount_, "an input");
    if constexpr (C.checks) checkStructure(x);
    copy(x.data(), single_.inputs());
  }

  /// One by one, if they are few. Compilers make a wide copy of a simple loop, and a wide copy of numbers that were just
  /// written one by one waits until all of them have reached the cache: longer than a small graph takes.
  void copy(const T* from, T* to) const {
    if (inputCount_ > 16) {
      std::copy_n(from, inputCount_, to);
      return;
    }
    for (std::size_t i = 0; i < inputCount_; ++i) {
      to[i] = from[i];
      asm volatile("");
    }
  }

  /// Records the function once more and compares.
  void checkStructure(std::span<const T> x) {
    Tape<T, C> again;
    const NodeIndex root = run(again, x);
    const auto isSame = [](const auto* a, const auto* b, std::size_t count) {
      return count == 0 || std::memcmp(a, b, count * sizeof *a) == 0;
    };
    const TapeCapacity now = again.used(), before = tape_.used();
    if (root != root_ || now.scalars != before.scalars || now.instructions != before.instructions ||
        now.words != before.words || !isSame(again.code(), tape_.code(), now.instructions) ||
        !isSame(again.words(), tape_.words(), now.words))
      fail(
          "a recorded function takes another path with these numbers than when it was recorded: record it "
          "again, "
          "or use select, relu, max instead of branches");
  }

  void gradOneByOne(std::span<const T> xs, std::span<T> gradients, std::span<T> values, std::size_t samples) {
    for (std::size_t s = 0; s < samples; ++s) {
      const T value = valueAndGrad(xs.subspan(s * inputCount_, inputCount_),
                                   gradients.subspan(s * inputCount_, inputCount_));
      if (!values.empty()) values[s] = value;
    }
  }

  /// A partial pack repeats its last sample.
  void loadPack(std::span<const T> xs, std::size_t used) {
    if constexpr (C.checks)
      for (std::size_t lane = 0; lane < used; ++lane)
        checkStructure(xs.subspan(lane * inputCount_, inputCount_));
    for (std::size_t i = 0; i < inputCount_; ++i) {
      T lanes[width];
      for (std::size_t lane = 0; lane < width; ++lane)
        lanes[lane] = xs[std::min(lane, used - 1) * inputCount_ + i];
      packs_->inputs()[i] = Packed::load(lanes);
    }
  }

  F f_;
  std::size_t inputCount_;
  Tape<T, C> tape_;
  NodeIndex root_;
  bool hasUserOps_ = false;
  graph::ReplayCode<T> single_;
  std::unique_ptr<graph::ReplayCode<Packed>> packs_;
};

/// Records `f` at `x`, which is any list of numbers. `f` takes std::span<const X>.
template <Config C = defaultConfig, class F, class L> auto record(F f, const L& x) {
  using T = std::remove_cvref_t<decltype(*std::data(x))>;
  return Recorded<F, T, C>(std::move(f), std::span<const T>(std::data(x), std::size(x)));
}

}  // namespace burtorch::inline BURTORCH_TARGET
