// Files of named tensors in the safetensors format, which PyTorch and others read and write: 8 bytes with the length of
// the header (little-endian), the header (safetensors_header.hpp), the numbers.
//
// A file is checked as a whole when it is opened: any bytes lead to an error or to tensors that lie in the file. It is
// mapped, so opening costs the header and no copy; a file that is replaced by a save stays readable as it was.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atomic_file.hpp"
#include "convert.hpp"
#include "mapped_file.hpp"
#include "safetensors_header.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace safetensors {

template <TensorNumber T> constexpr std::string_view dtypeOf() {
  return std::same_as<T, float> ? "F32" : "F64";
}

/// The types of real numbers, which can be read; none for others.
inline std::optional<NumberType> realTypeOf(std::string_view dtype) {
  if (dtype == "F64") return NumberType::f64;
  if (dtype == "F32") return NumberType::f32;
  if (dtype == "F16") return NumberType::f16;
  if (dtype == "BF16") return NumberType::bf16;
  return {};
}

}  // namespace safetensors

/// A safetensors file, open for reading.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path)
      : path_(path), file_(path), header_(checkedHeader(file_, path)) {
    data_ = file_.bytes().subspan(sizeof(std::uint64_t) + headerBytes(file_));
  }

  const std::string& path() const { return path_; }
  const Metadata& metadata() const { return header_.metadata; }
  /// All tensors, in the order of their data.
  std::span<const TensorInfo> tensors() const { return header_.tensors; }
  /// The tensor of this name, or nullptr.
  const TensorInfo* find(std::string_view name) const {
    const auto at = std::lower_bound(
        header_.byName.begin(), header_.byName.end(), name,
        [this](std::size_t i, std::string_view wanted) { return header_.tensors[i].name < wanted; });
    const TensorInfo* found = at == header_.byName.end() ? nullptr : &header_.tensors[*at];
    return found != nullptr && found->name == name ? found : nullptr;
  }
  const TensorInfo& tensor(std::string_view name) const {
    if (const TensorInfo* found = find(name)) return *found;
    fail("'%s' has no tensor '%s'; is it the file of another model?", printable(path_).c_str(),
         printable(name, 50).c_str());
  }
  /// The numbers of one of its tensors as they lie in the file, which is mapped as long as this object lives.
  std::span<const std::byte> bytes(const TensorInfo& tensor) const {
    return data_.subspan(static_cast<std::size_t>(tensor.begin), static_cast<std::size_t>(tensor.bytes()));
  }
  std::span<const std::byte> bytes(std::string_view name) const { return bytes(tensor(name)); }

  /// Reads a tensor of F64, F32, F16 or BF16 into numbers that are exactly as many. Every number stays what it is, except
  /// F64 as float: that rounds to 24 bits, and numbers below 1e-38 lose bits or become zero. A number too large for a
  /// float is an error. On an error `into` is as it was.
  template <TensorNumber T> void read(std::string_view name, std::span<T> into) const {
    const TensorInfo& found = tensor(name);
    checkReadable<T>(found, into.size());
    convert(found, into);
  }

  /// Fails if `convert` could not turn this tensor into so many numbers.
  template <TensorNumber T> void checkReadable(const TensorInfo& tensor, std::size_t count) const {
    const std::optional<NumberType> type = safetensors::realTypeOf(tensor.dtype);
    if (!type)
      refuse(tensor, "is of type " + printable(tensor.dtype, 20) + ", expected F64, F32, F16 or BF16");
    const std::uint64_t has = tensor.bytes() / safetensors::bytesPerNumber(tensor.dtype);
    if (has != count)
      refuse(tensor, "has " + std::to_string(has) + " numbers, expected " + std::to_string(count));
    if (const std::optional<std::size_t> at = firstThatDoesNotFit<T>(*type, bytes(tensor)))
      refuse(tensor, "has at " + std::to_string(*at) + " a number too large for float; read it as double");
  }
  /// Reads a tensor that was found readable.
  template <TensorNumber T> void convert(const TensorInfo& tensor, std::span<T> into) const {
    convertNumbers(*safetensors::realTypeOf(tensor.dtype), bytes(tensor), into);
  }

 private:
  static std::uint64_t headerBytes(const MappedFile& file) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, file.bytes().data(), sizeof bytes);
    return bytes;
  }
  static SafetensorsHeader checkedHeader(const MappedFile& file, const std::string& path) {
    constexpr std::size_t lengthBytes = sizeof(std::uint64_t);
    const auto refuseFile = [&](const char* why) {
      fail(ErrorCode::badFile, "cannot read '%s': %s; is it a safetensors file?", printable(path).c_str(),
           why);
    };
    if (file.size() < lengthBytes) refuseFile("it has less than 8 bytes");
    const std::uint64_t bytes = headerBytes(file);
    if (bytes > safetensors::maxHeaderBytes) refuseFile("its header would have more than 100 MB");
    if (bytes > file.size() - lengthBytes) refuseFile("its header would end after the file");
    const std::string_view text = file.text().substr(lengthBytes, static_cast<std::size_t>(bytes));
    if (!text.starts_with('{')) refuseFile("its header does not begin with '{'");
    return safetensors::parseHeader(text, file.size() - lengthBytes - bytes, path);
  }
  [[noreturn]] void refuse(const TensorInfo& tensor, const std::string& why) const {
    fail("cannot load '%s' of '%s': it %s", printable(tensor.name, 50).c_str(), printable(path_).c_str(),
         why.c_str());
  }

  std::string path_;
  MappedFile file_;
  SafetensorsHeader header_;
  std::span<const std::byte> data_;
};

