// What is asked of a program: that the library and the oracle agree, and that the library agrees with itself in all the
// ways to run and to sweep a tape. Knows nothing of the test framework, so that the shrinker can ask again and again.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#include "graph_executor.hpp"
#include "graph_features.hpp"
#include "graph_generator.hpp"

namespace graphs {

inline constexpr burtorch::Config bareConfig{.names = false, .checks = false};

/// Thrown by a check that fails; the text says which and where.
struct Mismatch {
  std::string text;
};

template <class T> struct Tolerance;
template <> struct Tolerance<double> { static constexpr Real gradient = 1e-12L, unit = 0x1p-53L; };
template <> struct Tolerance<float> { static constexpr Real gradient = 5e-6L, unit = 0x1p-24L; };

inline std::string show(Real x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.21Lg", x);
  return text;
}

template <class T> bool hasSameBits(T a, T b) { return std::memcmp(&a, &b, sizeof a) == 0; }

class Checker {
 public:
  Checker(const Program& program, Features& features)
      : program_(program), trace_(program), random_(program.seed ^ 0x5eedu), features_(features) {
    for (int node = 0; node < static_cast<int>(trace_.size()); ++node)
      if (trace_.isLeaf(node)) leaves_.push_back(node);
    for (const int root : program.roots) needed_.push_back(trace_.dependencies(root));
    chooseSeeds();
  }

  void run() {
    countFeatures(program_, trace_, features_);
    checkReverse<double, burtorch::defaultConfig>();
    if (isFloatExact()) checkReverse<float, bareConfig>();
    // The rest costs more than it finds; every program gets some of it, whatever is drawn from its seed.
    if (random_.isOneIn(8)) checkRepetition();
    if (random_.isOneIn(3)) checkScaling();
    if (random_.isOneIn(3) && seeds_.size() == trace_.size()) checkForward();
    if (random_.isOneIn(3)) checkRewind();
    if (random_.isOneIn(3)) checkStorage();
    if (program_.roots.size() > 1) checkSeveralRoots();
    if (!program_.expectations.empty()) checkExpectations();
  }

 private:
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }
  void count(std::string_view name) { ++features_.try_emplace(std::string(name), 0).first->second; }
  [[noreturn]] void fail(const std::string& what) const { throw Mismatch{what}; }

  /// The nodes at which gradients are judged: all of a small program, some of a large one.
  void chooseSeeds() {
    const int size = static_cast<int>(trace_.size());
    for (int node = 0; node < size; ++node)
      if (size <= 250 || node < 4 || random_.below(size) < 60) seeds_.push_back(node);
    int last = 0;
    for (const int root : program_.roots) last = std::max(last, root);
    std::vector<Real> tangent, sum;
    for (const int seed : seeds_) {
      trace_.pushForward(seed, last, tangent, sum);
      for (const int root : program_.roots) {
        oracle_.push_back(root < seed ? 0 : tangent[at(root)]);
        sums_.push_back(root < seed ? 0 : sum[at(root)]);
      }
    }
  }
  Real oracle(std::size_t seed, std::size_t root) const {
    return oracle_[seed * program_.roots.size() + root];
  }
  Real sum(std::size_t seed, std::size_t root) const { return sums_[seed * program_.roots.size() + root]; }

  /// Whether fp32 starts from the same numbers, and stays within its range.
  bool isFloatExact() const {
    const auto isExact = [](double x) { return static_cast<double>(static_cast<float>(x)) == x; };
    for (const Step& step : program_.steps) {
      if (!isExact(step.constant)) return false;
      for (const double x : step.leaves)
        if (!isExact(x)) return false;
    }
    for (const Real s : sums_)
      if (s > 1e25L || (s > 0 && s < 1e-25L)) return false;
    return true;
  }

  /// Below the normal range rounding errors are absolute: a few of the smallest number.
  template <class T> static constexpr Real underflow = 16 * Real{std::numeric_limits<T>::denorm_min()};

  template <class T, burtorch::Config C>
  void judge(const TapeRun<T, C>& run, std::size_t root, Real scale, const char* what,
             bool isLeavesOnly = false) {
    for (std::size_t i = 0; i < seeds_.size(); ++i) {
      if (isLeavesOnly && !trace_.isLeaf(seeds_[i])) continue;
      const T g = run[seeds_[i]].gradCopy();
      judgeOne(seeds_[i], g, scale * oracle(i, root), scale * sum(i, root), what);
    }
  }
  template <class T> void judgeOne(int node, T gradient, Real wanted, Real s, const char* what) const {
    if (std::abs(Real{gradient} - wanted) <= Tolerance<T>::gradient * s + underflow<T>) return;
    fail(std::string(what) + (sizeof(T) == 4 ? " (fp32)" : " (fp64)") + ": gradient at node " +
         std::to_string(node) + " is " + show(gradient) + ", wanted " + show(wanted) + ", S = " + show(s));
  }

