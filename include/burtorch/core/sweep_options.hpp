// The knobs of a guided sweep (guided_sweep.hpp), and what it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "../ops/instruction.hpp"
#include "storage.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// A callable of the caller's, without a copy: it must outlive the call it is handed to.
template <class Signature> class FunctionRef;
template <class R, class... Args> class FunctionRef<R(Args...)> {
 public:
  constexpr FunctionRef() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Args...>)
      FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(&f))), call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}
  explicit operator bool() const { return call_ != nullptr; }
  R operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_ = nullptr;
  R (*call_)(void*, Args...) = nullptr;
};

/// A stop token at work: asked after every `every` instructions, if one is left.
struct Polls {
  FunctionRef<bool()> stop;
  std::size_t every, untilNext = every, walked = 0;
  bool isStopped = false;

  /// Before each instruction.
  bool isToStop() {
    if (untilNext == 0) {
      untilNext = every;
      if ((isStopped = stop())) return true;
    }
    --untilNext, ++walked;
    return false;
  }
};

/// Where a guided sweep keeps its books. Grows when it must, and can be used again and again.
class SweepMemory {
 public:
  SweepMemory() = default;
  std::byte* bytes(std::size_t count) {
    if (memory_.capacity() < count) memory_.allocate(count);
    return memory_.data();
  }

 private:
  Buffer<std::byte> memory_;
};

/// What a randomised sweep (Oktay et al. 2021) leaves out. What it keeps is divided by the probability, so that the expected
/// gradient is the exact one. `edges`: each edge of a scalar operator, and each result of a list operator or a layer, by
/// itself. `nodes`: each result, with all its edges. `terms`: of the n terms of an inner product exactly round(n probability),
/// at least one. Relu, whose slope is 0 or 1, is passed through. Seed, step and node decide: nothing is stored.
enum class KeptParts : std::uint8_t { edges, nodes, terms };
/// How many parts of a sweep are kept, and which.
struct KeepEdges {
  double probability = 1;
  std::uint64_t seed = 0, step = 0;
  KeptParts what = KeptParts::edges;
};

/// Leaves and ranges of parameters whose gradients are wanted. Of a parameter block that is wanted in part, layers give all.
/// By default everything is wanted.
class Wanted {
 public:
  constexpr Wanted() = default;
  constexpr Wanted(std::span<const Block> blocks) : blocks_(blocks), isAll_(false) {}
  constexpr bool isAll() const { return isAll_; }
  constexpr std::span<const Block> blocks() const { return blocks_; }

 private:
  std::span<const Block> blocks_;
  bool isAll_ = true;
};

/// A parameter block whose gradient no later part of the sweep changes.
template <class T> struct FinalBlock {
  NodeIndex id, first;
  std::span<T> gradients;
};

/// A callback may throw. With `stop` all is then as it was before; otherwise wanted gradients hold what had arrived.
template <class T> struct SweepOptions {
  SweepMemory* memory = nullptr;
  std::type_identity_t<T> seed = T{1};
  /// Asked after every `pollEvery` instructions; if it returns true the sweep ends, and gradients of leaves and parameters
  /// are as they were before.
  FunctionRef<bool()> stop{};
  std::size_t pollEvery = 64;
  Wanted wanted{};
  KeepEdges keep{};
  /// Called once for every wanted block of the bound parameters: first those that the root does not depend on.
  FunctionRef<void(const FinalBlock<T>&)> onFinal{};
};

enum class SweepStatus : std::uint8_t { finished, stopped };
struct SweepResult {
  SweepStatus status = SweepStatus::finished;
  std::size_t visited =
      0;  // instructions that passed a gradient on; where only `stop` is set, that were walked

  explicit operator bool() const { return status == SweepStatus::finished; }
};

}  // namespace burtorch::inline BURTORCH_TARGET
