// record(f, x): a graph recorded once and computed again with other numbers.
#include "burtorch/graph/record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "burtorch/burtorch.hpp"
#include "reference/error_sentence.hpp"

namespace record_test {

using namespace burtorch;

constexpr auto mixed = [](auto x) {
  auto a = x[0], b = x[1];
  auto c = a * b + pow3(b);
  c += tanh(c * 0.125) + relu(b - a);
  return sqr(c) / 2.0 + 10.0 / (1.0 + sqr(a)) + logSumExp(std::array{a, b, c * 0.25});
};

template <class T, class F> std::pair<T, std::vector<T>> eager(F f, const std::vector<T>& x) {
  Tape<T> tape;
  CurrentTape here(tape);
  const auto leaves = tape.leaves(std::span<const T>(x));
  std::vector<Value<T>> handles(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) handles[i] = leaves[i];
  const auto root = f(std::span<const Value<T>>(handles));
  backward(root);
  return {root.dataCopy(), {leaves.gradients().begin(), leaves.gradients().end()}};
}

template <class T> class Record : public testing::Test {};
using Scalars = testing::Types<double, float>;
TYPED_TEST_SUITE(Record, Scalars);

TYPED_TEST(Record, ReplaysWhatTheTapeComputes) {
  using T = TypeParam;
  auto f = record(mixed, std::vector<T>{T(0.3), T(-0.7)});
  for (const auto& x : {std::vector<T>{T(0.3), T(-0.7)}, {T(1.7), T(0.4)}, {T(-2.5), T(1.9)}}) {
    std::vector<T> gradient(2);
    const auto [value, expected] = eager<T>(mixed, x);
    EXPECT_EQ(f.value(x), value);
    EXPECT_EQ(f.valueAndGrad(x, gradient), value);
    EXPECT_EQ(gradient, expected);
  }
}

/// Batches of many lengths: every sample against a batch of one to the bit, and against the plain gradient within
/// `allowed` roundings.
template <class T, class F> void checkBatches(F function, T allowed) {
  auto f = record(function, std::vector<T>{T(0.3), T(-0.7)});
  for (std::size_t count = 0; count <= 2 * Pack<T>::count + 3; ++count) {
    std::vector<T> xs, gradients(2 * count), values(count);
    for (std::size_t i = 0; i < count; ++i)
      xs.push_back(T(0.1) * T(i) - T(0.35)), xs.push_back(T(1.2) - T(0.3) * T(i));
    f.gradBatch(xs, gradients, values);
    for (std::size_t i = 0; i < count; ++i) {
      SCOPED_TRACE(testing::Message() << i << " of " << count);
      std::vector<T> alone(2), aloneValue(1), plain(2);
      f.gradBatch({xs.data() + 2 * i, 2}, alone, aloneValue);
      const T value = f.valueAndGrad({xs.data() + 2 * i, 2}, plain);
      const T rounding = allowed * std::numeric_limits<T>::epsilon();
      EXPECT_EQ(values[i], aloneValue[0]);
      EXPECT_LE(std::abs(values[i] - value), rounding * std::abs(value));
      for (std::size_t k = 0; k < 2; ++k) {
        EXPECT_EQ(gradients[2 * i + k], alone[k]);
        EXPECT_LE(std::abs(alone[k] - plain[k]), rounding * std::max(std::abs(plain[0]), std::abs(plain[1])));
      }
    }
  }
}
TYPED_TEST(Record, ABatchHasTheBitsOfItsSamples) {
  checkBatches<TypeParam>(
      [](auto x) {
        auto c = x[0] * x[1] + pow3(x[1]);
        c += sin(c * 0.125) + relu(x[1] - x[0]);
        return sqr(c) / 2.0 + 10.0 / (1.0 + sqr(x[0])) + reduceSumOfSquares(std::array{x[0], x[1], c * 0.25});
      },
      0);
}
TYPED_TEST(Record, ABatchThroughExpLogAndTanhHasTheBitsOfBatchesOfOne) { checkBatches<TypeParam>(mixed, 1); }

TEST(Recorded, TakesCapturesAndSizesKnownAtRunTime) {
  std::vector<double> weights(37);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.3 + 0.1 * static_cast<double>(i);
  auto f = record(
      [&](auto x) {
        auto sum = x[0] * weights[0];
        for (std::size_t i = 1; i < x.size(); ++i) sum += sqr(x[i]) * weights[i];
        return sum;
      },
      weights);
  std::vector<double> x(37, 0.5), gradient(37);
  f.valueAndGrad(x, gradient);
  EXPECT_EQ(gradient[0], weights[0]);
  EXPECT_DOUBLE_EQ(gradient[36], weights[36]);
  EXPECT_EQ(f.inputCount(), 37u);
}

TEST(Recorded, ChainsLongerThanOneStretch) {
  auto f = record(
      [](auto x) {
        auto y = x[0];
        for (int i = 0; i < 1000; ++i) y = y * x[1] + sin(y) * 0.001;
        return y;
      },
      std::array{0.5, 0.99});
  const std::vector<double> x{0.7, 1.001};
  std::vector<double> gradient(2);
  const auto [value, expected] = eager<double>(
      [](auto v) {
        auto y = v[0];
        for (int i = 0; i < 1000; ++i) y = y * v[1] + sin(y) * 0.001;
        return y;
      },
      x);
  EXPECT_EQ(f.valueAndGrad(x, gradient), value);
  EXPECT_EQ(gradient, expected);
}

TEST(Recorded, AMillionStepsNeedNoDeepStack) {
  // A thread's stack is 8 MB here; a call for every step without an end would need more in a build without optimisation.
  double value = 0;
  std::thread([&] {
    auto f = record(
        [](auto x) {
          auto y = x[0];
          for (int i = 0; i < 1'000'000; ++i) y = y + x[1];
          return y;
        },
        std::array{0.0, 1.0});
    std::array<double, 2> gradient{};
    value = f.valueAndGrad(std::array{1.0, 2.0}, gradient);
    EXPECT_EQ(gradient[1], 1'000'000);
  }).join();
  EXPECT_EQ(value, 2'000'001);
}

TEST(Recorded, RootsWithoutSteps) {
  std::array<double, 2> gradient{};
  auto input = record([](auto x) { return x[1]; }, std::array{3.0, 4.0});
  EXPECT_EQ(input.valueAndGrad(std::array{5.0, 6.0}, gradient), 6);
  EXPECT_EQ(gradient, (std::array{0.0, 1.0}));
  auto constant =
      record([](auto x) { return std::remove_cvref_t<decltype(x[0])>(7.5); }, std::array{3.0, 4.0});
  EXPECT_EQ(constant.valueAndGrad(std::array{5.0, 6.0}, gradient), 7.5);
  EXPECT_EQ(gradient, (std::array{0.0, 0.0}));
}

TEST(Recorded, InputsThatAreNotUsedHaveGradientZero) {
  auto f = record([](auto x) { return sqr(x[1]); }, std::array{1.0, 2.0, 3.0});
  std::array<double, 3> gradient{9, 9, 9};
  f.valueAndGrad(std::array{4.0, 5.0, 6.0}, gradient);
  EXPECT_EQ(gradient, (std::array{0.0, 10.0, 0.0}));
}

TEST(Recorded, PolesThatTheRootDoesNotDependOnStayOutside) {
  auto f = record(
      [](auto x) {
        auto unused = sqrt(x[0]) * 2.0;
        static_cast<void>(unused);
        return x[0] * x[1];
      },
      std::array{1.0, 2.0});
  std::array<double, 2> gradient{};
  f.valueAndGrad(std::array{0.0, 3.0}, gradient);
  EXPECT_EQ(gradient, (std::array{3.0, 0.0}));
}

struct Square : UnaryOp {
  static constexpr std::string_view name = "square";
  template <class T> static T value(T x) { return x * x; }
  template <class T> static T vjp(T g, T x, Unread) { return g * (x + x); }
};
struct Total : VaryingOp {
  static constexpr std::string_view name = "total";
  template <class T> static T value(const List<T>& xs) { return ops::AddVarying::value(xs); }
  template <class T> static void vjp(T g, const List<T>& xs, Unread, const GradientList<T>& gs) {
    ops::AddVarying::vjp(g, xs, Unread{}, gs);
  }
};
TEST(Recorded, OperatorsOfTheUsersOwn) {
  auto f = record(
      [](auto x) {
        return apply<Square>(x[0]) * applyToList<Total>(std::array{x[0], x[1], x[0]});
      },
      std::array{1.0, 2.0});
  std::array<double, 2> gradient{};
  EXPECT_EQ(f.valueAndGrad(std::array{3.0, 5.0}, gradient), 99);
  EXPECT_EQ(gradient, (std::array{6.0 * 11 + 18, 9.0}));
  std::vector<double> xs{3, 5, 1, 2, 3, 5}, gradients(6), values(3);
  f.gradBatch(xs, gradients, values);
  EXPECT_EQ(values, (std::vector<double>{99, 4, 99}));
  EXPECT_EQ(gradients[5], 9);
}

TEST(Recorded, WrongSizesAreErrors) {
  auto f = record(mixed, std::array{0.3, 0.4});
  std::vector<double> three(3), two(2), seven(7);
  EXPECT_EQ(sentenceOf([&] { f.value(three); }), "record: expected an input of 2 numbers, got 3");
  EXPECT_EQ(sentenceOf([&] { f.valueAndGrad(two, three); }),
            "record: expected a gradient of 2 numbers, got 3");
  EXPECT_NE(sentenceOf([&] { f.gradBatch(seven, seven); }), "");
}

TEST(Recorded, AnotherPathIsNoticedInDebugBuilds) {
  const auto branches = [](auto x) { return x[0] > 0.0 ? x[0] * 2.0 : x[0] * x[0]; };
  const std::array<double, 1> up{1.0}, down{-1.0};
  Recorded<decltype(branches), double, Config{.checks = true}> checked(branches, up);
  EXPECT_EQ(checked.value(up), 2);
  EXPECT_NE(sentenceOf([&] { checked.value(down); }).find("another path"), std::string::npos);
  EXPECT_EQ(checked.value(up), 2) << "an error changes nothing";
  Recorded<decltype(branches), double, Config{.checks = false}> unchecked(branches, up);
  EXPECT_EQ(unchecked.value(down), -2) << "the path that was recorded";
}

TEST(Handles, OfNumbersThatChangedAreNoticedInDebugBuilds) {
  constexpr Config checks{.checks = true};
  Tape<double, checks> tape;
  CurrentTape here(tape);
  Value<double, checks> a(2.0);
  const auto square = sqr(a);
  tape.values()[square.sysGetRawNodeIndex()] = 9;
  EXPECT_EQ(square.dataCopy(), 9);
  EXPECT_NE(sentenceOf([&] { square + 1.0; }).find("another number"), std::string::npos);
}

}  // namespace record_test