  template <class T, burtorch::Config C> void checkValues(const TapeRun<T, C>& run) const {
    for (int node = 0; node < static_cast<int>(trace_.size()); ++node) {
      if (trace_.isTainted(node)) continue;  // poles have a test of their own
      const Real value = run[node].dataCopy(), wanted = trace_.value(node);
      if (std::abs(value - wanted) <= 16 * Tolerance<T>::unit * trace_.error(node) + underflow<T>) continue;
      fail("value of node " + std::to_string(node) + (sizeof(T) == 4 ? " (fp32)" : " (fp64)") + " is " +
           show(value) + ", wanted " + show(wanted));
    }
  }

  template <class T, burtorch::Config C> std::vector<T> gradients(const TapeRun<T, C>& run) const {
    std::vector<T> all;
    for (const auto& node : run.nodes()) all.push_back(node.gradCopy());
    return all;
  }
  /// Compares gradients to the bit: at leaves, and at inner nodes that the root depends on.
  template <class T>
  void requireSameBits(const std::vector<T>& a, const std::vector<T>& b, std::size_t root,
                       const char* what) const {
    for (std::size_t i = 0; i < a.size(); ++i)
      if ((trace_.isLeaf(static_cast<int>(i)) || needed_[root][i]) && !hasSameBits(a[i], b[i]))
        fail(std::string(what) + ": gradient at node " + std::to_string(i) + " is " + show(a[i]) + " and " +
             show(b[i]));
  }

  /// One sweep from every root against the oracle, and the sweep with scratch storage against the simple one.
  template <class T, burtorch::Config C> void checkReverse() {
    burtorch::Tape<T, C> tape;
    burtorch::CurrentTape here(tape);
    TapeRun<T, C> run;
    run.run(program_);
    checkValues(run);
    for (std::size_t r = 0; r < program_.roots.size(); ++r) {
      const auto root = run[program_.roots[r]];
      tape.zeroGrad();
      burtorch::backward(root);
      judge(run, r, 1, "backward");
      const std::vector<T> simple = gradients(run);
      tape.zeroGrad();
      std::vector<std::uint64_t> scratch(burtorch::scratchWords(root), ~std::uint64_t{0});
      burtorch::backwardWithScratchStorage(root, std::span(scratch));
      requireSameBits(simple, gradients(run), r, "backward and backwardWithScratchStorage");
      // On top of what is there, and in the other order.
      burtorch::backward(root);
      const std::vector<T> twice = gradients(run);
      tape.zeroGrad();
      burtorch::backward(root);
      burtorch::backwardWithScratchStorage(root, std::span(scratch));
      requireSameBits(twice, gradients(run), r, "simple after scratch and scratch after simple");
    }
    count(sizeof(T) == 4 ? "fp32" : "fp64");
  }

  /// Twenty sweeps: leaves add up, inner nodes hold the last sweep. A leaf that is used once adds up to the bit.
  void checkRepetition() {
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    TapeRun<double> run;
    run.run(program_);
    const auto root = run[program_.roots[0]];
    burtorch::backward(root);
    const std::vector<double> once = gradients(run);
    std::vector<double> total = once;
    constexpr int times = 20;
    for (int i = 1; i < times; ++i) {
      burtorch::backward(root);
      for (std::size_t k = 0; k < total.size(); ++k) total[k] += once[k];
    }
    std::vector<int> uses(trace_.size());
    for (int node = 0; node <= program_.roots[0]; ++node)
      if (needed_[0][at(node)])
        for (const Edge* edge = trace_.begin(node); edge != trace_.end(node); ++edge)
          ++uses[at(edge->operand)];
    for (std::size_t k = 0; k < total.size(); ++k) {
      const int node = static_cast<int>(k);
      const double g = run[node].gradCopy(), wanted = trace_.isLeaf(node) ? total[k] : once[k];
      const bool isExact = !trace_.isLeaf(node) || uses[k] < 2;
      if (isExact && needed_[0][k] && !hasSameBits(g, wanted))
        fail("20 sweeps: gradient at node " + std::to_string(k) + " is " + show(g) + ", wanted " +
             show(wanted));
    }
    judge(run, 0, times, "20 sweeps", true);
    count("backward repeated 20 times");
  }

