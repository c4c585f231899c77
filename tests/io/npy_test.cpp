// Arrays in NumPy's format: what is saved is read again, files of NumPy are read, and ours have the same bytes.
#include "burtorch/io/npy.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "io/npy_cases.hpp"
#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace npy_test {

using Shape = std::vector<std::uint64_t>;
using Names = std::vector<std::string>;

std::string reference(const std::string& name) { return BURTORCH_TEST_DATA "/numpy_" + name + ".npy"; }
template <class T> std::vector<T> numbersIn(const NpyFile& file) {
  std::vector<T> numbers(static_cast<std::size_t>(file.count()));
  file.read(std::span(numbers));
  return numbers;
}
template <class T>
void save(const std::string& path, const Shape& shape, const std::vector<T>& numbers,
          const SaveOptions& options = {}) {
  saveNpy(path, shape, std::span<const T>(numbers), options);
}
template <class T> std::string refusalToRead(const std::string& name, std::size_t count) {
  std::vector<T> into(count, T(7));
  const NpyFile file(reference(name));
  const std::string sentence = sentenceOf([&] { file.read(std::span(into)); });
  EXPECT_EQ(into, std::vector<T>(count, T(7))) << "changed, though: " << sentence;
  return sentence;
}

template <class T> class NpyOf : public testing::Test {};
using Numbers = testing::Types<double, float, std::int64_t, std::int32_t, std::uint8_t>;
TYPED_TEST_SUITE(NpyOf, Numbers);

TYPED_TEST(NpyOf, WhatIsSavedIsReadAgain) {
  const Scratch scratch;
  using Limits = std::numeric_limits<TypeParam>;
  const std::vector<TypeParam> numbers{Limits::max(),      Limits::lowest(), Limits::denorm_min(),
                                       Limits::infinity(), TypeParam(0.3),   TypeParam(42)};
  for (const Shape& shape : {Shape{6}, Shape{2, 3}, Shape{1, 6, 1}, Shape{3, 1, 1, 2}}) {
    save(scratch.path("f"), shape, numbers);
    const NpyFile file(scratch.path("f"));
    EXPECT_EQ(file.shape(), shape);
    EXPECT_EQ(file.dtype(), npy::dtypeOf<TypeParam>());
    EXPECT_EQ(numbersIn<TypeParam>(file), numbers);
  }
}
TYPED_TEST(NpyOf, ScalarsAndEmptyArrays) {
  const Scratch scratch;
  save(scratch.path("scalar"), {}, std::vector<TypeParam>{TypeParam(5)});
  EXPECT_EQ(NpyFile(scratch.path("scalar")).shape(), Shape{});
  EXPECT_EQ(numbersIn<TypeParam>(NpyFile(scratch.path("scalar"))), std::vector<TypeParam>{TypeParam(5)});
  save(scratch.path("none"), {3, 0}, std::vector<TypeParam>{});
  EXPECT_EQ(NpyFile(scratch.path("none")).shape(), (Shape{3, 0}));
  EXPECT_EQ(numbersIn<TypeParam>(NpyFile(scratch.path("none"))), std::vector<TypeParam>{});
}
TYPED_TEST(NpyOf, AnArrayInMemoryHasTheBytesOfTheFile) {
  const Scratch scratch;
  const std::vector<TypeParam> numbers{1, 2, 3, 4};
  save(scratch.path("f"), {2, 2}, numbers);
  const std::vector<std::byte> bytes = toNpy({2, 2}, std::span<const TypeParam>(numbers));
  const std::string file = contentOf(scratch.path("f"));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), file);
  std::vector<TypeParam> found(4);
  NpyArray(bytes).read(std::span(found));
  EXPECT_EQ(found, numbers);
}
TEST(Npy, NumbersBeginAtAMultipleOf64) {
  const Scratch scratch;
  Shape shape{1};
  for (int dimensions = 1; dimensions <= 64; ++dimensions, shape.push_back(1)) {
    save(scratch.path("f"), shape, std::vector<float>{1.5F}, {.durable = false});
    EXPECT_EQ((contentOf(scratch.path("f")).size() - sizeof(float)) % 64, 0U) << dimensions;
    EXPECT_EQ(NpyFile(scratch.path("f")).shape(), shape);
  }
}

