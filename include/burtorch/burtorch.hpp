// BurTorch: values, tapes, operators, compile-time and recorded graphs, in namespace burtorch. Layers are in learn.hpp.
#pragma once

#include "core/backward.hpp"
#include "core/describe.hpp"
#include "core/dual.hpp"
#include "core/grad.hpp"
#include "core/gradcheck.hpp"
#include "core/gradient_only.hpp"
#include "core/reduce.hpp"
#include "core/value.hpp"
#include "graph/compile.hpp"
#include "graph/record.hpp"
#include "simd/pack.hpp"

/// Version of the library.
#define BURTORCH_VERSION "0.1.0"