  /// f + f has twice the gradient of f, and a seed of 2^k has 2^k times the gradient, all to the bit.
  void checkScaling() {
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    TapeRun<double> run;
    run.run(program_);
    const auto root = run[program_.roots[0]];
    burtorch::backward(root);
    const std::vector<double> once = gradients(run);
    const auto requireScaled = [&](double factor, const char* what) {
      const std::vector<double> scaled = gradients(run);
      for (std::size_t i = 0; i < once.size(); ++i)
        if (needed_[0][i] && !hasSameBits(scaled[i], once[i] * factor))
          fail(std::string(what) + ": gradient at node " + std::to_string(i) + " is " + show(scaled[i]) +
               ", wanted " + show(factor) + " * " + show(once[i]));
    };
    const double seed = std::ldexp(1.0, random_.between(-20, 20));
    tape.zeroGrad();
    burtorch::backward(root, seed);
    requireScaled(seed, "a seed of a power of two");
    tape.zeroGrad();
    burtorch::backward(root + root);
    requireScaled(2, "f + f");
    count("f + f = 2 f");
  }

  /// <J v, w> = <v, J' w>: the library's forward mode against its reverse mode, all roots at once.
  void checkForward() {
    std::vector<double> v, w;
    for (std::size_t i = 0; i < leaves_.size(); ++i) v.push_back(random_.between(-1.0, 1.0));
    for (std::size_t i = 0; i < program_.roots.size(); ++i) w.push_back(random_.between(0.5, 1.5));
    const auto duals = runDual(program_, v);
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    TapeRun<double> run;
    run.run(program_);
    const auto roots = rootsOf(run, program_.roots);
    burtorch::backward(std::span<const burtorch::Value<double>>(roots), std::span<const double>(w));
    Real forward = 0, reverse = 0, s = 0;
    for (std::size_t i = 0; i < w.size(); ++i) forward += Real{w[i]} * duals[at(program_.roots[i])].tangent;
    for (std::size_t i = 0; i < v.size(); ++i) reverse += Real{v[i]} * run[leaves_[i]].gradCopy();
    for (std::size_t i = 0; i < seeds_.size(); ++i)
      for (std::size_t r = 0; r < w.size(); ++r)
        if (trace_.isLeaf(seeds_[i])) s += sum(i, r) * Real{w[r]};
    if (std::abs(forward - reverse) > 1e-12L * s)
      fail("<Jv, w> = " + show(forward) + ", <v, J'w> = " + show(reverse));
    count("forward against reverse");
  }

  template <class T, burtorch::Config C>
  static std::vector<burtorch::Value<T, C>> rootsOf(const TapeRun<T, C>& run, const std::vector<int>& nodes) {
    std::vector<burtorch::Value<T, C>> roots;
    for (const int node : nodes) roots.push_back(run[node]);
    return roots;
  }

  /// A part of the program is forgotten and recorded again, after a sweep and after a different program in its place.
  void checkRewind() {
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    TapeRun<double> run;
    const std::size_t steps = program_.steps.size(), kept = at(random_.below(static_cast<int>(steps) + 1));
    run.run(program_, 0, kept);
    const auto mark = tape.mark();
    const std::size_t keptNodes = run.nodes().size();
    run.run(program_, kept, steps);
    burtorch::backward(run[program_.roots[0]]);
    const std::vector<double> first = gradients(run);
    tape.rewind(mark);
    {
      burtorch::SampleScope scope(tape);
      TapeRun<double> other;
      const Program intruder = Generator::generate(program_.seed + 1);
      other.run(intruder);
      burtorch::backward(other[intruder.roots[0]]);
    }
    run.truncate(keptNodes);
    for (const int leaf : leaves_)
      if (at(leaf) < keptNodes) run[leaf].setGrad(0);
    run.run(program_, kept, steps);
    burtorch::backward(run[program_.roots[0]]);
    requireSameBits(first, gradients(run), 0, "before and after a rewind");
    count("rewind and rebuild");
  }

  /// The same bits in every kind of storage.
  void checkStorage() {
    using Tape = burtorch::Tape<double, bareConfig>;
    Tape growing;
    const std::vector<double> wanted = gradientsOn(growing);
    // A list that is not evenly spaced asks for more words than it keeps.
    burtorch::TapeCapacity room = growing.used();
    for (const Step& step : program_.steps)
      room.words = std::max(room.words, growing.used().words + listWords(step));
    Tape fixed(room);
    requireSameBits(wanted, gradientsOn(fixed), 0, "growing and fixed storage");
    count("fixed storage");
    // An odd start: a borrowed buffer need not be aligned.
    const std::size_t bytes = Tape::requiredBytes(room), offset = at(random_.below(8));
    std::vector<std::byte> memory(bytes + offset + 1, std::byte{0xa5});
    Tape borrowed(std::span<std::byte>(memory).subspan(offset, bytes), room);
    requireSameBits(wanted, gradientsOn(borrowed), 0, "growing and borrowed storage");
    if (memory.back() != std::byte{0xa5}) fail("a borrowed buffer is written beyond its end");
    count("borrowed storage");
    const std::size_t each = std::max({room.scalars, room.instructions, room.words / 2 + 1});
    memory.assign(Tape::requiredBytes({each, each, 2 * each}), std::byte{0x5a});
    Tape even(std::span<std::byte>{memory});
    requireSameBits(wanted, gradientsOn(even), 0, "growing and evenly shared storage");
    count("evenly shared storage");
  }
  static std::size_t listWords(const Step& step) {
    return 8 + 4 * (step.xs.size() + step.ys.size() + step.xs.spans.size() + step.ys.spans.size());
  }
  std::vector<double> gradientsOn(burtorch::Tape<double, bareConfig>& tape) const {
    burtorch::CurrentTape here(tape);
    TapeRun<double, bareConfig> run;
    run.run(program_);
    burtorch::backward(run[program_.roots[0]]);
    return gradients(run);
  }

