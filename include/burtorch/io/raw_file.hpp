// Numbers of nodes as raw bytes, in files and in memory (paper 2.3, F.7): a list of nodes, the nodes from a first to a
// last, or a whole tape; their values, their gradients, or the values and then the gradients. Nothing else is in the
// file: 7 fp64 values are 56 bytes, in the byte order of the machine. What was saved fits only as many numbers again.
//
//   saveToFile("activations.bin", std::vector{a, b, e});
//   loadFromFile<Numbers::gradients>("gradients.bin", first, last);
//
// A save replaces the file as a whole or not at all (atomic_file.hpp). Where speed matters more, `RawSave::inPlace`
// writes into the file as it is, as fast as the system's own open, write and close: for numbers that can be made again.
// A load changes nothing unless all bytes were read. The number of a computed node is fixed in handles that already
// exist (value.hpp): after a load, read it with value or take the node again, for example from a Range.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../core/value.hpp"
#include "atomic_file.hpp"
#include "readable_file.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Which numbers of the nodes.
enum class Numbers { values, gradients, valuesAndGradients };

enum class RawSave {
  durable,  // replaced as a whole, and on the disk when the save returns
  atomic,   // replaced as a whole; a power cut may leave it empty
  inPlace   // overwritten: a crash, a full disk or another writer in the middle may leave a part of it
};

/// How many bytes the numbers of `count` nodes take.
template <Numbers what, class T> constexpr std::size_t rawBytes(std::size_t count) {
  return count * sizeof(T) * (what == Numbers::valuesAndGradients ? 2 : 1);
}

