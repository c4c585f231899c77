// Raw numbers of nodes: what is saved is exactly the numbers, what is loaded has exactly the size, and whatever the file
// or the folder is, an error changes nothing.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <burtorch/burtorch.hpp>
#include <burtorch/io/raw_file.hpp>

#include <array>
#include <csignal>
#include <cstring>
#include <vector>

#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace raw_file_test {

/// The graph of the paper's Figure 1 after backward, on a tape of its own.
template <class T> struct Figure1 {
  Tape<T> tape;
  CurrentTape<T, defaultConfig> current{tape};
  Value<T> a{T{-41}}, b{T{2}};
  Value<T> c = a + b, d = a * b + pow3(b), e = c - d, f = sqr(e), g = f / T{2};
  Figure1() { backward(g); }
  std::vector<Value<T>> seven() const { return {a, b, c, d, e, f, g}; }
};
using Figure = Figure1<double>;

std::vector<double> doublesIn(const std::string& content) {
  std::vector<double> numbers(content.size() / sizeof(double));
  std::memcpy(numbers.data(), content.data(), numbers.size() * sizeof(double));
  return numbers;
}
template <class T> std::vector<T> copied(std::span<const T> numbers) {
  return {numbers.begin(), numbers.end()};
}
constexpr RawSave everyWay[] = {RawSave::durable, RawSave::atomic, RawSave::inPlace};

TEST(RawFile, SevenFp64ValuesAre56BytesInTheOrderOfTheList) {
  const Scratch scratch;
  const Figure graph;
  for (const RawSave how : everyWay) {
    saveToFile(scratch.path("x"), graph.seven(), how);
    EXPECT_EQ(contentOf(scratch.path("x")).size(), 56u);
    const std::vector<double> expected{-41, 2, -39, -74, 35, 1225, 612.5};
    EXPECT_EQ(doublesIn(contentOf(scratch.path("x"))), expected);
  }
}
TEST(RawFile, Fp32TakesHalfOfIt) {
  const Scratch scratch;
  const Figure1<float> graph;
  saveToFile(scratch.path("x"), graph.seven());
  EXPECT_EQ(contentOf(scratch.path("x")).size(), 28u);
}
TEST(RawFile, GradientsAndBoth) {
  const Scratch scratch;
  const Figure graph;
  const std::vector<Value<double>> two{graph.b, graph.a};
  saveToFile<Numbers::gradients>(scratch.path("g"), two);
  EXPECT_EQ(doublesIn(contentOf(scratch.path("g"))), (std::vector{graph.b.gradCopy(), graph.a.gradCopy()}));
  saveToFile<Numbers::valuesAndGradients>(scratch.path("vg"), two);
  EXPECT_EQ(doublesIn(contentOf(scratch.path("vg"))),
            (std::vector{2.0, -41.0, graph.b.gradCopy(), graph.a.gradCopy()}));
}
TEST(RawFile, FromFirstToLastBothIncluded) {
  const Scratch scratch;
  const Figure graph;
  for (const RawSave how : everyWay) {
    saveToFile<Numbers::valuesAndGradients>(scratch.path("x"), graph.b, graph.e, how);
    std::vector<double> expected;
    const std::size_t from = graph.b.sysGetRawNodeIndex(), to = graph.e.sysGetRawNodeIndex();
    for (std::size_t i = from; i <= to; ++i) expected.push_back(graph.tape.values()[i]);
    for (std::size_t i = from; i <= to; ++i) expected.push_back(graph.tape.gradients()[i]);
    EXPECT_EQ(doublesIn(contentOf(scratch.path("x"))), expected);
  }
  EXPECT_TRUE(contains(sentenceOf([&] { saveToFile(scratch.path("x"), graph.e, graph.b); }), "first"));
}
TEST(RawFile, AWholeTapeAndARange) {
  const Scratch scratch;
  Figure graph;
  const Range<double> block = graph.tape.leaves(std::vector{1.5, 2.5, 3.5});
  saveToFile(scratch.path("all"), graph.tape);
  EXPECT_EQ(doublesIn(contentOf(scratch.path("all"))), copied(std::as_const(graph.tape).values()));
  saveToFile(scratch.path("block"), block);
  EXPECT_EQ(doublesIn(contentOf(scratch.path("block"))), (std::vector{1.5, 2.5, 3.5}));
  EXPECT_TRUE(contains(sentenceOf([&] { saveToFile(scratch.path("x"), block.every(0, 2, 2)); }), "stride 2"));
}
TEST(RawFile, NothingIsAnEmptyFile) {
  const Scratch scratch;
  const Tape<double> empty;
  for (const RawSave how : everyWay) {
    saveToFile<Numbers::valuesAndGradients>(scratch.path("x"), empty, how);
    EXPECT_EQ(std::filesystem::file_size(scratch.path("x")), 0u);
    loadFromFile(scratch.path("x"), empty);
  }
}

