// The tiny tour: one function, run on plain numbers, on a tape, forward, and for second derivatives.
#include <array>
#include <burtorch/burtorch.hpp>
#include <cstdio>

using namespace burtorch;

// Figure 1 of the paper, for any number type.
constexpr auto figure1 = [](auto x) {
  auto a = x[0], b = x[1];
  auto c = a + b;
  auto d = a * b + pow3(b);
  auto e = c - d;
  return sqr(e) / 2.0;
};

// A user's own operator: one struct, usable in every mode.
struct Swish : UnaryOp {
  static constexpr std::string_view name = "swish";
  template <class T> static T value(T x) { return x * sigmoid(x); }
  template <class T> static T slope(T g, T x, T y) { return g * (y + sigmoid(x) * (T{1} - y)); }
};

int main() {
  const std::array<double, 2> point{-41, 2};

  std::printf("1. plain numbers         g = %g\n", figure1(point));

  Value a(point[0], "a"), b(point[1], "b");
  auto g = figure1(std::array{a, b});
  backward(g);
  std::printf("2. a tape, backwards     g = %g, dg/da = %g, dg/db = %g\n", g.dataCopy(), a.gradCopy(),
              b.gradCopy());
  const Room used = currentTape<double>().used();
  std::printf("   on the tape           %zu nodes, %zu bytes besides values and gradients\n", used.scalars,
              used.instructions * sizeof(Instruction) + used.words * sizeof(Index));
  std::printf("   its root              %s\n", asString(g).c_str());

  const auto forward = figure1(std::array{Dual(point[0], 1.0), Dual(point[1], 0.0)});
  std::printf("3. forward, along a      g = %g, dg/da = %g\n", forward.value, forward.tangent);

  const std::array<double, 2> direction{1, 0};
  std::array<double, 2> product{};
  hessianVector<double>(figure1, point, direction, product);
  std::printf("4. Hessian times (1, 0)  (%g, %g)\n", product[0], product[1]);

  // Memory of the caller's, and nothing else: no allocation from here on.
  alignas(16) static std::byte memory[4096];
  Tape<double> tape(memory);
  CurrentTape here(tape);
  const auto w = tape.leaves(3, 0.5);
  double loss = 0;
  for (int step = 0; step < 60; ++step) {
    SampleScope sample(tape);  // forgets the graph at the end of the block, keeps the weights
    auto error = innerProduct(w, std::array{w[2], w[0], w[1]}) - 3.0;
    auto squared = sqr(error);
    loss = squared.dataCopy();
    zeroGrad(w);
    backward(squared);
    for (std::size_t i = 0; i < w.size(); ++i) w.values()[i] -= 0.02 * w.gradients()[i];
  }
  std::printf("5. 60 steps in 4 KB      loss = %.2g, w = (%.4f, %.4f, %.4f)\n", loss, w.values()[0],
              w.values()[1], w.values()[2]);

  const auto check = gradcheck([](auto x) { return apply<Swish>(x[0]) * x[1]; }, std::array{0.7, -1.3});
  std::printf("6. an operator of yours  gradcheck %s\n", check ? "passes" : "FAILS");
  return check ? 0 : 1;
}
