// One graph built by several threads: the bits of a serial build, and every walk over a tape works on it.
#include <burtorch/parallel/builders.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <burtorch/core/guided_sweep.hpp>
#include <burtorch/model/gpt.hpp>
#include <burtorch/viz/dot.hpp>
#include <string>

#include "builder_pieces.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace builders_test {

using V = Value<double>;
constexpr Config checked{.names = true, .checks = true}, lean{.names = false, .checks = false};
constexpr TapeCapacity some{.scalars = 50, .instructions = 50, .words = 50};

std::vector<pieces::Piece> randomPieces(std::uint64_t seed, std::size_t count) {
  Rng rng(seed);
  std::vector<pieces::Piece> parts(count);
  for (auto& part : parts) part = {rng.next(), rng.below(60)};
  return parts;
}

template <Config C> void expectSerialBits() {
  for (std::size_t count = 1; count <= 8; ++count)
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const auto parts = randomPieces(100 * count + seed, count);
      const auto exact = pieces::roomOf<C>(parts);
      const auto wanted = pieces::serial<C>(parts);
      auto loose = exact;
      for (std::size_t i = 0; i < count; ++i)
        loose[i] = loose[i] + TapeCapacity{7 * i + seed, (5 * seed + i) % 11, 3 * i};
      for (const auto& rooms : {exact, loose}) {
        const TapeCapacity all = Builders<double, C>::roomFor(rooms) + TapeCapacity{100, 100, 100};
        Tape<double, C> growing, fixed(all);
        std::vector<std::byte> memory(Tape<double, C>::requiredBytes(all));
        Tape<double, C> borrowed(memory, all);
        for (Tape<double, C>* tape : {&growing, &fixed, &borrowed})
          for (int round = 0; round < 2; ++round) {
            ASSERT_EQ(pieces::parallel<C>(*tape, parts, rooms), wanted)
                << count << " builders, seed " << seed;
            tape->clear();
          }
      }
    }
}
TEST(Builders, HaveTheBitsOfASerialBuild) { expectSerialBits<checked>(); }
TEST(Builders, HaveTheBitsOfASerialBuildWithoutChecks) { expectSerialBits<lean>(); }

TEST(Builders, RecordLayersOnBoundParameters) {
  const Gpt<float> gpt({.vocabulary = 17, .context = 5, .width = 12, .layers = 2, .heads = 3});
  ParameterStore<float> parameters(gpt.layout(), 3);
  const auto lossOf = [&](std::uint64_t seed) {
    Rng rng(seed);
    std::vector<TokenId> tokens(gpt.columnsFor(2), noToken), targets(tokens.size(), noToken);
    for (std::size_t slot = 0; slot < 2; ++slot)
      for (std::size_t i = 0; i < gpt.tokensPerSample(); ++i) {
        tokens[gpt.tokenAt(slot, i, tokens.size())] = rng.below(gpt.config().vocabulary);
        targets[gpt.targetAt(slot, i)] = rng.below(gpt.config().vocabulary);
      }
    return gpt.loss(tokens, targets);
  };
  for (std::size_t count = 1; count <= 4; ++count) {
    std::vector<float> serial, parallel;
    TapeCapacity room;
    for (const bool isSerial : {true, false}) {
      Tape<float> tape(parameters);
      CurrentTape here(tape);
      zeroGrad(parameters);
      std::vector<Value<float>> losses(count);
      if (isSerial) {
        for (std::size_t i = 0; i < count; ++i) losses[i] = lossOf(i);
        room = tape.used();
      } else {
        Builders builders(tape, count, room + TapeCapacity{3, 3, 0});
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < count; ++i)
          threads.emplace_back([&, i] {
            CurrentTape mine(builders[i]);
            // The first builder meets another operator first: the builders number their layers differently.
            if (i == 0) apply<mine::Hypotenuse>(Value<float>(3.0f), Value<float>(4.0f));
            losses[i] = lossOf(i);
          });
        for (std::thread& thread : threads) thread.join();
        builders.join();
      }
      backward(reduceSum(losses));
      const auto gradients = parameters.gradients();
      (isSerial ? serial : parallel).assign(gradients.begin(), gradients.end());
    }
    EXPECT_EQ(serial, parallel) << count << " builders";
    EXPECT_TRUE(std::any_of(serial.begin(), serial.end(), [](float g) { return g != 0; }));
  }
}

