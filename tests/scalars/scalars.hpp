// Typed tests of the engine over all scalars; each file of this folder instantiates them for some. What a number of several
// lanes computes is looked at lane by lane: against FP128 by the textbook (reference/op_oracle.hpp), and against a tape whose
// numbers have that lane alone.
//
// Operators go through a table of functions, so that for every type the checks are compiled once, not once for each operator.
#pragma once

#include <gtest/gtest.h>

#include <burtorch/burtorch.hpp>
#include <burtorch/ops/fp128.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>
#define ORACLE_REAL burtorch::Fp128
#include "reference/op_oracle.hpp"

namespace scalars {

using namespace burtorch;
using oracle::Real;

// ---- lanes ----

/// A number has one lane, itself.
template <class T> struct Lanes {
  using Alone = T;   // a number that has one of the lanes
  using Number = T;  // its value
  static constexpr std::size_t count = 1;
  static Alone get(const T& x, std::size_t) { return x; }
  static void set(T& x, std::size_t, const Alone& lane) { x = lane; }
};
template <class N, std::size_t n> struct Lanes<Pack<N, n>> {
  using Alone = N;
  using Number = N;
  static constexpr std::size_t count = n;
  static Alone get(const Pack<N, n>& x, std::size_t lane) { return x[lane]; }
  static void set(Pack<N, n>& x, std::size_t lane, N number) { x.set(lane, number); }
};
template <class S> struct Lanes<Dual<S>> {
  using Alone = Dual<typename Lanes<S>::Alone>;
  using Number = typename Lanes<S>::Number;
  static constexpr std::size_t count = Lanes<S>::count;
  static Alone get(const Dual<S>& x, std::size_t lane) {
    return {Lanes<S>::get(x.value, lane), Lanes<S>::get(x.tangent, lane)};
  }
  static void set(Dual<S>& x, std::size_t lane, const Alone& number) {
    Lanes<S>::set(x.value, lane, number.value);
    Lanes<S>::set(x.tangent, lane, number.tangent);
  }
};
template <class T> using AloneOf = typename Lanes<T>::Alone;
template <class T> using NumberOf = typename Lanes<T>::Number;
template <class T> inline constexpr std::size_t laneCount = Lanes<T>::count;
template <class T> AloneOf<T> laneOf(const T& x, std::size_t lane) { return Lanes<T>::get(x, lane); }

/// The numbers in a scalar of one lane: of a dual number value and tangent.
template <class N> std::vector<N> partsOf(const N& x) { return {x}; }
template <class N> std::vector<N> partsOf(const Dual<N>& x) { return {x.value, x.tangent}; }
template <class A> auto valueOf(const A& x) { return partsOf(x)[0]; }

template <class N> Real exact(const N& x) { return Real(x); }
template <class N> std::string shown(const N& x) { return std::to_string(static_cast<double>(x)); }

/// Lane i is `of(i)`.
template <class T, class Of> T fromLanes(Of of) {
  T x{};
  for (std::size_t i = 0; i < laneCount<T>; ++i) Lanes<T>::set(x, i, AloneOf<T>(of(i)));
  return x;
}

// ---- operators ----

/// One operator on the tape; y is its second operand, c its constant.
template <class T> struct Operator {
  std::string_view name;
  Arity arity;
  Value<T> (*apply)(Value<T> x, Value<T> y, double c);
};
template <class T> const std::vector<Operator<T>>& operators() {
  static const std::vector<Operator<T>> all = [] {
    std::vector<Operator<T>> found;
    OpList::forEach([&]<class Op>() {
      if constexpr (Op::arity == Arity::unary)
        found.push_back({Op::name, Op::arity, [](Value<T> x, Value<T>, double) { return apply<Op>(x); }});
      else if constexpr (Op::arity == Arity::binary)
        found.push_back(
            {Op::name, Op::arity, [](Value<T> x, Value<T> y, double) { return apply<Op>(x, y); }});
      else if constexpr (Op::arity == Arity::constant)
        found.push_back(
            {Op::name, Op::arity, [](Value<T> x, Value<T>, double c) { return applyConstant<Op>(x, c); }});
    });
    return found;
  }();
  return all;
}

template <class T> struct Answer { T value, dx, dy; };
template <class T> Answer<T> eager(const Operator<T>& op, T x, T y, double c, T seed) {
  Tape<T> tape;
  CurrentTape here(tape);
  const Value<T> a(x), b(y);
  const Value<T> z = op.apply(a, b, c);
  backward(z, seed);
  return {z.value(), a.grad(), b.grad()};
}

// Rules that subtract lose more than the last bits; ops_test.cpp says why.
inline Real epsilonsOf(std::string_view name, bool ofSlope, Real x, Real want) {
  if (ofSlope && (name == "tanh" || name.starts_with("gelu"))) return 2;
  if (ofSlope && (name == "sigmoid" || name == "expm1")) return 1;
  if (ofSlope && name == "erf") return x * x * fabs(want);
  if (!ofSlope && name.starts_with("gelu")) return fabs(x);
  return 0;
}
/// Relative to the exact result, whose last bits the oracle itself does not know in quadruple precision.
template <class N> void expectNear(N got, Real want, Real inEpsilons, const std::string& what) {
  const Real epsilon = exact(std::numeric_limits<N>::epsilon());
  if (isnan(want)) {
    EXPECT_TRUE(got != got) << what << " is " << shown(got);
    return;
  }
  if (want == exact(got)) return;
  EXPECT_TRUE(fabs(exact(got) - want) <= (4 * fabs(want) + inEpsilons) * epsilon)
      << what << ": " << shown(got) << " instead of " << shown(want) << ", off by "
      << shown((exact(got) - want) / (fabs(want) * epsilon)) << " epsilons";
}

constexpr double points[] = {-2.3, -0.4, 0.3, 0.7, 1.9, 6.0};
constexpr double constants[] = {-2.0, -0.4, 0.0, 0.3, 0.5, 1.9, 3.0};

template <class T> T pointsFrom(std::size_t first, std::size_t step = 1) {
  return fromLanes<T>([&](std::size_t i) {
    AloneOf<T> lane{};
    lane = static_cast<NumberOf<T>>(points[(first + step * i) % std::size(points)]);
    return lane;
  });
}

/// What the textbook says of one lane.
struct Textbook {
  Real value, dx, dy = 0;
};
inline Textbook textbook(std::string_view name, Arity arity, Real x, Real y, Real c) {
  if (arity == Arity::unary) {
    const auto* rule = oracle::find(oracle::unaries, name);
    if (rule == nullptr) throw std::logic_error("the oracle does not know " + std::string(name));
    return {rule->value(x), rule->slope(x)};
  }
  const auto* rule =
      arity == Arity::binary ? oracle::find(oracle::binaries, name) : oracle::find(oracle::constants, name);
  if (rule == nullptr) throw std::logic_error("the oracle does not know " + std::string(name));
  const Real other = arity == Arity::binary ? y : c;
  return {rule->value(x, other), rule->slopeX(x, other),
          arity == Arity::binary ? rule->slopeY(x, other) : Real{0}};
}

template <class T> void checkAgainstTextbook(const Operator<T>& op, T x, T y, double c, T seed) {
  using N = NumberOf<T>;
  const Answer<T> found = eager(op, x, y, c, seed);
  const Real constant = exact(static_cast<PlainOf<T>>(c));
  for (std::size_t i = 0; i < laneCount<T>; ++i) {
    const Real a = exact(valueOf(laneOf(x, i))), b = exact(valueOf(laneOf(y, i))),
               g = exact(valueOf(laneOf(seed, i)));
    const Textbook want = textbook(op.name, op.arity, a, b, constant);
    const std::string at = std::string(op.name) + " at x = " + shown(a) + ", y = " + shown(b) +
                           ", c = " + std::to_string(c) + ", lane " + std::to_string(i) + ": ";
    const N value = valueOf(laneOf(found.value, i)), dx = valueOf(laneOf(found.dx, i)),
            dy = valueOf(laneOf(found.dy, i));
    expectNear(value, want.value, epsilonsOf(op.name, false, a, want.value), at + "value");
    if (isnan(want.value)) continue;
    expectNear(dx, g * want.dx, fabs(g) * epsilonsOf(op.name, true, a, want.dx), at + "dx");
    expectNear(dy, g * want.dy, 0, at + "dy");
  }
}

// ---- the same in one lane ----

/// Numbers at which something special happens.
template <class N> std::vector<N> edges() {
  using Limits = std::numeric_limits<N>;
  return {N(0),
          N(-0.0),
          N(1),
          N(-1),
          N(0.7),
          N(-2.3),
          Limits::max(),
          Limits::min(),
          -Limits::min(),
          Limits::denorm_min(),
          -Limits::max(),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::quiet_NaN()};
}
template <class T> T edgesFrom(std::size_t first, std::size_t step) {
  const auto all = edges<NumberOf<T>>();
  return fromLanes<T>([&](std::size_t i) {
    AloneOf<T> lane{};
    lane = all[(first + step * i) % all.size()];
    return lane;
  });
}

/// Equal, or both NaN; a zero of the other sign is as good.
template <class A> bool areEqual(const A& x, const A& y) {
  const auto xs = partsOf(x), ys = partsOf(y);
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (!(xs[i] == ys[i] || (xs[i] != xs[i] && ys[i] != ys[i]))) return false;
  return true;
}
/// Both NaN, both the same infinity, both zero, or neither.
template <class A> bool areAlike(const A& x, const A& y) {
  const auto xs = partsOf(x), ys = partsOf(y);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const bool isFinite = xs[i] - xs[i] == 0;
    if (isFinite != (ys[i] - ys[i] == 0) || (xs[i] == 0) != (ys[i] == 0)) return false;
    if (!isFinite && !(xs[i] == ys[i] || (xs[i] != xs[i] && ys[i] != ys[i]))) return false;
  }
  return true;
}