TEST(RawFile, ALoadBringsBackWhatWasSaved) {
  const Scratch scratch;
  Figure graph;
  const std::vector<double> values = copied(std::as_const(graph.tape).values()),
                            gradients = copied(std::as_const(graph.tape).gradients());
  const auto disturb = [&] {
    for (double& x : graph.tape.values()) x = 77;
    for (double& x : graph.tape.gradients()) x = 88;
  };
  const auto isBack = [&] {
    return copied(std::as_const(graph.tape).values()) == values &&
           copied(std::as_const(graph.tape).gradients()) == gradients;
  };
  constexpr Numbers both = Numbers::valuesAndGradients;
  saveToFile<both>(scratch.path("tape"), graph.tape);
  disturb();
  loadFromFile<both>(scratch.path("tape"), graph.tape);
  EXPECT_TRUE(isBack());

  saveToFile<both>(scratch.path("range"), graph.a, graph.g);
  disturb();
  loadFromFile<both>(scratch.path("range"), graph.a, graph.g);
  EXPECT_TRUE(isBack());

  const std::array<Value<double>, 3> some{graph.g, graph.a, graph.d};
  saveToFile<both>(scratch.path("list"), some);
  disturb();
  loadFromFile<both>(scratch.path("list"), some);
  EXPECT_EQ(graph.g.dataCopy(), 612.5);
  EXPECT_EQ(graph.d.dataCopy(), -74);
  EXPECT_EQ(graph.a.gradCopy(), gradients[graph.a.sysGetRawNodeIndex()]);
  EXPECT_EQ(graph.c.dataCopy(), 77) << "it is not in the list";
}
TEST(RawFile, EveryBitComesBack) {
  const Scratch scratch;
  Tape<double> tape;
  const CurrentTape current(tape);
  std::uint64_t bits[] = {0x7ff8dead00000001U, 0xfff0000000000000U, 1, 0x8000000000000000U};
  std::vector<double> odd(4);
  std::memcpy(odd.data(), bits, sizeof bits);
  const Range<double> block = tape.leaves(odd);
  saveToFile(scratch.path("x"), block);
  for (double& x : block.values()) x = 0;
  loadFromFile(scratch.path("x"), block);
  EXPECT_EQ(std::memcmp(block.values().data(), bits, sizeof bits), 0);
}
TEST(RawFile, LargeListsAndTapesToo) {
  const Scratch scratch;
  Tape<float> tape;
  const CurrentTape current(tape);
  const Range<float> block = tape.leaves(100'000);
  std::vector<Value<float>> reversed;
  for (std::size_t i = 0; i < block.size(); ++i) {
    block.values()[i] = static_cast<float>(i);
    reversed.push_back(block[block.size() - 1 - i]);
  }
  saveToFile(scratch.path("x"), reversed, RawSave::inPlace);
  loadFromFile(scratch.path("x"), block);
  for (std::size_t i = 0; i < block.size(); ++i)
    ASSERT_EQ(block.values()[i], static_cast<float>(block.size() - 1 - i));
}
TEST(RawFile, AGradientThatWasLoadedIsClearedByTheNextSweepUnlessALeafHoldsIt) {
  const Scratch scratch;
  Figure graph;
  const double ofA = graph.a.gradCopy(), ofC = graph.c.gradCopy();
  saveToFile<Numbers::gradients>(scratch.path("x"), graph.tape);
  graph.tape.zeroGrad();
  loadFromFile<Numbers::gradients>(scratch.path("x"), graph.tape);
  backward(graph.g);
  EXPECT_EQ(graph.a.gradCopy(), 2 * ofA);
  EXPECT_EQ(graph.c.gradCopy(), ofC);
}
TEST(RawFile, ASweepUsesTheValuesThatWereLoaded) {
  const Scratch scratch;
  Figure graph;
  saveToFile(scratch.path("old"), graph.tape);
  graph.tape.values()[graph.e.sysGetRawNodeIndex()] = 7;
  saveToFile(scratch.path("new"), graph.tape);
  loadFromFile(scratch.path("old"), graph.tape);
  loadFromFile(scratch.path("new"), graph.tape);
  graph.tape.zeroGrad();
  backward(graph.g);
  EXPECT_EQ(graph.e.gradCopy(), 7) << "the slope of e*e/2";
}
TEST(RawFile, ChecksCatchAnOldHandleInANewOperator) {
  constexpr Config checked{.names = false, .checks = true};
  const Scratch scratch;
  Tape<double, checked> tape;
  const CurrentTape current(tape);
  const Value<double, checked> x(3.0), y = x * x;
  saveToFile(scratch.path("x"), tape);
  EXPECT_EQ(sentenceOf([&] { (void)(y + x); }), "");
  tape.clear();
  const Value<double, checked> u(5.0), v = u * u;
  loadFromFile(scratch.path("x"), u, v);
  EXPECT_EQ(v.dataCopy(), 9);
  EXPECT_TRUE(contains(sentenceOf([&] { (void)(v + u); }), "load"));
}

TEST(RawMemory, SavesAndLoadsInAnyForm) {
  Figure graph;
  std::array<std::byte, rawBytes<Numbers::values, double>(7)> memory;
  saveToMemory(memory, graph.seven());
  graph.tape.values()[graph.d.sysGetRawNodeIndex()] = 0;
  loadFromMemory(memory, graph.seven());
  EXPECT_EQ(graph.d.dataCopy(), -74);

  std::vector<std::byte> both(rawBytes<Numbers::valuesAndGradients, double>(graph.tape.size()));
  saveToMemory<Numbers::valuesAndGradients>(both, graph.tape);
  const double ofA = graph.a.gradCopy();
  graph.tape.zeroGrad();
  loadFromMemory<Numbers::valuesAndGradients>(both, graph.tape);
  EXPECT_EQ(graph.a.gradCopy(), ofA);

  std::array<std::byte, 16> two;
  saveToMemory(two, graph.a, graph.b);
  graph.a.setData(1);
  loadFromMemory(two, graph.a, graph.b);
  EXPECT_EQ(graph.a.dataCopy(), -41);
}
TEST(RawMemory, RefusesAnyOtherSizeAndChangesNothing) {
  Figure graph;
  for (const std::size_t bytes : {0U, 1U, 48U, 55U, 57U, 64U, 112U}) {
    std::vector<std::byte> memory(bytes, std::byte{7});
    EXPECT_TRUE(contains(sentenceOf([&] { saveToMemory(memory, graph.seven()); }), "56 bytes (7 x fp64)"));
    EXPECT_EQ(std::count(memory.begin(), memory.end(), std::byte{7}), static_cast<std::ptrdiff_t>(bytes));
    EXPECT_TRUE(contains(sentenceOf([&] { loadFromMemory(memory, graph.seven()); }), "another graph"));
    EXPECT_EQ(graph.g.dataCopy(), 612.5);
  }
}

TEST(RawFileHostile, AnyOtherSizeIsRefusedWithBothSizes) {
  const Scratch scratch;
  const Figure graph;
  saveToFile(scratch.path("x"), graph.seven());
  const std::string whole = contentOf(scratch.path("x"));
  const std::vector<double> before = copied(graph.tape.values());
  for (std::size_t bytes = 0; bytes <= 2 * whole.size(); ++bytes) {
    if (bytes == whole.size()) continue;
    const std::string path = scratch.put("part", (whole + whole).substr(0, bytes));
    const std::string sentence = sentenceOf([&] { loadFromFile(path, graph.seven()); });
    ASSERT_TRUE(contains(sentence, "expected 56 bytes (7 x fp64), found " + std::to_string(bytes) + ";"))
        << sentence;
    ASSERT_EQ(copied(graph.tape.values()), before);
    ASSERT_EQ(contentOf(path).size(), bytes);
  }
}
TEST(RawFileHostile, EveryFlippedBitIsAnotherNumberAndNothingElse) {
  const Scratch scratch;
  const Figure graph;
  saveToFile(scratch.path("x"), graph.seven());
  const std::string whole = contentOf(scratch.path("x"));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    loadFromFile(scratch.put("flipped", flipped), graph.seven());
    std::string now(whole.size(), '\0');
    saveToMemory(std::as_writable_bytes(std::span(now)), graph.seven());
    ASSERT_EQ(now, flipped);
  }
}
TEST(RawFileHostile, WhatIsNoFileIsRefusedAtOnceBothWays) {
  const Scratch scratch;
  const Figure graph;
  ASSERT_EQ(mkfifo(scratch.path("pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(scratch.path("folder"));
  const std::string names[] = {
      scratch.path("pipe"), scratch.path("folder"),    "/dev/full",
      "/dev/null",          scratch.path("missing/x"), scratch.path(std::string("a\0b", 3))};
  for (const std::string& name : names) {
    EXPECT_TRUE(contains(sentenceOf([&] { loadFromFile(name, graph.seven()); }), "cannot read")) << name;
    for (const RawSave how : everyWay)
      EXPECT_TRUE(contains(sentenceOf([&] { saveToFile(name, graph.seven(), how); }), "cannot save")) << name;
  }
  EXPECT_EQ(scratch.entries().size(), 2u) << "nothing new";
}
TEST(RawFileHostile, ATerabyteOfHolesIsRefusedByItsSize) {
  const Scratch scratch;
  const Figure graph;
  const std::string path = scratch.put("holes", "x");
  ASSERT_EQ(truncate(path.c_str(), off_t{1} << 40), 0);
  EXPECT_TRUE(contains(sentenceOf([&] { loadFromFile(path, graph.seven()); }), "found 1099511627776"));
}
TEST(RawFileHostile, AReadOnlyFolderKeepsItsFile) {
  const Scratch scratch;
  const Figure graph;
  const std::string path = scratch.put("x", "old");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  std::filesystem::permissions(scratch.folder(), std::filesystem::perms(0555));
  {
    const WithoutPrivileges now;
    for (const RawSave how : everyWay)
      EXPECT_TRUE(contains(sentenceOf([&] { saveToFile(path, graph.seven(), how); }), "permissions"));
  }
  EXPECT_EQ(contentOf(path), "old");
}
TEST(RawFileHostile, AFullDiskLeavesTheOldFileUnlessWrittenInPlace) {
  const Scratch scratch;
  Tape<double> tape;
  const CurrentTape current(tape);
  (void)tape.leaves(4096);
  const std::string path = scratch.put("x", "old");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{8192, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  for (const RawSave how : {RawSave::durable, RawSave::atomic}) {
    EXPECT_TRUE(contains(sentenceOf([&] { saveToFile(path, tape, how); }), "nothing was changed"));
    EXPECT_EQ(contentOf(path), "old");
  }
  EXPECT_TRUE(contains(sentenceOf([&] { saveToFile(path, tape, RawSave::inPlace); }), "writing failed"));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(sentenceOf([&] { loadFromFile(path, tape); }), "") << "a part is never taken for the whole";
  EXPECT_EQ(scratch.entries().size(), 1u);
}

TEST(RawFileInPlace, CutsALongerFileAndGrowsAShorterOne) {
  const Scratch scratch;
  const Figure graph;
  for (const std::size_t bytes : {0U, 10U, 56U, 57U, 5000U}) {
    const std::string path = scratch.put("x", std::string(bytes, 'x'));
    saveToFile(path, graph.seven(), RawSave::inPlace);
    EXPECT_EQ(doublesIn(contentOf(path)).back(), 612.5);
    EXPECT_EQ(contentOf(path).size(), 56u);
  }
}

TEST(RawFileErrors, HaveTheCodeOfWhatIsWrong) {
  const Scratch scratch;
  Figure graph;
  EXPECT_EQ(codeOf([&] { loadFromFile(scratch.path("missing"), graph.seven()); }), ErrorCode::fileAccess);
  for (const RawSave how : everyWay) {
    EXPECT_EQ(codeOf([&] { saveToFile(scratch.path("no/folder"), graph.seven(), how); }),
              ErrorCode::fileAccess);
    EXPECT_EQ(codeOf([&] { saveToFile(scratch.path(std::string("f\0g", 3)), graph.seven(), how); }),
              ErrorCode::invalidArgument);
  }
  // The size is all that bare numbers tell of themselves: one that was cut is not told from one of another graph.
  EXPECT_EQ(codeOf([&] { loadFromFile(scratch.put("f", "8 bytes!"), graph.seven()); }), ErrorCode::badFile);
  std::vector<std::byte> memory(48);
  EXPECT_EQ(codeOf([&] { loadFromMemory(memory, graph.seven()); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { saveToFile(scratch.path("f"), graph.e, graph.b); }), ErrorCode::invalidArgument);
}

}  // namespace raw_file_test
}  // namespace burtorch
