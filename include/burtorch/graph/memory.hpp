// Where an evaluation has its numbers: the caller's arguments and gradients, and local arrays that dissolve into registers
// once everything is inlined.
#pragma once

#include <cstddef>
#include <utility>

#include "program.hpp"

namespace burtorch::inline BURTORCH_TARGET::graph {

/// Calls `call.operator()<i>()` for i = 0 ... count - 1. Not a fold expression: clang limits their depth to 256.
template <std::size_t count, class Call> BURTORCH_INLINE constexpr void unroll(const Call& call) {
  if constexpr (count > 0)
    [&call]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
      const char done[] = {(call.template operator()<i>(), char{})...};
      static_cast<void>(done);
    }
  (std::make_index_sequence<count>{});
}

template <class T> using MaskOf = decltype(T{} < T{});

/// The flat numbers of every argument, and where those of every gradient go. Not std::array: its operator[] would be
/// one more call to inline, thousands of times.
template <class P> struct Inputs { const typename P::Number* of[P::argumentCount]; };
template <class P> struct Results { typename P::Number* of[P::argumentCount]; };

/// The numbers of one evaluation. Pointers to local arrays, which dissolve once everything is inlined.
template <class P> struct Memory {
  using T = typename P::Number;
  Inputs<P> arguments;
  Results<P> gradients;
  T *local, *localGradient, *listed, *listedGradient;
  MaskOf<T>* isReached;
};

/// The gradients of a list before a slope adds to them, for lanes of a pack that turn out not to be concerned.
template <class T, std::size_t n> class SavedGradients {
 public:
  explicit SavedGradients(const GradientList<T>& list) : list_(list) {
    forEach([this](std::size_t i, T& g) { saved_[i] = g; });
  }
  void restoreUnless(const MaskOf<T>& isConcerned) {
    forEach([&](std::size_t i, T& g) { g = select(isConcerned, g, saved_[i]); });
  }

 private:
  template <class Visit> void forEach(Visit visit) {
    if (list_.base == nullptr) return;
    ListWalker walker(list_.shape);
    for (std::size_t i = 0; i < n; ++i) visit(i, list_.base[walker.next(1).first]);
  }

  GradientList<T> list_;
  T saved_[n];
};

}  // namespace burtorch::inline BURTORCH_TARGET::graph