/// Lane i of what packs found is what a pack of nothing but that lane's numbers finds, to the bit, and is NaN, infinite or
/// zero where the number alone is.
template <class T>
void checkLanes(const Operator<T>& op, const Operator<AloneOf<T>>& alone, T x, T y, double c, T seed) {
  const Answer<T> found = eager(op, x, y, c, seed);
  for (std::size_t i = 0; i < laneCount<T>; ++i) {
    const auto filled = [i](const T& z) { return fromLanes<T>([&](std::size_t) { return laneOf(z, i); }); };
    const Answer<T> same = eager(op, filled(x), filled(y), c, filled(seed));
    const auto one = eager(alone, laneOf(x, i), laneOf(y, i), c, laneOf(seed, i));
    const auto check = [&](const char* what, const T& got, const T& fromSame, const AloneOf<T>& fromOne) {
      EXPECT_TRUE(areEqual(laneOf(got, i), laneOf(fromSame, i)) && areAlike(laneOf(got, i), fromOne))
          << op.name << " at " << shown(valueOf(laneOf(x, i))) << ", " << shown(valueOf(laneOf(y, i)))
          << ", seed " << shown(valueOf(laneOf(seed, i))) << ", constant " << c << ", lane " << i << ": "
          << what << " is " << shown(valueOf(laneOf(got, i))) << ", alone "
          << shown(valueOf(laneOf(fromSame, i))) << " and " << shown(valueOf(fromOne));
    };
    check("value", found.value, same.value, one.value);
    check("dx", found.dx, same.dx, one.dx);
    check("dy", found.dy, same.dy, one.dy);
  }
}