namespace detail {

/// Bytes on their way: on the stack if they are few, so that small saves and loads allocate nothing.
class RawBuffer {
 public:
  explicit RawBuffer(std::size_t bytes)
      : large_(bytes > sizeof small_ ? bytes : 0), bytes_(large_.empty() ? small_ : large_.data(), bytes) {}
  RawBuffer(const RawBuffer&) = delete;
  RawBuffer& operator=(const RawBuffer&) = delete;
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  alignas(16) std::byte small_[2048];
  std::vector<std::byte> large_;
  std::span<std::byte> bytes_;
};

/// Neighbouring nodes of a tape: their numbers lie side by side, and need no copy to be written.
template <class T, Config C> struct ContiguousNodes {
  Tape<T, C>& tape;
  std::size_t first, count;
  using Scalar = T;

  std::size_t size() const { return count; }
  void copy(std::span<const T> all, std::byte* to) const {
    if (count > 0) std::memcpy(to, all.data() + first, count * sizeof(T));
  }
  void set(std::span<T> all, const std::byte* from) const {
    if (count > 0) std::memcpy(all.data() + first, from, count * sizeof(T));
  }
  std::size_t end() const { return first + count; }
};

/// Nodes of the current tape in any order.
template <class T, Config C> struct NodeList {
  Tape<T, C>& tape;
  std::span<const Value<T, C>> nodes;
  using Scalar = T;

  std::size_t size() const { return nodes.size(); }
  void copy(std::span<const T> all, std::byte* to) const {
    for (const Value<T, C>& node : nodes) {
      std::memcpy(to, &all[node.index()], sizeof(T));
      to += sizeof(T);
    }
  }
  void set(std::span<T> all, const std::byte* from) const {
    for (const Value<T, C>& node : nodes) {
      std::memcpy(&all[node.index()], from, sizeof(T));
      from += sizeof(T);
    }
  }
  std::size_t end() const {
    std::size_t last = 0;
    for (const Value<T, C>& node : nodes) last = std::max<std::size_t>(last, node.index() + 1);
    return last;
  }
};

template <class T, Config C> ContiguousNodes<T, C> rawNodes(const Tape<T, C>& tape) {
  return {const_cast<Tape<T, C>&>(tape), 0, tape.size()};
}
template <class T, Config C>
ContiguousNodes<T, C> rawNodes(const Value<T, C>& first, const Value<T, C>& last) {
  const NodeIndex from = first.index(), to = last.index();
  if (from > to) fail("nodes from %u to %u are asked for: the first must not come after the last", from, to);
  return {*currentTapeSlot<T, C>, from, std::size_t{to} - from + 1};
}
template <class T, Config C> NodeList<T, C> rawNodes(std::span<const Value<T, C>> nodes) {
  return {*currentTapeSlot<T, C>, nodes};
}
template <class T, Config C> NodeList<T, C> rawNodes(const std::vector<Value<T, C>>& nodes) {
  return rawNodes(std::span<const Value<T, C>>(nodes));
}
template <class T, Config C, std::size_t count>
NodeList<T, C> rawNodes(const std::array<Value<T, C>, count>& nodes) {
  return rawNodes(std::span<const Value<T, C>>(nodes));
}
template <class T, Config C, std::size_t count> NodeList<T, C> rawNodes(const Value<T, C> (&nodes)[count]) {
  return rawNodes(std::span<const Value<T, C>>(nodes));
}
template <class T, Config C> ContiguousNodes<T, C> rawNodes(const Range<T, C>& range) {
  Tape<T, C>& tape = *currentTapeSlot<T, C>;
  if (range.size() == 0) return {tape, 0, 0};
  if (range.stride() != 1) fail("a range with stride %d is not saved raw: give its nodes", range.stride());
  return {tape, range.first(), range.size()};
}

template <Numbers what, class Nodes> void copyNumbers(const Nodes& nodes, std::byte* to) {
  if constexpr (what != Numbers::gradients) {
    nodes.copy(nodes.tape.values(), to);
    to += nodes.size() * sizeof(typename Nodes::Scalar);
  }
  if constexpr (what != Numbers::values) nodes.copy(nodes.tape.gradients(), to);
}
template <Numbers what, class Nodes> void setNumbers(const Nodes& nodes, const std::byte* from) {
  if constexpr (what != Numbers::gradients) {
    nodes.set(nodes.tape.values(), from);
    from += nodes.size() * sizeof(typename Nodes::Scalar);
  }
  if constexpr (what != Numbers::values) {
    nodes.set(nodes.tape.gradients(), from);
    if (nodes.size() > 0) nodes.tape.touchGradient(static_cast<NodeIndex>(nodes.end() - 1));
  }
}

template <class T> constexpr const char* rawName() {
  return std::is_same_v<T, double> ? "fp64" : std::is_same_v<T, float> ? "fp32" : "numbers";
}
template <Numbers what, class Nodes>
[[noreturn]] void refuseSize(ErrorCode code, const char* place, const Nodes& nodes, std::size_t found) {
  using T = typename Nodes::Scalar;
  fail(code, "%s: expected %zu bytes (%zu x %s), found %zu; was it saved from another graph?", place,
       rawBytes<what, T>(nodes.size()), rawBytes<what, T>(nodes.size()) / sizeof(T), rawName<T>(), found);
}

/// Bytes to be written one after the other.
using RawPieces = std::array<std::span<const std::byte>, 2>;

inline void writeInPlace(const std::string& path, const RawPieces& pieces) {
  const auto refuse = [&](const char* what, int error, ErrorCode code = ErrorCode::fileAccess) {
    fail(code, "cannot save '%s': %s (%s)%s", printable(path).c_str(), what, std::strerror(error),
         adviceFor(error));
  };
  if (path.find('\0') != std::string::npos)
    refuse("its name contains a zero byte", EINVAL, ErrorCode::invalidArgument);
  // Not O_TRUNC: most often the file has the right size already, and cutting it gives its blocks back. O_NONBLOCK: a pipe
  // without a reader would be waited for.
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  if (file < 0) refuse("it cannot be opened", errno);
  const auto total = static_cast<off_t>(pieces[0].size() + pieces[1].size());
  // fstat only if the size is not the expected one: after it, Linux notes the time of the next write again, which takes
  // longer than the write. A pipe has no end to be found, a terminal none; a disk's is a multiple of its sectors.
  const off_t size = lseek(file, 0, SEEK_END);
  struct stat status {};
  const bool isFile =
      (size == total && total % 512 != 0) || (fstat(file, &status) == 0 && S_ISREG(status.st_mode));
  const char* what =
      isFile ? "writing failed" : "it is a pipe, a socket or a device; give the name of a file";
  int error = isFile ? 0 : EINVAL;
  if (error == 0 && lseek(file, 0, SEEK_SET) != 0) error = errno;
  for (const std::span<const std::byte> piece : pieces)
    if (error == 0) error = writeAll(file, piece);
  if (error == 0 && size > total && ftruncate(file, total) != 0) error = errno;
  if (close(file) != 0 && error == 0 && errno != EINTR) error = errno;
  if (error != 0) refuse(what, error);
}

inline void writeRaw(const std::string& path, const RawPieces& pieces, RawSave how) {
  if (how == RawSave::inPlace) return writeInPlace(path, pieces);
  AtomicFile file(path, {.durable = how == RawSave::durable});
  for (const std::span<const std::byte> piece : pieces) file.write(piece);
  file.commit();
}

template <Numbers what, class Nodes>
void saveNodes(const std::string& path, const Nodes& nodes, RawSave how) {
  using T = typename Nodes::Scalar;
  if constexpr (requires { nodes.first; }) {
    const auto bytesOf = [&](std::span<T> all) {
      return std::as_bytes(all.subspan(nodes.first, nodes.count));
    };
    RawPieces pieces;
    if constexpr (what != Numbers::gradients) pieces[0] = bytesOf(nodes.tape.values());
    if constexpr (what != Numbers::values) pieces[1] = bytesOf(nodes.tape.gradients());
    writeRaw(path, pieces, how);
  } else {
    const RawBuffer buffer(rawBytes<what, T>(nodes.size()));
    copyNumbers<what>(nodes, buffer.bytes().data());
    writeRaw(path, {buffer.bytes()}, how);
  }
}

template <Numbers what, class Nodes> void loadNodes(const std::string& path, const Nodes& nodes) {
  const std::size_t expected = rawBytes<what, typename Nodes::Scalar>(nodes.size());
  const ReadableFile file(path);
  if (file.size() != expected)
    refuseSize<what>(ErrorCode::badFile, ("cannot load '" + printable(path) + "'").c_str(), nodes,
                     file.size());
  const RawBuffer buffer(expected);
  for (std::span<std::byte> left = buffer.bytes(); !left.empty();) {
    const ssize_t count = ::read(file.number(), left.data(), left.size());
    if (count > 0)
      left = left.subspan(static_cast<std::size_t>(count));
    else if (count == 0)
      file.refuse("it became shorter while it was read", ErrorCode::badFile);
    else if (errno != EINTR)
      file.refuse(std::strerror(errno));
  }
  setNumbers<what>(nodes, buffer.bytes().data());
}

template <Numbers what, class Nodes>
void checkMemory(const char* place, const Nodes& nodes, std::size_t bytes) {
  if (bytes != rawBytes<what, typename Nodes::Scalar>(nodes.size()))
    refuseSize<what>(ErrorCode::invalidArgument, place, nodes, bytes);
}

}  // namespace detail