/// Two builders on a tape of one leaf, joined; the second has room to spare before it.
struct Joined {
  Tape<double> tape;
  CurrentTape<double, defaultConfig> here{tape};
  V x{0.6, "x"};
  Tape<double>::Mark before = tape.mark();
  V left, right, root;

  Joined() {
    Builders builders(tape, 2, some);
    {
      CurrentTape mine(builders[0]);
      left = sin(x) * x;
      left.setName("left");
    }
    {
      CurrentTape mine(builders[1]);
      const auto block = builders[1].leaves(std::array{2.0, 3.0});
      right = exp(x) + block[1];
      right.setName("right");
      x.setName("seen from the right");
    }
    builders.join();
    root = left * right;
  }
  double slope() const {
    return (std::sin(0.6) + 0.6 * std::cos(0.6)) * (std::exp(0.6) + 3) + std::sin(0.6) * 0.6 * std::exp(0.6);
  }
};

TEST(Builders, HandlesMeanTheSameNodesAfterTheJoin) {
  Joined graph;
  EXPECT_DOUBLE_EQ(graph.left.value(), std::sin(0.6) * 0.6);
  EXPECT_DOUBLE_EQ(graph.right.value(), std::exp(0.6) + 3);
  EXPECT_EQ(graph.tape.opOf(graph.left.index()).name, "mul");
  EXPECT_EQ(graph.tape.opOf(graph.right.index()).name, "add");
  EXPECT_TRUE(graph.tape.isLeaf(graph.x.index()));
  backward(graph.root);
  EXPECT_NEAR(graph.x.grad(), graph.slope(), 1e-14);
}
TEST(Builders, UnusedRoomIsLeavesOfZero) {
  Joined graph;
  backward(graph.root);
  const std::size_t first = graph.left.index() + 1u;
  EXPECT_TRUE(graph.tape.isLeaf(static_cast<NodeIndex>(first)));
  for (std::size_t i = first; i < some.scalars; ++i) {
    EXPECT_EQ(graph.tape.values()[i], 0);
    EXPECT_EQ(graph.tape.gradients()[i], 0);
  }
  EXPECT_EQ(firstNonFinite(graph.tape), graph.tape.size());
}
TEST(Builders, RewindToBeforeTheSplitForgetsAll) {
  Joined graph;
  backward(graph.root);
  graph.tape.rewind(graph.before);
  EXPECT_EQ(graph.tape.size(), 1u);
  EXPECT_EQ(graph.tape.used().words, graph.before.wordCount);
  EXPECT_EQ(graph.x.name(), "x");
  if (defaultConfig.checks) {
    EXPECT_NE(sentenceOf([&] { graph.left.value(); }), "");
  }
  graph.tape.zeroGrad();
  backward(sqr(graph.x));
  EXPECT_DOUBLE_EQ(graph.x.grad(), 1.2);
}
TEST(Builders, NamesAndPicturesSurvive) {
  Joined graph;
  EXPECT_EQ(graph.left.name(), "left");
  EXPECT_EQ(graph.right.name(), "right");
  EXPECT_EQ(graph.x.name(), "seen from the right");
  const std::string text = buildDotGraph(graph.root);
  EXPECT_NE(text.find("left"), std::string::npos);
  EXPECT_NE(text.find("right"), std::string::npos);
  EXPECT_FALSE(buildDotGraph(graph.tape).empty());
}
TEST(Builders, EverySweepTakesAJoinedTape) {
  Joined graph;
  std::vector<std::uint64_t> scratch(scratchWords(graph.root));
  backwardWithScratchStorage(graph.root, scratch);
  EXPECT_NEAR(graph.x.grad(), graph.slope(), 1e-14);
  graph.tape.zeroGrad();
  SweepMemory memory;
  const std::vector<Block> wanted{{graph.x.index(), 1}};
  backward(graph.root, {.memory = &memory, .wanted = std::span<const Block>(wanted)});
  EXPECT_NEAR(graph.x.grad(), graph.slope(), 1e-14);
  graph.tape.zeroGrad();
  backward(std::array{graph.left, graph.right});
  EXPECT_NEAR(graph.x.grad(), std::sin(0.6) + 0.6 * std::cos(0.6) + std::exp(0.6), 1e-14);
  backward(graph.root);
  EXPECT_NEAR(graph.x.grad(), graph.slope() + std::sin(0.6) + 0.6 * std::cos(0.6) + std::exp(0.6), 1e-13);
}
TEST(Builders, ANanFromADeadPoleStaysAway) {
  Tape<double> tape;
  CurrentTape here(tape);
  const V x(0.0);
  Builders builders(tape, 2, some);
  V y;
  {
    CurrentTape mine(builders[0]);
    y = x * 3.0;
  }
  {
    CurrentTape mine(builders[1]);
    sqrt(x);  // nobody reads it, and its slope is infinite
  }
  builders.join();
  const V root = y + 1.0;
  backward(root);
  EXPECT_EQ(x.grad(), 3);
}

