// Operators of lists against the oracle (reference/op_oracle.hpp), for every length at which a loop changes its way
// and every form in which a list can be given. The cases walk burtorch::OpList: an operator that the oracle does not
// know fails here.
//
// The value must have the same bits in every form; it is compared with the same numbers in a plain array. `Allowed`
// states how far value and gradient may be from the exact ones, and why. Single cases are in list_cases_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/op_oracle.hpp"

namespace list_ops_test {

using burtorch::Arity;
using burtorch::CurrentTape;
using burtorch::Dual;
using burtorch::OpList;
using burtorch::Range;
using burtorch::Tape;
using burtorch::Value;
using oracle::ListProblem;
using oracle::Real;
using oracle::Reals;

constexpr unsigned seed = 19970527;
constexpr std::size_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 1000};

template <class Op>
constexpr bool isListOp =
    Op::arity == Arity::varying || Op::arity == Arity::pair || Op::arity == Arity::block;

template <class Visit> void forEachListOp(Visit visit) {
  OpList::forEach([&]<class Op>() {
    if constexpr (isListOp<Op>) visit.template operator()<Op>();
  });
}

/// `Op` on lists of numbers of any mode: its results, one unless it is softmax.
template <class Op, class L, class M, class X>
std::vector<X> carryOut(const L& xs, [[maybe_unused]] const M& ys, [[maybe_unused]] X bias,
                        [[maybe_unused]] std::size_t count, [[maybe_unused]] std::size_t target) {
  using namespace burtorch;
  if constexpr (std::is_same_v<Op, ops::CrossEntropy>) {
    return {crossEntropy(xs, target)};
  } else if constexpr (std::is_same_v<Op, ops::MulVarying>) {
    return {reduceMul(xs)};
  } else if constexpr (std::is_same_v<Op, ops::InnerProductNoBias>) {
    return {innerProduct(xs, ys)};
  } else if constexpr (std::is_same_v<Op, ops::InnerProductWithBias>) {
    return {innerProductWithBias(xs, ys, bias)};
  } else if constexpr (std::is_same_v<Op, ops::Softmax>) {
    std::vector<X> results(count);
    softmax(xs, std::span<X>(results));
    return results;
  } else {
    return {applyToList<Op>(xs)};
  }
}

/// Errors allowed at generic points, in epsilons of the type.
template <class T> struct Allowed {
  std::string_view name;
  const ListProblem& p;
  const Reals ps = oracle::probabilities(p.xs);

  /// At most this many roundings on the way of a term into a sum: 64 in a lane, then a tree.
  Real steps() const {
    const Real n = static_cast<Real>(p.xs.size());
    return std::fmin(n, 64 + std::log2(n));
  }
  Real largest() const {
    Real most = 0;
    for (Real x : p.xs) most = std::fmax(most, std::fabs(x));
    return most;
  }
  static Real epsilon() { return std::numeric_limits<T>::epsilon(); }

  /// Of result k, whose exact value is `want`.
  Real ofValue(Real want) const {
    const Real n = static_cast<Real>(p.xs.size());
    Real scale = std::fabs(want), factor = steps() + 4;
    // Sums: relative to the sum of absolute terms.
    if (name == "reduceSum" || name == "reduceSub") scale = sumOfAbs(p.xs);
    if (name == "reduceMean" || name == "reduceNegativeMean") scale = sumOfAbs(p.xs) / n;
    if (name.starts_with("innerProduct")) {
      scale = std::fabs(p.bias);
      for (std::size_t i = 0; i < p.xs.size(); ++i) scale += std::fabs(p.xs[i] * p.ys[i]);
    }
    if (name == "reduceMul") factor = n;  // one rounding a factor
    // The mean, to which the deviations are taken, is rounded; the square of its error is what remains.
    if (name.starts_with("variance")) scale += std::pow(epsilon() * largest() * steps(), 2) / epsilon();
    // shift + log(sum): a relative error of the sum is an absolute one of the logarithm.
    if (name == "logSumExp" || name == "crossEntropy") scale = 1 + largest() + std::log(n);
    if (name == "softmax") factor += 4;  // exp(x - max): the rounding of the difference, at most 4
    return factor * epsilon() * scale;
  }

  /// What the error of the gradient of x_i is measured by, when its exact contribution is `want`.
  Real gradientScale(std::size_t i, Real want) const {
    const Real n = static_cast<Real>(p.xs.size());
    if (name.starts_with("variance")) return std::fabs(want) + 2 / n * largest();  // x - mean cancels
    if (name == "crossEntropy")
      return std::fabs(p.seeds[0]) * (ps[i] + (i == p.target ? 1 : 0));  // p - 1 cancels
    if (name == "softmax") return ps[i] * (std::fabs(p.seeds[i]) + 1);   // g - mean cancels
    return std::fabs(want);
  }
  Real gradientFactor() const {
    if (name == "reduceMul") return static_cast<Real>(p.xs.size()) + 4;
    if (name.starts_with("variance") || name == "logSumExp" || name == "crossEntropy" || name == "softmax")
      return steps() + 16;
    return 4;
  }

  static Real sumOfAbs(const Reals& xs) {
    Real sum = 0;
    for (Real x : xs) sum += std::fabs(x);
    return sum;
  }
};