TEST(Npy, ReadsFilesOfNumPy) {
  EXPECT_EQ(numbersIn<double>(NpyFile(reference("f8"))),
            (std::vector<double>{0.1, -0.0, 1e300, 5e-324, -2.5, 3}));
  EXPECT_EQ(NpyFile(reference("f8")).shape(), (Shape{2, 3}));
  EXPECT_EQ(numbersIn<float>(NpyFile(reference("f4"))), (std::vector<float>{0.1F, -0x1p-149F, 3e38F}));
  EXPECT_EQ(numbersIn<double>(NpyFile(reference("f4"))),
            (std::vector<double>{double{0.1F}, -0x1p-149, double{3e38F}}));
  EXPECT_EQ(numbersIn<float>(NpyFile(reference("f2"))), (std::vector<float>{0.5F, -2.25F, 65504, 0x1p-24F}));
  EXPECT_EQ(numbersIn<double>(NpyFile(reference("f2"))), (std::vector<double>{0.5, -2.25, 65504, 0x1p-24}));
  EXPECT_EQ(numbersIn<std::int64_t>(NpyFile(reference("i8"))),
            (std::vector<std::int64_t>{-1, std::int64_t{1} << 62, 7}));
  EXPECT_EQ(numbersIn<std::int64_t>(NpyFile(reference("i4"))),
            (std::vector<std::int64_t>{-2'147'483'648, 2'147'483'647}));
  EXPECT_EQ(numbersIn<double>(NpyFile(reference("i4"))),
            (std::vector<double>{-2'147'483'648.0, 2'147'483'647.0}));
  EXPECT_EQ(numbersIn<float>(NpyFile(reference("u1"))), (std::vector<float>{0, 128, 255}));
  EXPECT_EQ(numbersIn<std::uint8_t>(NpyFile(reference("u1"))), (std::vector<std::uint8_t>{0, 128, 255}));
  EXPECT_EQ(numbersIn<double>(NpyFile(reference("scalar"))), std::vector<double>{42.5});
  EXPECT_EQ(NpyFile(reference("none")).shape(), (Shape{4, 0, 2}));
  EXPECT_EQ(numbersIn<float>(NpyFile(reference("none"))), std::vector<float>{});
}
TEST(Npy, ReadsVersions2And3) {
  for (const char* name : {"version2", "version3"})
    EXPECT_EQ(numbersIn<double>(NpyFile(reference(name))), (std::vector<double>{0.5, -1.25})) << name;
}
TEST(Npy, TurnsFortranOrderAround) {
  const NpyFile file(reference("fortran"));
  EXPECT_TRUE(file.array().isFortranOrder());
  std::vector<double> wanted;
  for (int i = 0; i < 24; ++i) wanted.push_back(i);
  EXPECT_EQ(numbersIn<double>(file), wanted);
  EXPECT_EQ(numbersIn<float>(file), std::vector<float>(wanted.begin(), wanted.end()));
}
TEST(Npy, FortranOrderOfOneDimensionOrNoneChangesNothing) {
  for (const auto& [shape, numbers] :
       {std::pair("(3,)", std::vector{1.5, 2.5, 3.5}), std::pair("()", std::vector{1.5}),
        std::pair("(0, 2)", std::vector<double>{})}) {
    std::string data;
    for (const double x : numbers) data += numbersOf(x);
    const std::string file =
        npyOf("{'descr': '<f8', 'fortran_order': True, 'shape': " + std::string(shape) + "}\n", data);
    std::vector<double> found(numbers.size());
    NpyArray(bytesOf(file)).read(std::span(found));
    EXPECT_EQ(found, numbers) << shape;
  }
}
TEST(Npy, WritesTheBytesOfNumPy) {
  const Scratch scratch;
  const auto isSame = [&](const char* name, const Shape& shape, const auto& numbers) {
    save(scratch.path("f"), shape, numbers);
    return contentOf(scratch.path("f")) == contentOf(reference(name));
  };
  EXPECT_TRUE(isSame("f8", {2, 3}, std::vector<double>{0.1, -0.0, 1e300, 5e-324, -2.5, 3}));
  EXPECT_TRUE(isSame("f4", {3}, std::vector<float>{0.1F, -0x1p-149F, 3e38F}));
  EXPECT_TRUE(isSame("i8", {3}, std::vector<std::int64_t>{-1, std::int64_t{1} << 62, 7}));
  EXPECT_TRUE(isSame("i4", {2, 1}, std::vector<std::int32_t>{-2'147'483'647 - 1, 2'147'483'647}));
  EXPECT_TRUE(isSame("u1", {3}, std::vector<std::uint8_t>{0, 128, 255}));
  EXPECT_TRUE(isSame("scalar", {}, std::vector<double>{42.5}));
  EXPECT_TRUE(isSame("none", {4, 0, 2}, std::vector<float>{}));
}
TEST(Npy, ReadsNumbersThatAreNotAligned) {
  for (int spaces = 0; spaces < 8; ++spaces) {
    const std::string file = npyOf("{'descr':'<f8','fortran_order':False,'shape':(2,)}" +
                                       std::string(static_cast<std::size_t>(spaces), ' ') + "\n",
                                   numbersOf(0.1, -7.0));
    std::vector<double> into(2);
    NpyArray(bytesOf(file)).read(std::span(into));
    EXPECT_EQ(into, (std::vector<double>{0.1, -7}));
  }
}
TEST(Npy, AnOpenFileSurvivesItsReplacement) {
  const Scratch scratch;
  save(scratch.path("f"), {3}, std::vector<float>{1, 2, 3});
  NpyFile file(scratch.path("f"));
  save(scratch.path("f"), {1}, std::vector<float>{4});
  const NpyFile moved(std::move(file));
  EXPECT_EQ(numbersIn<float>(moved), (std::vector<float>{1, 2, 3}));
}