// ---- tests ----

template <class T> class Scalars : public testing::Test {};
TYPED_TEST_SUITE_P(Scalars);

TYPED_TEST_P(Scalars, OperatorsAgreeWithTheTextbook) {
  using T = TypeParam;
  for (const Operator<T>& op : operators<T>())
    for (std::size_t first = 0; first < std::size(points); ++first)
      for (std::size_t step = 0; step < (op.arity == Arity::binary ? std::size(points) : 1); ++step)
        for (const double c : constants) {
          if (op.arity != Arity::constant && c != constants[0]) continue;
          const T x = pointsFrom<T>(first), y = pointsFrom<T>(first + step, 5);
          checkAgainstTextbook(op, x, y, c, T(1));
          checkAgainstTextbook(op, x, y, c, pointsFrom<T>(first + 2, 5));
        }
}

TYPED_TEST_P(Scalars, LanesDoNotTouchEachOtherAtEdges) {
  using T = TypeParam;
  const std::size_t count = edges<NumberOf<T>>().size();
  for (std::size_t k = 0; k < operators<T>().size(); ++k) {
    const Operator<T>& op = operators<T>()[k];
    const Operator<AloneOf<T>>& alone = operators<AloneOf<T>>()[k];
    // libstdc++ 12 takes another way if any lane is large, and finds the sine of the largest number infinite.
    if (hasOwnOperators<T> && (op.name == "sin" || op.name == "cos")) continue;
    for (std::size_t first = 0; first<count; first += laneCount<T>> 1 ? 3 : 1)
      for (std::size_t shift = 0; shift < count; shift += op.arity == Arity::binary ? 3 : count)
        for (const double c : {1.7, 0.0, -1.0})
          for (std::size_t g = 0; g<count; g += laneCount<T>> 1 ? 5 : 1)
            if (op.arity == Arity::constant || c == 1.7)
              checkLanes(op, alone, edgesFrom<T>(first, 1), edgesFrom<T>(first + shift, 3), c,
                         edgesFrom<T>(first + g, 9));
  }
}

