// ReplayCode code computes what the tape computes: random graphs, recorded once, replayed with other numbers.
// label: full
#include "burtorch/graph/replay_code.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "reference/graph_executor.hpp"
#include "reference/graph_generator.hpp"
#include "reference/pack_functions.hpp"

namespace replay_code_test {

using namespace burtorch;

/// Equal bits, but a zero may have another sign and a NaN another payload.
template <class T> bool isSame(T a, T b) { return a == b || (a != a && b != b); }

/// How many scalars the leading leaves are: what may change.
template <class T> std::size_t leadingScalars(const Tape<T>& tape) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < tape.leadingLeaves(); ++k) count += tape.outputCount(k);
  return count;
}

/// The program on numbers that are all a little different.
graphs::Program moved(graphs::Program program, double factor, std::size_t inputs) {
  for (auto& step : program.steps) {
    if (step.op != graphs::leafOp) break;
    for (double& leaf : step.leaves) {
      if (inputs == 0) return program;
      leaf *= factor;
      --inputs;
    }
  }
  return program;
}

template <class T> struct Eager {
  graphs::Program program;
  int root;
  T value;
  std::vector<T> gradient;

  Eager(graphs::Program toRun, int toSweep, std::size_t inputs) : program(std::move(toRun)), root(toSweep) {
    Tape<T> tape;
    CurrentTape here(tape);
    graphs::TapeRun<T> run;
    run.run(program);
    backward(run[root]);
    value = run[root].dataCopy();
    gradient.assign(tape.gradients().begin(), tape.gradients().begin() + static_cast<std::ptrdiff_t>(inputs));
  }

  /// The sum of the absolute contributions of all paths to a gradient: what its rounding errors are proportional to.
  T terms(std::size_t input) const {
    std::vector<graphs::Real> tangent, sum;
    graphs::Trace(program).pushForward(static_cast<int>(input), root, tangent, sum);
    return static_cast<T>(sum[static_cast<std::size_t>(root)]);
  }
};

bool goesThroughOwnFunctions(const graphs::Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const graphs::Step& step) {
    return packs::isOwnValue(nameOf(step.op)) || packs::isOwnSlope(nameOf(step.op));
  });
}

/// How many points packs were compared at with the tape; how many had to have its bits; how many were far from it.
struct Tally {
  int points = 0, exact = 0, far = 0;
};
template <class T> bool isNear(T a, T b, T size) {
  return isSame(a, b) || std::abs(a - b) <= 16 * std::numeric_limits<T>::epsilon() * std::abs(size);
}

/// One point per lane: lane by lane the bits of a pack of nothing but that point. If they must be, they are the bits of
/// the tape as well.
template <class T>
void checkLanes(graph::ReplayCode<Pack<T>>& packs, const std::vector<std::vector<T>>& points,
                const std::vector<Eager<T>>& expected, bool mustEqual, Tally& tally) {
  const std::size_t inputs = points[0].size();
  std::vector<T> values;
  std::vector<std::vector<T>> gradients;
  for (std::size_t first = 0; first < points.size(); first += Pack<T>::count) {
    const std::size_t used = std::min(Pack<T>::count, points.size() - first);
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t lane = 0; lane < Pack<T>::count; ++lane)
        packs.inputs()[i].set(lane, points[first + lane % used][i]);
    packs.forwardAndBackward();
    for (std::size_t lane = 0; lane < used; ++lane) {
      values.push_back(packs.value()[lane]);
      gradients.emplace_back();
      for (std::size_t i = 0; i < inputs; ++i) gradients.back().push_back(packs.gradients()[i][lane]);
    }
  }
  for (std::size_t point = 0; point < points.size(); ++point) {
    SCOPED_TRACE(testing::Message() << "point " << point);
    for (std::size_t i = 0; i < inputs; ++i) packs.inputs()[i] = Pack<T>(points[point][i]);
    packs.forwardAndBackward();
    ASSERT_TRUE(isSame(values[point], packs.value()[0]));
    const auto& want = expected[point];
    bool isEqual = isSame(values[point], want.value), isClose = isNear(values[point], want.value, want.value);
    T largest = 0;
    for (const T g : want.gradient) largest = std::max(largest, std::abs(g));
    for (std::size_t i = 0; i < inputs; ++i) {
      ASSERT_TRUE(isSame(gradients[point][i], packs.gradients()[i][0])) << "input " << i;
      isEqual = isEqual && isSame(gradients[point][i], want.gradient[i]);
      isClose = isClose && (isNear(gradients[point][i], want.gradient[i], largest) ||
                            isNear(gradients[point][i], want.gradient[i], want.terms(i)));
    }
    ASSERT_TRUE(isEqual || !mustEqual);
    ++tally.points, tally.exact += mustEqual, tally.far += !isClose;
  }
}

/// Replays all roots of a program at three points, alone and as a pack, and compares with new recordings.
template <class T> void check(const graphs::Program& program, Tally& tally) {
  Tape<T> tape;
  CurrentTape here(tape);
  graphs::TapeRun<T> run;
  run.run(program);
  const std::size_t inputs = leadingScalars(tape);
  const double factors[] = {1.0, 1.0078125, 0.984375};
  for (const int root : program.roots) {
    SCOPED_TRACE(testing::Message() << "seed " << program.seed << " root " << root);
    graph::ReplayCode<T> single(tape, run.index(root), inputs);
    std::vector<Eager<T>> expected;
    std::vector<std::vector<T>> points;
    for (const double factor : factors) {
      const auto other = moved(program, factor, inputs);
      expected.emplace_back(other, root, inputs);
      std::size_t next = 0;
      for (const auto& step : other.steps)
        for (std::size_t i = 0; i < step.leaves.size() && next < inputs; ++i, ++next)
          single.inputs()[next] = static_cast<T>(step.leaves[i]);
      points.emplace_back(single.inputs(), single.inputs() + inputs);
      single.forward();
      ASSERT_TRUE(isSame(single.value(), expected.back().value));
      for (int repeat = 0; repeat < 2; ++repeat) {
        single.forwardAndBackward();
        ASSERT_TRUE(isSame(single.value(), expected.back().value));
        for (std::size_t i = 0; i < inputs; ++i)
          ASSERT_TRUE(isSame(single.gradients()[i], expected.back().gradient[i]))
              << "input " << i << " factor " << factor << ": " << single.gradients()[i] << " instead of "
              << expected.back().gradient[i];
      }
    }
    graph::ReplayCode<Pack<T>> packs(tape, run.index(root), inputs);
    checkLanes(packs, points, expected, !goesThroughOwnFunctions(program), tally);
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <class T> void checkAll(std::uint64_t firstSeed, std::uint64_t lastSeed) {
  Tally tally;
  for (std::uint64_t seed = firstSeed; seed <= lastSeed; ++seed) {
    check<T>(graphs::Generator::generate(seed), tally);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GE(tally.exact, tally.points / 20);  // that go through no function of packs' own
  // At a kink, or where everything cancels, an ulp more or less decides about the whole gradient.
  EXPECT_LE(tally.far, tally.points / 2000);
}
TEST(ReplayCode, RandomGraphsInDouble) { checkAll<double>(1, 4000); }
TEST(ReplayCode, RandomGraphsInFloat) { checkAll<float>(5001, 7000); }

}  // namespace replay_code_test
