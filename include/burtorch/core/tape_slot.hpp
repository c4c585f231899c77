// What a thread knows of its tapes: which one is current, and which ones wait behind it. Where a configuration has no
// threads, the program knows it.
#pragma once

#include <atomic>

#include "handle.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// An empty tape without room. It is current until a thread records something: the test for a full tape, which is
/// needed anyway, then also notices that there is no tape yet.
template <class T, Config C> inline constinit Tape<T, C> noTape{};

// constinit: no guard runs on access.
template <class T, Config C> inline constinit thread_local Tape<T, C>* currentTapeSlot = &noTape<T, C>;
template <class T, Config C>
requires(!C.threads) inline constinit Tape<T, C>* currentTapeSlot<T, C> = &noTape<T, C>;

/// A tape that becomes current again when a CurrentTape ends, and those behind it: a tape that dies takes itself out.
template <class T, Config C> struct ShadowedTape {
  Tape<T, C>* tape;
  ShadowedTape* outer;
};
template <class T, Config C> inline constinit thread_local ShadowedTape<T, C>* shadowedTapes = nullptr;
template <class T, Config C>
requires(!C.threads) inline constinit ShadowedTape<T, C>* shadowedTapes<T, C> = nullptr;

/// With checks, ages of nodes differ between tapes too: a handle that outlived its tape is then noticed on a tape at the
/// same address.
inline NodeIndex nextEpoch() {
  static constinit std::atomic<NodeIndex> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace burtorch::inline BURTORCH_TARGET
