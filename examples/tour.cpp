// The tour: one function in every mode. docs/tour.md explains it, block by block.
#include <array>
#include <burtorch/burtorch.hpp>
#include <cstdio>
#include <vector>

using namespace burtorch;

// Figure 1 of the paper, for any number type.
constexpr auto figure1 = [](auto x) {
  auto a = x[0], b = x[1];
  auto c = a + b;
  auto d = a * b + pow3(b);
  auto e = c - d;
  return sqr(e) / 2.0;
};

// The same function as a graph that exists only while the program is compiled.
constexpr auto graph1 = compile(figure1);
static_assert(graph1.value(std::array{-41.0, 2.0}) == 612.5);
static_assert(graph1.grad(std::array{-41.0, 2.0})[1] == 1050);

// Polar coordinates: two outputs.
template <class X> struct Point { X radius, angle; };
constexpr auto polar = compile([](auto p) {
  return std::array{p.radius * cos(p.angle), p.radius * sin(p.angle)};
});

// A user's own operator: one struct, usable in every mode.
struct Swish : UnaryOp {
  static constexpr std::string_view name = "swish";
  template <class T> static T value(T x) { return x * sigmoid(x); }
  template <class T> static T vjp(T g, T x, T y) { return g * (y + sigmoid(x) * (T{1} - y)); }
};

int main() {
  const std::array<double, 2> point{-41, 2};

  std::printf("plain numbers     %g\n", figure1(point));

  Value a(point[0], "a"), b(point[1], "b");
  auto g = figure1(std::array{a, b});
  backward(g);
  std::printf("a tape            %g, gradient (%g, %g)\n", g.value(), a.grad(), b.grad());
  const TapeCapacity used = currentTape<double>().used();
  std::printf("                  %zu nodes, %zu bytes besides values and gradients\n", used.scalars,
              used.instructions * sizeof(Instruction) + used.words * sizeof(Word));
  std::printf("                  %s\n", asString(g).c_str());

  const auto [eager, slopes] = valueAndGrad(figure1, point);
  std::printf("in one call       %g, gradient (%g, %g)\n", eager, slopes[0], slopes[1]);

  const auto alongA = figure1(std::array{Dual(point[0], 1.0), Dual(point[1], 0.0)});
  std::printf("forward, along a  %g, derivative %g\n", alongA.value, alongA.tangent);

  const std::array<double, 2> direction{1, 0};
  std::array<double, 2> product{};
  hvp<double>(figure1, point, direction, product);
  std::printf("Hessian * (1, 0)  (%g, %g)\n", product[0], product[1]);

  const auto [value, gradient] = graph1.valueAndGrad(point);
  std::printf("compile-time      %g, gradient (%g, %g)\n", value, gradient[0], gradient[1]);
  std::printf("                  d/db alone %g\n", graph1.partial<1>(point));
  const auto hessian = graph1.hessian(point);
  std::printf("                  Hessian (%g, %g; %g, %g)\n", hessian[0][0], hessian[0][1], hessian[1][0],
              hessian[1][1]);

  const auto jacobian = polar.jacobian(Point<double>{2.0, 0.5});
  std::printf("Jacobian          (%.4f, %.4f; %.4f, %.4f)\n", jacobian[0].radius, jacobian[0].angle,
              jacobian[1].radius, jacobian[1].angle);

  std::vector<std::array<double, 2>> points, gradients(1000);
  for (int i = 0; i < 1000; ++i) points.push_back({-41.0 + i, 2.0});
  graph1.gradBatch(points, gradients);
  std::printf("a batch           the last of 1000 gradients: (%g, %g)\n", gradients[999][0],
              gradients[999][1]);

  auto recorded = record(figure1, point);
  std::array<double, 2> replayed{};
  const double replayedValue = recorded.valueAndGrad(std::array{3.0, 2.0}, replayed);
  std::printf("replay at (3, 2)  %g, gradient (%g, %g)\n", replayedValue, replayed[0], replayed[1]);

  // In the caller's memory: no allocation from here on.
  alignas(16) static std::byte memory[4096];
  Tape<double> tape(memory);
  CurrentTape here(tape);
  const auto w = tape.leaves(3, 0.5);
  double loss = 0;
  for (int step = 0; step < 60; ++step) {
    SampleScope sample(tape);  // forgets the graph at the end of the block, keeps the weights
    auto error = innerProduct(w, std::array{w[2], w[0], w[1]}) - 3.0;
    auto squared = sqr(error);
    loss = squared.value();
    zeroGrad(w);
    backward(squared);
    for (std::size_t i = 0; i < w.size(); ++i) w.values()[i] -= 0.02 * w.gradients()[i];
  }
  std::printf("60 steps in 4 KB  loss %.2g, w = (%.4f, %.4f, %.4f)\n", loss, w.values()[0], w.values()[1],
              w.values()[2]);

  const auto check = gradcheck([](auto x) { return apply<Swish>(x[0]) * x[1]; }, std::array{0.7, -1.3});
  std::printf("your operator     gradcheck %s\n", check ? "passes" : "FAILS");
  return check ? 0 : 1;
}