/// Numbers of both signs, none near zero; near 1 for products, so that a thousand of them neither overflow nor vanish.
template <class T> std::vector<T> randomNumbers(std::size_t n, std::string_view op, unsigned offset) {
  std::mt19937 random(seed + offset);
  const bool isProduct = op == "reduceMul";
  std::uniform_real_distribution<T> magnitude(isProduct ? T{0.9f} : T{0.25}, isProduct ? T{1.1f} : T{2});
  std::vector<T> numbers(n);
  for (T& x : numbers) x = random() % 2 == 0 ? magnitude(random) : -magnitude(random);
  return numbers;
}
template <class T> Reals realsOf(const std::vector<T>& xs) { return Reals(xs.begin(), xs.end()); }

template <class T> bool isSameBits(T x, T y) {
  return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
}

template <class T> void expectNear(T got, Real want, Real tolerance, const std::string& what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << " is " << got;
  } else {
    EXPECT_LE(std::fabs(static_cast<Real>(got) - want), tolerance)
        << what << ": " << got << " instead of " << static_cast<double>(want);
  }
}

/// Which elements of a pool of leaves a list is made of, in order.
using Indices = std::vector<std::size_t>;

template <class T> std::vector<Value<T>> handlesOf(const Range<T>& pool, const Indices& indices) {
  std::vector<Value<T>> handles;
  for (const std::size_t i : indices) handles.push_back(pool[i]);
  return handles;
}
Indices arithmetic(std::size_t n, std::size_t first, int step) {
  Indices indices(n);
  for (std::size_t i = 0; i < n; ++i)
    indices[i] = static_cast<std::size_t>(static_cast<long>(first) + static_cast<long>(i) * step);
  return indices;
}

