// Which tape a thread records on, and for how long: the script-like default, a tape of the caller's, one sample.
#pragma once

#include "tape.hpp"
#include "tape_names.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T, Config C> void Tape<T, C>::ensure(TapeCapacity extra) {
  if (hasRoom(extra)) return;
  requireIndices(extra);  // first: the sum could wrap
  const TapeCapacity needed = used() + extra, room = arrays_.room();
  requireIndices(needed);
  if (!isGrowing_ || !C.allocates)
    fail(ErrorCode::outOfRoom,
         "the tape is full: %zu scalars, %zu instructions and %zu words are needed, it has room for %zu, %zu "
         "and %zu",
         needed.scalars, needed.instructions, needed.words, room.scalars, room.instructions, room.words);
  if constexpr (C.allocates) arrays_.grow(needed);
  if (epoch_ == 0) startEpoch();
  updateLimit();
}

template <class T, Config C> void Tape<T, C>::requireOwn(const Mark& mark) const {
  if (mark.owner.tape != nullptr && mark.owner.tape != this)
    fail("rewind: the mark belongs to another tape; use a mark of this one");
  if (!isValid(mark)) fail("rewind: the mark is stale, the tape was rewound below it since; take a new mark");
}

/// The tape of a thread that did not make one. Objects with static or thread-local storage may outlive it.
template <class T, Config C> struct ThreadTape {
  Tape<T, C> tape;
  ~ThreadTape() { isGone = true; }

  static inline constinit thread_local bool isGone = false;
};

template <class T, Config C> void Tape<T, C>::makeRoom(TapeCapacity extra) {
  if (currentTapeSlot<T, C> == &noTape<T, C>) {
    if constexpr (C.allocates) {
      // The script-like default: every thread has a growing tape of its own, made when it first records something.
      if (ThreadTape<T, C>::isGone)
        fail(
            "this thread's tape has been destroyed: to record in a destructor of a static or thread-local "
            "object, make a Tape there and put a CurrentTape in scope");
      static thread_local ThreadTape<T, C> threadTape;
      currentTapeSlot<T, C> = &threadTape.tape;
    } else {
      fail("no tape is current: make one in your memory and put a CurrentTape in scope");
    }
  }
  currentTapeSlot<T, C>->ensure(extra);
}

/// The tape that operators of this thread record on.
template <class T, Config C = defaultConfig> Tape<T, C>& currentTape() {
  if (currentTapeSlot<T, C> == &noTape<T, C>) Tape<T, C>::makeRoom({});
  return *currentTapeSlot<T, C>;
}

/// Makes a tape current for this thread until the end of the block.
template <class T, Config C> class CurrentTape {
 public:
  explicit CurrentTape(Tape<T, C>& tape) : previous_{currentTapeSlot<T, C>, shadowedTapes<T, C>} {
    currentTapeSlot<T, C> = &tape;
    shadowedTapes<T, C> = &previous_;
  }
  CurrentTape(const CurrentTape&) = delete;
  CurrentTape& operator=(const CurrentTape&) = delete;
  ~CurrentTape() {
    currentTapeSlot<T, C> = previous_.tape;
    shadowedTapes<T, C> = previous_.outer;
  }

 private:
  ShadowedTape<T, C> previous_;
};

/// Forgets at the end of the block, however it ends, what was recorded in it: one sample of a batch.
template <class T, Config C> class SampleScope {
 public:
  explicit SampleScope(Tape<T, C>& tape) : tape_(tape), mark_(tape.mark()) {}
  SampleScope(const SampleScope&) = delete;
  SampleScope& operator=(const SampleScope&) = delete;
  ~SampleScope() {
    if (tape_.isValid(mark_)) tape_.rewind(mark_);  // else the block rewound further itself
  }

 private:
  Tape<T, C>& tape_;
  typename Tape<T, C>::Mark mark_;
};

/// How much room a recording takes, found by doing it once on a growing tape: for requiredBytes.
template <class T, Config C = defaultConfig, class Record> TapeCapacity capacityOf(Record&& record) {
  Tape<T, C> tape;
  CurrentTape here(tape);
  record();
  return tape.used();
}

}  // namespace burtorch::inline BURTORCH_TARGET
