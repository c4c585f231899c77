// Several columns at once: how the kernels of the layers load and store vectors of numbers. For float and double a vector
// is a register of the machine, of at most 32 bytes; any other scalar (a dual number) is a vector of one.
#pragma once

#include <cstring>

#include "../core/pack.hpp"

namespace burtorch::nn {

template <class T> struct LanesOf {
  static constexpr std::size_t count = 1;
  using Vector = T;
  using Pack = T;
};
template <class T>
requires(ScalarTraits<T>::isVectorizable) struct LanesOf<T> {
  static constexpr std::size_t count = packWidth<T> * sizeof(T) < 32 ? packWidth<T> : 32 / sizeof(T);
  using Pack = burtorch::Pack<T, count>;
  using Vector = typename Pack::Vector;
};
template <class T> inline constexpr std::size_t laneCount = LanesOf<T>::count;
template <class T> using Lanes = typename LanesOf<T>::Vector;
/// The type on which the rules of scalar operators run.
template <class T> using LanePack = typename LanesOf<T>::Pack;

template <class T> BURTORCH_INLINE Lanes<T> load(const T* from) {
  Lanes<T> lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
template <class T> BURTORCH_INLINE void store(T* to, const Lanes<T>& lanes) {
  std::memcpy(to, &lanes, sizeof lanes);
}
template <class T> BURTORCH_INLINE Lanes<T> fill(T number) {
  if constexpr (laneCount<T> == 1)
    return number;
  else
    return LanePack<T>(number).lanes;
}
template <class T> BURTORCH_INLINE LanePack<T> loadPack(const T* from) {
  if constexpr (laneCount<T> == 1)
    return *from;
  else
    return LanePack<T>(load(from));
}
template <class T> BURTORCH_INLINE void storePack(T* to, const LanePack<T>& pack) {
  std::memcpy(to, &pack, sizeof pack);
}

/// How many columns take whole vectors.
template <class T> constexpr std::size_t paddedTo(std::size_t count) {
  return (count + laneCount<T> - 1) / laneCount<T> * laneCount<T>;
}

/// Calls `call.operator()<i>()` for i = 0 ... count - 1: tiles of vectors stay in registers only if nothing loops.
template <std::size_t count, class Call> BURTORCH_INLINE void unroll(const Call& call) {
  [&call]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    (call.template operator()<i>(), ...);
  }
  (std::make_index_sequence<count>{});
}

}  // namespace burtorch::nn
