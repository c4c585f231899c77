// Files in NumPy's format made by hand, byte by byte, for tests of the reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

/// The file with this header, right or wrong, and this data. Versions from 2 on have four bytes of length.
inline std::string npyOf(std::string_view header, std::string_view data, char major = 1) {
  std::string file = std::string("\x93NUMPY") + major + '\0';
  const auto length = static_cast<std::uint32_t>(header.size());
  file.append(reinterpret_cast<const char*>(&length), major == 1 ? 2 : 4);
  return file.append(header).append(data);
}

template <class... Ts> std::string numbersOf(Ts... numbers) {
  std::string data;
  (data.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return data;
}

inline std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// [[0.5, -1.25, 3], [4, 0.1, -6]] of fp32.
inline std::string smallNpy() {
  return npyOf("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
               numbersOf(0.5F, -1.25F, 3.0F, 4.0F, 0.1F, -6.0F));
}
