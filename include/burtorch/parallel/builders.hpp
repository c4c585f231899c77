// One graph, many builders (paper F.9.6): several threads append to one tape at once, each to its own segment, then one
// sweep goes through all of it.
//
//   Builders builders(tape, 2, {.scalars = 500, .instructions = 500, .words = 1000});
//   std::thread other([&] { CurrentTape here(builders[1]); right = recordRight(x); });
//   { CurrentTape here(builders[0]); left = recordLeft(x); }
//   other.join();
//   builders.join();  // the tape now holds left, then right
//   backward(left + right);
//
// A builder is a tape that writes into the arrays of the one it builds, so recording runs the same code, and a handle means
// the same node before and after `join`. Operands are nodes from before the split and the builder's own. Segments are joined
// in the order of their index, whoever finished first: values and gradients have the bits of recording them one after the
// other.
//
// At the same time may run: recording on different builders, each in one thread; whatever only reads values from before the
// split. Nothing else: no recording on the tape itself, no setData or setGrad of an older node, no backward. The caller sees to
// it that the threads are done, for instance by joining them, before `join`.
//
// A full segment is an error in the thread that hit it. Operators record all or nothing, so what this builder recorded before
// is whole, the others notice nothing, and `join` takes all of it.
//
// Cost: a leaf of 0 before every segment. What a segment leaves unused becomes part of the leaf before the next one and is
// set to zero, and the instructions of later segments move down: exact room costs nothing. No allocation, no lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "../core/current_tape.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Splits a tape into segments for several threads, until `join`. Without a join (an exception on the way) the tape is as it
/// was before the split. `most` segments at most.
template <class T, Config C = defaultConfig, std::size_t most = 16> class Builders {
  static_assert(C.threads, "builders are threads: Config::threads must be on");

 public:
  /// A segment for each builder, with room for what it will record.
  Builders(Tape<T, C>& tape, std::span<const TapeCapacity> segments) : tape_(tape), split_(tape.mark()) {
    requireCount(segments.size());
    split([&](std::size_t i) { return segments[i]; });
  }
  /// `count` segments of equal room.
  Builders(Tape<T, C>& tape, std::size_t count, TapeCapacity each) : tape_(tape), split_(tape.mark()) {
    requireCount(count);
    split([&](std::size_t) { return each; });
  }
  Builders(const Builders&) = delete;
  Builders& operator=(const Builders&) = delete;
  /// No builder may be current in another thread by now.
  ~Builders() {
    if (isOpen_) close();
  }

  /// How much room a tape needs for these segments, beside what it holds.
  static TapeCapacity roomFor(std::span<const TapeCapacity> segments) {
    TapeCapacity room;
    for (const TapeCapacity& segment : segments) room = sum(room, segment);
    return room;
  }
  static TapeCapacity roomFor(std::size_t count, TapeCapacity each) {
    TapeCapacity room;
    for (std::size_t i = 0; i < count; ++i) room = sum(room, each);
    return room;
  }

  std::size_t size() const { return count_; }
  /// Make it current in the thread that records on it. It can be rewound to its own marks, which mean nothing after `join`.
  Tape<T, C>& operator[](std::size_t i) {
    if (i >= count_)
      fail(ErrorCode::outOfRange, "Builders: there are %zu, number %zu is asked for", count_, i);
    return parts_[i].tape;
  }

  /// Makes the segments part of the tape, in their order. An error changes nothing.
  void join() {
    if (!isOpen_) fail("Builders: joined already; split the tape again");
    if (tape_.codeSize_ != split_.codeSize || tape_.wordCount_ != split_.wordCount)
      fail("Builders: the tape was rewound while it was split; rewind it after the join");
    std::array<OpcodeMap, most> maps{};
    const auto userOps = unitedOps(maps);
    close();
    for (std::size_t i = 0; i < userOps.count; ++i) tape_.userOps_[i] = userOps.ops[i];
    tape_.userOpCount_ = userOps.count;
    for (std::size_t i = 0; i < count_; ++i) append(parts_[i], maps[i]);
  }

 private:
  /// A builder and where its segment starts. Each has cache lines of its own: its counters are written at every node.
  struct alignas(128) Part {
    Tape<T, C> tape;
    TapeCapacity start;
  };
  /// A builder numbers the user's operators that it meets; here is what the tape calls them.
  using OpcodeMap = std::array<Opcode, maxUserOps>;
  struct UserOps {
    std::array<const UserOp<T>*, maxUserOps> ops{};
    std::uint8_t count = 0;
  };

  void requireCount(std::size_t count) {
    if (count == 0 || count > most)
      fail("Builders: expected 1 to %zu segments, got %zu; more are Builders<T, config, more>", most, count);
    tape_.requireWhole("Builders");
    if (tape_.firstOwn_ != 0) fail("Builders: the tape is split already; join its builders first");
    count_ = count;
  }
  /// With the leaf before the segment. A sum that could wrap is an error.
  static TapeCapacity sum(TapeCapacity room, TapeCapacity segment) {
    requireIndices(segment);
    return room + segment + TapeCapacity{1, 1, 0};
  }

  template <class SegmentOf> void split(SegmentOf segmentOf) {
    TapeCapacity room;
    for (std::size_t i = 0; i < count_; ++i) room = sum(room, segmentOf(i));
    tape_.ensure(room);
    TapeCapacity at = tape_.used();
    for (std::size_t i = 0; i < count_; ++i) {
      at = at + TapeCapacity{1, 1, 0};
      parts_[i].start = at;
      at = at + segmentOf(i);
      open(parts_[i], at);
    }
    // From now on the tape itself has no room.
    room_ = tape_.arrays_.room();
    setRoom(tape_, tape_.used());
    tape_.firstOwn_ = maxIndex;
    isOpen_ = true;
  }
  void open(Part& part, TapeCapacity end) {
    Tape<T, C>& builder = part.tape;
    const auto share = [](auto& array, const auto& from) { array.borrow(from.data(), 0); };
    share(builder.arrays_.values, tape_.arrays_.values);
    share(builder.arrays_.gradients, tape_.arrays_.gradients);
    share(builder.arrays_.code, tape_.arrays_.code);
    share(builder.arrays_.words, tape_.arrays_.words);
    if constexpr (C.checks) share(builder.arrays_.epochs, tape_.arrays_.epochs);
    builder.isFixed_ = true;
    builder.built_ = &tape_;
    builder.firstOwn_ = part.start.scalars;
    builder.codeSize_ = part.start.instructions;
    builder.bias_ = part.start.scalars - part.start.instructions;
    builder.tailCode_ = static_cast<NodeIndex>(part.start.instructions);
    builder.sweptCode_ = builder.tailCode_;  // so a sweep looks closer, and refuses
    builder.wordCount_ = static_cast<NodeIndex>(part.start.words);
    builder.lastName_ = tape_.lastName_;
    builder.userOpCount_ = tape_.userOpCount_;
    for (std::size_t i = 0; i < tape_.userOpCount_; ++i) builder.userOps_[i] = tape_.userOps_[i];
    builder.binding_ = tape_.binding_;
    builder.firstParameter_ = tape_.firstParameter_;
    builder.areParametersNodes_ = tape_.areParametersNodes_;
    builder.startEpoch();
    setRoom(builder, end);
  }
  static void setRoom(Tape<T, C>& tape, TapeCapacity room) {
    tape.arrays_.values.setCapacity(room.scalars);
    tape.arrays_.code.setCapacity(room.instructions);
    tape.arrays_.words.setCapacity(room.words);
    tape.updateLimit();
  }
  void close() {
    isOpen_ = false;
    tape_.firstOwn_ = 0;
    setRoom(tape_, room_);
    for (std::size_t i = 0; i < count_; ++i)
      setRoom(parts_[i].tape, parts_[i].tape.used());  // who is late gets an error
  }

  /// The user's operators of the tape and of all builders, and what becomes of every builder's opcodes.
  UserOps unitedOps(std::array<OpcodeMap, most>& maps) const {
    UserOps all;
    for (std::size_t i = 0; i < tape_.userOpCount_; ++i) all.ops[all.count++] = tape_.userOps_[i];
    for (std::size_t part = 0; part < count_; ++part) {
      const Tape<T, C>& builder = parts_[part].tape;
      if (builder.codeSize_ < parts_[part].start.instructions)
        fail("Builders: builder %zu was rewound to before its segment; rewind it to its own marks only",
             part);
      for (std::size_t i = 0; i < builder.userOpCount_; ++i) {
        std::size_t at = 0;
        while (at < all.count && all.ops[at] != builder.userOps_[i]) ++at;
        if (at == maxUserOps)
          fail(ErrorCode::outOfRoom, "Builders: more than %zu different user-defined operators on a tape",
               maxUserOps);
        if (at == all.count) all.ops[all.count++] = builder.userOps_[i];
        maps[part][i] = static_cast<Opcode>(firstUserOpcode + at);
      }
    }
    return all;
  }

  /// Puts a segment behind what the tape holds, and a leaf where nodes between them are unused.
  void append(const Part& part, const OpcodeMap& map) {
    const Tape<T, C>& builder = part.tape;
    const std::size_t count = builder.codeSize_ - part.start.instructions;
    if (builder.wordCount_ > part.start.words) appendNames(part);  // also of nodes before the split
    if (count == 0) return;
    const std::size_t unused = part.start.scalars - tape_.size();
    T* values = tape_.appendBlock(OpList::indexOf<ops::Leaf>(), 0, unused);
    for (std::size_t i = 0; i < unused; ++i) values[i] = T{0};

    Instruction* to = tape_.arrays_.code.data() + tape_.codeSize_;
    const Instruction* from = tape_.arrays_.code.data() + part.start.instructions;
    if (to != from) std::memmove(to, from, count * sizeof(Instruction));
    renameOperators(to, count, builder.userOpCount_, map);

    const std::size_t down = part.start.instructions - tape_.codeSize_;
    if (builder.tailCode_ > part.start.instructions)
      tape_.tailCode_ = static_cast<NodeIndex>(builder.tailCode_ - down);
    if (builder.sweptCode_ > part.start.instructions)  // setGrad
      tape_.sweptCode_ = static_cast<NodeIndex>(builder.sweptCode_ - down);
    tape_.codeSize_ += count;
    tape_.bias_ = builder.size() - tape_.codeSize_;
    tape_.updateLimit();
  }
  /// The builder's oldest name follows the tape's youngest.
  void appendNames(const Part& part) {
    const Tape<T, C>& builder = part.tape;
    Word* words = tape_.arrays_.words.data();
    tape_.wordCount_ = builder.wordCount_;
    if (builder.lastName_ == split_.lastName) return;
    NodeIndex oldest = builder.lastName_;
    while (words[oldest - 1] != split_.lastName) oldest = words[oldest - 1];
    words[oldest - 1] = tape_.lastName_;
    tape_.lastName_ = builder.lastName_;
  }
  static void renameOperators(Instruction* code, std::size_t count, std::size_t userOps,
                              const OpcodeMap& map) {
    bool isSame = true;
    for (std::size_t i = 0; i < userOps; ++i) isSame = isSame && map[i] == firstUserOpcode + i;
    for (std::size_t k = 0; !isSame && k < count; ++k)
      if (code[k].op() >= firstUserOpcode)
        code[k] = Instruction(map[code[k].op() - firstUserOpcode], code[k].a(), code[k].b());
  }

  Tape<T, C>& tape_;
  const typename Tape<T, C>::Mark split_;
  TapeCapacity room_;
  std::size_t count_ = 0;
  bool isOpen_ = false;
  std::array<Part, most> parts_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
