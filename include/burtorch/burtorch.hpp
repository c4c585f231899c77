// BurTorch: values, tapes, operators, compile-time and recorded graphs, in namespace burtorch. Layers are in learn.hpp.
#pragma once

#include "core/backward.hpp"
#include "core/reduce.hpp"
#include "core/value.hpp"
#include "functional/grad.hpp"
#include "functional/gradcheck.hpp"
#include "functional/gradient_only.hpp"
#include "functional/hvp.hpp"
#include "graph/compile.hpp"
#include "graph/record.hpp"
#include "ops/dual.hpp"
#include "simd/pack.hpp"
#include "viz/describe.hpp"

// The version, also for #if; CMake reads it here.
#define BURTORCH_VERSION_MAJOR 0
#define BURTORCH_VERSION_MINOR 2
#define BURTORCH_VERSION_PATCH 0
#define BURTORCH_VERSION "0.2.0"
