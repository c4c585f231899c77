// Causal attention beside inner products and softmax of scalars.
#include <burtorch/nn/attention.hpp>

#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace attention_test {

template <class T> class AttentionTest : public testing::Test {};
using Scalars = testing::Types<float, double, Dual<double>>;
TYPED_TEST_SUITE(AttentionTest, Scalars);

template <class T> struct Attended {
  LayerChecks<T> checks;
  std::size_t heads, positions;
  Matrix<T> q, k, v;
  Attended(std::size_t headCount, std::size_t size, std::size_t positionCount, std::size_t samples)
      : heads(headCount),
        positions(positionCount),
        q(checks.matrix(heads * size, samples * positions)),
        k(checks.matrix(heads * size, samples * positions)),
        v(checks.matrix(heads * size, samples * positions)) {
    checks.fill();
  }
  auto layer() {
    return [this] { return twin::elementsOf(attention(q, k, v, heads, positions)); };
  }
  auto naive() {
    return [this] { return twin::attention(q, k, v, heads, positions); };
  }
};

TYPED_TEST(AttentionTest, IsSoftmaxOfInnerProductsAtEveryEdge) {
  for (const std::size_t positions : {1u, 3u, 5u, 7u, 8u, 9u, 16u, 33u})
    for (const std::size_t heads : {1u, 2u, 3u})
      for (const std::size_t size : {1u, 3u, 4u, 5u, 8u}) {
        Attended<TypeParam> one(heads, size, positions, 1);
        one.checks.expectSame(one.layer(), one.naive(),
                              std::to_string(positions) + " positions, heads " + std::to_string(heads) +
                                  " of " + std::to_string(size));
      }
}

// From 49 positions on the softmax goes through blocks of 64 or 32 keys; 1 to 48 keep their weights.
TYPED_TEST(AttentionTest, HasNoEdgeAtAnyLength) {
  for (std::size_t positions = 1; positions <= 70; ++positions) {
    Attended<TypeParam> one(2, positions % 2 == 0 ? 5 : 3, positions, 1);
    one.checks.expectSame(one.layer(), one.naive(), std::to_string(positions) + " positions");
  }
}
TYPED_TEST(AttentionTest, OfLongSamplesIsThatOfTheTwin) {
  for (const std::size_t positions : {127u, 128u, 129u})
    for (const std::size_t size : {1u, 7u, 13u}) {
      Attended<TypeParam> one(1, size, positions, 2);
      one.checks.expectSame(one.layer(), one.naive(),
                            std::to_string(positions) + " positions, size " + std::to_string(size));
    }
  Attended<TypeParam> one(1, 9, 256, 1);
  one.checks.expectSame(one.layer(), one.naive(), "256 positions");
}
TYPED_TEST(AttentionTest, OfWideHeadsIsThatOfTheTwin) {
  for (const std::size_t size : {16u, 31u, 33u, 64u}) {
    Attended<TypeParam> one(2, size, 67, 1);
    one.checks.expectSame(one.layer(), one.naive(), "size " + std::to_string(size));
  }
}
TYPED_TEST(AttentionTest, HasTheSameBitsEachTime) {
  Attended<TypeParam> one(2, 7, 131, 2);
  const auto first = one.checks.outcomeOf(one.layer()), again = one.checks.outcomeOf(one.layer());
  EXPECT_EQ(worstError<TypeParam>(again.values, first.values), 0);
  EXPECT_EQ(worstError<TypeParam>(again.gradients, first.gradients), 0);
}
TYPED_TEST(AttentionTest, OfLongSamplesLeavesOutGradientsOfData) {
  Attended<TypeParam> one(1, 5, 70, 1);
  const auto all = one.checks.outcomeOf(one.layer());
  const Matrix<TypeParam> operands[] = {one.q, one.k, one.v};
  for (std::size_t data = 0; data < 3; ++data) {
    Matrix<TypeParam> some[] = {one.q, one.k, one.v};
    some[data] = some[data].withoutGradient();
    one.checks.outcomeOf([&] { return twin::elementsOf(attention(some[0], some[1], some[2], 1, 70)); });
    const auto begin = one.checks.tape.gradients().data();
    for (std::size_t i = 0; i < 3; ++i)
      for (const TypeParam& g : operands[i].gradients()) {
        const TypeParam wanted =
            i == data ? TypeParam{0} : all.gradients[static_cast<std::size_t>(&g - begin)];
        EXPECT_EQ(distance(g, wanted), 0) << i << " where " << data << " is data";
      }
  }
}