/// A tensor to be saved: a name, a shape and a view of the numbers, which must live until they are saved.
struct TensorView {
  template <TensorNumber T>
  TensorView(std::string nameOfIt, std::vector<std::uint64_t> shapeOfIt, std::span<const T> numbers)
      : name(std::move(nameOfIt)),
        dtype(safetensors::dtypeOf<T>()),
        shape(std::move(shapeOfIt)),
        bytes(std::as_bytes(numbers)) {}

  std::string name;
  std::string_view dtype;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;
};

namespace safetensors {

inline void checkView(const TensorView& tensor, std::string_view target) {
  std::uint64_t bytes = 0;
  const auto refuse = [&](const std::string& why) {
    fail("cannot save '%s': tensor '%s' %s", printable(target).c_str(), printable(tensor.name, 50).c_str(),
         why.c_str());
  };
  if (tensor.name == metadataKey) refuse("has the name of the metadata; choose another one");
  if (tensor.shape.size() > maxDimensions)
    refuse("has " + std::to_string(tensor.shape.size()) + " dimensions; at most 64 are possible");
  const bool isCountable =
      countOf(tensor.shape, bytes) && multiply(bytes, bytesPerNumber(tensor.dtype), bytes);
  if (!isCountable || bytes != tensor.bytes.size())
    refuse("has " + std::to_string(tensor.bytes.size() / bytesPerNumber(tensor.dtype)) +
           " numbers, which its shape " + printable(shapeText(tensor.shape), 40) + " does not hold");
}

/// The header of these tensors, in this order, filled with spaces so that the numbers behind it are aligned.
inline std::string headerOf(std::span<const TensorView* const> tensors, const Metadata& metadata,
                            std::string_view target) {
  SafetensorsHeader header;
  header.metadata = metadata;
  std::uint64_t at = 0;
  for (const TensorView* tensor : tensors) {
    header.tensors.push_back(
        {tensor->name, std::string(tensor->dtype), tensor->shape, at, at + tensor->bytes.size()});
    at += tensor->bytes.size();
  }
  std::string text = printHeader(header, target);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > maxHeaderBytes)
    fail("cannot save '%s': its header would have %zu bytes; at most 100 MB are possible, save two files",
         printable(target).c_str(), text.size());
  return text;
}

}  // namespace safetensors

/// Saves tensors with different names. The order in the file is that of the format's own library: larger numbers first,
/// so that all are aligned, then by name. The file is replaced as a whole or not at all (atomic_file.hpp).
inline void saveSafetensors(const std::string& path, std::span<const TensorView> tensors,
                            const Metadata& metadata = {}, const SaveOptions& options = {}) {
  std::vector<const TensorView*> order;
  for (const TensorView& tensor : tensors) {
    safetensors::checkView(tensor, path);
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const TensorView* a, const TensorView* b) {
    return a->dtype != b->dtype ? a->dtype > b->dtype : a->name < b->name;  // "F64" > "F32"
  });
  std::vector<std::string_view> names;
  for (const TensorView* tensor : order) names.push_back(tensor->name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    fail("cannot save '%s': two tensors have the name '%s'; rename one", printable(path).c_str(),
         printable(*twice, 50).c_str());

  const std::string header = safetensors::headerOf(order, metadata, path);
  const std::uint64_t headerBytes = header.size();
  AtomicFile file(path, options);
  file.write(std::as_bytes(std::span(&headerBytes, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const TensorView* tensor : order) file.write(tensor->bytes);
  file.commit();
}

}  // namespace burtorch::inline BURTORCH_TARGET