TEST(Builders, GradientsSetInABuilderAreClearedByTheNextSweep) {
  Tape<double> tape;
  CurrentTape here(tape);
  const V x(2.0);
  V y;
  Builders builders(tape, 2, some);
  {
    CurrentTape mine(builders[1]);
    y = sqr(x);
    y.setGrad(100.0);
  }
  builders.join();
  EXPECT_EQ(y.grad(), 100);
  backward(y + 1.0);
  EXPECT_EQ(x.grad(), 4);
}
TEST(Builders, RewindToTheirOwnMarks) {
  Tape<double> tape;
  CurrentTape here(tape);
  const V x(2.0);
  V y;
  Builders builders(tape, 2, some);
  {
    CurrentTape mine(builders[1]);
    const V kept = sqr(x);
    {
      SampleScope scope(builders[1]);
      exp(kept * 3.0);
      builders[1].leaves(10);
    }
    y = kept * x;
    if (defaultConfig.checks) {
      EXPECT_NE(sentenceOf([&] { builders[1].clear(); }).find("own marks"), std::string::npos);
    }
  }
  builders.join();
  backward(y);
  EXPECT_EQ(x.grad(), 12);
}
TEST(Builders, EmptySegmentsLeaveNothing) {
  Tape<double> tape;
  CurrentTape here(tape);
  {
    Builders builders(tape, 3, some);
    builders.join();
  }
  EXPECT_EQ(tape.size(), 0u);
  V x, y;
  {
    Builders builders(tape, 4, some);
    CurrentTape mine(builders[2]);
    x = V(3.0);
    y = sqr(x);
    builders.join();
  }
  backward(y);
  EXPECT_EQ(x.grad(), 6);
  EXPECT_EQ(tape.used().instructions, 3u);  // unused room, x, y
}
TEST(Builders, WithoutAJoinTheTapeIsAsBefore) {
  Tape<double> tape(TapeCapacity{200, 200, 200});
  CurrentTape here(tape);
  const V x(2.0);
  try {
    Builders builders(tape, 2, some);
    CurrentTape mine(builders[0]);
    exp(x);
    throw std::string("stopped");
  } catch (const std::string&) {
  }
  EXPECT_EQ(tape.size(), 1u);
  backward(sqr(x));
  EXPECT_EQ(x.grad(), 4);
}