TEST(Npy, RefusesToReadIntoAnotherSize) {
  for (const std::size_t count : {0U, 2U, 4U})
    EXPECT_TRUE(
        contains(refusalToRead<float>("f4", count), "has 3 numbers, expected " + std::to_string(count)));
}
TEST(Npy, RefusesNumbersThatDoNotFit) {
  EXPECT_TRUE(contains(refusalToRead<float>("f8", 6), "has at 2 a number that <f4 cannot hold"));
  EXPECT_TRUE(contains(refusalToRead<float>("i8", 3), "has at 1 a number that <f4 cannot hold"));
  EXPECT_TRUE(contains(refusalToRead<double>("i8", 3), "has at 1 a number that <f8 cannot hold"));
  EXPECT_TRUE(contains(refusalToRead<std::int32_t>("i8", 3), "has at 1 a number that <i4 cannot hold"));
  EXPECT_TRUE(contains(refusalToRead<std::uint8_t>("i4", 2), "has at 0 a number that |u1 cannot hold"));
}
TEST(Npy, RefusesRealNumbersAsWholeOnes) {
  for (const char* name : {"f8", "f4", "f2"}) {
    EXPECT_TRUE(contains(refusalToRead<std::int64_t>(name, 6), "read it as float or double")) << name;
    EXPECT_TRUE(contains(refusalToRead<std::uint8_t>(name, 6), "read it as float or double")) << name;
  }
}
TEST(Npy, TypesThatCannotBeReadMayBeThere) {
  const NpyFile file(reference("bool"));
  EXPECT_EQ(file.dtype(), "|b1");
  EXPECT_EQ(file.array().bytes().size(), 3U);
  EXPECT_TRUE(contains(refusalToRead<float>("bool", 3), "is of type |b1, expected <f8"));
}
TEST(Npy, RefusesBigEndianNumbersAndWhatIsNoNumber) {
  EXPECT_TRUE(contains(sentenceOf([] { NpyFile(reference("big")); }), "big-endian"));
  EXPECT_TRUE(contains(sentenceOf([] { NpyFile(reference("text")); }), "expected numbers such as '<f8'"));
}

