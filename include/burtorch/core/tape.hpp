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
#include <span>
#include <string_view>

#include "../ops/op_list.hpp"
#include "handle.hpp"
#include "mark.hpp"
#include "storage.hpp"
#include "tape_slot.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T, Config C> class Tape {
 public:
  /// Grows as needed.
  constexpr Tape() = default;
  /// Allocates once; what does not fit is an error and changes nothing.
  explicit Tape(TapeCapacity room) requires(C.allocates) : isFixed_(true) {
    arrays_.allocate(room);
    startEpoch();
    updateLimit();
  }
  /// Lives in the caller's memory and never allocates. `room` must fit: see requiredBytes.
  Tape(std::span<std::byte> memory, TapeCapacity room) : isFixed_(true) {
    arrays_.borrow(memory, room);
    startEpoch();
    updateLimit();
  }
  /// As above, the memory shared out evenly: as many instructions as scalars, two words each.
  explicit Tape(std::span<std::byte> memory) : Tape(memory, TapeArrays<T, C>::evenRoom(memory.size())) {}
  /// Grows as needed; layers find their parameters in the store.
  template <class Store>
  requires requires(Store& store) { Binding<T>(store.binding()); }
  explicit Tape(Store& store) requires(C.allocates) { bind(store); }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  /// A tape may die while it is current in the thread that destroys it: that thread then has no tape.
  ~Tape() {
    if (currentTapeSlot<T, C> == this) currentTapeSlot<T, C> = &noTape<T, C>;
    for (auto* shadowed = shadowedTapes<T, C>; shadowed != nullptr; shadowed = shadowed->outer)
      if (shadowed->tape == this) shadowed->tape = &noTape<T, C>;
  }

  /// How large a buffer must be for this much room, wherever it starts.
  static constexpr std::size_t requiredBytes(TapeCapacity room) {
    return TapeArrays<T, C>::requiredBytes(room);
  }

  /// How many scalars are on the tape; their indices are 0 ... size() - 1.
  std::size_t size() const { return codeSize_ + bias_; }
  TapeCapacity used() const { return {size(), codeSize_, wordCount_}; }

  std::span<T> values() { return {arrays_.values.data(), size()}; }
  std::span<T> gradients() { return {arrays_.gradients.data(), size()}; }
  std::span<const T> values() const { return {arrays_.values.data(), size()}; }
  std::span<const T> gradients() const { return {arrays_.gradients.data(), size()}; }

  /// A block of leaves, one instruction.
  Range<T, C> leaves(std::span<const T> values);
  Range<T, C> leaves(std::size_t count, T value = T{0});

  using Mark = TapeMark<T, C>;
  Mark mark() const {
    Mark mark{codeSize_, lastName_, bias_, tailCode_, leadingLeaves_, wordCount_};
    if constexpr (C.checks) mark.owner = {this, size() == 0 ? 0 : arrays_.epochs.data()[size() - 1]};
    return mark;
  }
  /// Whether the tape still holds what it held at the mark. Without checks only its length is compared.
  bool isValid(const Mark& mark) const {
    if constexpr (C.checks) {
      const std::size_t scalars = mark.codeSize + mark.bias;
      return mark.codeSize <= codeSize_ && scalars <= size() && mark.wordCount <= wordCount_ &&
             (scalars == 0 || arrays_.epochs.data()[scalars - 1] == mark.owner.epoch);
    } else {
      return mark.codeSize <= codeSize_;
    }
  }
  /// Forgets everything recorded since the mark; the memory stays. Handles from after the mark are stale.
  BURTORCH_INLINE void rewind(const Mark& mark) {
    if (mark.codeSize > codeSize_) [[unlikely]]
      fail("rewind to a mark of %zu instructions on a tape of %zu", mark.codeSize, codeSize_);
    if constexpr (C.checks) requireOwn(mark);
    codeSize_ = mark.codeSize;
    wordCount_ = mark.wordCount;
    lastName_ = mark.lastName;
    leadingLeaves_ = mark.leadingLeaves;
    tailCode_ = mark.tailCode;
    if (bias_ != mark.bias) {
      bias_ = mark.bias;
      updateLimit();
    }
    if (sweptCode_ > codeSize_) sweptCode_ = static_cast<NodeIndex>(codeSize_);
    startEpoch();
  }
  void clear() { rewind(Mark{}); }

  /// Sets all gradients to zero.
  void zeroGrad() {
    requireWhole("zeroGrad");
    for (T& g : gradients()) g = T{0};
    sweptCode_ = 0;
  }

  bool isLeaf(NodeIndex node) const {
    return arrays_.code.data()[find(node).instruction].op() == OpList::indexOf<ops::Leaf>();
  }
  /// The operator that made a node.
  const OpInfo& opOf(NodeIndex node) const {
    return infoOf(arrays_.code.data()[find(node).instruction].op());
  }

  /// From now on layers find their parameters there. What is bound must outlive its use; a tape that still holds nodes
  /// can only change to another set of parameters of the same layout.
  void bind(const Binding<T>& parameters) {
    requireWhole("bind");
    if (codeSize_ > 0 && binding_.size > 0 && !binding_.hasShapeOf(parameters))
      fail("bind: the tape has nodes of %zu parameters in %zu blocks, got %zu in %zu others; rewind it first",
           binding_.size, binding_.blockCount, parameters.size, parameters.blockCount);
    binding_ = parameters;
    areParametersNodes_ = false;
  }
  template <class Store>
  requires requires(Store& store) { Binding<T>(store.binding()); }
  void bind(Store& store) { bind(store.binding()); }
  /// As above, the parameters being nodes of this tape: for functions of the parameters (record, hvp).
  void bind(const Range<T, C>& nodes);
  const Binding<T>& binding() const { return binding_; }

  // For the engine: recording.

  /// The current tape, with room for what is about to be recorded.
  template <std::size_t words = 0> BURTORCH_INLINE static Tape& withRoom() {
    Tape* tape = currentTapeSlot<T, C>;
    if (tape->codeSize_ == tape->limit_ ||
        (words > 0 && tape->wordCount_ + words > tape->arrays_.words.capacity())) [[unlikely]] {
      makeRoom({1, 1, words});
      tape = currentTapeSlot<T, C>;  // read, not returned: so the compiler sees one tape before and after
    }
    return *tape;
  }
  [[gnu::cold, gnu::noinline]] static void makeRoom(TapeCapacity extra);
  /// The same for operators that need more than a node.
  static Tape& withRoom(TapeCapacity extra) {
    if (!currentTapeSlot<T, C>->hasRoom(extra)) makeRoom(extra);
    return *currentTapeSlot<T, C>;
  }

  /// Appends a node; there must be room.
  BURTORCH_INLINE Handle<C> append(Opcode op, NodeIndex a, NodeIndex b, T value) {
    const std::size_t node = codeSize_ + bias_;
    arrays_.values.data()[node] = value;
    arrays_.gradients.data()[node] = T{0};
    arrays_.code.data()[codeSize_] = Instruction(op, a, b);
    ++codeSize_;
    return handle(static_cast<NodeIndex>(node));
  }
  BURTORCH_INLINE Handle<C> appendLeaf(T value) {
    if (leadingLeaves_ == codeSize_) ++leadingLeaves_;
    return append(OpList::indexOf<ops::Leaf>(), 0, 1, value);
  }
  /// Appends a block of `count` results; the caller fills in their values.
  T* appendBlock(Opcode op, NodeIndex a, std::size_t count) {
    const std::size_t first = size();
    if (op == OpList::indexOf<ops::Leaf>() && leadingLeaves_ == codeSize_) ++leadingLeaves_;
    arrays_.code.data()[codeSize_++] = Instruction(op, a, static_cast<NodeIndex>(count));
    bias_ = first + count - codeSize_;
    tailCode_ = static_cast<NodeIndex>(codeSize_);
    updateLimit();
    for (std::size_t i = first; i < first + count; ++i) arrays_.gradients.data()[i] = T{0};
    if constexpr (C.checks)
      for (std::size_t i = first; i < first + count; ++i) arrays_.epochs.data()[i] = epoch_;
    return arrays_.values.data() + first;
  }
  /// Appends words (a constant, a list); there must be room. Returns where they lie.
  template <std::size_t count> BURTORCH_INLINE NodeIndex appendWords(const void* words) {
    const NodeIndex at = wordCount_;
    std::memcpy(arrays_.words.data() + at, words, count * sizeof(Word));
    wordCount_ += static_cast<NodeIndex>(count);
    return at;
  }
  BURTORCH_INLINE T valueAt(NodeIndex node) const { return arrays_.values.data()[node]; }
  /// Words may be written here before they are committed: an error on the way changes nothing.
  Word* nextWord() { return arrays_.words.data() + wordCount_; }
  void commitWords(std::size_t count) { wordCount_ += static_cast<NodeIndex>(count); }

  BURTORCH_INLINE Handle<C> handle(NodeIndex node) {
    if constexpr (C.checks) {
      arrays_.epochs.data()[node] = epoch_;
      return {node, epoch_, &whole()};
    } else {
      return {node};
    }
  }
  Handle<C> handleOf(NodeIndex node) const {
    if constexpr (C.checks)
      return {node, arrays_.epochs.data()[node], &whole()};
    else
      return {node};
  }
  BURTORCH_INLINE NodeIndex indexOf(const Handle<C>& handle) const {
    if constexpr (C.checks) check(handle);
    return handle.index;
  }

  Opcode userOpcode(const UserOp<T>* op) {
    std::size_t i = 0;
    while (i < userOpCount_ && userOps_[i] != op) ++i;
    if (i == maxUserOps)
      fail(ErrorCode::outOfRoom, "more than %zu different user-defined operators on a tape", maxUserOps);
    if (i == userOpCount_) userOps_[userOpCount_++] = op;
    return static_cast<Opcode>(firstUserOpcode + i);
  }
  const UserOp<T>* userOp(Opcode op) const { return userOps_[op - firstUserOpcode]; }
  const OpInfo& infoOf(Opcode op) const {
    return op < firstUserOpcode ? OpList::infos[op] : userOp(op)->info;
  }
  OpShape shapeOf(Opcode op) const { return op < firstUserOpcode ? OpList::shapes[op] : userOp(op)->info; }

  /// An operand of a layer as its word, after a check that it is there.
  NodeIndex operandWord(Block block, std::string_view layer) const {
    const std::size_t end = std::size_t{block.first} + block.count;
    if (block.isParameter) {
      if (end > binding_.size) failUnbound(end, layer);
      if (areParametersNodes_) block = {firstParameter_ + block.first, block.count};
    } else if (end > size()) {
      fail("%.*s: its operand ends at node %zu, the tape has %zu; was it rewound?",
           static_cast<int>(layer.size()), layer.data(), end, size());
    }
    return OperandWord(block).word();
  }

  // For the engine: walking.

  /// Where a walk is: an instruction and the last scalar that it wrote.
  struct Position {
    std::size_t instruction;
    NodeIndex last;
  };
  std::size_t outputCount(std::size_t instruction) const {
    const Instruction code = arrays_.code.data()[instruction];
    return shapeOf(code.op()).writesMany() ? code.b() : 1;
  }
  /// The position of an instruction.
  Position at(std::size_t instruction) const {
    if (instruction >= tailCode_) return {instruction, static_cast<NodeIndex>(instruction + bias_)};
    std::size_t k = tailCode_, first = tailCode_ + bias_, last = first;
    while (k > instruction) {
      last = first - 1;
      first -= outputCount(--k);
    }
    return {k, static_cast<NodeIndex>(last)};
  }
  /// The instruction that wrote a node: at once after the last block, otherwise by walking down from there.
  BURTORCH_INLINE Position find(NodeIndex node) const {
    return node >= tailCode_ + bias_ ? Position{node - bias_, node} : findBelow(node);
  }
  Instruction instruction(std::size_t k) const { return arrays_.code.data()[k]; }
  const Instruction* code() const { return arrays_.code.data(); }
  Frame<T> frame() const {
    return {arrays_.values.data(), arrays_.gradients.data(), arrays_.words.data(), &binding_};
  }
  const Word* words() const { return arrays_.words.data(); }
  /// Instructions before this one are all leaves: a sweep may stop here.
  std::size_t leadingLeaves() const { return leadingLeaves_; }
  /// Inner nodes of instructions before this one may hold gradients of an earlier sweep.
  std::size_t sweptCode() const { return sweptCode_; }
  void setSwept(const Position& root) { sweptCode_ = static_cast<NodeIndex>(root.instruction + 1); }

  static constexpr std::size_t wordsOfName([[maybe_unused]] std::string_view name) {
    if constexpr (C.names)
      return 3 + (name.size() + sizeof(Word) - 1) / sizeof(Word);
    else
      return 0;
  }
  /// The gradient of a node was set from outside: the next sweep clears it, unless it is a leaf's.
  void touchGradient(NodeIndex node) {
    const auto code = static_cast<NodeIndex>(find(node).instruction + 1);
    if (sweptCode_ < code) sweptCode_ = code;
  }
  /// A builder (parallel/builders.hpp) holds a part of a graph, for which `who` has no use.
  void requireWhole(const char* who) const;
  void setName(NodeIndex node, std::string_view name);
  std::string_view nameOf(NodeIndex node) const;

 private:
  bool isBuilder() const { return C.threads && built_ != nullptr; }
  const Tape& whole() const { return isBuilder() ? *built_ : *this; }
  [[gnu::noinline]] Position findBelow(NodeIndex node) const {
    const Tape& tape = node < whole().size() ? whole() : *this;
    std::size_t instruction = tape.tailCode_, first = instruction + tape.bias_;
    if (node >= first) return {node - tape.bias_, node};
    do first -= outputCount(--instruction);
    while (node < first);
    return {instruction, static_cast<NodeIndex>(first + outputCount(instruction) - 1)};
  }
  [[noreturn, gnu::cold]] void failUnbound(std::size_t needed, std::string_view layer) const;
  void ensure(TapeCapacity extra);
  bool hasRoom(TapeCapacity extra) const { return arrays_.fits(used(), extra); }
  void startEpoch() {
    if constexpr (C.checks) epoch_ = nextEpoch();
  }
  void requireOwn(const Mark& mark) const;
  void check(const Handle<C>& handle) const;
  void updateLimit() {
    const std::size_t scalars = arrays_.values.capacity() - bias_;
    limit_ = arrays_.code.capacity() < scalars ? arrays_.code.capacity() : scalars;
  }

  // A scalar node takes one scalar and one instruction, so their difference, the bias, changes only with blocks: one
  // counter and one limit serve both on the way of every operator. For the order of the fields see Mark.
  std::size_t codeSize_ = 0;
  NodeIndex wordCount_ = 0;
  std::size_t limit_ = 0;          // codeSize_ at which a scalar node finds no room
  NodeIndex lastName_ = 0;         // position + 1 of the youngest name among the words
  std::size_t bias_ = 0;           // scalars - instructions
  NodeIndex tailCode_ = 0;         // from here on every instruction writes one scalar
  std::size_t leadingLeaves_ = 0;  // instructions before this one are all leaves
  NodeIndex sweptCode_ = 0;
  TapeArrays<T, C> arrays_;
  bool isFixed_ = false;
  bool areParametersNodes_ = false;
  std::uint8_t userOpCount_ = 0;
  const UserOp<T>* userOps_[maxUserOps] = {};
  NodeIndex epoch_ = 0;  // a new one at every rewind; only with checks
  Binding<T> binding_;
  NodeIndex firstParameter_ = 0;  // where the parameters are nodes of this tape
  // Of a builder: the tape that it builds, which holds the nodes before its own, and the first of its own. (Of others not
  // `this`: `noTape` is all zeros, and takes no room in a program's file.)
  template <class U, Config D, std::size_t most> friend class Builders;
  const Tape* built_ = nullptr;
  std::size_t firstOwn_ = 0;
};

}  // namespace burtorch::inline BURTORCH_TARGET
