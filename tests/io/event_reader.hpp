// A reader of event files that shares nothing with the writer: records with their checksums bit by bit, and the protobuf
// messages in them field by field. What it does not expect is an error.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "io/crc32c_bitwise.hpp"

/// One event. Values are bits, so that they can be compared exactly.
struct ReadEvent {
  double wallTime = 0;
  std::uint64_t step = 0;
  std::string version;  // of the first record
  bool isStart = false;
  std::string tag;
  std::optional<std::uint32_t> valueBits;
};

class EventReader {
 public:
  explicit EventReader(std::string_view file) : rest_(file) {}

  /// The events up to the first record that is not whole.
  static std::vector<ReadEvent> all(std::string_view file) {
    EventReader reader(file);
    std::vector<ReadEvent> events;
    while (const auto message = reader.next()) events.push_back(eventOf(*message));
    return events;
  }
  /// The next message; none if the file ends before it does.
  std::optional<std::string_view> next() {
    if (rest_.size() < 12) return {};
    const auto length = number<std::uint64_t>(rest_);
    if (masked(rest_.substr(0, 8)) != number<std::uint32_t>(rest_.substr(8)))
      throw std::runtime_error("the checksum of a length is wrong");
    if (rest_.size() - 12 < length || rest_.size() - 12 - length < 4) return {};
    const std::string_view message = rest_.substr(12, length);
    if (masked(message) != number<std::uint32_t>(rest_.substr(12 + length)))
      throw std::runtime_error("the checksum of a message is wrong");
    rest_.remove_prefix(16 + length);
    return message;
  }
  /// What is left of the file.
  std::size_t bytesLeft() const { return rest_.size(); }

 private:
  template <class Number> static Number number(std::string_view bytes) {
    Number result{};
    for (std::size_t i = sizeof result; i-- > 0;)
      result = static_cast<Number>((result << 8) | static_cast<unsigned char>(bytes.at(i)));
    return result;
  }
  static std::uint32_t masked(std::string_view bytes) {
    const std::uint64_t crc = crc32cBitwise(bytes), twice = crc << 32 | crc;
    return static_cast<std::uint32_t>((twice >> 15) + 0xA282EAD8U);
  }

  static std::uint64_t takeVarint(std::string_view& message) {
    std::uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(0));
      message.remove_prefix(1);
      result |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return result;
    }
    throw std::runtime_error("a number has more than 64 bits");
  }
  static std::string_view take(std::string_view& message, std::size_t bytes) {
    if (bytes > message.size()) throw std::runtime_error("a field ends after its message");
    const std::string_view result = message.substr(0, bytes);
    message.remove_prefix(bytes);
    return result;
  }
  /// Calls `use(field * 8 + wire type, its number or bytes)` for each field.
  template <class Use> static void fields(std::string_view message, Use&& use) {
    while (!message.empty()) {
      const std::uint64_t key = takeVarint(message);
      switch (key % 8) {
        case 0: use(key, takeVarint(message), std::string_view()); break;
        case 1: use(key, number<std::uint64_t>(take(message, 8)), std::string_view()); break;
        case 2: use(key, std::uint64_t{0}, take(message, takeVarint(message))); break;
        case 5: use(key, std::uint64_t{number<std::uint32_t>(take(message, 4))}, std::string_view()); break;
        default: throw std::runtime_error("a wire type that protobuf has not");
      }
    }
  }
  [[noreturn]] static void unknown(std::uint64_t key) {
    throw std::runtime_error("an unexpected field " + std::to_string(key / 8) + " of type " +
                             std::to_string(key % 8));
  }
  static constexpr std::uint64_t key(std::uint64_t field, std::uint64_t type) { return field * 8 + type; }

  static ReadEvent eventOf(std::string_view message) {
    ReadEvent event;
    fields(message, [&](std::uint64_t at, std::uint64_t n, std::string_view bytes) {
      switch (at) {
        case key(1, 1): std::memcpy(&event.wallTime, &n, sizeof n); break;
        case key(2, 0): event.step = n; break;
        case key(3, 2): event.version = bytes; break;
        case key(5, 2): readSummary(bytes, event); break;
        case key(7, 2): event.isStart = bytes == std::string_view("\x08\x01"); break;
        default: unknown(at);
      }
    });
    return event;
  }
  static void readSummary(std::string_view message, ReadEvent& event) {
    fields(message, [&](std::uint64_t at, std::uint64_t, std::string_view value) {
      if (at != key(1, 2) || event.valueBits) unknown(at);
      fields(value, [&](std::uint64_t inner, std::uint64_t n, std::string_view bytes) {
        if (inner == key(1, 2))
          event.tag = bytes;
        else if (inner == key(2, 5))
          event.valueBits = static_cast<std::uint32_t>(n);
        else
          unknown(inner);
      });
    });
  }

  std::string_view rest_;
};