TEST(Npy, RefusesToSaveWhatTheShapeDoesNotHold) {
  const Scratch scratch;
  scratch.put("f", "old");
  const auto refusal = [&](const Shape& shape, std::size_t count) {
    return sentenceOf([&] { save(scratch.path("f"), shape, std::vector<float>(count)); });
  };
  EXPECT_TRUE(contains(refusal({3}, 2), "there are 2 numbers, which the shape (3,) does not hold"));
  EXPECT_TRUE(contains(refusal({}, 2), "the shape () does not hold"));
  EXPECT_TRUE(contains(refusal({0}, 1), "does not hold"));
  EXPECT_TRUE(contains(refusal({1ULL << 62, 4}, 0), "does not hold"));
  EXPECT_TRUE(contains(refusal({0, 1ULL << 63}, 0), "does not hold"));
  EXPECT_TRUE(contains(refusal(Shape(65, 1), 1), "has 65 dimensions"));
  EXPECT_EQ(contentOf(scratch.path("f")), "old");
  EXPECT_TRUE(
      contains(sentenceOf([] { toNpy({2}, std::span<const float>()); }), "cannot save 'an array in memory'"));
}
TEST(Npy, AReadOnlyFolderKeepsTheOldFile) {
  const Scratch scratch;
  scratch.put("f", "old");
  std::filesystem::permissions(scratch.folder(), std::filesystem::perms(0555));
  {
    const WithoutPrivileges user;
    const std::string sentence = sentenceOf([&] { save(scratch.path("f"), {1}, std::vector<float>{1}); });
    EXPECT_TRUE(contains(sentence, "Permission denied")) << sentence;
  }
  EXPECT_EQ(contentOf(scratch.path("f")), "old");
  EXPECT_EQ(scratch.entries(), Names{"f"});
}
TEST(Npy, AFullDiskKeepsTheOldFile) {
  const Scratch scratch;
  scratch.put("f", "old");
  const std::vector<double> numbers(2'000);
  for (const rlim_t room : {0U, 100U, 128U, 10'000U, 16'127U}) {
    std::string sentence;
    {
      const FullDisk disk(room);
      sentence = sentenceOf([&] { save(scratch.path("f"), {2'000}, numbers); });
    }
    EXPECT_TRUE(contains(sentence, "nothing was changed")) << room << ": " << sentence;
    EXPECT_EQ(contentOf(scratch.path("f")), "old");
    EXPECT_EQ(scratch.entries(), Names{"f"});
  }
  const FullDisk disk(16'128);
  EXPECT_EQ(sentenceOf([&] { save(scratch.path("f"), {2'000}, numbers); }), "");
}

TEST(NpyErrors, HaveTheCodeOfWhatIsWrong) {
  const Scratch scratch;
  std::vector<float> five(5);
  save(scratch.path("six"), {2, 3}, std::vector<float>(6));
  const NpyFile six(scratch.path("six"));
  EXPECT_EQ(codeOf([&] { NpyFile(scratch.path("missing")); }), ErrorCode::fileAccess);
  EXPECT_EQ(codeOf([&] { save(scratch.path("no/folder"), {5}, five); }), ErrorCode::fileAccess);
  EXPECT_EQ(codeOf([&] { NpyFile(scratch.put("f", "no array")); }), ErrorCode::badFile);
  EXPECT_EQ(codeOf([&] { NpyFile(scratch.put("f", contentOf(scratch.path("six")) + "x")); }),
            ErrorCode::badFile);
  EXPECT_EQ(codeOf([&] { NpyFile(reference("big")); }), ErrorCode::badFile);
  EXPECT_EQ(codeOf([&] { six.read(std::span(five)); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { save(scratch.path("f"), {2, 3}, five); }), ErrorCode::invalidArgument);
}

}  // namespace npy_test
}  // namespace burtorch