  /// One call for each root in both orders, and one call for all: leaves get the sum, inner nodes the last call.
  void checkSeveralRoots() {
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    TapeRun<double> run;
    run.run(program_);
    const std::size_t n = program_.roots.size();
    for (const bool isReversed : {false, true}) {
      tape.zeroGrad();
      for (std::size_t i = 0; i < n; ++i) burtorch::backward(run[program_.roots[isReversed ? n - 1 - i : i]]);
      const std::size_t last = isReversed ? 0 : n - 1;
      for (std::size_t i = 0; i < seeds_.size(); ++i) {
        const bool isLeaf = trace_.isLeaf(seeds_[i]);
        const auto [wanted, s] = isLeaf ? sumOverRoots(i) : std::pair(oracle(i, last), sum(i, last));
        judgeOne(seeds_[i], run[seeds_[i]].gradCopy(), wanted, s,
                 isReversed ? "roots in reverse" : "roots in order");
      }
    }
    tape.zeroGrad();
    const auto roots = rootsOf(run, program_.roots);
    burtorch::backward(std::span<const burtorch::Value<double>>(roots));
    for (std::size_t i = 0; i < seeds_.size(); ++i) {
      const auto [wanted, s] = sumOverRoots(i);
      judgeOne(seeds_[i], run[seeds_[i]].gradCopy(), wanted, s, "all roots in one call");
    }
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      if (trace_.isLeaf(static_cast<int>(i)) || !needed_[0][i]) continue;
      for (std::size_t r = 1; r < n; ++r)
        if (needed_[r][i]) return count("several roots share inner nodes");
    }
  }
  std::pair<Real, Real> sumOverRoots(std::size_t seed) const {
    Real wanted = 0, s = 0;
    for (std::size_t r = 0; r < program_.roots.size(); ++r) {
      wanted += oracle(seed, r);
      s += sum(seed, r);
    }
    return {wanted, s};
  }

  /// What the program itself says its roots are: numbers of PyTorch, or written by hand.
  void checkExpectations() {
    if (program_.expectations.size() != program_.roots.size())
      fail("as many expectations as roots are needed");
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    TapeRun<double> run;
    run.run(program_);
    for (std::size_t r = 0; r < program_.roots.size(); ++r) {
      const Expectation& expected = program_.expectations[r];
      if (expected.gradients.size() != leaves_.size())
        fail("as many expected gradients as leaves are needed");
      tape.zeroGrad();
      burtorch::backward(run[program_.roots[r]]);
      const Real value = run[program_.roots[r]].dataCopy(), wanted = expected.value;
      // 1e-24: PyTorch's variance of equal numbers is a rounding error squared, ours is 0.
      if (std::abs(value - wanted) > 1e-12L * (trace_.error(program_.roots[r]) + std::abs(wanted)) + 1e-24L)
        fail("value of root " + std::to_string(r) + " is " + show(value) + ", expected " +
             show(expected.value));
      std::size_t leaf = 0;
      for (std::size_t i = 0; i < seeds_.size(); ++i) {
        if (!trace_.isLeaf(seeds_[i])) continue;
        while (leaves_[leaf] != seeds_[i]) ++leaf;
        // The gradient of such a variance is that rounding error too, where S is 0.
        judgeOne(seeds_[i], run[seeds_[i]].gradCopy(), expected.gradients[leaf], sum(i, r) + 1e-12L,
                 "expectation");
      }
    }
    count("expectations");
  }

  const Program& program_;
  Trace trace_;
  Random random_;
  Features& features_;
  std::vector<int> leaves_, seeds_;
  std::vector<std::vector<bool>> needed_;  // for each root
  std::vector<Real> oracle_, sums_;        // for each seed and root
};

/// Empty if all is well, otherwise what is not.
inline std::string checkProgram(const Program& program, Features& features) {
  try {
    Checker(program, features).run();
  } catch (const Mismatch& mismatch) {
    return mismatch.text;
  } catch (const burtorch::Error& error) {
    return std::string("the library refuses: ") + error.what();
  }
  return {};
}

}  // namespace graphs
