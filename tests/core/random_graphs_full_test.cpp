// The random graphs beyond those of every test run, 180,000 more. label: full
#include "random_graphs.hpp"

namespace {

constexpr std::uint64_t shardSize = 10000;

class RandomGraphsFull : public testing::TestWithParam<int> {};
TEST_P(RandomGraphsFull, AgreeWithTheOracle) {
  graphs::runShard(static_cast<std::uint64_t>(GetParam()) * shardSize, shardSize);
}
INSTANTIATE_TEST_SUITE_P(Shard, RandomGraphsFull, testing::Range(2, 20));

}  // namespace
