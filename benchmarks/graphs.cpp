// Tables 2 and 3 of the paper: one gradient of the tiny graph (Figure 1) and of the small one (Figure 2, Listing F.8),
// FP64, the graph built anew each time. The unit is the gradient by hand whose input depends on the last output.
#include <burtorch/burtorch.hpp>

#include "harness.hpp"
#include "limits/graphs.hpp"
#include "small_graph.hpp"

namespace bench {
namespace {

using burtorch::backward;
using burtorch::Value;

/// Figure 1, 10 nodes.
struct Tiny {
  static constexpr const char* name = "tiny";
  static constexpr double a = -41, b = 2;
  static constexpr long iterations = 100000;
  static Answer reference() { return {{-35, 1050}, 612.5}; }

  template <class X> [[gnu::always_inline]] static constexpr X graph(X x, X y) {
    auto c = x + y;
    auto d = x * y + pow3(y);
    auto e = c - d;
    auto f = sqr(e);
    return f / X(2.0);
  }
  template <class X> [[gnu::always_inline]] static constexpr X graphWithConstants(X x, X y) {
    auto e = (x + y) - (x * y + pow3(y));
    return sqr(e) / 2.0;
  }
  template <class V> [[gnu::always_inline]] static limits::Gradient<V> byHand(const V& x, const V& y) {
    return limits::tiny(x, y);
  }
};

limits::Gradient<double> found;
constexpr double unknown = 0;  // forms that work on arrays hand over gradients alone

enum class Inputs { independent, dependent };

/// By hand, in registers.
template <class Graph, Inputs inputs> [[gnu::noinline]] void byHand(long iterations) {
  double a = Graph::a, b = Graph::b;
  limits::Gradient<double> g{};
  for (long i = 0; i < iterations; ++i) {
    launder(a), launder(b);
    g = Graph::byHand(a, b);
    launder(g.value), launder(g.a), launder(g.b);
    if constexpr (inputs == Inputs::dependent) a = Graph::a + 0 * g.a;
  }
  found = g;
}

/// By hand, arrays of inputs, four at once.
template <class Graph> [[gnu::noinline]] void byHandVectorised(long iterations) {
  using V [[gnu::vector_size(32)]] = double;
  constexpr long width = 4, count = 256;
  static V as[count / width], bs[count / width], das[count / width], dbs[count / width];
  for (long i = 0; i < count / width; ++i) as[i] = V{} + Graph::a, bs[i] = V{} + Graph::b;
  for (long done = 0; done < iterations; done += count) {
    asm volatile("" ::"r"(as), "r"(bs) : "memory");
    for (long i = 0; i < count / width; ++i) {
      const auto g = Graph::byHand(as[i], bs[i]);
      das[i] = g.a, dbs[i] = g.b;
    }
    asm volatile("" ::"r"(das), "r"(dbs) : "memory");
  }
  found = {unknown, das[3][1], dbs[3][1]};
}

/// Listing F.8 in a loop: record, sweep, rewind. Nodes of constants are leaves, as in the listing, or no nodes at all.
enum class Constants { leaves, plain };
template <class Graph, Inputs inputs, Constants constants> [[gnu::noinline]] void eager(long iterations) {
  auto& tape = burtorch::currentTape<double>();
  const auto start = tape.mark();
  double a = Graph::a, b = Graph::b;
  for (long i = 0; i < iterations; ++i) {
    tape.rewind(start);
    launder(a), launder(b);
    Value x(a), y(b);
    Value<double> root;
    if constexpr (constants == Constants::leaves)
      root = Graph::graph(x, y);
    else
      root = Graph::graphWithConstants(x, y);
    backward(root);
    found = {root.value(), x.grad(), y.grad()};
    if constexpr (inputs == Inputs::dependent) a = Graph::a + 0 * found.a;
  }
  tape.rewind(start);
}

/// The graph compiled: straight-line code.
template <class Graph>
inline constexpr auto compiled = burtorch::compile([](auto x, auto y) {
  return Graph::graphWithConstants(x, y);
});

template <class Graph, Inputs inputs> [[gnu::noinline]] void compiledGraph(long iterations) {
  double a = Graph::a, b = Graph::b;
  limits::Gradient<double> g{};
  for (long i = 0; i < iterations; ++i) {
    launder(a), launder(b);
    const auto [value, gradient] = compiled<Graph>.valueAndGrad(a, b);
    g = {value, gradient[0], gradient[1]};
    launder(g.value), launder(g.a), launder(g.b);
    if constexpr (inputs == Inputs::dependent) a = Graph::a + 0 * g.a;
  }
  found = g;
}

/// Arrays of inputs, a pack at once.
template <class Graph> [[gnu::noinline]] void compiledBatch(long iterations) {
  constexpr long count = 256;
  static std::array<double, count> as, bs, das, dbs;
  as.fill(Graph::a), bs.fill(Graph::b);
  for (long done = 0; done < iterations; done += count) {
    asm volatile("" ::"r"(as.data()), "r"(bs.data()) : "memory");
    compiled<Graph>.gradBatch(as, bs, das, dbs);
    asm volatile("" ::"r"(das.data()), "r"(dbs.data()) : "memory");
  }
  found = {unknown, das[13], dbs[13]};
}

/// The same through backwardWithScratchStorage.
template <class Graph> [[gnu::noinline]] void withScratch(long iterations) {
  auto& tape = burtorch::currentTape<double>();
  const auto start = tape.mark();
  std::uint64_t scratch[4];
  double a = Graph::a, b = Graph::b;
  for (long i = 0; i < iterations; ++i) {
    tape.rewind(start);
    launder(a), launder(b);
    Value x(a), y(b);
    const Value<double> root = Graph::graph(x, y);
    backwardWithScratchStorage(root, std::span(scratch));
    found = {root.value(), x.grad(), y.grad()};
  }
  tape.rewind(start);
}

/// Recorded once, then replayed: one input at a time, or arrays of inputs.
template <class Graph> auto recorded() {
  return burtorch::record([](auto x) { return Graph::graphWithConstants(x[0], x[1]); },
                          std::array{Graph::a, Graph::b});
}
template <class Graph> [[gnu::noinline]] void replayed(long iterations) {
  static auto graph = recorded<Graph>();
  std::array<double, 2> x{Graph::a, Graph::b}, g{};
  double value = 0;
  for (long i = 0; i < iterations; ++i) {
    launder(x[0]), launder(x[1]);
    value = graph.valueAndGrad(x, g);
    launder(value), launder(g[0]), launder(g[1]);
  }
  found = {value, g[0], g[1]};
}
template <class Graph> [[gnu::noinline]] void replayedBatch(long iterations) {
  static auto graph = recorded<Graph>();
  constexpr long count = 256;
  static std::array<double, 2 * count> xs, gs;
  for (std::size_t i = 0; i < xs.size(); i += 2) xs[i] = Graph::a, xs[i + 1] = Graph::b;
  for (long done = 0; done < iterations; done += count) {
    asm volatile("" ::"r"(xs.data()) : "memory");
    graph.gradBatch(xs, gs);
    asm volatile("" ::"r"(gs.data()) : "memory");
  }
  found = {unknown, gs[26], gs[27]};
}

template <class Graph> std::vector<Contestant> contestantsOf() {
  const auto gradient = [] { return std::vector{found.a, found.b}; };
  const auto value = [] { return found.value; };
  return {
      {"limit", "dependent", byHand<Graph, Inputs::dependent>, gradient, value},
      {"limit", "independent", byHand<Graph, Inputs::independent>, gradient, value},
      {"limit", "vectorised", byHandVectorised<Graph>, gradient},
      {"burtorch", "eager", eager<Graph, Inputs::independent, Constants::leaves>, gradient, value},
      {"burtorch", "eager-dependent", eager<Graph, Inputs::dependent, Constants::leaves>, gradient, value},
      {"burtorch", "eager-plain-constants", eager<Graph, Inputs::independent, Constants::plain>, gradient,
       value},
      {"burtorch", "scratch", withScratch<Graph>, gradient, value},
      {"burtorch", "static-dependent", compiledGraph<Graph, Inputs::dependent>, gradient, value},
      {"burtorch", "static", compiledGraph<Graph, Inputs::independent>, gradient, value},
      {"burtorch", "static-batch", compiledBatch<Graph>, gradient},
      {"burtorch", "replay", replayed<Graph>, gradient, value},
      {"burtorch", "replay-batch", replayedBatch<Graph>, gradient},
  };
}

template <class Graph> Trial trialOf(const Options& options) {
  return {.experiment = Graph::name,
          .iterations = options.isQuick ? Graph::iterations / 4 : Graph::iterations,
          .answers = {Graph::reference()},
          .unit = {"limit", "dependent"},
          .peers = {.settings = {{"a", Graph::a}, {"b", Graph::b}}}};
}

template <class Graph> std::vector<Row> compareGraph(const Options& options) {
  auto rows = compare(options, trialOf<Graph>(options), contestantsOf<Graph>());
  // What the recorded graph takes.
  burtorch::Tape<double> tape;
  burtorch::CurrentTape here(tape);
  Value x(Graph::a), y(Graph::b);
  Graph::graph(x, y);
  const auto used = tape.used();
  const double bytes = static_cast<double>(used.instructions * sizeof(burtorch::Instruction) +
                                           used.words * sizeof(burtorch::Word));
  for (Row& row : rows)
    if (row.system == "burtorch" && row.mode == "eager")
      row.extra = {{"nodes", static_cast<double>(used.scalars)},
                   {"bytes_per_node_besides_value_and_gradient", bytes / static_cast<double>(used.scalars)}};
  return rows;
}

}  // namespace

Trial tinyTrial(const Options& options) { return trialOf<Tiny>(options); }
std::vector<Row> tiny(const Options& options) { return compareGraph<Tiny>(options); }
std::vector<Row> small(const Options& options) { return compareGraph<Small>(options); }
std::vector<Row> energy(const Options& options) {
  return spent(options, trialOf<Small>(options), contestantsOf<Small>());
}

}  // namespace bench