TEST(Attention, ATapeGrowsLinearlyWithThePositions) {
  const auto nodesOf = [](std::size_t positions) {
    Attended<float> one(3, 4, positions, 1);
    const std::size_t before = one.checks.tape.size();
    attention(one.q, one.k, one.v, 3, positions);
    return one.checks.tape.size() - before;
  };
  for (const std::size_t positions : {64u, 128u, 1024u})
    EXPECT_EQ(nodesOf(positions), positions * (3 * 4 + 2 * 3))
        << "results, and two numbers per query and head";
}

TYPED_TEST(AttentionTest, SamplesDoNotSeeEachOther) {
  for (const std::size_t positions : {3u, 8u, 9u}) {
    Attended<TypeParam> three(2, 3, positions, 3);
    three.checks.expectSame(three.layer(), three.naive(), "samples of " + std::to_string(positions));
  }
}

TYPED_TEST(AttentionTest, TakesOneMatrixInAllThreePlaces) {
  Attended<TypeParam> one(2, 3, 9, 2);
  one.k = one.v = one.q;
  one.checks.expectSame(one.layer(), one.naive(), "one matrix");
}

TYPED_TEST(AttentionTest, TakesRowsOfOneMatrix) {
  LayerChecks<TypeParam> checks;
  const auto all = checks.matrix(18, 2 * 5);
  checks.fill();
  const auto q = all.rowsFrom(0, 6), k = all.rowsFrom(6, 6), v = all.rowsFrom(12, 6);
  checks.expectSame([&] { return twin::elementsOf(attention(q, k, v, 3, 5)); },
                    [&] { return twin::attention(q, k, v, 3, 5); }, "rows of one");
}

TEST(Attention, APositionDoesNotSeeLaterOnes) {
  Attended<double> one(1, 3, 7, 1);
  const auto before = attention(one.q, one.k, one.v, 1, 7);
  for (std::size_t d = 0; d < 3; ++d)
    one.k(d, 5).setData(3.5), one.v(d, 5).setData(-2.5), one.q(d, 5).setData(1.5);
  const auto after = attention(one.q, one.k, one.v, 1, 7);
  for (std::size_t d = 0; d < 3; ++d) {
    for (std::size_t t = 0; t < 5; ++t) EXPECT_EQ(after(d, t).dataCopy(), before(d, t).dataCopy()) << t;
    for (std::size_t t = 5; t < 7; ++t) EXPECT_NE(after(d, t).dataCopy(), before(d, t).dataCopy()) << t;
  }
}

/// What is not finite, and samples of a part of a vector, one, and several.
template <class T>
constexpr T notFinite[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity()};
template <class T>
const std::vector<std::size_t> sampleLengths{3, nn::laneCount<T>, nn::laneCount<T> + 1,
                                             3 * nn::laneCount<T> + 2, 67};

/// Sets one position of some operands to `bad`; the results of positions before `end` must keep their bits.
template <class T>
void expectSameBefore(std::size_t end, Attended<T>& one, std::vector<Matrix<T>> operands,
                      std::size_t position, T bad) {
  const auto before = attention(one.q, one.k, one.v, one.heads, one.positions);
  for (const Matrix<T>& x : operands)
    for (std::size_t r = 0; r < x.rows(); ++r) x(r, position).setData(bad);
  const auto after = attention(one.q, one.k, one.v, one.heads, one.positions);
  for (std::size_t r = 0; r < before.rows(); ++r)
    for (std::size_t t = 0; t < end; ++t)
      EXPECT_EQ(after(r, t).value(), before(r, t).value()) << t << " of " << one.positions;
}
template <class T> class CausalAttention : public testing::Test {};
using PlainScalars = testing::Types<float, double>;
TYPED_TEST_SUITE(CausalAttention, PlainScalars);

