// One array in NumPy's own format: `numpy.load` reads what `saveNpy` writes, `NpyFile` reads what `numpy.save` writes.
// Six bytes of magic, two of version, the length of the header, the header (npy_header.hpp), the numbers.
//
// Bytes are checked as a whole before anything is handed out: any bytes lead to an error or to numbers that lie in them.
// A file is mapped, so opening costs the header and no copy; a file that is replaced by a save stays readable as it was.
// Numbers are read as `SafetensorsFile::read` does, in C order: the last index runs fastest. An array that NumPy stored
// in Fortran order (such as a transposed one) is turned around while it is read.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atomic_file.hpp"
#include "convert.hpp"
#include "mapped_file.hpp"
#include "npy_header.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace npy {

inline constexpr std::string_view magic = "\x93NUMPY";

template <FileNumber T> constexpr std::string_view dtypeOf() {
  if constexpr (std::same_as<T, double>) return "<f8";
  if constexpr (std::same_as<T, float>) return "<f4";
  if constexpr (std::same_as<T, std::int64_t>) return "<i8";
  if constexpr (std::same_as<T, std::int32_t>) return "<i4";
  return "|u1";
}
/// The types that can be read; none for others.
inline std::optional<NumberType> typeOf(std::string_view dtype) {
  if (dtype == "<f8") return NumberType::f64;
  if (dtype == "<f4") return NumberType::f32;
  if (dtype == "<f2") return NumberType::f16;
  if (dtype == "<i8") return NumberType::i64;
  if (dtype == "<i4") return NumberType::i32;
  if (dtype == "|u1") return NumberType::u8;
  return {};
}

/// Walks through an array as Fortran orders it, the first index fastest, and says where each number lies in C order.
class FortranWalk {
 public:
  explicit FortranWalk(const std::vector<std::uint64_t>& shape)
      : shape_(shape), index_(shape.size()), stride_(shape.size(), 1) {
    for (std::size_t d = shape.size(); d-- > 1;) stride_[d - 1] = stride_[d] * shape[d];
  }
  std::uint64_t next() {
    const std::uint64_t place = place_;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      place_ += stride_[d];
      if (++index_[d] < shape_[d]) break;
      place_ -= stride_[d] * shape_[d];
      index_[d] = 0;
    }
    return place;
  }

 private:
  std::vector<std::uint64_t> shape_, index_, stride_;
  std::uint64_t place_ = 0;
};

}  // namespace npy

/// An array in bytes of the caller, which must outlive it.
class NpyArray {
 public:
  /// `source` names the bytes in errors.
  explicit NpyArray(std::span<const std::byte> bytes, const std::string& source = "an array in memory")
      : source_(source) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t before = bytesBeforeHeader(text), length = headerLength(text, before);
    header_ = npy::parseHeader(text.substr(before, length), source_);
    data_ = bytes.subspan(before + length);
    const std::uint64_t wanted = header_.count * header_.bytesPerNumber;
    if (data_.size() != wanted)
      fail(ErrorCode::badFile,
           "cannot read '%s': %s of %s take %llu bytes and it has %zu; was it cut or extended?",
           printable(source_, 60).c_str(), printable(npy::shapeText(shape()), 40).c_str(), dtype().c_str(),
           static_cast<unsigned long long>(wanted), data_.size());
  }

  /// NumPy's name of the type, such as "<f8".
  const std::string& dtype() const { return header_.dtype; }
  const std::vector<std::uint64_t>& shape() const { return header_.shape; }
  /// How many numbers there are, all dimensions together.
  std::uint64_t count() const { return header_.count; }
  /// The numbers as they are stored.
  std::span<const std::byte> bytes() const { return data_; }
  bool isFortranOrder() const { return header_.isFortranOrder; }

  /// Reads f8, f4, f2, i8, i4 or u1 into numbers that are exactly as many. Every number stays what it is, except f8 as
  /// float, which is rounded; one that T cannot hold is an error, and so are real numbers for a T of whole ones. On an
  /// error `into` is as it was.
  template <FileNumber T> void read(std::span<T> into) const {
    const std::optional<NumberType> type = npy::typeOf(dtype());
    if (!type) refuse("is of type " + dtype() + ", expected <f8, <f4, <f2, <i8, <i4 or |u1");
    if (isReal(*type) && !std::floating_point<T>)
      refuse("is of type " + dtype() + ", which may have fractions; read it as float or double");
    if (count() != into.size())
      refuse("has " + std::to_string(count()) + " numbers, expected " + std::to_string(into.size()));
    if (const std::optional<std::size_t> at = firstThatDoesNotFit<T>(*type, data_))
      refuse("has at " + std::to_string(*at) + " a number that " + std::string(npy::dtypeOf<T>()) +
             " cannot hold; read it as a larger type");
    if (!isFortranOrder()) return convertNumbers(*type, data_, into);
    npy::FortranWalk walk(shape());
    convertNumbers<T>(*type, data_, [&](std::size_t, T x) { into[walk.next()] = x; });
  }

 private:
  /// Magic, version and the field of the header's length, which has two bytes in version 1.0 and four from 2.0 on.
  std::size_t bytesBeforeHeader(std::string_view text) const {
    const std::size_t versionAt = npy::magic.size();
    if (!text.starts_with(npy::magic)) refuseFile("it does not begin with \\x93NUMPY");
    if (text.size() < versionAt + 2) refuseFile("it ends within its header");
    const auto major = static_cast<unsigned char>(text[versionAt]),
               minor = static_cast<unsigned char>(text[versionAt + 1]);
    if (major < 1 || major > 3 || minor != 0)
      fail(ErrorCode::badFile,
           "cannot read '%s': its format has version %u.%u, expected 1.0, 2.0 or 3.0; save it with np.save",
           printable(source_).c_str(), unsigned{major}, unsigned{minor});
    return versionAt + 2 + (major == 1 ? 2 : 4);
  }
  std::size_t headerLength(std::string_view text, std::size_t before) const {
    const std::size_t lengthAt = npy::magic.size() + 2;
    if (text.size() < before) refuseFile("it ends within its header");
    std::uint32_t length = 0;  // two bytes leave the upper half zero
    std::memcpy(&length, text.data() + lengthAt, before - lengthAt);
    if (length > npy::maxHeaderBytes) refuseFile("its header has more than 10000 bytes");
    if (length > text.size() - before) refuseFile("its header would end after the file");
    return length;
  }
  [[noreturn]] void refuseFile(const char* why) const {
    fail(ErrorCode::badFile, "cannot read '%s': %s; is it an .npy file?", printable(source_).c_str(), why);
  }
  [[noreturn]] void refuse(const std::string& why) const {
    fail("cannot load '%s': it %s", printable(source_).c_str(), why.c_str());
  }

  std::string source_;
  NpyHeader header_;
  std::span<const std::byte> data_;
};

