// Mapped files: the bytes are those of the file, and whatever is not a readable regular file is an error at once.
#include "burtorch/io/mapped_file.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>
#include <utility>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace mapped_file_test {

namespace fs = std::filesystem;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A folder of its own for each case, which is removed afterwards.
class MappedFileTest : public testing::Test {
 protected:
  MappedFileTest() {
    std::string name = testing::TempDir() + "burtorch_mapped_XXXXXX";
    if (mkdtemp(name.data())) folder_ = name;
  }
  ~MappedFileTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void SetUp() override { ASSERT_FALSE(folder_.empty()); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  /// The sentence of a file that cannot be mapped; it must come at once.
  static std::string refusal(const std::string& name, const MapOptions& options = {}) {
    const auto start = std::chrono::steady_clock::now();
    const std::string sentence = sentenceOf([&] { MappedFile(name, options); });
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
    return sentence;
  }

 private:
  fs::path folder_;
};

std::size_t openFiles() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

std::size_t mappingsOf(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.ends_with(name);
  return count;
}

TEST_F(MappedFileTest, TheBytesAreThoseOfTheFile) {
  const std::string content("one\r\ntwo\0three\xFF", 15);
  const MappedFile file(write("a", content));
  EXPECT_EQ(file.text(), content);
  EXPECT_EQ(file.size(), 15u);
  EXPECT_EQ(file.bytes().size(), 15u);
  EXPECT_EQ(file.bytes()[14], std::byte{0xFF});
}

TEST_F(MappedFileTest, AFileOfOneByteOrOfWholePagesHasNoBytesBesides) {
  for (const std::size_t size : {1u, 4095u, 4096u, 4097u, 1000000u}) {
    const std::string content(size, 'x');
    EXPECT_EQ(MappedFile(write("a", content)).text(), content) << size;
  }
}

TEST_F(MappedFileTest, AMappingOutlivesTheFilesName) {
  const MappedFile file(write("a", "content"));
  fs::remove(path("a"));
  EXPECT_EQ(file.text(), "content");
}

TEST_F(MappedFileTest, AMappingCanBeMovedAndNotCopied) {
  static_assert(!std::is_copy_constructible_v<MappedFile> && !std::is_copy_assignable_v<MappedFile>);
  MappedFile first(write("a", "first")), second(write("b", "second"));
  MappedFile moved(std::move(first));
  EXPECT_EQ(moved.text(), "first");
  moved = std::move(second);
  EXPECT_EQ(moved.text(), "second");
}

TEST_F(MappedFileTest, AFileIsMappedOnceAndAsLongAsItsOwnerLives) {
  const std::string name = write("a", "content");
  {
    MappedFile first(name);
    {
      MappedFile moved(std::move(first));
      EXPECT_EQ(first.size(), 0u) << "what was moved from must not unmap it, too";
      EXPECT_EQ(mappingsOf(name), 1u);
      first = std::move(moved);
    }
    EXPECT_EQ(mappingsOf(name), 1u);
  }
  EXPECT_EQ(mappingsOf(name), 0u);
}

TEST_F(MappedFileTest, NoDescriptorStaysOpen) {
  const std::size_t before = openFiles();
  const MappedFile file(write("a", "content"));
  refusal(path(""));
  refusal(write("empty", ""));
  EXPECT_EQ(openFiles(), before);
}

TEST_F(MappedFileTest, ALinkIsFollowed) {
  write("a", "content");
  fs::create_symlink("a", path("link"));
  EXPECT_EQ(MappedFile(path("link")).text(), "content");
}

// ---- What cannot be mapped ----

TEST_F(MappedFileTest, AMissingFileIsAnError) {
  const std::string sentence = refusal(path("absent"));
  EXPECT_TRUE(contains(sentence, "absent': there is no such file")) << sentence;
  EXPECT_TRUE(contains(refusal(""), "cannot read ''"));
  fs::create_symlink("absent", path("link"));
  EXPECT_TRUE(contains(refusal(path("link")), "there is no such file"));
}

TEST_F(MappedFileTest, ADirectoryIsAnError) { EXPECT_TRUE(contains(refusal(path("")), "it is a directory")); }

TEST_F(MappedFileTest, APipeIsAnErrorAndNotWaitedFor) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(contains(refusal(path("pipe")), "it is a pipe, a socket or a device"));
}

