// The tape: values, gradients and instructions in flat arrays, appended to by every operator (paper F.2, E.9).
//
// Every scalar has one index; values and gradients are contiguous, so the gradient of n parameters is a slice. A block
// of leaves is one instruction, whatever its length. Operands come before their results, so walking the instructions
// backwards is already a topological order (sweep.hpp). `rewind` forgets everything after a mark in O(1).
// Cost of a node: value, gradient, 8 bytes; a constant or a list costs its own 32-bit words more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "handle.hpp"
#include "op_list.hpp"
#include "storage.hpp"

namespace burtorch {

/// An empty tape without room. It is current until a thread records something: the test for a full tape, which is
/// needed anyway, then also notices that there is no tape yet.
template <class T, Config C> inline constinit Tape<T, C> noTape{};

// constinit: no guard runs on access.
template <class T, Config C> inline constinit thread_local Tape<T, C>* currentTapeSlot = &noTape<T, C>;

template <class T, Config C> class Tape {
 public:
  /// Grows as needed.
  constexpr Tape() = default;
  /// Allocates once; what does not fit is an error and changes nothing.
  explicit Tape(Room room) requires(C.allocates) : isGrowing_(false) {
    requireIndices(room);
    values_.allocate(room.scalars);
    gradients_.allocate(room.scalars);
    code_.allocate(room.instructions);
    words_.allocate(room.words);
    if constexpr (C.checks) epochs_.allocate(room.scalars);
    updateLimit();
  }
  /// Lives in the caller's memory and never allocates. `room` must fit: see requiredBytes.
  Tape(std::span<std::byte> memory, Room room) : isGrowing_(false) { borrow(memory, room); }
  /// As above, the memory shared out evenly: as many instructions as scalars, two words each.
  explicit Tape(std::span<std::byte> memory) : isGrowing_(false) {
    const std::size_t overhead = requiredBytes({}), each = requiredBytes({1, 1, 2}) - overhead;
    const std::size_t count = memory.size() < overhead ? 0 : (memory.size() - overhead) / each;
    borrow(memory, {count, count, 2 * count});
  }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// How large a buffer must be for this much room, wherever it starts.
  static constexpr std::size_t requiredBytes(Room room) {
    const std::size_t perScalar = 2 * sizeof(T) + (C.checks ? sizeof(Index) : 0);
    return room.scalars * perScalar + room.instructions * sizeof(Instruction) + room.words * sizeof(Index) +
           2 * alignof(std::max_align_t);
  }

  /// How many scalars are on the tape; their indices are 0 ... size() - 1.
  std::size_t size() const { return codeSize_ + bias_; }
  Room used() const { return {size(), codeSize_, wordCount_}; }

  std::span<T> values() { return {values_.data(), size()}; }
  std::span<T> gradients() { return {gradients_.data(), size()}; }
  std::span<const T> values() const { return {values_.data(), size()}; }
  std::span<const T> gradients() const { return {gradients_.data(), size()}; }

  /// A block of leaves, one instruction.
  Range<T, C> leaves(std::span<const T> values);
  Range<T, C> leaves(std::size_t count, T value = T{0});

  /// How far the tape is written: all that `rewind` must restore. Fields of two sizes alternate, and in the tape they lie
  /// apart, so that compilers copy them one by one: a wide copy of counters that were just written one by one waits until
  /// all of them have reached the cache, some 20 cycles at every sample.
  struct Mark {
    std::size_t codeSize = 0;
    Index lastName = 0;
    std::size_t bias = 0;
    Index tailCode = 0;
    std::size_t leadingLeaves = 0;
    Index wordCount = 0;
  };
  Mark mark() const { return {codeSize_, lastName_, bias_, tailCode_, leadingLeaves_, wordCount_}; }
  /// Forgets everything recorded since the mark; the memory stays. Handles from after the mark are stale.
  BURTORCH_INLINE void rewind(const Mark& mark) {
    if (mark.codeSize > codeSize_) [[unlikely]]
      fail("rewind to a mark of %zu instructions on a tape of %zu", mark.codeSize, codeSize_);
    codeSize_ = mark.codeSize;
    wordCount_ = mark.wordCount;
    lastName_ = mark.lastName;
    leadingLeaves_ = mark.leadingLeaves;
    tailCode_ = mark.tailCode;
    if (bias_ != mark.bias) {
      bias_ = mark.bias;
      updateLimit();
    }
    if (sweptCode_ > codeSize_) sweptCode_ = static_cast<Index>(codeSize_);
    if constexpr (C.checks) ++epoch_;
  }
  void clear() { rewind(Mark{}); }

  /// Sets all gradients to zero.
  void zeroGrad();

  /// The operator that made a node.
  const OpInfo& opOf(Index node) const { return infoOf(code_.data()[find(node).instruction].op()); }

  // For the engine: recording.

  /// The current tape, with room for what is about to be recorded.
  template <std::size_t words = 0> BURTORCH_INLINE static Tape& withRoom() {
    Tape* tape = currentTapeSlot<T, C>;
    if (tape->codeSize_ == tape->limit_ || (words > 0 && tape->wordCount_ + words > tape->words_.capacity()))
        [[unlikely]] {
      makeRoom({1, 1, words});
      tape = currentTapeSlot<T, C>;  // read, not returned: so the compiler sees one tape before and after
    }
    return *tape;
  }
  [[gnu::cold, gnu::noinline]] static void makeRoom(Room extra);
  /// The same for operators that need more than a node.
  static Tape& withRoom(Room extra) {
    if (!currentTapeSlot<T, C>->hasRoom(extra)) makeRoom(extra);
    return *currentTapeSlot<T, C>;
  }

  /// Appends a node; there must be room.
  BURTORCH_INLINE Handle<C> append(Opcode op, Index a, Index b, T value) {
    const std::size_t node = codeSize_ + bias_;
    values_.data()[node] = value;
    gradients_.data()[node] = T{0};
    code_.data()[codeSize_] = Instruction(op, a, b);
    ++codeSize_;
    return handle(static_cast<Index>(node));
  }
  BURTORCH_INLINE Handle<C> appendLeaf(T value) {
    if (leadingLeaves_ == codeSize_) ++leadingLeaves_;
    return append(OpList::indexOf<ops::Leaf>(), 0, 1, value);
  }
  /// Appends a block of `count` results; the caller fills in their values.
  T* appendBlock(Opcode op, Index a, std::size_t count) {
    const std::size_t first = size();
    if (op == OpList::indexOf<ops::Leaf>() && leadingLeaves_ == codeSize_) ++leadingLeaves_;
    code_.data()[codeSize_++] = Instruction(op, a, static_cast<Index>(count));
    bias_ = first + count - codeSize_;
    tailCode_ = static_cast<Index>(codeSize_);
    updateLimit();
    for (std::size_t i = first; i < first + count; ++i) {
      gradients_.data()[i] = T{0};
      if constexpr (C.checks) epochs_.data()[i] = epoch_;
    }
    return values_.data() + first;
  }
  /// Appends words (a constant, a list); there must be room. Returns where they lie.
  template <std::size_t count> BURTORCH_INLINE Index appendWords(const void* words) {
    const Index at = wordCount_;
    std::memcpy(words_.data() + at, words, count * sizeof(Index));
    wordCount_ += static_cast<Index>(count);
    return at;
  }
  BURTORCH_INLINE T valueAt(Index node) const { return values_.data()[node]; }
  /// Words may be written here before they are committed: an error on the way changes nothing.
  Index* nextWord() { return words_.data() + wordCount_; }
  void commitWords(std::size_t count) { wordCount_ += static_cast<Index>(count); }

  BURTORCH_INLINE Handle<C> handle(Index node) {
    if constexpr (C.checks) {
      epochs_.data()[node] = epoch_;
      return {node, epoch_, this};
    } else {
      return {node};
    }
  }
  Handle<C> handleOf(Index node) const {
    if constexpr (C.checks)
      return {node, epochs_.data()[node], this};
    else
      return {node};
  }
  BURTORCH_INLINE Index indexOf(const Handle<C>& handle) const {
    if constexpr (C.checks) check(handle);
    return handle.index;
  }

  Opcode userOpcode(const UserOp<T>* op) {
    std::size_t i = 0;
    while (i < userOpCount_ && userOps_[i] != op) ++i;
    if (i == maxUserOps) fail("more than %zu different operators of the user's own on one tape", maxUserOps);
    if (i == userOpCount_) userOps_[userOpCount_++] = op;
    return static_cast<Opcode>(firstUserOpcode + i);
  }
  const UserOp<T>* userOp(Opcode op) const { return userOps_[op - firstUserOpcode]; }
  const OpInfo& infoOf(Opcode op) const {
    return op < firstUserOpcode ? OpList::infos[op] : userOp(op)->info;
  }

  // For the engine: walking.

  /// Where a walk is: an instruction and the last scalar that it wrote.
  struct Position {
    std::size_t instruction;
    Index last;
  };
  std::size_t outputCount(std::size_t instruction) const {
    const Instruction code = code_.data()[instruction];
    return infoOf(code.op()).writesMany() ? code.b() : 1;
  }
  /// The position of an instruction.
  Position at(std::size_t instruction) const {
    if (instruction >= tailCode_) return {instruction, static_cast<Index>(instruction + bias_)};
    std::size_t k = tailCode_, first = tailCode_ + bias_, last = first;
    while (k > instruction) {
      last = first - 1;
      first -= outputCount(--k);
    }
    return {k, static_cast<Index>(last)};
  }
  /// The instruction that wrote a node: at once after the last block, otherwise by walking down from there.
  BURTORCH_INLINE Position find(Index node) const {
    return node >= tailCode_ + bias_ ? Position{node - bias_, node} : findBelow(node);
  }
  Instruction instruction(std::size_t k) const { return code_.data()[k]; }
  const Instruction* code() const { return code_.data(); }
  Frame<T> frame() const { return {values_.data(), gradients_.data(), words_.data()}; }
  const Index* words() const { return words_.data(); }
  /// Instructions before this one are all leaves: a sweep may stop here.
  std::size_t leadingLeaves() const { return leadingLeaves_; }
  /// Inner nodes of instructions before this one may hold gradients of an earlier sweep.
  std::size_t sweptCode() const { return sweptCode_; }
  void setSwept(const Position& root) { sweptCode_ = static_cast<Index>(root.instruction + 1); }

  void setName(Index node, std::string_view name);
  std::string_view nameOf(Index node) const;

 private:
  [[gnu::noinline]] Position findBelow(Index node) const {
    std::size_t instruction = tailCode_, first = tailCode_ + bias_;
    do first -= outputCount(--instruction);
    while (node < first);
    return {instruction, static_cast<Index>(first + outputCount(instruction) - 1)};
  }
  void borrow(std::span<std::byte> memory, Room room);
  void ensure(Room extra);
  bool hasRoom(Room extra) const {
    const Room needed = used() + extra;
    return needed.scalars <= values_.capacity() && needed.instructions <= code_.capacity() &&
           needed.words <= words_.capacity();
  }
  static void requireIndices(Room room) {
    if (room.scalars > maxIndex || room.words > maxIndex)
      fail("a tape holds at most %zu scalars and words, not %zu and %zu: rewind between samples", maxIndex,
           room.scalars, room.words);
  }
  void check(const Handle<C>& handle) const {
    if (handle.tape != this)
      fail(handle.tape == nullptr
               ? "a Value that was never given a number is used"
               : "a Value of another tape is used: make its tape current, or copy its number");
    if (handle.index >= size() || epochs_.data()[handle.index] != handle.epoch)
      fail("a Value from before a rewind is used: node %u is gone", handle.index);
  }
  void updateLimit() {
    const std::size_t scalars = values_.capacity() - bias_;
    limit_ = code_.capacity() < scalars ? code_.capacity() : scalars;
  }

  // A scalar node takes one scalar and one instruction, so their difference, the bias, changes only with blocks: one
  // counter and one limit serve both on the way of every operator.
  std::size_t codeSize_ = 0;
  Index wordCount_ = 0;
  std::size_t limit_ = 0;  // codeSize_ at which a scalar node finds no room
  Buffer<T, C.allocates> values_;
  std::size_t bias_ = 0;  // scalars - instructions
  Index lastName_ = 0;    // position + 1 of the youngest name among the words
  Buffer<T, C.allocates> gradients_;
  std::size_t leadingLeaves_ = 0;  // instructions before this one are all leaves
  Index tailCode_ = 0;             // from here on every instruction writes one scalar
  Buffer<Instruction, C.allocates> code_;
  Buffer<Index, C.allocates> words_;
  Index sweptCode_ = 0;
  bool isGrowing_ = true;
  std::uint8_t userOpCount_ = 0;
  const UserOp<T>* userOps_[maxUserOps] = {};
  // Only with checks: when each scalar was recorded.
  struct Nothing {};
  [[no_unique_address]] std::conditional_t<C.checks, Buffer<Index, C.allocates>, Nothing> epochs_;
  [[no_unique_address]] std::conditional_t<C.checks, Index, Nothing> epoch_{};
};

template <class T, Config C> void Tape<T, C>::borrow(std::span<std::byte> memory, Room room) {
  requireIndices(room);
  if (memory.size() < requiredBytes(room))
    fail("a buffer of %zu bytes is too small for the room asked for: %zu are needed", memory.size(),
         requiredBytes(room));
  void* at = memory.data();
  std::size_t left = memory.size();
  const auto take = [&](auto& buffer, std::size_t count, std::size_t size, std::size_t alignment) {
    buffer.borrow(std::align(alignment, count * size, at, left), count);
    at = static_cast<std::byte*>(at) + count * size;
    left -= count * size;
  };
  take(values_, room.scalars, sizeof(T), alignof(T));
  take(gradients_, room.scalars, sizeof(T), alignof(T));
  take(code_, room.instructions, sizeof(Instruction), alignof(Instruction));
  take(words_, room.words, sizeof(Index), alignof(Index));
  if constexpr (C.checks) take(epochs_, room.scalars, sizeof(Index), alignof(Index));
  updateLimit();
}

template <class T, Config C> void Tape<T, C>::ensure(Room extra) {
  if (hasRoom(extra)) return;
  const Room needed = used() + extra;
  requireIndices(needed);
  if (!isGrowing_ || !C.allocates)
    fail(
        "the tape is full: %zu scalars, %zu instructions and %zu words are needed, it has room for %zu, %zu "
        "and %zu",
        needed.scalars, needed.instructions, needed.words, values_.capacity(), code_.capacity(),
        words_.capacity());
  if constexpr (C.allocates) {
    if (needed.scalars > values_.capacity()) {
      gradients_.grow(needed.scalars, maxIndex);
      if constexpr (C.checks) epochs_.grow(needed.scalars, maxIndex);
      values_.grow(needed.scalars, maxIndex);
    }
    if (needed.instructions > code_.capacity()) code_.grow(needed.instructions, maxIndex);
    if (needed.words > words_.capacity()) words_.grow(needed.words, maxIndex);
    updateLimit();
  }
}

template <class T, Config C> void Tape<T, C>::zeroGrad() {
  for (T& g : gradients()) g = T{0};
  sweptCode_ = 0;
}

// A name lies among the words: [position + 1 of the name before it, node, length, its bytes]. A rewind forgets it.
template <class T, Config C>
void Tape<T, C>::setName([[maybe_unused]] Index node, [[maybe_unused]] std::string_view name) {
  if constexpr (C.names) {
    const std::size_t words = 3 + (name.size() + sizeof(Index) - 1) / sizeof(Index);
    ensure({0, 0, words});
    Index* at = nextWord();
    at[0] = lastName_;
    at[1] = node;
    at[2] = static_cast<Index>(name.size());
    std::memcpy(at + 3, name.data(), name.size());
    lastName_ = wordCount_ + 1;
    commitWords(words);
  }
}
template <class T, Config C> std::string_view Tape<T, C>::nameOf([[maybe_unused]] Index node) const {
  if constexpr (C.names) {
    for (Index at = lastName_; at != 0; at = words_.data()[at - 1]) {
      const Index* entry = words_.data() + (at - 1);
      if (entry[1] == node) return {reinterpret_cast<const char*>(entry + 3), entry[2]};
    }
  }
  return {};
}

}  // namespace burtorch
