// Attention with a dropout of its weights beside its definition, for samples of every kind of length.
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/nn/attention.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace attention_dropout_test {

template <class T> class AttentionDropoutTest : public testing::Test {};
using Scalars = testing::Types<float, double, Dual<double>>;
TYPED_TEST_SUITE(AttentionDropoutTest, Scalars);

template <class T> struct Attended {
  LayerChecks<T> checks;
  std::size_t heads, positions;
  Dropout dropped;
  Matrix<T> q, k, v;
  Attended(std::size_t headCount, std::size_t size, std::size_t positionCount, std::size_t samples,
           const Dropout& dropout)
      : heads(headCount),
        positions(positionCount),
        dropped(dropout),
        q(checks.matrix(heads * size, samples * positions)),
        k(checks.matrix(heads * size, samples * positions)),
        v(checks.matrix(heads * size, samples * positions)) {
    checks.fill();
  }
  auto layer() {
    return [this] { return twin::elementsOf(attention(q, k, v, heads, positions, dropped)); };
  }
  auto naive() {
    return [this] { return twin::attention(q, k, v, heads, positions, dropped); };
  }
  void expectSame() {
    checks.expectSame(layer(), naive(),
                      std::to_string(positions) + " positions, heads " + std::to_string(heads));
  }
};

// Up to a vector, up to 48, and in blocks of 64 or 32.
TYPED_TEST(AttentionDropoutTest, IsItsDefinitionAtEveryLength) {
  for (const std::size_t positions :
       {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 16u, 17u, 33u, 47u, 48u, 49u, 63u, 64u, 65u, 70u})
    for (const double probability : {0.1, 0.6}) {
      Attended<TypeParam> one(2, 3, positions, 2, {probability, 77 + positions, 5 * positions});
      one.expectSame();
    }
}
TYPED_TEST(AttentionDropoutTest, IsItsDefinitionForAnyHeads) {
  for (const std::size_t positions : {5u, 8u, 21u, 50u})
    for (const std::size_t heads : {1u, 3u})
      for (const std::size_t size : {1u, 4u, 9u})
        Attended<TypeParam>(heads, size, positions, 3, {0.3, 5}).expectSame();
}
TYPED_TEST(AttentionDropoutTest, OfLongSamplesIsItsDefinition) {
  for (const std::size_t positions : {128u, 131u})
    Attended<TypeParam>(1, 5, positions, 1, {0.2, 6}).expectSame();
}
TYPED_TEST(AttentionDropoutTest, TakesOneMatrixInAllThreePlaces) {
  for (const std::size_t positions : {6u, 20u, 52u}) {
    Attended<TypeParam> one(2, 3, positions, 2, {0.4, 8});
    one.k = one.v = one.q;
    one.expectSame();
  }
}
TYPED_TEST(AttentionDropoutTest, LeavesOutGradientsOfData) {
  for (const std::size_t positions : {6u, 20u, 70u}) {
    Attended<TypeParam> one(1, 5, positions, 1, {0.4, 8});
    const auto all = one.checks.outcomeOf(one.layer());
    const Matrix<TypeParam> operands[] = {one.q, one.k, one.v};
    for (std::size_t data = 0; data < 3; ++data) {
      Matrix<TypeParam> some[] = {one.q, one.k, one.v};
      some[data] = some[data].withoutGradient();
      one.checks.outcomeOf(
          [&] { return twin::elementsOf(attention(some[0], some[1], some[2], 1, positions, one.dropped)); });
      const auto begin = one.checks.tape.gradients().data();
      for (std::size_t i = 0; i < 3; ++i)
        for (const TypeParam& g : operands[i].gradients()) {
          const TypeParam wanted =
              i == data ? TypeParam{0} : all.gradients[static_cast<std::size_t>(&g - begin)];
          EXPECT_EQ(distance(g, wanted), 0) << i << " where " << data << " is data";
        }
    }
  }
}
TEST(AttentionDropout, GradientsAreSlopes) {
  for (const std::size_t positions : {3u, 9u, 50u}) {
    Attended<double> one(2, 3, positions, 2, {0.4, 9});
    one.checks.expectSlopes(one.layer(), 5);
  }
}

// A sample's mask depends on its place alone, not on who is on the tape with it.
TYPED_TEST(AttentionDropoutTest, OfSomeSamplesIsAPartOfThatOfAll) {
  for (const std::size_t positions : {3u, 8u, 20u, 66u}) {
    const std::size_t all = 3 * positions, first = 2 * positions;
    std::vector<TypeParam> numbers[4];  // of q, k, v and the results of the last sample
    {
      Attended<TypeParam> three(2, 3, positions, 3, {0.3, 4, 10 * positions});
      const auto y = attention(three.q, three.k, three.v, 2, positions, three.dropped);
      std::size_t i = 0;
      for (const auto& x : {three.q, three.k, three.v, y}) {
        for (std::size_t r = 0; r < 6; ++r)
          for (std::size_t t = 0; t < positions; ++t) numbers[i].push_back(x.values()[r * all + first + t]);
        ++i;
      }
    }
    Attended<TypeParam> one(2, 3, positions, 1, {0.3, 4, 12 * positions});
    std::ranges::copy(numbers[0], one.q.values().begin());
    std::ranges::copy(numbers[1], one.k.values().begin());
    std::ranges::copy(numbers[2], one.v.values().begin());
    const auto y = attention(one.q, one.k, one.v, 2, positions, one.dropped);
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(distance(y.values()[i], numbers[3][i]), 0) << positions;
  }
}
TEST(AttentionDropout, HasTheSameBitsForAnyNumberOfThreads) {
  for (const std::size_t positions : {40u, 130u}) {
    Attended<float> one(4, 32, positions, 12, {0.2, 3});
    const auto serial = one.checks.outcomeOf(one.layer());
    for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
      ThreadPool pool(threads);
      const CurrentWorkers help(pool);
      const auto found = one.checks.outcomeOf(one.layer());
      EXPECT_EQ(found.values, serial.values) << threads << " threads";
      EXPECT_EQ(found.gradients, serial.gradients) << threads << " threads";
    }
  }
}
TEST(AttentionDropout, OfNothingIsAttentionWithoutIt) {
  for (const std::size_t positions : {5u, 20u, 70u}) {
    Attended<float> one(2, 3, positions, 1, {0, 9});
    const auto with = attention(one.q, one.k, one.v, 2, positions, one.dropped);
    const auto last = one.checks.tape.used();
    const auto without = attention(one.q, one.k, one.v, 2, positions);
    EXPECT_EQ(one.checks.tape.used().words - last.words, 1 + 2 * 3 + 4u);
    for (std::size_t i = 0; i < with.size(); ++i) EXPECT_EQ(with.values()[i], without.values()[i]);
    EXPECT_EQ(one.checks.tape.opOf(with.block().first).name, "attention");
  }
}
// Shares that are kept grow by 1 / (1 - p), so a result of equal values is their share, and 1 on average.
TEST(AttentionDropout, KeepsTheMean) {
  for (const std::size_t positions : {8u, 40u, 100u}) {
    double sum = 0, squares = 0;
    constexpr std::size_t samples = 60;
    Attended<double> one(3, 2, positions, samples, {0.25, 12});
    for (double& x : one.v.values()) x = 1;
    const auto y = attention(one.q, one.k, one.v, 3, positions, one.dropped);
    for (const double x : y.values()) sum += x, squares += x * x;
    const double n = static_cast<double>(y.size()), mean = sum / n;
    // Two rows of a head share their mask.
    EXPECT_NEAR(mean, 1, 4 * std::sqrt((squares / n - mean * mean) / (n / 2))) << positions;
    EXPECT_GT(squares / n - mean * mean, 1e-3);
  }
}
TEST(AttentionDropout, RefusesWhatIsNoProbability) {
  Attended<float> one(1, 2, 3, 1, {1, 0});
  EXPECT_EQ(sentenceOf(one.layer()), "a dropout of 1; expected a probability of at least 0 and below 1");
}

}  // namespace attention_dropout_test
}  // namespace burtorch
