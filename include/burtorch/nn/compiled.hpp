// Kernels that are compiled once. Their code is unrolled into registers and takes compilers longer than all else, so a program
// that links burtorch::compiled finds them there for float and double; other files, and other numbers, compile their own.
//
// `BURTORCH_COMPILED` is set for files that link that target, `BURTORCH_INSTANCES` in the files that make it (src/).
#pragma once

#include "../core/layer.hpp"

#if defined(BURTORCH_COMPILED)
#define BURTORCH_ONCE extern template
#elif defined(BURTORCH_INSTANCES)
#define BURTORCH_ONCE template
#endif

#ifdef BURTORCH_ONCE
/// The rules of a layer. Used at the end of its header, in the library's namespace.
#define BURTORCH_LAYER_ONCE(...)                                             \
  BURTORCH_ONCE void layerValue<__VA_ARGS__>(const Layer<float>&, float*);   \
  BURTORCH_ONCE void layerValue<__VA_ARGS__>(const Layer<double>&, double*); \
  BURTORCH_ONCE void layerVjp<__VA_ARGS__>(const Layer<float>&);             \
  BURTORCH_ONCE void layerVjp<__VA_ARGS__>(const Layer<double>&);
#else
#define BURTORCH_LAYER_ONCE(...)
#endif
