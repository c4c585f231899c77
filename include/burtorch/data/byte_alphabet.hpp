// The alphabet in which GPT-2's files write bytes: each of the 256 is one visible character.
//
// Bytes that are visible in Latin-1 stand for themselves; the other 68 (controls, the blanks, DEL, the soft hyphen) are
// numbered from U+0100 on in their order, so a space is written as U+0120. That way token strings have no blanks, and
// any bytes can be written in JSON.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../base/config.hpp"
#include "utf8.hpp"

namespace burtorch::inline BURTORCH_TARGET {

class ByteAlphabet {
 public:
  static constexpr char32_t characterOf(std::uint8_t byte) { return characters[byte]; }

  /// The bytes that a text in this alphabet stands for; none if it has a character that is not of the alphabet.
  static std::optional<std::string> bytesOf(std::string_view text) {
    std::string bytes;
    for (std::size_t at = 0; at < text.size();) {
      const auto [character, length] = decodeUtf8(text, at);
      if (length == 0 || character >= byCharacter.size() || byCharacter[character] < 0) return {};
      bytes.push_back(static_cast<char>(byCharacter[character]));
      at += length;
    }
    return bytes;
  }
  static std::string textOf(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) appendUtf8(text, characterOf(static_cast<std::uint8_t>(byte)));
    return text;
  }

 private:
  static constexpr bool isItself(std::size_t byte) {
    return (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
  }
  static constexpr std::array<char32_t, 256> charactersOfBytes() {
    std::array<char32_t, 256> result{};
    char32_t next = 0x100;
    for (std::size_t byte = 0; byte < 256; ++byte)
      result[byte] = isItself(byte) ? static_cast<char32_t>(byte) : next++;
    return result;
  }
  static constexpr std::size_t charactersEnd = 0x100 + 68;
  static constexpr std::array<std::int16_t, charactersEnd> bytesOfCharacters() {
    std::array<std::int16_t, charactersEnd> result{};
    for (std::int16_t& none : result) none = -1;
    const std::array<char32_t, 256> all = charactersOfBytes();
    for (std::size_t byte = 0; byte < 256; ++byte) result[all[byte]] = static_cast<std::int16_t>(byte);
    return result;
  }
  static const std::array<char32_t, 256> characters;
  static const std::array<std::int16_t, charactersEnd> byCharacter;
};

inline constexpr std::array<char32_t, 256> ByteAlphabet::characters = ByteAlphabet::charactersOfBytes();
inline constexpr std::array<std::int16_t, ByteAlphabet::charactersEnd> ByteAlphabet::byCharacter =
    ByteAlphabet::bytesOfCharacters();

}  // namespace burtorch::inline BURTORCH_TARGET
