// One graph at two points: recorded once, computed and swept at two sets of parameters, layer by layer at both. What a recording
// costs is paid once, the second point follows the first one's branches, and a layer may have a rule for both at once, in which a
// register holds the numbers of both (core/layer.hpp). Each point has the bits that it has alone.
//
// Recording only notes the layers (Tape::deferValues); then come the values and the sweep of everything. So the graph may depend on no
// value, and consists of layers alone; anything else is for two ordinary gradients. The first point's numbers lie on the tape, the
// second one's in memory that is kept from call to call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "../core/backward.hpp"
#include "finite_sum.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What recording and sweeping find at a second point.
template <class T, Config C> class TwoPoints {
 public:
  /// Layers are recorded on a tape without being computed, until the end of the block.
  class Recording {
   public:
    explicit Recording(Tape<T, C>& tape) : tape_(tape) { tape_.deferValues(true); }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() { tape_.deferValues(false); }

   private:
    Tape<T, C>& tape_;
  };

  // Larger models have weights and tapes of which a near cache holds those of one point, if any.
  static constexpr std::size_t mostParameters = (std::size_t{8} << 20) / sizeof(T);

  /// The points of the next sweeps: that of the tape and another one. Layers that want both points' values in turns have room.
  [[nodiscard]] Recording start(Tape<T, C>& tape, const Binding<T>& other) {
    x_ = tape.binding(), y_ = other;
    values_ = {};
    isDone_ = true;
    if (pairs_.capacity() < 2 * x_.size) pairs_.allocate(2 * x_.size);
    x_.pairs = y_.pairs = pairs_.data();
    return Recording(tape);
  }
  /// Computes what a tape holds at both points, and sweeps from `root`, which is a share of the whole. False for a tape that holds
  /// anything but layers, and where a sweep meets 0 * inf, about which only `backward` knows enough: then the gradients are to be
  /// computed again, one after the other.
  bool run(Tape<T, C>& tape, const Value<T, C>& root, double share) {
    isDone_ = holdsLayers(tape);
    if (!isDone_) return false;
    const std::size_t scalars = tape.size();
    if (numbers_.capacity() < scalars) {
      numbers_.allocate(scalars);
      gradients_.allocate(scalars);
    }
    std::fill_n(gradients_.data(), scalars, T{0});
    Frame<T> x = tape.frame(), y = x;
    x.parameters = &x_;
    y.values = numbers_.data(), y.gradients = gradients_.data(), y.parameters = &y_;
    computeValues(tape, x, y);
    const auto position = tape.find(root.index());
    values_.atX += share * static_cast<double>(x.values[root.index()]);
    values_.atY += share * static_cast<double>(y.values[root.index()]);
    x.gradients[root.index()] = y.gradients[root.index()] = static_cast<T>(share);
    tape.setSwept(position);
    isDone_ = sweep(tape, position, x, y);
    return isDone_;
  }
  /// Whether all runs since the start went well.
  bool isDone() const { return isDone_; }
  /// The sums of the roots.
  ValuesAtTwo values() const { return values_; }

 private:
  static bool holdsLayers(const Tape<T, C>& tape) {
    for (std::size_t k = 0; k < tape.mark().codeSize; ++k)
      if (tape.instruction(k).op() < firstUserOpcode || !tape.infoOf(tape.instruction(k).op()).isLayer())
        return false;
    return true;
  }
  void computeValues(const Tape<T, C>& tape, const Frame<T>& x, const Frame<T>& y) {
    T* const valuesX = const_cast<T*>(x.values);  // the tape's, of which frames only read
    NodeIndex first = 0;
    for (std::size_t k = 0; k < tape.mark().codeSize; ++k) {
      const Instruction code = tape.instruction(k);
      const UserOp<T>& op = *tape.userOp(code.op());
      const NodeIndex last = first + code.b() - 1;
      if (op.valueAtTwo != nullptr) {
        const Word* words = x.words + code.a();
        op.valueAtTwo({x, words, first}, valuesX + first, {y, words, first}, numbers_.data() + first);
      } else {
        op.compute(x, valuesX, code, last);
        op.compute(y, numbers_.data(), code, last);
      }
      first = last + 1;
    }
  }
  /// Whether any gradient is not 0. Zeros alone are left to `pull`, which knows what a pole makes of them.
  static bool hasArrived(const T* gradients, NodeIndex first, NodeIndex last) {
    while (first <= last && ScalarTraits<T>::isZero(gradients[first])) ++first;
    return first <= last;
  }
  static bool sweep(const Tape<T, C>& tape, typename Tape<T, C>::Position from, const Frame<T>& x,
                    const Frame<T>& y) {
    NodeIndex last = from.last;
    for (std::size_t k = from.instruction + 1; k-- > 0;) {
      const Instruction code = tape.instruction(k);
      const UserOp<T>& op = *tape.userOp(code.op());
      const NodeIndex first = last + 1 - code.b();
      if (op.vjpAtTwo != nullptr && hasArrived(x.gradients, first, last) &&
          hasArrived(y.gradients, first, last)) {
        const Word* words = x.words + code.a();
        op.vjpAtTwo({x, words, first}, {y, words, first});
      } else if (!op.pull(x, code, last, Reached::maybe) || !op.pull(y, code, last, Reached::maybe)) {
        return false;
      }
      last = first - 1;
    }
    return true;
  }

  Binding<T> x_, y_;
  Buffer<T, true, 1024> numbers_;  // at other places of their pages than those of the tape (core/storage.hpp)
  Buffer<T, true, 3136> gradients_;
  Buffer<T> pairs_;
  ValuesAtTwo values_;
  bool isDone_ = true;
};

}  // namespace burtorch::inline BURTORCH_TARGET
