// Compile-time configuration, as a template argument: two configurations can live in one program, and what is
// switched off costs nothing. The defaults come from the build (-DBURTORCH_NAMES=0, -DBURTORCH_CHECKS=1,
// -DBURTORCH_THREADS=0), so a program changes its configuration without a change in its source (paper F.9.7).
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __FAST_MATH__
#error "BurTorch needs IEEE arithmetic: -ffast-math deletes isnan and reorders sums. Build without it."
#endif

#ifndef BURTORCH_NAMES
#define BURTORCH_NAMES 1
#endif

#ifndef BURTORCH_THREADS
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)  // a program there cannot start any
#define BURTORCH_THREADS 0
#else
#define BURTORCH_THREADS 1
#endif
#endif

#ifndef BURTORCH_MESSAGES
#define BURTORCH_MESSAGES 1
#endif

#ifndef BURTORCH_CHECKS
#ifdef NDEBUG
#define BURTORCH_CHECKS 0
#else
#define BURTORCH_CHECKS 1
#endif
#endif

// Operators must dissolve into the caller, where the compiler sees a whole expression; left to itself it stops
// inlining after a few of them and every node then costs a call and a trip through memory. A program that must be small
// rather than fast leaves it to the compiler, by -DBURTORCH_INLINE_OPERATORS=0.
#ifndef BURTORCH_INLINE_OPERATORS
#define BURTORCH_INLINE_OPERATORS 1
#endif
#if BURTORCH_INLINE_OPERATORS
#define BURTORCH_INLINE [[gnu::always_inline]] inline
#else
#define BURTORCH_INLINE inline
#endif
#define BURTORCH_INLINE_LAMBDA __attribute__((always_inline))

// Between these two, a product and a sum may become one fused operation where the machine has it, also when they come
// from different functions. g++ does so by itself; clang fuses only inside one expression unless it is told.
#if defined(__clang__) && !defined(__wasm__)  // which has no such operation, and clang warns of the pragma
#define BURTORCH_FUSE_BEGIN _Pragma("float_control(push)") _Pragma("clang fp contract(fast)")
#define BURTORCH_FUSE_END _Pragma("float_control(pop)")
#else
#define BURTORCH_FUSE_BEGIN
#define BURTORCH_FUSE_END
#endif

// What the compiler may use of the machine is part of every name above base/: an object built with -mavx2 and one built
// without hold different functions, and can be linked into one program. Errors are the same type in both.
#if defined(__AVX512F__)
#define BURTORCH_TARGET avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define BURTORCH_TARGET avx2fma
#elif defined(__AVX2__)
#define BURTORCH_TARGET avx2
#elif defined(__AVX__)
#define BURTORCH_TARGET avx
#elif defined(__SSE2__)
#define BURTORCH_TARGET sse2
#elif defined(__ARM_NEON)
#define BURTORCH_TARGET neon
#elif defined(__wasm_simd128__)
#define BURTORCH_TARGET simd128
#else
#define BURTORCH_TARGET plain
#endif

namespace burtorch {

/// Some of the library's operators, by their places in its list: `onlyOps<ops::Add, ops::Mul>` (ops/op_list.hpp) makes
/// one. What is left out is stored, so an empty one means all of them.
struct OpSet {
  std::uint64_t leftOut[2] = {};

  constexpr bool has(std::size_t place) const { return ((leftOut[place / 64] >> (place % 64)) & 1) == 0; }
};

struct Config {
  /// Nodes may carry a name. Off: naming calls compile to nothing.
  bool names = true;
  /// Handles know their tape and their age, so that a foreign or stale handle is reported. Off: a handle is 4 bytes.
  bool checks = false;
  /// Tapes may allocate. Off: they live in the caller's memory only, and no allocator is even linked.
  bool allocates = true;
  /// Every thread has a current tape of its own. Off: the program has one, in an ordinary variable.
  bool threads = true;
  /// The operators of the library that tapes know. Of those that are left out not even the rules are linked.
  OpSet ops = {};
};

inline constexpr Config defaultConfig{
    .names = BURTORCH_NAMES != 0, .checks = BURTORCH_CHECKS != 0, .threads = BURTORCH_THREADS != 0};

/// Whether errors say what was found. Off, for a whole program: the sentence is printf's format as it stands, and
/// nothing of printf is linked.
inline constexpr bool formatsMessages = BURTORCH_MESSAGES != 0;

}  // namespace burtorch
