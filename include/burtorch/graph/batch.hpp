// Many samples through one graph, a SIMD pack of them at a time: the number type of the graph is a pack.
//
// Lanes never mix, so a gradient depends neither on the place of its sample in the batch nor on the other samples. It has
// the bits of the gradient of that sample alone, but through functions that packs compute themselves (simd/pack_math.hpp). A last, partial
// pack repeats its last sample in the lanes that are left over, and drops what they compute.
#pragma once

#include <span>
#include <tuple>

#include "../base/check.hpp"
#include "../simd/pack.hpp"
#include "arguments.hpp"
#include "run.hpp"

namespace burtorch::inline BURTORCH_TARGET::graph {

template <class L> auto asSpan(L& list) {
  return std::span<std::remove_reference_t<decltype(*std::data(list))>>(list);
}

/// One argument of a pack of samples.
template <class A, class T = typename ArgumentTree<A>::Scalar> struct PackedArgument {
  static constexpr std::size_t count = ArgumentTree<A>::count, width = Pack<T>::count;
  Pack<T> numbers[count == 0 ? 1 : count];

  /// Takes `used` samples, at least one.
  BURTORCH_INLINE void load(const A* samples, std::size_t used) {
    if constexpr (std::is_same_v<A, T>) {
      if (used == width) {
        numbers[0] = Pack<T>::load(samples);
        return;
      }
    }
    T lanes[count][width];
    for (std::size_t lane = 0; lane < width; ++lane) {
      T flat[count];
      ArgumentTree<A>::template flatten<T>(samples[lane < used ? lane : used - 1], flat);
      for (std::size_t i = 0; i < count; ++i) lanes[i][lane] = flat[i];
    }
    for (std::size_t i = 0; i < count; ++i) numbers[i] = Pack<T>::load(lanes[i]);
  }
  BURTORCH_INLINE void store(A* samples, std::size_t used) const {
    if constexpr (std::is_same_v<A, T>) {
      if (used == width) {
        numbers[0].store(samples);
        return;
      }
    }
    for (std::size_t lane = 0; lane < used; ++lane) {
      T flat[count];
      for (std::size_t i = 0; i < count; ++i) flat[i] = numbers[i][lane];
      samples[lane] = ArgumentTree<A>::make(flat);
    }
  }
};

inline void requireSamples(std::size_t expected, std::size_t found) {
  if (expected != found) fail("batch: expected lists of %zu samples, got one of %zu", expected, found);
}

/// The gradients of `count` samples, null where none is wanted. Plain pointers: behind a reference they would be loaded
/// again for every pack.
template <class P, class Want, class... A>
void gradBatch(std::size_t count, const std::type_identity_t<A>*... samples,
               std::type_identity_t<A>*... gradients) {
  const auto run = [=](std::size_t at, std::size_t used) __attribute__((always_inline)) {
    std::tuple<PackedArgument<A>...> packed, results;
    [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
      (std::get<i>(packed).load(samples + at, used), ...);
      evaluate<P, Want, false>({{std::get<i>(packed).numbers...}}, {{std::get<i>(results).numbers...}},
                               nullptr);
      ((Want::wants(i, 0) ? std::get<i>(results).store(gradients + at, used) : void()), ...);
    }
    (std::index_sequence_for<A...>{});
  };
  constexpr std::size_t width = P::Number::count;
  std::size_t at = 0;
  for (; at + width <= count; at += width) run(at, width);
  if (at < count) run(at, count - at);
}

/// The sum of the values, and of the gradients with respect to the first argument, which all samples share.
template <class P, class T, class G, class... A>
T sumBatch(const T* parameters, G& gradient, const std::span<A>&... samples) {
  constexpr std::size_t n = P::sizeOf(0), width = P::Number::count;
  const std::size_t count = std::get<0>(std::tie(samples...)).size();
  (requireSamples(count, samples.size()), ...);
  using Packed = Pack<T>;
  Packed shared[n];
  for (std::size_t i = 0; i < n; ++i) shared[i] = Packed(parameters[i]);
  struct Sum {
    Packed value, gradient[n];
  };
  // The last samples have a sum of their own, of which only the used lanes count.
  const auto add = [&](Sum& sum, std::size_t at, std::size_t used) {
    Packed value;
    std::tuple<PackedArgument<std::remove_const_t<A>>...> packed;
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (std::get<i>(packed).load(samples.data() + at, used), ...);
      evaluate<P, WantArguments<0>, true, true>({{shared, std::get<i>(packed).numbers...}},
                                                {{sum.gradient, (static_cast<void>(i), nullptr)...}}, &value);
    }
    (std::index_sequence_for<A...>{});
    sum.value = sum.value + value;
  };
  Sum sum{}, tail{};
  std::size_t at = 0;
  for (; at + width <= count; at += width) add(sum, at, width);
  const std::size_t left = count - at;
  if (left > 0) add(tail, at, left);
  const auto total = [&](const Packed& whole, const Packed& part) {
    return left > 0 ? sumOfLanes(whole) + sumOfLanes(part, left) : sumOfLanes(whole);
  };
  T flat[n];
  for (std::size_t i = 0; i < n; ++i) flat[i] = total(sum.gradient[i], tail.gradient[i]);
  gradient = ArgumentTree<G>::make(flat);
  return total(sum.value, tail.value);
}

}  // namespace burtorch::inline BURTORCH_TARGET::graph
