// The data of a run: its text, and what the state of the run says of it, so that a run that is resumed or evaluated finds the
// same text and notices another one.
#pragma once

#include <burtorch/data/utf8.hpp>
#include <burtorch/io/crc32c.hpp>
#include <burtorch/io/mapped_file.hpp>
#include <burtorch/io/printable.hpp>
#include <burtorch/io/safetensors_header.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "flags.hpp"

namespace burt {

inline constexpr const char *runPrefix = "run.", *dataKey = "run.data", *checksumKey = "run.data_crc32c";

inline bool isUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = burtorch::decodeUtf8(text, at).bytes;
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

/// The text to learn from: a file, or what comes with burt.
struct Data {
  std::optional<burtorch::MappedFile> file;
  std::string_view text;

  Data(const std::string& path, std::string_view builtIn) : text(builtIn) {
    if (path.empty()) return;
    file.emplace(path);
    text = file->text();
  }
  std::string checksum() const { return textOf(std::uint64_t{burtorch::crc32c(text)}); }
};
/// How people call it.
inline std::string nameOfData(const std::string& path) {
  return path.empty() ? "burt's own data" : burtorch::printable(path);
}

/// Adds to the metadata of a run where its data is, and its checksum.
inline void describeData(const std::string& path, const Data& data, burtorch::Metadata& metadata) {
  metadata[checksumKey] = data.checksum();
  metadata[dataKey] = path.empty() ? "" : std::filesystem::absolute(path).string();
  // A header holds UTF-8 only; a path that is not must be given again.
  if (!isUtf8(metadata[dataKey])) metadata.erase(dataKey);
}
/// Fails unless the run says where its data is, and it is there. `run` is its folder or its file.
inline void requireData(const burtorch::Metadata& metadata, const std::string& run) {
  const auto path = metadata.find(dataKey);
  if (path == metadata.end() && !metadata.contains(checksumKey)) return;  // of an earlier version
  if (path == metadata.end())
    throw BadInput("the run in " + run + " does not say where its data is; pass it with --data FILE");
  std::error_code ignored;
  if (!path->second.empty() && !std::filesystem::exists(path->second, ignored))
    throw BadInput("the run in " + run + " was trained on '" + burtorch::printable(path->second) +
                   "', which does not exist any more; pass it with --data FILE");
}
/// Fails if the data of the run is not what it was.
inline void requireSameData(const burtorch::Metadata& metadata, const std::string& run, const Data& data) {
  const auto checksum = metadata.find(checksumKey);
  if (checksum != metadata.end() && checksum->second != data.checksum())
    throw BadInput("the data of the run in " + run +
                   " has changed since it began; restore it, or pass it with --data FILE to use it as it is");
}

}  // namespace burt