/// An .npy file, open for reading.
class NpyFile {
 public:
  explicit NpyFile(const std::string& path) : path_(path), file_(path), array_(file_.bytes(), path) {}

  const std::string& path() const { return path_; }
  /// Valid as long as this object lives.
  const NpyArray& array() const { return array_; }
  const std::string& dtype() const { return array_.dtype(); }
  const std::vector<std::uint64_t>& shape() const { return array_.shape(); }
  std::uint64_t count() const { return array_.count(); }
  /// As NpyArray::read.
  template <FileNumber T> void read(std::span<T> into) const { array_.read(into); }

 private:
  std::string path_;
  MappedFile file_;
  NpyArray array_;
};

namespace npy {

/// All that stands before the numbers. `target` names the file in errors.
template <FileNumber T>
std::string beginningOf(const std::vector<std::uint64_t>& shape, std::size_t count, std::string_view target) {
  std::uint64_t holds = 0;
  if (shape.size() > maxDimensions)
    fail("cannot save '%s': the array has %zu dimensions; at most 64 are possible", printable(target).c_str(),
         shape.size());
  if (!countOf(shape, sizeof(T), holds) || holds != count)
    fail("cannot save '%s': there are %zu numbers, which the shape %s does not hold",
         printable(target).c_str(), count, printable(shapeText(shape), 40).c_str());
  // 64 sizes of 20 digits: the header stays below the 64 KB of version 1.0, which every NumPy reads.
  std::string text = std::string(magic) + '\x01' + '\0';
  const std::string header = printHeader(dtypeOf<T>(), shape, text.size() + 2);
  text += static_cast<char>(header.size() & 0xFFU);
  text += static_cast<char>(header.size() >> 8);
  return text + header;
}

}  // namespace npy

/// The bytes of an .npy file.
template <FileNumber T>
std::vector<std::byte> toNpy(const std::vector<std::uint64_t>& shape, std::span<const T> numbers) {
  const std::string beginning = npy::beginningOf<T>(shape, numbers.size(), "an array in memory");
  std::vector<std::byte> bytes(beginning.size() + numbers.size_bytes());
  std::memcpy(bytes.data(), beginning.data(), beginning.size());
  std::copy_n(std::as_bytes(numbers).data(), numbers.size_bytes(), bytes.data() + beginning.size());
  return bytes;
}

/// Saves numbers in C order. The file is replaced as a whole or not at all (atomic_file.hpp).
template <FileNumber T>
void saveNpy(const std::string& path, const std::vector<std::uint64_t>& shape, std::span<const T> numbers,
             const SaveOptions& options = {}) {
  const std::string beginning = npy::beginningOf<T>(shape, numbers.size(), path);
  AtomicFile file(path, options);
  file.write(std::as_bytes(std::span(beginning)));
  file.write(std::as_bytes(numbers));
  file.commit();
}

}  // namespace burtorch::inline BURTORCH_TARGET