// ---- lists ----

/// One operator of lists; its results, one unless it is softmax.
template <class T> struct ListOperator {
  std::string_view name;
  std::vector<Value<T>> (*apply)(std::span<const Value<T>> xs, std::span<const Value<T>> ys, Value<T> bias,
                                 std::size_t target);
};
template <class T> const std::vector<ListOperator<T>>& listOperators() {
  using V = Value<T>;
  using L = std::span<const V>;
  static const std::vector<ListOperator<T>> all = [] {
    std::vector<ListOperator<T>> found;
    OpList::forEach([&]<class Op>() {
      if constexpr (std::is_same_v<Op, ops::CrossEntropy>)
        found.push_back({Op::name, [](L xs, L, V, std::size_t target) {
                           return std::vector<V>{crossEntropy(xs, target)};
                         }});
      else if constexpr (Op::arity == Arity::varying)
        found.push_back(
            {Op::name, [](L xs, L, V, std::size_t) { return std::vector<V>{applyToList<Op>(xs)}; }});
      else if constexpr (std::is_same_v<Op, ops::InnerProductWithBias>)
        found.push_back({Op::name, [](L xs, L ys, V bias, std::size_t) {
                           return std::vector<V>{innerProductWithBias(xs, ys, bias)};
                         }});
      else if constexpr (Op::arity == Arity::pair)
        found.push_back(
            {Op::name, [](L xs, L ys, V, std::size_t) { return std::vector<V>{innerProduct(xs, ys)}; }});
      else if constexpr (std::is_same_v<Op, ops::MulVarying>)
        found.push_back({Op::name, [](L xs, L, V, std::size_t) { return std::vector<V>{reduceMul(xs)}; }});
      else if constexpr (Op::arity == Arity::block)
        found.push_back({Op::name, [](L xs, L, V, std::size_t) {
                           std::vector<V> results(xs.size());
                           softmax(xs, std::span<V>(results));
                           return results;
                         }});
    });
    return found;
  }();
  return all;
}

template <class T> struct ListAnswer {
  std::vector<T> values, xs, ys;
  T bias;
};
/// Neighbouring nodes, or every other one from the last to the first with a gap: SIMD loops and gathered ones.
template <class T>
ListAnswer<T> eager(const ListOperator<T>& op, const std::vector<T>& xs, const std::vector<T>& ys, T bias,
                    std::size_t target, const std::vector<T>& seeds, bool isScattered) {
  Tape<T> tape;
  CurrentTape here(tape);
  std::vector<Value<T>> a(xs.size()), b(ys.size());
  for (std::size_t k = 0; k < xs.size(); ++k) {
    const std::size_t i = isScattered ? xs.size() - 1 - k : k;
    a[i] = Value<T>(xs[i]);
    if (isScattered && k % 3 == 0) Value<T>(T(0));
  }
  for (std::size_t i = 0; i < ys.size(); ++i) b[i] = Value<T>(ys[i]);
  const Value<T> c(bias);
  const auto results = op.apply(a, b, c, target);
  backward(results, std::span(seeds.data(), results.size()));
  ListAnswer<T> answer{{}, {}, {}, c.grad()};
  for (const auto& r : results) answer.values.push_back(r.value());
  for (const auto& x : a) answer.xs.push_back(x.grad());
  for (const auto& y : b) answer.ys.push_back(y.grad());
  return answer;
}

