// A small network on layers: learns x * y from eight points, with the optimiser of its choice.
#include <burtorch/learn.hpp>
#include <cstdio>

int main() {
  using namespace burtorch;
  const Mlp<float> mlp({.sizes = {2, 16, 16, 1}, .hidden = Activation::tanh});
  ParameterStore<float> parameters(mlp.layout());
  Optimizer<float, AdamW> optimizer(AdamW{.learningRate = 1e-2}, parameters.size());
  Tape<float> tape(parameters);
  CurrentTape here(tape);

  // A column is a sample: two numbers and what the network should make of them.
  const float points[2][8] = {{-1, -1, -1, 0, 0, 1, 1, 1}, {-1, 0.5, 1, -1, 1, -1, 0.5, 1}};
  const Matrix<float> x(tape.leaves(2 * 8), 2, 8), wanted(tape.leaves(8), 1, 8);
  for (std::size_t i = 0; i < 8; ++i) {
    x.values()[i] = points[0][i];
    x.values()[8 + i] = points[1][i];
    wanted.values()[i] = points[0][i] * points[1][i];
  }
  for (int step = 0; step <= 400; ++step) {
    const SampleScope sample(tape);
    const auto loss = meanSquaredError(mlp(x), wanted);
    zeroGrad(parameters);
    backward(loss);
    optimizer.step(parameters.values(), parameters.gradients());
    if (step % 100 == 0) std::printf("step %3d  loss %.5f\n", step, static_cast<double>(loss.value()));
  }
}