TEST(Builders, RefuseWhatNeedsTheWholeGraph) {
  Tape<double> tape;
  CurrentTape here(tape);
  const V x(2.0);
  Builders builders(tape, 2, some);
  V other;
  {
    CurrentTape mine(builders[0]);
    other = exp(x);
  }
  CurrentTape mine(builders[1]);
  const V y = sqr(x);
  const auto complains = [](auto action) {
    return sentenceOf(action).find("part of the graph") != std::string::npos;
  };
  EXPECT_TRUE(complains([&] { backward(y); }));
  EXPECT_TRUE(complains([&] { backward(std::array{y}); }));
  EXPECT_TRUE(complains([&] { builders[1].zeroGrad(); }));
  EXPECT_TRUE(complains([&] { buildDotGraph(y); }));
  EXPECT_TRUE(complains([&] { builders[1].bind(Binding<double>{}); }));
  EXPECT_TRUE(complains([&] { Builders again(builders[1], 2, some); }));
  EXPECT_TRUE(tape.isLeaf(x.index()));
  EXPECT_TRUE(builders[1].isLeaf(x.index()));
  EXPECT_FALSE(builders[1].isLeaf(y.index()));
  EXPECT_EQ(x.grad(), 0);
  if (defaultConfig.checks) {
    EXPECT_NE(sentenceOf([&] { y + other; }).find("another builder"), std::string::npos);
  }
}
TEST(Builders, ASplitTapeTakesNoNodes) {
  Tape<double> growing, fixed(TapeCapacity{500, 500, 500});
  for (Tape<double>* tape : {&growing, &fixed}) {
    CurrentTape here(*tape);
    const V x(2.0);
    Builders builders(*tape, 2, some);
    for (const auto& sentence : {sentenceOf([&] { sqr(x); }), sentenceOf([&] { tape->leaves(3); }),
                                 sentenceOf([&] { Builders again(*tape, 2, some); })})
      EXPECT_NE(sentence.find("split"), std::string::npos) << sentence;
    builders.join();
    EXPECT_NE(sentenceOf([&] { builders.join(); }).find("joined already"), std::string::npos);
    EXPECT_EQ(sqr(x).value(), 4);
  }
}
TEST(Builders, NoticeARewindOfTheTapeWhileItIsSplit) {
  Tape<double> tape;
  CurrentTape here(tape);
  const V x(2.0);
  Builders builders(tape, 2, some);
  tape.clear();
  EXPECT_NE(sentenceOf([&] { builders.join(); }).find("rewound"), std::string::npos);
}
TEST(Builders, SayWhatIsWrongWithTheirNumberOrRoom) {
  Tape<double> fixed(TapeCapacity{10, 10, 10}), growing;
  EXPECT_NE(sentenceOf([&] { Builders builders(growing, 0, some); }).find("1 to 16"), std::string::npos);
  EXPECT_NE(sentenceOf([&] { Builders builders(growing, 17, some); }).find("1 to 16"), std::string::npos);
  EXPECT_EQ(codeOf([&] { Builders builders(fixed, 1, some); }), ErrorCode::outOfRoom);
  EXPECT_EQ(codeOf([&] { Builders builders(growing, 2, {.scalars = SIZE_MAX}); }), ErrorCode::outOfRoom);
  Builders builders(fixed, 2, {.scalars = 4, .instructions = 4, .words = 5});  // all of it
  EXPECT_EQ(codeOf([&] { builders[2]; }), ErrorCode::outOfRange);
}

TEST(Builders, MeetMoreUserOperatorsThanATapeHas) {
  // Numbered by builders on their own; together they are one too many, which changes nothing.
  Tape<double> tape;
  CurrentTape here(tape);
  static UserOp<double> many[maxUserOps + 1] = {};
  Builders builders(tape, 2, some);
  for (std::size_t i = 0; i <= maxUserOps; ++i) builders[i % 2].userOpcode(&many[i]);
  EXPECT_EQ(codeOf([&] { builders.join(); }), ErrorCode::outOfRoom);
  EXPECT_EQ(tape.size(), 0u);
}

}  // namespace builders_test
}  // namespace burtorch