/// Generic numbers, other ones in every lane, at most 2 large and not close to 0.
template <class T> std::vector<T> genericList(std::size_t count, std::size_t kind) {
  std::vector<T> list(count);
  for (std::size_t k = 0; k < count; ++k)
    list[k] = fromLanes<T>([&](std::size_t lane) {
      const auto at = static_cast<double>(kind * 1000 + 7 * k + 13 * lane + 1);
      const double x = std::sin(at) * 1.5;
      return AloneOf<T>(static_cast<NumberOf<T>>(x + std::copysign(0.3, x)));
    });
  return list;
}
template <class T> oracle::Reals laneOfList(const std::vector<T>& list, std::size_t lane) {
  oracle::Reals reals;
  for (const T& x : list) reals.push_back(exact(valueOf(laneOf(x, lane))));
  return reals;
}

/// By the size of the terms that are summed: an error of so many epsilons of it.
inline Real scaleOf(std::string_view name, const oracle::ListProblem& p) {
  const Real n = oracle::countOf(p);
  const auto sumOfAbs = [](const oracle::Reals& xs) {
    return oracle::sum(oracle::map(xs, [](Real x) { return fabs(x); }));
  };
  if (name == "reduceSum" || name == "reduceSub") return sumOfAbs(p.xs);
  if (name == "reduceMean" || name == "reduceNegativeMean") return sumOfAbs(p.xs) / n;
  if (name.starts_with("innerProduct")) {
    Real scale = fabs(p.bias);
    for (std::size_t i = 0; i < p.xs.size(); ++i) scale += fabs(p.xs[i] * p.ys[i]);
    return scale;
  }
  if (name == "logSumExp" || name == "crossEntropy") return 3 + log(n);
  return 0;
}

template <class T>
void checkListAgainstTextbook(const ListOperator<T>& op, std::size_t count, bool isScattered) {
  using N = NumberOf<T>;
  if (op.name == "variance" && count == 1) return;  // NaN: list_cases_test.cpp
  const auto xs = genericList<T>(count, 1), ys = genericList<T>(count, 2),
             others = genericList<T>(count + 1, 3);
  const std::size_t target = count / 3;
  const auto found = eager(op, xs, ys, others[count], target, others, isScattered);
  const auto* rule = oracle::find(oracle::lists, op.name);
  ASSERT_NE(rule, nullptr) << "the oracle does not know " << op.name;
  const Real n = static_cast<double>(count), steps = 64 + 2 * log(n);
  // Products lose half an epsilon with every factor; sums of equally large terms hardly more than one of each lane's.
  const Real factor = op.name == "reduceMul" ? n : fmin(n, steps);
  for (std::size_t lane = 0; lane < laneCount<T>; ++lane) {
    oracle::ListProblem p{laneOfList(xs, lane), laneOfList(ys, lane),
                          exact(valueOf(laneOf(others[count], lane))), target, laneOfList(others, lane)};
    p.seeds.resize(found.values.size());
    const std::string at =
        std::string(op.name) + " of " + std::to_string(count) + ", lane " + std::to_string(lane);
    const auto values = rule->value(p);
    const auto want = rule->gradient(p);
    Real largestSeed = 1;
    for (const Real& seed : p.seeds) largestSeed = fmax(largestSeed, fabs(seed));
    for (std::size_t k = 0; k < values.size(); ++k)
      expectNear(valueOf(laneOf(found.values[k], lane)), values[k],
                 factor * (fabs(values[k]) + scaleOf(op.name, p)), at + ": value");
    for (std::size_t i = 0; i < count; ++i) {
      const bool cancels =
          op.name.starts_with("variance") || op.name == "crossEntropy" || op.name == "softmax";
      const Real atMost =
          fabs(want.xs[i]) + (cancels ? Real(4) / (op.name == "crossEntropy" ? 1 : n) : Real(0));
      expectNear(valueOf(laneOf(found.xs[i], lane)), want.xs[i], largestSeed * (factor + 8) * atMost,
                 at + ": dx");
    }
    for (std::size_t i = 0; i < want.ys.size(); ++i)
      expectNear<N>(valueOf(laneOf(found.ys[i], lane)), want.ys[i], 0, at + ": dy");
    expectNear<N>(valueOf(laneOf(found.bias, lane)), want.bias, 0, at + ": bias");
  }
}