TEST_F(MappedFileTest, ADeviceIsAnError) {
  EXPECT_TRUE(contains(refusal("/dev/zero"), "it is a pipe, a socket or a device"));
  EXPECT_TRUE(contains(refusal("/dev/null"), "it is a pipe, a socket or a device"));
}

TEST_F(MappedFileTest, ASocketIsAnError) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = path("socket");
  if (name.size() >= sizeof address.sun_path)
    GTEST_SKIP() << "the temporary folder's name is too long for a socket";
  name.copy(address.sun_path, name.size());
  const int number = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(number, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_TRUE(contains(refusal(name), "it is a pipe, a socket or a device"));
  close(number);
}

TEST_F(MappedFileTest, AFileThatMayNotBeReadIsAnError) {
  const std::string name = write("a", "content");
  fs::permissions(name, fs::perms::none);
  if (access(name.c_str(), R_OK) == 0) GTEST_SKIP() << "this user may read everything";
  EXPECT_TRUE(contains(refusal(name), "not permitted"));
}

TEST_F(MappedFileTest, AnEmptyFileIsAnError) {
  EXPECT_TRUE(contains(refusal(write("a", "")), "it is empty"));
}

TEST_F(MappedFileTest, AZeroByteInTheNameIsAnErrorAndNotItsEnd) {
  const std::string name = write("a", "content");
  EXPECT_TRUE(contains(refusal(name + std::string("\0b", 2)), "zero byte"));
}

TEST_F(MappedFileTest, AFileAboveTheLimitIsAnErrorThatNamesBothSizes) {
  const std::string name = write("a", "content");
  EXPECT_EQ(MappedFile(name, {.maxBytes = 7}).size(), 7u);
  const std::string sentence = refusal(name, {.maxBytes = 6});
  EXPECT_TRUE(contains(sentence, "7 bytes, and at most 6")) << sentence;
}

TEST_F(MappedFileTest, ATerabyteOfNothingIsAnsweredAtOnce) {
  const std::string name = write("a", "x");
  const std::uintmax_t terabyte = UINTMAX_C(1) << 40;
  std::error_code error;
  fs::resize_file(name, terabyte, error);
  if (error) GTEST_SKIP() << "the file system has no such files: " << error.message();
  EXPECT_TRUE(contains(refusal(name, {.maxBytes = 1u << 30}), "1099511627776 bytes"));
  // Address space may be limited; then the answer is an error, but it is an answer.
  const std::string sentence = refusal(name);
  EXPECT_TRUE(sentence.empty() || contains(sentence, "cannot read")) << sentence;
  if (!sentence.empty()) return;
  const MappedFile file(name);
  EXPECT_EQ(file.size(), terabyte);
  EXPECT_EQ(file.text().front(), 'x');
  EXPECT_EQ(file.text().back(), '\0');
}

TEST_F(MappedFileTest, ALongNameLeavesRoomForTheReason) {
  const std::string sentence = refusal(path(std::string(200, 'a') + std::string(30, 'b')));
  EXPECT_TRUE(contains(sentence, "bbb': there is no such file; is the name right?")) << sentence;
  EXPECT_TRUE(contains(refusal(std::string(10000, 'a')), "cannot read '...aaa"));
}

TEST_F(MappedFileTest, AHostileNameDoesNotReachATerminal) {
  const std::string sentence = refusal(path("\x1B[2J\nname\x7F"));
  EXPECT_TRUE(contains(sentence, "?[2J?name?'")) << sentence;
}

TEST_F(MappedFileTest, ErrorsHaveTheCodeOfWhatIsWrong) {
  const auto code = [](const std::string& name, const MapOptions& options = {}) {
    return codeOf([&] { MappedFile(name, options); });
  };
  EXPECT_EQ(code(path("missing")), ErrorCode::fileAccess);
  EXPECT_EQ(code(path(".")), ErrorCode::fileAccess);
  EXPECT_EQ(code(path(std::string("a\0b", 3))), ErrorCode::invalidArgument);
  EXPECT_EQ(code(write("a", "")), ErrorCode::badFile);
  EXPECT_EQ(code(write("a", "content"), {.maxBytes = 6}), ErrorCode::badFile);
}

}  // namespace mapped_file_test
}  // namespace burtorch