TYPED_TEST(CausalAttention, ALaterQueryOrKeyThatIsNotFiniteChangesNothing) {
  for (const std::size_t positions : sampleLengths<TypeParam>)
    for (const TypeParam bad : notFinite<TypeParam>)
      for (const std::size_t later : {std::size_t{1}, positions / 2, positions - 1}) {
        Attended<TypeParam> one(2, 3, positions, 1);
        expectSameBefore(later, one, {one.q, one.k}, later, bad);
      }
}
// 0 * inf is NaN: within its vector a later value does disturb.
TYPED_TEST(CausalAttention, ALaterValueThatIsNotFiniteChangesNothingBeforeItsVector) {
  constexpr std::size_t lanes = nn::laneCount<TypeParam>;
  for (const TypeParam bad : notFinite<TypeParam>)
    for (const std::size_t later : {lanes, 2 * lanes + 1, 3 * lanes + 1}) {
      Attended<TypeParam> one(2, 3, 3 * lanes + 2, 1);
      expectSameBefore(later / lanes * lanes, one, {one.q, one.k, one.v}, later, bad);
    }
}
TYPED_TEST(CausalAttention, ALaterValueThatIsNotFiniteChangesNothingInALongSample) {
  for (const TypeParam bad : notFinite<TypeParam>)
    for (const std::size_t later : {1u, 17u, 40u, 64u, 65u, 70u}) {
      Attended<TypeParam> one(2, 3, 71, 1);
      expectSameBefore(later, one, {one.q, one.k, one.v}, later, bad);
    }
}
// A block of keys may have no finite score; the next one may.
TYPED_TEST(CausalAttention, ScoresOfMinusInfinityHaveNoWeight) {
  constexpr std::size_t positions = 130, low = 70;
  Attended<TypeParam> one(1, 1, positions, 1);
  for (TypeParam& x : one.q.values()) x = 1;
  for (std::size_t u = 0; u < low; ++u) one.k(0, u).setData(-std::numeric_limits<TypeParam>::infinity());
  const auto y = attention(one.q, one.k, one.v, 1, positions);
  EXPECT_EQ(y(0, low).value(), one.v(0, low).value());
  for (std::size_t t = 0; t < positions; ++t) EXPECT_EQ(std::isnan(y(0, t).value()), t < low) << t;
}
TYPED_TEST(CausalAttention, AHeadThatIsNotFiniteDoesNotDisturbTheOther) {
  for (const std::size_t positions : sampleLengths<TypeParam>)
    for (const TypeParam bad : notFinite<TypeParam>) {
      Attended<TypeParam> two(2, 3, positions, 1);
      const auto second = [&] {
        return twin::elementsOf(attention(two.q, two.k, two.v, 2, positions).rowsFrom(3, 3));
      };
      const auto before = two.checks.outcomeOf(second);
      for (const auto& x : {two.q, two.k, two.v}) x(1, positions - 1).setData(bad);
      const auto after = two.checks.outcomeOf(second);
      EXPECT_EQ(worstError<TypeParam>(after.values, before.values), 0) << positions;
      for (const auto& x : {two.q, two.k, two.v})
        for (const TypeParam g : x.rowsFrom(3, 3).gradients()) EXPECT_TRUE(std::isfinite(g)) << positions;
    }
}