/// Calls visit(name, list, indices) for a list of n elements of the pool in every form; the pool has 3n + 3 leaves.
template <class T, class Visit> void forEachForm(const Range<T>& pool, std::size_t n, Visit visit) {
  visit("contiguous", pool.subrange(2, n), arithmetic(n, 2, 1));
  visit("strided", pool.every(1, n, 3), arithmetic(n, 1, 3));
  visit("reversed", pool.every(n, n, -1), arithmetic(n, n, -1));
  visit("reversed and strided", pool.every(2 * n, n, -2), arithmetic(n, 2 * n, -2));

  std::vector<Range<T>> ranges;
  Indices ofRanges;
  constexpr std::size_t sizes[] = {1, 2, 0, 5, 33, 3};
  std::size_t end = pool.size();
  for (std::size_t which = 0; ofRanges.size() < n; ++which) {
    const std::size_t count = std::min(sizes[which % 6], n - ofRanges.size());
    end -= count + which % 2;
    ranges.push_back(pool.subrange(end, count));
    for (std::size_t k = 0; k < count; ++k) ofRanges.push_back(end + k);
  }
  visit("ranges", ranges, ofRanges);

  // One of them has a stride: the writer falls back to single nodes.
  const std::vector<Range<T>> mixed = {pool.every(0, n - n / 2, 2), pool.subrange(2 * n, n / 2)};
  Indices ofMixed = arithmetic(n - n / 2, 0, 2);
  for (std::size_t i = 0; i < n / 2; ++i) ofMixed.push_back(2 * n + i);
  visit("ranges, one strided", mixed, ofMixed);

  Indices scattered = arithmetic(n, 0, 2);
  std::shuffle(scattered.begin(), scattered.end(), std::mt19937(seed));
  visit("scattered handles", handlesOf(pool, scattered), scattered);
  visit("neighbouring handles", handlesOf(pool, arithmetic(n, 1, 1)), arithmetic(n, 1, 1));

  Indices repeated(n);
  for (std::size_t i = 0; i < n; ++i) repeated[i] = (i * i + i / 2) % (n / 3 + 1);
  visit("repeated handles", handlesOf(pool, repeated), repeated);
  visit("one node n times", handlesOf(pool, arithmetic(n, 1, 0)), arithmetic(n, 1, 0));
  const std::vector<Range<T>> overlapping = {pool.subrange(0, n - n / 2), pool.subrange(0, n / 2)};
  Indices twice = arithmetic(n - n / 2, 0, 1);
  for (std::size_t i = 0; i < n / 2; ++i) twice.push_back(i);
  visit("overlapping ranges", overlapping, twice);
}

template <class T>
ListProblem problemOf(const std::vector<T>& xs, const std::vector<T>& ys, T bias,
                      const std::vector<T>& seeds) {
  return {
      .xs = realsOf(xs), .ys = realsOf(ys), .bias = bias, .target = xs.size() / 2, .seeds = realsOf(seeds)};
}
/// What arrives at the results: not 1, so that a lost factor shows.
template <class T> std::vector<T> seedsFor(std::string_view op, std::size_t n) {
  if (op != "softmax") return {T{-0.5}};
  return randomNumbers<T>(n, "reduceMul", 99);
}

/// Gradients of a pool of leaves, exact, with what may be wrong about them.
struct Expected {
  Reals want, allowed, scale, uses;

  explicit Expected(std::size_t count) : want(count), allowed(count), scale(count), uses(count) {}
  void add(std::size_t leaf, Real contribution, Real contributionScale, Real contributionAllowed) {
    want[leaf] += contribution;
    allowed[leaf] += contributionAllowed;
    scale[leaf] += contributionScale;
    uses[leaf] += 1;
  }
};

/// One operator on one pair of lists of leaves, recorded and swept.
template <class T> struct Recorded {
  std::string_view op;
  Tape<T>& tape;
  const Indices &xAt, &yAt;  // the leaves in the lists
  std::size_t biasAt, leafCount;
  std::vector<T> values, plain;  // the results on the tape, and those of the same numbers in plain arrays
  ListProblem problem;
};

/// Values to the bit of the plain ones, and those and the gradients of all leaves by the oracle.
template <class T> void judge(const Recorded<T>& r) {
  const auto* rule = oracle::find(oracle::lists, r.op);
  ASSERT_NE(rule, nullptr) << "the oracle does not know " << r.op;
  const Allowed<T> allowed{r.op, r.problem};
  const Reals want = rule->value(r.problem);
  ASSERT_EQ(r.values.size(), want.size());
  ASSERT_EQ(r.plain.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    EXPECT_TRUE(isSameBits(r.values[k], r.plain[k])) << r.values[k] << " instead of " << r.plain[k];
    expectNear(r.plain[k], want[k], allowed.ofValue(want[k]), "value " + std::to_string(k));
  }

  const auto gradient = rule->gradient(r.problem);
  Expected expected(r.leafCount);
  const Real unit = allowed.gradientFactor() * allowed.epsilon();
  for (std::size_t i = 0; i < r.xAt.size(); ++i) {
    const Real scale = allowed.gradientScale(i, gradient.xs[i]);
    expected.add(r.xAt[i], gradient.xs[i], scale, unit * scale);
    if (gradient.ys.empty()) continue;
    expected.add(r.yAt[i], gradient.ys[i], std::fabs(gradient.ys[i]), unit * std::fabs(gradient.ys[i]));
  }
  if (r.op == "innerProductWithBias") expected.add(r.biasAt, gradient.bias, 0, 0);
  for (std::size_t leaf = 0; leaf < r.leafCount; ++leaf) {
    // A node that is used several times sums its contributions, with a rounding each.
    const Real rounding = (expected.uses[leaf] - 1) * expected.scale[leaf] * allowed.epsilon();
    expectNear(r.tape.gradients()[leaf], expected.want[leaf],
               expected.allowed[leaf] + std::fmax(rounding, Real{0}),
               "gradient of leaf " + std::to_string(leaf));
  }
}

