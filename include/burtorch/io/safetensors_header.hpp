// The header of a safetensors file: which tensors there are, of which type and shape, and where their bytes lie.
//
//   {"name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, ..., "__metadata__":{"key":"text"}}
//
// A header that was read is right: names are unique, sizes fit their shapes, and the tensors cover the data without holes
// or overlaps. So nothing that is handed out can lead outside the file. Memory: about ten times the header's size at
// worst, which is some gigabyte for a hostile header of 100 MB.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Texts that a file carries beside its tensors.
using Metadata = std::map<std::string, std::string, std::less<>>;

/// A tensor as the header describes it; its bytes are [begin, end) of the data.
struct TensorInfo {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;

  std::uint64_t bytes() const { return end - begin; }
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their data
  std::vector<std::size_t> byName;  // tensors[byName[0]] has the first name
  Metadata metadata;
};

namespace safetensors {

inline constexpr std::size_t maxHeaderBytes = 100'000'000;  // the format's limit
inline constexpr std::size_t maxDimensions = 64;            // PyTorch's; also keeps a shape small in memory
inline constexpr std::string_view metadataKey = "__metadata__";

/// Bytes of one number; 0 for a type that is not known or takes parts of bytes.
inline std::uint64_t bytesPerNumber(std::string_view dtype) {
  struct Known {
    std::string_view dtype;
    std::uint64_t bytes;
  };
  static constexpr Known known[] = {{"F32", 4},     {"F64", 8},         {"F16", 2},        {"BF16", 2},
                                    {"I64", 8},     {"U64", 8},         {"I32", 4},        {"U32", 4},
                                    {"I16", 2},     {"U16", 2},         {"C64", 8},        {"I8", 1},
                                    {"U8", 1},      {"BOOL", 1},        {"F8_E5M2", 1},    {"F8_E4M3", 1},
                                    {"F8_E8M0", 1}, {"F8_E4M3FNUZ", 1}, {"F8_E5M2FNUZ", 1}};
  for (const Known& type : known)
    if (type.dtype == dtype) return type.bytes;
  return 0;
}

/// left * right; false if 64 bits cannot hold it.
inline bool multiply(std::uint64_t left, std::uint64_t right, std::uint64_t& product) {
  return !__builtin_mul_overflow(left, right, &product);
}
/// How many numbers a tensor has; false if 64 bits cannot hold it.
inline bool countOf(const std::vector<std::uint64_t>& shape, std::uint64_t& count) {
  count = 1;
  for (const std::uint64_t size : shape)
    if (!multiply(count, size, count)) return false;
  return true;
}
/// "[2,3]", as a header has it.
inline std::string shapeText(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t size : shape) {
    if (text.size() > 1) text += ',';
    text += std::to_string(size);
  }
  return text + "]";
}

[[noreturn]] inline void refuseTensor(std::string_view source, const TensorInfo& tensor,
                                      const std::string& why) {
  fail(ErrorCode::badFile, "cannot read '%s': tensor '%s' %s; was the file damaged?",
       printable(source).c_str(), printable(tensor.name, 50).c_str(), why.c_str());
}

/// One tensor of the header: exactly its three members, in any order.
inline TensorInfo parseTensor(JsonReader& json, const std::string& name) {
  TensorInfo tensor{.name = name, .dtype = {}, .shape = {}};
  bool hasDtype = false, hasShape = false, hasOffsets = false;
  json.object([&](const std::string& key) {
    bool& has = key == "dtype" ? hasDtype : key == "shape" ? hasShape : hasOffsets;
    if (&has == &hasOffsets && key != "data_offsets") json.refuseKey(key, "a tensor has the unknown member");
    if (has) json.refuseKey(key, "a tensor has twice the member");
    has = true;
    if (key == "dtype") {
      tensor.dtype = json.string();
    } else if (key == "shape") {
      json.array([&] {
        if (tensor.shape.size() == maxDimensions) json.refuse("no more than 64 sizes");
        tensor.shape.push_back(json.integer());
      });
    } else {
      std::size_t count = 0;
      json.array([&] {
        if (count == 2) json.refuse("two offsets only");
        (count++ == 0 ? tensor.begin : tensor.end) = json.integer();
      });
      if (count != 2) json.refuse("two offsets before this");
    }
  });
  if (!hasDtype || !hasShape || !hasOffsets) json.refuse("dtype, shape and data_offsets before this");
  return tensor;
}