/// `nodes` is a list of Values (vector, array, span), a Range or a whole Tape.
template <Numbers what = Numbers::values, class Nodes>
requires requires(const Nodes& nodes) { detail::rawNodes(nodes); }
void saveToFile(const std::string& path, const Nodes& nodes, RawSave how = RawSave::durable) {
  detail::saveNodes<what>(path, detail::rawNodes(nodes), how);
}
/// All nodes from the first to the last, both included.
template <Numbers what = Numbers::values, class T, Config C>
void saveToFile(const std::string& path, const Value<T, C>& first, const Value<T, C>& last,
                RawSave how = RawSave::durable) {
  detail::saveNodes<what>(path, detail::rawNodes(first, last), how);
}
/// The file must have exactly the bytes of these nodes.
template <Numbers what = Numbers::values, class Nodes>
requires requires(const Nodes& nodes) { detail::rawNodes(nodes); }
void loadFromFile(const std::string& path, const Nodes& nodes) {
  detail::loadNodes<what>(path, detail::rawNodes(nodes));
}
template <Numbers what = Numbers::values, class T, Config C>
void loadFromFile(const std::string& path, const Value<T, C>& first, const Value<T, C>& last) {
  detail::loadNodes<what>(path, detail::rawNodes(first, last));
}

/// The same into memory of exactly rawBytes<what, T>(count) bytes.
template <Numbers what = Numbers::values, class... Nodes>
requires requires(const Nodes&... nodes) { detail::rawNodes(nodes...); }
void saveToMemory(std::span<std::byte> memory, const Nodes&... nodes) {
  const auto chosen = detail::rawNodes(nodes...);
  detail::checkMemory<what>("cannot save to memory", chosen, memory.size());
  detail::copyNumbers<what>(chosen, memory.data());
}
template <Numbers what = Numbers::values, class... Nodes>
requires requires(const Nodes&... nodes) { detail::rawNodes(nodes...); }
void loadFromMemory(std::span<const std::byte> memory, const Nodes&... nodes) {
  const auto chosen = detail::rawNodes(nodes...);
  detail::checkMemory<what>("cannot load from memory", chosen, memory.size());
  detail::setNumbers<what>(chosen, memory.data());
}

}  // namespace burtorch::inline BURTORCH_TARGET