template <class Op, class T>
std::vector<T> carryOutPlain(const std::vector<T>& xs, const std::vector<T>& ys, T bias, std::size_t target) {
  return carryOut<Op>(xs, ys, bias, xs.size(), target);
}

template <class Op, class T, class L, class M>
void compare(Tape<T>& tape, const L& list, const Indices& xAt, const M& other, const Indices& yAt,
             std::size_t biasAt) {
  const auto mark = tape.mark();
  const std::size_t leafCount = tape.size();
  tape.zeroGrad();
  std::vector<T> xs, ys;
  for (const std::size_t i : xAt) xs.push_back(tape.values()[i]);
  for (const std::size_t i : yAt) ys.push_back(tape.values()[i]);
  const Value<T> bias(tape.handleOf(static_cast<burtorch::NodeIndex>(biasAt)));
  const std::vector<T> seeds = seedsFor<T>(Op::name, xs.size());
  const std::size_t target = xs.size() / 2;

  const auto roots = carryOut<Op>(list, other, bias, xs.size(), target);
  burtorch::backward(std::span<const Value<T>>(roots), std::span<const T>(seeds));
  std::vector<T> values;
  for (const auto& root : roots) values.push_back(root.dataCopy());
  judge<T>({Op::name, tape, xAt, yAt, biasAt, leafCount, values,
            carryOutPlain<Op>(xs, ys, bias.dataCopy(), target), problemOf(xs, ys, bias.dataCopy(), seeds)});
  tape.rewind(mark);
}

template <class T> class ListOps : public testing::Test {};
using Scalars = testing::Types<double, float>;
struct ScalarName {
  template <class T> static std::string GetName(int) { return sizeof(T) == 8 ? "fp64" : "fp32"; }
};
TYPED_TEST_SUITE(ListOps, Scalars, ScalarName);

TYPED_TEST(ListOps, AgreeWithTheOracleInEveryForm) {
  using T = TypeParam;
  SCOPED_TRACE("seed " + std::to_string(seed));
  forEachListOp([]<class Op>() {
    for (const std::size_t n : lengths) {
      Tape<T> tape;
      CurrentTape here(tape);
      const auto pool = tape.leaves(std::span<const T>(randomNumbers<T>(3 * n + 3, Op::name, 1)));
      const auto others = tape.leaves(std::span<const T>(randomNumbers<T>(n, Op::name, 2)));
      const std::size_t biasAt = Value<T>(T{0.7f}).sysGetRawNodeIndex();
      const Indices othersAt = arithmetic(n, others.first(), 1);
      forEachForm(pool, n, [&](const char* form, const auto& list, const Indices& at) {
        SCOPED_TRACE(std::string(Op::name) + " of " + std::to_string(n) + " numbers, " + form);
        compare<Op>(tape, list, at, others, othersAt, biasAt);
        if constexpr (Op::arity == Arity::pair) {
          compare<Op>(tape, others, othersAt, list, at, biasAt);
          compare<Op>(tape, list, at, list, at, biasAt);
        }
      });
    }
  });
}

