// Which tape a thread records on, and for how long: the script-like default, a tape of the caller's, one sample.
#pragma once

#include "tape.hpp"

namespace burtorch {

template <class T, Config C> void Tape<T, C>::makeRoom(Room extra) {
  if (currentTapeSlot<T, C> == &noTape<T, C>) {
    if constexpr (C.allocates) {
      // The script-like default: every thread has a growing tape of its own, made when it first records something.
      static thread_local Tape<T, C> threadTape;
      currentTapeSlot<T, C> = &threadTape;
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
  explicit CurrentTape(Tape<T, C>& tape) : previous_(currentTapeSlot<T, C>) { currentTapeSlot<T, C> = &tape; }
  CurrentTape(const CurrentTape&) = delete;
  CurrentTape& operator=(const CurrentTape&) = delete;
  ~CurrentTape() { currentTapeSlot<T, C> = previous_; }

 private:
  Tape<T, C>* previous_;
};

/// Forgets at the end of the block, however it ends, what was recorded in it: one sample of a batch.
template <class T, Config C> class SampleScope {
 public:
  explicit SampleScope(Tape<T, C>& tape) : tape_(tape), mark_(tape.mark()) {}
  SampleScope(const SampleScope&) = delete;
  SampleScope& operator=(const SampleScope&) = delete;
  ~SampleScope() {
    if (mark_.codeSize <= tape_.used().instructions)
      tape_.rewind(mark_);  // else the block rewound further itself
  }

 private:
  Tape<T, C>& tape_;
  typename Tape<T, C>::Mark mark_;
};

/// How much room a recording takes, found by doing it once on a growing tape: for requiredBytes.
template <class T, Config C = defaultConfig, class Record> Room roomOf(Record&& record) {
  Tape<T, C> tape;
  CurrentTape here(tape);
  record();
  return tape.used();
}

}  // namespace burtorch
