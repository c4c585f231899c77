// Gradients of a GPT with knobs: subsets, stops, random edges, final blocks, two points, and what a subset costs.
#include <burtorch/oracle/token_oracle.hpp>

#include <gtest/gtest.h>

#include <array>
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/model/gpt.hpp>
#include <cmath>
#include <vector>

namespace burtorch {
namespace knobbed_gradient_test {

struct Samples {
  std::size_t size() const { return 9; }
  void read(std::size_t i, std::span<TokenId> tokens, std::span<TokenId> targets) const {
    for (std::size_t k = 0; k < tokens.size(); ++k) {
      tokens[k] = static_cast<TokenId>((3 * i + k * k) % 7);
      targets[k] = static_cast<TokenId>((5 * i + k) % 7);
    }
  }
};
struct Experiment {
  const Gpt<float> gpt{{.vocabulary = 7, .context = 5, .width = 6, .layers = 2, .heads = 2}};
  ParameterStore<float> store{gpt.layout(), 3};
  TokenOracle<Gpt<float>, Samples> oracle;
  std::vector<float> x, whole;

  explicit Experiment(const TokenOracleOptions& options = {.tile = 2})
      : oracle(gpt, store, Samples{}, options),
        x(store.values().begin(), store.values().end()),
        whole(x.size()) {}
  std::vector<float> untouched() const { return std::vector<float>(x.size(), -7); }
  const ParameterLayout& layout() const { return gpt.layout(); }
  Parameter lastBlock() const { return layout().blocks().back(); }
};
static_assert(GuidedSum<TokenOracle<Gpt<float>, Samples>>);
const AllSamples everything(9);

TEST(KnobbedGradient, IsTakenAtThePointThatIsGiven) {
  Experiment e;
  e.oracle.gradient(everything);
  const std::vector<float> atStore(e.store.gradients().begin(), e.store.gradients().end());
  for (float& number : e.store.values()) number = 99;  // nobody may look there
  EXPECT_EQ(e.oracle.gradient(e.x, everything, e.whole), e.oracle.value(e.x, everything));
  EXPECT_EQ(e.whole, atStore);
}
TEST(KnobbedGradient, OfASubsetHasTheBitsOfTheWholeAndTouchesNothingElse) {
  for (const std::size_t shards : {1u, 4u}) {
    Experiment e({.tile = 2, .shards = shards});
    e.oracle.gradient(e.x, everything, e.whole);
    for (const Parameter& block : e.layout().blocks()) {
      // A part of a block too.
      const Block wanted[] = {{block.first + block.rows / 2, block.rows - block.rows / 2, true}};
      auto found = e.untouched();
      ASSERT_TRUE(e.oracle.gradient(e.x, everything, found, {.wanted = Wanted(wanted)}));
      for (std::size_t i = 0; i < found.size(); ++i) {
        const bool isWanted = i >= wanted[0].first && i < wanted[0].first + wanted[0].count;
        ASSERT_EQ(found[i], isWanted ? e.whole[i] : -7) << e.layout().name(block) << " " << i;
      }
    }
  }
}
TEST(KnobbedGradient, OfNothingVisitsNothing) {
  Experiment e;
  auto found = e.untouched();
  const Wanted nothing{std::span<const Block>()};
  EXPECT_TRUE(e.oracle.gradient(e.x, everything, found, {.wanted = nothing}));
  EXPECT_EQ(found, e.untouched());
  EXPECT_EQ(e.oracle.counts().instructions, 0u);
  EXPECT_EQ(e.oracle.cost(e.x, everything, nothing).edges, 0u);
}
TEST(KnobbedGradient, CostsWhatTheCostSays) {
  Experiment e;
  const std::array<std::size_t, 2> oneTile{1, 4};
  double previous = 0;
  // From the last block to all: the cost grows, and the sweep visits what it says.
  for (std::size_t n = 1; n <= e.layout().blocks().size(); ++n) {
    std::vector<Block> wanted;
    for (const Parameter& block : e.layout().blocks().last(n)) wanted.push_back(block.block());
    const SweepCost cost = e.oracle.cost(e.x, oneTile, Wanted(wanted));
    const auto before = e.oracle.counts().instructions;
    e.oracle.gradient(e.x, oneTile, e.whole, {.wanted = Wanted(wanted)});
    EXPECT_EQ(e.oracle.counts().instructions - before, cost.instructions) << n;
    EXPECT_GE(cost.share(), previous) << n;
    previous = cost.share();
  }
  EXPECT_EQ(previous, 1);
  const Block last[] = {e.lastBlock().block()};
  EXPECT_LT(e.oracle.cost(e.x, oneTile, Wanted(last)).instructions, 4u);
}
TEST(KnobbedGradient, AStopLeavesTheDestinationAndTheNextRunHasAllBits) {
  for (const std::size_t shards : {1u, 4u}) {
    Experiment e({.tile = 2, .shards = shards});
    e.oracle.gradient(e.x, everything, e.whole);
    auto found = e.untouched();
    int stops = 0;
    for (;; ++stops) {
      int asked = 0;
      const auto stop = [&] { return asked++ >= stops; };
      if (e.oracle.gradient(e.x, everything, found, {.stop = stop, .pollEvery = 1})) break;
      ASSERT_EQ(found, e.untouched()) << stops;
    }
    EXPECT_GT(stops,
              40);  // five tiles, each asked about before its sweep and at every instruction that is reached
    EXPECT_EQ(found, e.whole);
  }
}
TEST(KnobbedGradient, ReportsEveryBlockOnceWithItsFinalBits) {
  for (const std::size_t tile : {2u, 16u}) {
    Experiment e({.tile = tile, .shards = 1});
    e.oracle.gradient(e.x, everything, e.whole);
    std::vector<int> reports(e.layout().blocks().size(), 0);
    auto found = e.untouched();
    e.oracle.gradient(e.x, everything, found, {.onFinal = [&](const FinalBlock<float>& block) {
                        ++reports[block.id];
                        for (std::size_t i = 0; i < block.gradients.size(); ++i)
                          ASSERT_EQ(block.gradients[i], e.whole[block.first + i]);
                      }});
    EXPECT_EQ(reports, std::vector<int>(reports.size(), 1)) << tile;
    EXPECT_EQ(found, e.whole);
  }
}
TEST(KnobbedGradient, ReportsTheLastBlockWhileTheSweepGoesOn) {
  Experiment e;
  std::vector<NodeIndex> order;
  const std::array<std::size_t, 1> one{2};
  e.oracle.gradient(e.x, one, e.whole,
                    {.onFinal = [&](const FinalBlock<float>& block) { order.push_back(block.id); }});
  ASSERT_EQ(order.size(), e.layout().blocks().size());
  EXPECT_GT(order.front(), order.back());  // what the root reads last comes first, embeddings come last
}
TEST(KnobbedGradient, KeepsEdgesWithoutBias) {
  Experiment e;
  e.oracle.gradient(e.x, everything, e.whole);
  std::vector<float> found(e.x.size());
  std::vector<double> mean(e.x.size(), 0), square(e.x.size(), 0);
  constexpr int draws = 4000;
  for (int draw = 0; draw < draws; ++draw) {
    e.oracle.gradient(e.x, everything, found,
                      {.keep = {.probability = 0.8, .seed = 11, .step = static_cast<std::uint64_t>(draw)}});
    for (std::size_t i = 0; i < found.size(); ++i) {
      mean[i] += double{found[i]} / draws;
      square[i] += double{found[i]} * double{found[i]} / draws;
    }
  }
  // Coordinates are not independent, so all of them are looked at together: six standard errors each.
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double deviation = std::sqrt(std::max(0.0, square[i] - mean[i] * mean[i]) / draws);
    EXPECT_NEAR(mean[i], double{e.whole[i]}, 6 * deviation + 1e-7) << i;
  }
}
TEST(KnobbedGradient, AtTwoPointsIsThatOfEachForAnyNumberOfThreads) {
  Experiment e;
  std::vector<float> y = e.x, gx(e.x.size()), gy(e.x.size()), wantX(e.x.size()), wantY(e.x.size());
  for (float& number : y) number *= 1.25F;
  const double atX = e.oracle.gradient(e.x, everything, wantX), atY = e.oracle.gradient(y, everything, wantY);
  for (const std::size_t threads : {1u, 2u, 3u}) {
    ThreadPool pool(threads);
    const CurrentWorkers here(pool);
    const ValuesAtTwo values = e.oracle.gradientsAtTwo(e.x, y, everything, gx, gy);
    EXPECT_EQ(values.atX, atX);
    EXPECT_EQ(values.atY, atY);
    EXPECT_EQ(gx, wantX);
    EXPECT_EQ(gy, wantY);
    e.oracle.gradientsAtTwo(e.x, e.x, everything, gx, gy);
    EXPECT_EQ(gx, gy);
    PartOf part(e.oracle, {0, 1, 2, 3, 4, 5, 6, 7, 8});  // a worker's part has the same, counted
    part.gradientsAtTwo(e.x, y, everything, gx, gy);
    EXPECT_EQ(gx, wantX);
    EXPECT_EQ(gy, wantY);
    EXPECT_EQ(part.counts().gradients, 18u);
  }
}

}  // namespace knobbed_gradient_test
}  // namespace burtorch