TYPED_TEST(ListOps, OnDualNumbersAgreeWithTheOracle) {
  using T = TypeParam;
  SCOPED_TRACE("seed " + std::to_string(seed));
  forEachListOp([]<class Op>() {
    for (const std::size_t n : lengths) {
      SCOPED_TRACE(std::string(Op::name) + " of " + std::to_string(n) + " numbers");
      const auto xs = randomNumbers<T>(n, Op::name, 1), ys = randomNumbers<T>(n, Op::name, 2);
      const auto vs = randomNumbers<T>(n, "", 3), ws = randomNumbers<T>(n, "", 4);
      const auto seeds = seedsFor<T>(Op::name, n);
      std::vector<Dual<T>> x, y;
      for (std::size_t i = 0; i < n; ++i) {
        x.push_back({xs[i], vs[i]});
        y.push_back({ys[i], ws[i]});
      }
      const Dual<T> bias(T{0.7f}, T{1.9f});
      const ListProblem p = problemOf(xs, ys, bias.value, seeds);
      const Allowed<T> allowed{Op::name, p};
      const auto* rule = oracle::find(oracle::lists, Op::name);
      ASSERT_NE(rule, nullptr) << "the oracle does not know " << Op::name;

      const auto got = carryOut<Op>(x, y, bias, n, p.target);
      const Reals value = rule->value(p);
      Real tangent = 0;
      for (std::size_t k = 0; k < got.size(); ++k) {
        expectNear(got[k].value, value[k], allowed.ofValue(value[k]), "value");
        tangent += Real{seeds[k]} * got[k].tangent;
      }
      // <gradient, direction>, and the sum of its absolute terms
      const auto gradient = rule->gradient(p);
      Real want = gradient.bias * bias.tangent, scale = std::fabs(want);
      for (std::size_t i = 0; i < n; ++i) {
        want += gradient.xs[i] * vs[i];
        scale += allowed.gradientScale(i, gradient.xs[i]) * std::fabs(vs[i]);
        if (gradient.ys.empty()) continue;
        want += gradient.ys[i] * ws[i];
        scale += std::fabs(gradient.ys[i] * ws[i]);
      }
      const Real factor = std::fmax(allowed.gradientFactor(), allowed.steps() + 16);
      expectNear(tangent, want, factor * allowed.epsilon() * scale, "tangent");
    }
  });
}

// In fp64, where differences have enough digits. The gradient is that of the sum of seed_k * result_k.
TEST(ListOps, AgreeWithCentralDifferences) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  forEachListOp([]<class Op>() {
    for (const std::size_t n : {1u, 2u, 3u, 5u, 8u, 17u, 33u}) {
      SCOPED_TRACE(std::string(Op::name) + " of " + std::to_string(n) + " numbers");
      const auto seeds = seedsFor<double>(Op::name, n);
      // All variables in one array: xs, ys, bias.
      auto point = randomNumbers<double>(2 * n + 1, Op::name, 5);
      const auto f = [&] {
        const auto results =
            carryOut<Op>(std::span<const double>(point.data(), n),
                         std::span<const double>(point.data() + n, n), point[2 * n], n, n / 2);
        return std::inner_product(results.begin(), results.end(), seeds.begin(), 0.0);
      };
      Tape<double> tape;
      CurrentTape here(tape);
      const auto leaves = tape.leaves(std::span<const double>(point));
      const auto roots = carryOut<Op>(leaves.subrange(0, n), leaves.subrange(n, n), leaves[2 * n], n, n / 2);
      burtorch::backward(std::span<const Value<double>>(roots), std::span<const double>(seeds));
      for (std::size_t i = 0; i < point.size(); ++i) {
        const double x = point[i], h = 1e-5;
        point[i] = x + h;
        const double up = f();
        point[i] = x - h;
        const double down = f();
        point[i] = x;
        const double gradient = leaves.gradients()[i], difference = (up - down) / (2 * h);
        if (std::isnan(difference)) continue;  // variance of one number
        EXPECT_NEAR(gradient, difference, 1e-6 * std::fmax(1, std::fabs(gradient))) << "variable " << i;
      }
    }
  });
}

}  // namespace list_ops_test
