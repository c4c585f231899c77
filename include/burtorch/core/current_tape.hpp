// Which tape a thread records on, and for how long: the script-like default, a tape of the caller's, one sample.
#pragma once

#include "tape.hpp"
#include "tape_names.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T, Config C> void Tape<T, C>::ensure(TapeCapacity extra) {
  if (hasRoom(extra)) return;
  if (C.threads && !isBuilder() && firstOwn_ != 0)
    fail("the tape is split among builders: record on one of them, or join them first");
  requireIndices(extra);  // first: the sum could wrap
  const TapeCapacity needed = used() + extra, room = arrays_.room();
  requireIndices(needed);
  if (isBuilder())
    fail(
        ErrorCode::outOfRoom,
        "this builder's segment is full: it ends at scalar %zu, instruction %zu and word %zu of the tape; it "
        "needed to reach %zu, %zu and %zu: split the tape with more room for it",
        room.scalars, room.instructions, room.words, needed.scalars, needed.instructions, needed.words);
  if (isFixed_ || !C.allocates)
    fail(ErrorCode::outOfRoom,
         "the tape is full: %zu scalars, %zu instructions and %zu words are needed, it has room for %zu, %zu "
         "and %zu",
         needed.scalars, needed.instructions, needed.words, room.scalars, room.instructions, room.words);
  if constexpr (C.allocates) arrays_.grow(needed);
  if (epoch_ == 0) startEpoch();
  updateLimit();
}

template <class T, Config C> void Tape<T, C>::check(const Handle<C>& handle) const {
  if (handle.tape != &whole())
    fail(handle.tape == nullptr
             ? "a default-constructed Range or handle is used; assign it first"
             : "a Value of another tape is used: make its tape current, or copy its number");
  if (handle.index >= whole().size() && handle.index < firstOwn_)
    fail("a Value of another builder is used: node %u; join the builders first", handle.index);
  if (handle.index >= size() || arrays_.epochs.data()[handle.index] != handle.epoch)
    fail("a Value from before a rewind is used: node %u is gone", handle.index);
}
template <class T, Config C> void Tape<T, C>::failUnbound(std::size_t needed, std::string_view layer) const {
  if (binding_.size == 0)
    fail("%.*s: the tape is not bound to parameters; make it with Tape(store) or call tape.bind(store)",
         static_cast<int>(layer.size()), layer.data());
  fail("%.*s: its parameters end at %zu, the tape is bound to %zu; is that the store of another model?",
       static_cast<int>(layer.size()), layer.data(), needed, binding_.size);
}
template <class T, Config C> void Tape<T, C>::requireWhole(const char* who) const {
  if (isBuilder()) fail("%s: a builder holds only a part of the graph; join the builders first", who);
}

template <class T, Config C> void Tape<T, C>::requireOwn(const Mark& mark) const {
  if (mark.codeSize + mark.bias < firstOwn_ && isBuilder())
    fail("rewind: a builder can only rewind to its own marks");
  if (mark.owner.tape != nullptr && mark.owner.tape != this)
    fail("rewind: the mark belongs to another tape; use a mark of this one");
  if (!isValid(mark)) fail("rewind: the mark is stale, the tape was rewound below it since; take a new mark");
}

/// Whether the tape below has died. Objects with static or thread-local storage may outlive it.
template <class T, Config C> inline constinit thread_local bool isThreadTapeGone = false;
template <class T, Config C>
requires(!C.threads) inline constinit bool isThreadTapeGone<T, C> = false;
/// The tape of a thread that did not make one.
template <class T, Config C> struct ThreadTape {
  Tape<T, C> tape;
  ~ThreadTape() { isThreadTapeGone<T, C> = true; }
};
/// Made when a thread first asks for it.
template <class T, Config C> Tape<T, C>& threadTape() {
  if constexpr (C.threads) {
    static thread_local ThreadTape<T, C> own;
    return own.tape;
  } else {
    static ThreadTape<T, C> programs;
    return programs.tape;
  }
}

template <class T, Config C> void Tape<T, C>::makeRoom(TapeCapacity extra) {
  if (currentTapeSlot<T, C> == &noTape<T, C>) {
    if constexpr (C.allocates) {
      // The script-like default: every thread has a growing tape of its own, made when it first records something.
      if (isThreadTapeGone<T, C>)
        fail(
            "this thread's tape has been destroyed: to record in a destructor of a static or thread-local "
            "object, make a Tape there and put a CurrentTape in scope");
      currentTapeSlot<T, C> = &threadTape<T, C>();
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