TEST(Attention, TheFirstPositionTakesItsOwnValue) {
  Attended<double> one(2, 4, 5, 1);
  const auto y = attention(one.q, one.k, one.v, 2, 5);
  for (std::size_t d = 0; d < 8; ++d) EXPECT_EQ(y(d, 0).dataCopy(), one.v(d, 0).dataCopy());
}

// Lanes that belong to no position of a sample see other samples, or what lies behind the last.
TEST(Attention, NanAndInfinityInAnotherSampleChangeNothing) {
  for (const std::size_t positions : {3u, 5u, 11u})
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Attended<float> three(2, 3, positions, 3);
      const auto middle = [&] {
        const auto y = attention(three.q, three.k, three.v, 2, positions);
        twin::Outputs<float> outputs;
        for (std::size_t r = 0; r < y.rows(); ++r)
          for (std::size_t t = 0; t < positions; ++t) outputs.push_back(y(r, positions + t));
        return outputs;
      };
      const auto before = three.checks.outcomeOf(middle);
      for (const auto& x : {three.q, three.k, three.v})
        for (std::size_t r = 0; r < x.rows(); ++r)
          for (std::size_t t = 0; t < positions; ++t) {
            x(r, t).setData(bad);
            x(r, 2 * positions + t).setData(bad);
          }
      const auto after = three.checks.outcomeOf(middle);
      EXPECT_EQ(worstError<float>(after.values, before.values), 0) << positions;
      for (const auto& x : {three.q, three.k, three.v})
        for (std::size_t r = 0; r < x.rows(); ++r)
          for (std::size_t t = 0; t < positions; ++t)
            EXPECT_TRUE(std::isfinite(x(r, positions + t).gradCopy())) << positions;
    }
}

TEST(Attention, LargeScoresDoNotOverflow) {
  Attended<float> one(1, 4, 8, 1);
  for (float& x : one.q.values()) x *= 300;
  for (float& x : one.k.values()) x *= 300;
  const auto y = attention(one.q, one.k, one.v, 1, 8);
  backward(y(2, 7));
  EXPECT_EQ(firstNonFinite(one.checks.tape), 0u) << "the first guard";
  for (const float x : y.values()) EXPECT_LE(std::abs(x), 1.00001f);
  for (const float g : one.q.gradients()) EXPECT_TRUE(std::isfinite(g));
}

TEST(Attention, GradientsAreSlopes) {
  for (const std::size_t positions : {3u, 9u}) {
    Attended<double> one(2, 3, positions, 2);
    one.checks.expectSlopes(one.layer(), 5);
  }
}

TEST(Attention, RefusesDifferentShapes) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(6, 8), narrow = checks.matrix(6, 16), low = checks.matrix(3, 8);
  for (const auto& other : {narrow, low}) {
    const auto names = [](const std::string& sentence) {
      return sentence.find("; expected the same") != sentence.npos;
    };
    EXPECT_TRUE(names(sentenceOf([&] { attention(x, other, x, 2, 8); })));
    EXPECT_TRUE(names(sentenceOf([&] { attention(x, x, other, 2, 8); })));
    EXPECT_TRUE(names(sentenceOf([&] { attention(other, x, x, 2, 8); })));
  }
}

TEST(Attention, RefusesHeadsThatDoNotShareTheRows) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(6, 8);
  EXPECT_EQ(sentenceOf([&] { attention(x, x, x, 4, 8); }), "attention: 6 rows cannot be split into 4 heads");
  EXPECT_EQ(sentenceOf([&] { attention(x, x, x, 0, 8); }), "attention: 6 rows cannot be split into 0 heads");
}

TEST(Attention, RefusesColumnsThatAreNoWholeSamples) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(6, 8);
  EXPECT_EQ(sentenceOf([&] { attention(x, x, x, 2, 3); }),
            "attention: 8 columns cannot be split into samples of 3 positions");
  EXPECT_EQ(sentenceOf([&] { attention(x, x, x, 2, 0); }),
            "attention: 8 columns cannot be split into samples of 0 positions");
}

}  // namespace attention_test
}  // namespace burtorch
