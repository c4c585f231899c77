// What packs bring: the gradient of the small graph at many inputs, a lane for each, on one tape; and the functions of packs
// beside those of the C library, number by number.
#include <algorithm>
#include <burtorch/base/rng.hpp>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <memory>

#include "harness.hpp"
#include "small_graph.hpp"

namespace bench {
namespace {

using burtorch::Pack;
using burtorch::Value;

// ---- the small graph ----

constexpr std::size_t inputCount = 100'000;

/// Inputs around those of the listing.
struct Inputs {
  std::vector<double> a, b;

  Inputs() : a(inputCount), b(inputCount) {
    burtorch::Rng random(11);
    for (double& x : a) x = Small::a + 0.1 * random.uniform<double>() - 0.05;
    for (double& x : b) x = Small::b + 0.1 * random.uniform<double>() - 0.05;
  }
};
const Inputs& inputs() {
  static const Inputs all;
  return all;
}

/// The gradients with respect to a, then to b.
template <class N> struct Gradients { std::vector<N> a = std::vector<N>(inputCount), b = a; };
template <class N> std::vector<double> flat(const Gradients<N>& g) {
  std::vector<double> all(g.a.begin(), g.a.end());
  all.insert(all.end(), g.b.begin(), g.b.end());
  return all;
}

template <class T> struct LanesOf {
  using Number = T;
  static constexpr std::size_t count = 1;
  static T load(const T* from) { return *from; }
  static void store(T* to, const T& x) { *to = x; }
};
template <class N, std::size_t n> struct LanesOf<Pack<N, n>> {
  using Number = N;
  static constexpr std::size_t count = n;
  static Pack<N, n> load(const N* from) { return Pack<N, n>::load(from); }
  static void store(N* to, const Pack<N, n>& x) { x.store(to); }
};

/// On a tape of T, as many inputs at once as T has lanes.
template <class T> class OnTape {
  using Lanes = LanesOf<T>;
  using N = typename Lanes::Number;
  static_assert(inputCount % Lanes::count == 0);

 public:
  OnTape() : a_(inputs().a.begin(), inputs().a.end()), b_(inputs().b.begin(), inputs().b.end()) {}
  [[gnu::noinline]] void run(long passes) {
    burtorch::CurrentTape here(tape_);
    for (long pass = 0; pass < passes; ++pass)
      for (std::size_t i = 0; i < inputCount; i += Lanes::count) {
        tape_.clear();
        Value<T> x(Lanes::load(a_.data() + i)), y(Lanes::load(b_.data() + i));
        backward(Small::graphWithConstants(x, y));
        Lanes::store(gradients_.a.data() + i, x.grad());
        Lanes::store(gradients_.b.data() + i, y.grad());
      }
  }
  std::vector<double> gradient() const { return flat(gradients_); }

 private:
  burtorch::Tape<T> tape_;
  std::vector<N> a_, b_;
  Gradients<N> gradients_;
};

template <class T> Contestant onTape(const std::string& mode) {
  const auto tape = std::make_shared<OnTape<T>>();
  return {.system = "burtorch",
          .mode = mode,
          .run = [tape](long passes) { tape->run(passes); },
          .gradient = [tape] { return tape->gradient(); },
          .params = {{"lanes", static_cast<double>(LanesOf<T>::count)}},
          .dtype = sizeof(typename LanesOf<T>::Number) == 4 ? "fp32" : "fp64"};
}

void graphRows(const Options& options, std::vector<Row>& rows) {
  Gradients<double> byHand;
  const auto handwritten = [&byHand](long passes) {
    for (long pass = 0; pass < passes; ++pass) {
      asm volatile("" ::: "memory");
      for (std::size_t i = 0; i < inputCount; ++i) {
        const auto g = limits::small(inputs().a[i], inputs().b[i]);
        byHand.a[i] = g.a, byHand.b[i] = g.b;
      }
    }
  };
  handwritten(1);
  auto found = compare(options,
                       {.experiment = "pack",
                        .iterations = options.isQuick ? 1 : 4,
                        .answers = {{flat(byHand)}},
                        .unit = {"burtorch", "eager"}},
                       {{.system = "limit",
                         .mode = "by-hand",
                         .run = handwritten,
                         .gradient = [&byHand] { return flat(byHand); }},
                        onTape<double>("eager"),
                        onTape<Pack<double, 2>>("eager-pack"),
                        onTape<Pack<double, 4>>("eager-pack"),
                        onTape<Pack<double, 8>>("eager-pack"),
                        onTape<float>("eager-fp32"),
                        onTape<Pack<float, 4>>("eager-pack"),
                        onTape<Pack<float, 8>>("eager-pack"),
                        onTape<Pack<float, 16>>("eager-pack")});
  for (Row& row : found) {
    row.params.insert(row.params.begin(), {"inputs", static_cast<double>(inputCount)});
    row.extra.push_back({"ns_per_input", row.nsMin / static_cast<double>(inputCount)});
    rows.push_back(row);
  }
}

// ---- functions ----

/// A function of packs and of plain numbers, and where it is asked for: where results are ordinary numbers.
struct Function {
  const char* name;
  double low, high;
};
#define BENCH_FUNCTION(Name, low, high)                        \
  struct Name##Function : Function {                           \
    constexpr Name##Function() : Function{#Name, low, high} {} \
    template <class X> static X of(const X& x) {               \
      using std::Name;                                         \
      return Name(x);                                          \
    }                                                          \
  };
BENCH_FUNCTION(exp, -80, 80)
BENCH_FUNCTION(log, 1e-3, 1e3)
BENCH_FUNCTION(tanh, -8, 8)
BENCH_FUNCTION(erf, -3.5, 3.5)
BENCH_FUNCTION(sin, -100, 100)
BENCH_FUNCTION(cos, -100, 100)
BENCH_FUNCTION(log1p, -0.9, 100)
BENCH_FUNCTION(expm1, -20, 40)
BENCH_FUNCTION(atan, -20, 20)
#undef BENCH_FUNCTION
struct SigmoidFunction : Function {
  constexpr SigmoidFunction() : Function{"sigmoid", -20, 20} {}
  template <class X> static X of(const X& x) { return burtorch::ops::Sigmoid::value(x); }
};

template <class N> double ulpError(N found, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return static_cast<double>(std::fabs(found - exact) /
                             std::ldexp(1.0L, exponent - std::numeric_limits<N>::digits));
}

template <class F, class N> class FunctionRun {
 public:
  static constexpr std::size_t count = 4096;
  FunctionRun() : x_(count), y_(count) {
    burtorch::Rng random(17);
    for (N& x : x_) x = static_cast<N>(F().low + (F().high - F().low) * random.uniform<double>());
  }
  [[gnu::noinline]] void byLibrary(long passes) {
    for (long pass = 0; pass < passes; ++pass) {
      for (std::size_t i = 0; i < count; ++i) y_[i] = F::of(x_[i]);
      asm volatile("" ::"r"(y_.data()) : "memory");
    }
  }
  [[gnu::noinline]] void byPacks(long passes) {
    using P = Pack<N>;
    for (long pass = 0; pass < passes; ++pass) {
      for (std::size_t i = 0; i < count; i += P::count) F::of(P::load(x_.data() + i)).store(y_.data() + i);
      asm volatile("" ::"r"(y_.data()) : "memory");
    }
  }
  std::vector<double> found() const { return {y_.begin(), y_.end()}; }
  std::vector<double> exact() const {
    std::vector<double> all;
    for (const N x : x_) all.push_back(static_cast<double>(F::of(static_cast<long double>(x))));
    return all;
  }
  double ulps() const {
    double most = 0;
    for (std::size_t i = 0; i < count; ++i)
      most = std::max(most, ulpError(y_[i], F::of(static_cast<long double>(x_[i]))));
    return most;
  }

 private:
  std::vector<N> x_, y_;
};

template <class F, class N> void functionRows(const Options& options, std::vector<Row>& rows) {
  FunctionRun<F, N> library, packs;
  library.byLibrary(1), packs.byPacks(1);
  const Figures params{{"function", std::string(F().name)}};
  const auto contestant = [&](const char* system, const char* mode, auto run, FunctionRun<F, N>& at) {
    return Contestant{.system = system,
                      .mode = mode,
                      .run = run,
                      .gradient = [&at] { return at.found(); },
                      .params = params,
                      .dtype = sizeof(N) == 4 ? "fp32" : "fp64",
                      .extra = {{"ulp", at.ulps()}}};
  };
  auto found = compare(options,
                       {.experiment = "pack",
                        .iterations = options.isQuick ? 20 : 100,
                        .answers = {{library.exact()}},
                        .unit = {"limit", "libm"},
                        .dtype = sizeof(N) == 4 ? "fp32" : "fp64",
                        .work = "value",
                        .tolerance = 1e-14},
                       {contestant(
                            "limit", "libm", [&](long passes) { library.byLibrary(passes); }, library),
                        contestant(
                            "burtorch", "pack", [&](long passes) { packs.byPacks(passes); }, packs)});
  for (Row& row : found) {
    row.extra.push_back({"ns_per_number", row.nsMin / static_cast<double>(FunctionRun<F, N>::count)});
    if (row.ratioToLimit > 0 && row.system == "burtorch")
      row.extra.push_back({"times_libm", 1 / row.ratioToLimit});
    rows.push_back(row);
  }
}

}  // namespace

std::vector<Row> pack(const Options& options) {
  std::vector<Row> rows;
  graphRows(options, rows);
  const auto functions = [&]<class... F>(const F&...) {
    (functionRows<F, float>(options, rows), ...);
    (functionRows<F, double>(options, rows), ...);
  };
  functions(expFunction(), logFunction(), tanhFunction(), SigmoidFunction(), erfFunction(), sinFunction(),
            cosFunction(), log1pFunction(), expm1Function(), atanFunction());
  return rows;
}

}  // namespace bench
