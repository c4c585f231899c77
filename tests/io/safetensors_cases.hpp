// Safetensors files made by hand, byte by byte, for tests of the reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

/// The file with this header, right or wrong, and this data.
inline std::string fileOf(std::string_view header, std::string_view data) {
  const std::uint64_t bytes = header.size();
  std::string file(sizeof bytes, '\0');
  std::memcpy(file.data(), &bytes, sizeof bytes);
  return file.append(header).append(data);
}

template <class... Ts> std::string dataOf(Ts... numbers) {
  std::string data;
  (data.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return data;
}

/// Two small tensors.
inline std::string smallFile() {
  return fileOf(R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                R"("w":{"dtype":"F64","shape":[1,3],"data_offsets":[8,32]},"__metadata__":{"k":"v"}})",
                dataOf(0.5F, -1.25F, 0.1, -2.0, 3e-5));
}
