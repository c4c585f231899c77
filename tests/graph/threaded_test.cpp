// Threaded code computes what the tape computes: random graphs, recorded once, replayed with other numbers.
// label: full
#include "burtorch/graph/threaded.hpp"

#include <gtest/gtest.h>

#include "reference/graph_executor.hpp"
#include "reference/graph_generator.hpp"

namespace {

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
    if (step.op != graphs::Op::leaf) break;
    for (double& leaf : step.leaves) {
      if (inputs == 0) return program;
      leaf *= factor;
      --inputs;
    }
  }
  return program;
}

template <class T> struct Eager {
  T value;
  std::vector<T> gradient;

  Eager(const graphs::Program& program, int root, std::size_t inputs) {
    Tape<T> tape;
    CurrentTape here(tape);
    graphs::TapeRun<T> run;
    run.run(program);
    backward(run[root]);
    value = run[root].dataCopy();
    gradient.assign(tape.gradients().begin(), tape.gradients().begin() + static_cast<std::ptrdiff_t>(inputs));
  }
};

/// Replays all roots of a program at three points, alone and as a pack, and compares with new recordings.
template <class T> void check(const graphs::Program& program) {
  Tape<T> tape;
  CurrentTape here(tape);
  graphs::TapeRun<T> run;
  run.run(program);
  const std::size_t inputs = leadingScalars(tape);
  const double factors[] = {1.0, 1.0078125, 0.984375};
  for (const int root : program.roots) {
    graph::Threaded<T> single(tape, run.index(root), inputs);
    graph::Threaded<Pack<T>> packs(tape, run.index(root), inputs);
    std::vector<Eager<T>> expected;
    for (const double factor : factors) {
      const auto other = moved(program, factor, inputs);
      expected.emplace_back(other, root, inputs);
      std::size_t next = 0;
      for (const auto& step : other.steps)
        for (std::size_t i = 0; i < step.leaves.size() && next < inputs; ++i, ++next)
          single.inputs()[next] = static_cast<T>(step.leaves[i]);
      for (std::size_t i = 0; i < inputs; ++i) {
        const std::size_t lane = (expected.size() - 1) % Pack<T>::count;
        packs.inputs()[i].set(lane, single.inputs()[i]);
      }
      single.forward();
      ASSERT_TRUE(isSame(single.value(), expected.back().value))
          << "seed " << program.seed << " root " << root;
      for (int repeat = 0; repeat < 2; ++repeat) {
        single.forwardAndBackward();
        ASSERT_TRUE(isSame(single.value(), expected.back().value)) << "seed " << program.seed;
        for (std::size_t i = 0; i < inputs; ++i)
          ASSERT_TRUE(isSame(single.gradients()[i], expected.back().gradient[i]))
              << "seed " << program.seed << " root " << root << " input " << i << " factor " << factor << ": "
              << single.gradients()[i] << " instead of " << expected.back().gradient[i];
      }
    }
    packs.forwardAndBackward();
    for (std::size_t lane = 0; lane < std::min<std::size_t>(Pack<T>::count, 3); ++lane) {
      const auto& wanted =
          expected[Pack<T>::count == 2 && lane == 0 ? 2
                                                    : lane];  // two lanes: the third point is in the first
      ASSERT_TRUE(isSame(packs.value()[lane], wanted.value)) << "seed " << program.seed << " lane " << lane;
      for (std::size_t i = 0; i < inputs; ++i)
        ASSERT_TRUE(isSame(packs.gradients()[i][lane], wanted.gradient[i]))
            << "seed " << program.seed << " root " << root << " lane " << lane << " input " << i;
    }
  }
}

TEST(Threaded, RandomGraphsInDouble) {
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    check<double>(graphs::Generator::generate(seed));
    if (HasFatalFailure()) return;
  }
}
TEST(Threaded, RandomGraphsInFloat) {
  for (std::uint64_t seed = 5001; seed <= 7000; ++seed) {
    check<float>(graphs::Generator::generate(seed));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