TYPED_TEST_P(Scalars, ListsAgreeWithTheTextbook) {
  using T = TypeParam;
  constexpr std::size_t block = kernels::lanes<T>;  // where the loops change their way
  for (const auto& op : listOperators<T>())
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{3}, block - 1, block,
                                    block + 1, 2 * block, 3 * block + 2})
      for (const bool isScattered : {false, true}) checkListAgainstTextbook(op, count, isScattered);
}
// Long enough for a second run of blocks.
TYPED_TEST_P(Scalars, LongListsAgreeWithTheTextbook) {
  using T = TypeParam;
  for (const auto& op : listOperators<T>())
    if (op.name == "reduceSum" || op.name == "innerProduct" || op.name == "logSumExp")
      checkListAgainstTextbook(op, 2 * kernels::blocksPerRun * kernels::lanes<T> + 5, false);
}

/// Infinite, zero and NaN elements in one lane are nothing to the others.
TYPED_TEST_P(Scalars, LanesOfListsDoNotTouchEachOtherAtEdges) {
  using T = TypeParam;
  const std::size_t count = 5;
  for (std::size_t k = 0; k < listOperators<T>().size(); ++k) {
    const auto& op = listOperators<T>()[k];
    for (std::size_t first = 0; first < edges<NumberOf<T>>().size(); ++first) {
      auto xs = genericList<T>(count, 4), ys = genericList<T>(count, 5), others = genericList<T>(count, 6);
      xs[first % count] = edgesFrom<T>(first, 1);
      ys[(first + 2) % count] = edgesFrom<T>(first, 3);
      others[0] = edgesFrom<T>(first, 9);
      const auto found = eager(op, xs, ys, others[1], 1, others, false);
      for (std::size_t i = 0; i < laneCount<T>; ++i) {
        const auto aloneOf = [i](const std::vector<T>& list) {
          std::vector<AloneOf<T>> lane;
          for (const T& x : list) lane.push_back(laneOf(x, i));
          return lane;
        };
        const auto one = eager(listOperators<AloneOf<T>>()[k], aloneOf(xs), aloneOf(ys), laneOf(others[1], i),
                               1, aloneOf(others), false);
        SCOPED_TRACE(std::string(op.name) + ", edge " + std::to_string(first) + ", lane " +
                     std::to_string(i));
        for (std::size_t r = 0; r < found.values.size(); ++r)
          EXPECT_TRUE(areAlike(laneOf(found.values[r], i), one.values[r])) << "value " << r;
        for (std::size_t j = 0; j < count; ++j) {
          EXPECT_TRUE(areAlike(laneOf(found.xs[j], i), one.xs[j]))
              << "dx " << j << shown(valueOf(laneOf(found.xs[j], i))) << shown(valueOf(one.xs[j]));
          EXPECT_TRUE(areAlike(laneOf(found.ys[j], i), one.ys[j])) << "dy " << j;
        }
        EXPECT_TRUE(areAlike(laneOf(found.bias, i), one.bias));
      }
    }
  }
}

// ---- the rest of the engine ----