/// The bytes between the offsets are as many as shape and type need.
inline void checkSize(const TensorInfo& tensor, std::string_view source) {
  std::uint64_t bytes = 0;
  const std::uint64_t each = bytesPerNumber(tensor.dtype);
  if (tensor.begin > tensor.end) refuseTensor(source, tensor, "ends before it begins");
  if (!countOf(tensor.shape, bytes) || !multiply(bytes, each, bytes))
    refuseTensor(source, tensor, "has more numbers than 64 bits can count");
  if (each > 0 && bytes != tensor.bytes())
    refuseTensor(source, tensor,
                 "of " + printable(shapeText(tensor.shape), 30) + " " + tensor.dtype + " needs " +
                     std::to_string(bytes) + " bytes and has " + std::to_string(tensor.bytes()));
}

/// Tensors in the order of their data cover all of it.
inline void checkCover(const std::vector<TensorInfo>& tensors, std::uint64_t dataBytes,
                       std::string_view source) {
  std::uint64_t covered = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin != covered)
      refuseTensor(source, tensor,
                   "begins at byte " + std::to_string(tensor.begin) +
                       " of the data, the one before it ends at " + std::to_string(covered));
    covered = tensor.end;
  }
  if (covered != dataBytes)
    fail(ErrorCode::badFile,
         "cannot read '%s': its tensors take %llu bytes and it has %llu; was it cut or extended?",
         printable(source).c_str(), static_cast<unsigned long long>(covered),
         static_cast<unsigned long long>(dataBytes));
}

/// Tensors by their names, which are all different.
inline std::vector<std::size_t> orderOfNames(const std::vector<TensorInfo>& tensors,
                                             std::string_view source) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto name = [&](std::size_t i) -> const std::string& { return tensors[i].name; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return name(a) < name(b); });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (name(order[i - 1]) == name(order[i]))
      fail(ErrorCode::badFile, "cannot read '%s': it has two tensors '%s'; was the file damaged?",
           printable(source).c_str(), printable(name(order[i]), 50).c_str());
  return order;
}

/// Reads and checks a header whose tensors must cover `dataBytes`. `source` names the file in errors.
inline SafetensorsHeader parseHeader(std::string_view text, std::uint64_t dataBytes,
                                     std::string_view source) {
  SafetensorsHeader header;
  bool hasMetadata = false;
  JsonReader json(text, source);
  json.object([&](const std::string& name) {
    if (name != metadataKey) {
      header.tensors.push_back(parseTensor(json, name));
      return checkSize(header.tensors.back(), source);
    }
    if (hasMetadata) json.refuseKey(name, "there is twice the member");
    hasMetadata = true;
    json.object([&](const std::string& key) {
      const auto [entry, isNew] = header.metadata.try_emplace(key);
      if (!isNew) json.refuseKey(key, "the metadata have twice the key");
      entry->second = json.string();
    });
  });
  json.end();
  std::sort(header.tensors.begin(), header.tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    // Tensors without numbers lie before the one that begins at the same byte.
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  header.byName = orderOfNames(header.tensors, source);
  checkCover(header.tensors, dataBytes, source);
  return header;
}

/// The header's text. `target` names the file in errors; that names are unique is the caller's promise.
inline std::string printHeader(const SafetensorsHeader& header, std::string_view target) {
  std::string json = "{";
  const auto append = [&](std::string_view text) {
    if (!appendJsonString(json, text))
      fail("cannot save '%s': the name or text '%s' is not UTF-8; give one that is",
           printable(target).c_str(), printable(text, 50).c_str());
  };
  const auto next = [&] { json += json.back() == '{' ? "" : ","; };
  if (!header.metadata.empty()) {
    append(metadataKey);
    json += ":{";
    for (const auto& [key, text] : header.metadata) {
      next();
      append(key);
      json += ':';
      append(text);
    }
    json += '}';
  }
  for (const TensorInfo& tensor : header.tensors) {
    next();
    append(tensor.name);
    json += ":{\"dtype\":";
    append(tensor.dtype);
    json += ",\"shape\":" + shapeText(tensor.shape) + ",\"data_offsets\":[" + std::to_string(tensor.begin) +
            "," + std::to_string(tensor.end) + "]}";
  }
  return json + "}";
}

}  // namespace safetensors
}  // namespace burtorch::inline BURTORCH_TARGET