/// Everything a program does around operators.
TYPED_TEST_P(Scalars, TapesHoldThem) {
  using T = TypeParam;
  using V = Value<T>;
  const T x = pointsFrom<T>(2), y = pointsFrom<T>(1, 5);
  const auto f = [](auto a, auto b) { return sin(a * b) + exp(a) / (b * b + 1.0) - 3 * a; };
  Tape<T> grown;
  T value{}, dx{}, dy{};
  {
    CurrentTape here(grown);
    const V a(x), b(y);
    const auto mark = grown.mark();
    for (int i = 0; i < 2; ++i) {
      grown.rewind(mark);
      grown.zeroGrad();
      const V root = f(a, b);
      backward(root);
      value = root.value(), dx = a.grad(), dy = b.grad();
    }
    V c = a;
    c += c;  // in place: the derivative is 2
    backward(c, T(0));
    backward(c);
    EXPECT_TRUE(all(ScalarTraits<T>::isSame(a.grad(), dx + T(2))));
    V zero;
    zero += a;  // a default-constructed Value is 0
    EXPECT_TRUE(all(ScalarTraits<T>::isSame(zero.value(), a.value())));
  }
  // In the caller's memory, which may begin anywhere.
  std::vector<std::byte> memory(4000 + 40 * sizeof(T));
  Tape<T> borrowed(std::span<std::byte>(memory).subspan(1));
  CurrentTape here(borrowed);
  const T both[] = {x, y};
  const auto block = borrowed.leaves(both);
  const V root = f(block[0], block[1]);
  backward(std::vector<V>{root}, std::vector<T>{T(1)});
  EXPECT_TRUE(all(ScalarTraits<T>::isSame(root.value(), value)));
  EXPECT_TRUE(all(ScalarTraits<T>::isSame(block.gradients()[0], dx)));
  EXPECT_TRUE(all(ScalarTraits<T>::isSame(block.gradients()[1], dy)));
  EXPECT_EQ(firstNonFinite(borrowed), borrowed.size());
  block[0].setGrad(fromLanes<T>([](std::size_t lane) {
    return AloneOf<T>(lane + 1 == laneCount<T> ? std::numeric_limits<NumberOf<T>>::infinity()
                                               : NumberOf<T>(1));
  }));
  EXPECT_EQ(firstNonFinite(borrowed), 0u);
}

/// Numbers that stand beside nodes are constants, the same in all lanes; data in inner products too.
TYPED_TEST_P(Scalars, ConstantsAndData) {
  using T = TypeParam;
  using V = Value<T>;
  using P = PlainOf<T>;
  Tape<T> tape;
  CurrentTape here(tape);
  const T x = pointsFrom<T>(0);
  const V a(x), b(pointsFrom<T>(3));
  const std::size_t before = tape.size();
  const V c = 2 - a * 3.0 + 1.5f / (a + 4u);
  EXPECT_EQ(tape.size(), before + 5);  // no leaves for constants
  const std::vector<P> data{P(0.5), P(-2)};
  const V d = innerProduct(std::vector{a, b}, data);
  backward(std::vector{c, d});
  for (std::size_t i = 0; i < laneCount<T>; ++i) {
    const Real at = exact(valueOf(laneOf(x, i)));
    expectNear(valueOf(laneOf(c.value(), i)), 2 - at * 3 + Real(1.5) / (at + 4), 8 + 3 * fabs(at), "value");
    expectNear(valueOf(laneOf(a.grad(), i)), -Real(1.5) / ((at + 4) * (at + 4)) - Real(2.5), 8, "gradient");
    expectNear(valueOf(laneOf(b.grad(), i)), -2, 0, "gradient of data's partner");
  }
}

REGISTER_TYPED_TEST_SUITE_P(Scalars, TapesHoldThem, ConstantsAndData, OperatorsAgreeWithTheTextbook,
                            LanesDoNotTouchEachOtherAtEdges, ListsAgreeWithTheTextbook,
                            LongListsAgreeWithTheTextbook, LanesOfListsDoNotTouchEachOtherAtEdges);

struct ScalarName {
  template <class T> static std::string nameOf(const T*) {
    return std::is_same_v<T, float>         ? "float"
           : std::is_same_v<T, double>      ? "double"
           : std::is_same_v<T, long double> ? "long_double"
                                            : "fp128";
  }
  template <class N, std::size_t n> static std::string nameOf(const Pack<N, n>*) {
    return "pack_of_" + std::to_string(n) + "_" + nameOf(static_cast<const N*>(nullptr));
  }
  template <class S> static std::string nameOf(const Dual<S>*) {
    return "dual_of_" + nameOf(static_cast<const S*>(nullptr));
  }
  template <class T>
  requires(hasOwnOperators<T>) static std::string nameOf(const T*) {
    return "std_simd_of_" + std::to_string(laneCount<T>) + "_" +
           nameOf(static_cast<const NumberOf<T>*>(nullptr));
  }
  template <class T> static std::string GetName(int) { return nameOf(static_cast<const T*>(nullptr)); }
};

}  // namespace scalars
