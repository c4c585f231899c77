// Training on a tape without an operating system, a heap, exceptions or threads. Everything lies in one static buffer.
// Returns 0 if both networks have learned.
#include <burtorch/core/backward.hpp>

#include "board.hpp"
#include "networks.hpp"

namespace {

using namespace burtorch;

/// No names, no allocator, one current tape for the program, and of the operators only these.
constexpr Config small{
    .names = false,
    .allocates = false,
    .threads = false,
    .ops = onlyOps<ops::Add, ops::Sub, ops::Mul, ops::SubFromConst, ops::Relu, ops::Sqr, ops::Tanh>};
using Number = Value<float, small>;
using SmallTape = Tape<float, small>;
using Weights = Range<float, small>;
using Samples = std::span<const Sample<float>>;

/// What one sample of the larger network takes.
constexpr TapeCapacity room{.scalars = 1024, .instructions = 688, .words = 2};
alignas(8) std::byte memory[SmallTape::requiredBytes(room)];

/// A step of gradient descent on the mean loss of all samples, which it returns.
template <class Loss>
float step(SmallTape& tape, const Loss& loss, const Weights& weights, Samples samples, float rate) {
  float total = 0;
  for (const auto& [x, y, label] : samples) {
    SampleScope sample(tape);
    const Number root = loss(weights, Sample<Number>{x, y, label});
    total += root.value();
    backward(root);
  }
  const float share = 1 / static_cast<float>(samples.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights.values()[i] -= rate * share * weights.gradients()[i];
  zeroGrad(weights);
  return total * share;
}

template <class Loss>
float train(SmallTape& tape, const Loss& loss, const Weights& weights, Samples samples, float rate,
            std::uint32_t steps) {
  float last = 0;
  for (std::uint32_t k = 0; k <= steps; ++k) {
    last = step(tape, loss, weights, samples, rate);
    if (k % (steps / 5) == 0) board::printStep(k, last);
  }
  return last;
}

bool learnExclusiveOr(SmallTape& tape, Rng& rng) {
  board::print("exclusive or, 2-4-1\n");
  const SampleScope everything(tape);
  const Weights weights = tape.leaves(exclusive_or::parameterCount);
  draw(draw(weights.values(), 2, exclusive_or::width, rng), exclusive_or::width, 1, rng);
  return train(tape, exclusive_or::loss, weights, exclusive_or::samples, exclusive_or::rate,
               exclusive_or::steps) < 0.01f;
}

bool learnTwoMoons(SmallTape& tape, Rng& rng) {
  board::print("two moons, 2-16-16-1\n");
  const SampleScope everything(tape);
  const Weights weights = tape.leaves(moons::parameterCount);
  const auto second = draw(weights.values(), 2, moons::width, rng);
  draw(draw(second, moons::width, moons::width, rng), moons::width, 1, rng);
  const auto samples = moons::points<40>(rng);
  train(tape, moons::loss, weights, samples, moons::rate, moons::steps);

  std::uint32_t right = 0;
  for (const auto& [x, y, label] : samples) {
    SampleScope sample(tape);
    if (moons::score(weights, Sample<Number>{x, y, label}).value() * label > 0) ++right;
  }
  board::print(right);
  board::print(" of 40 points on the right side; weights ");
  board::printFingerprint(weights.values());
  return right == samples.size();
}

}  // namespace

int main() {
  setFailureHandler([](const char* sentence) {
    board::print(sentence);
    board::print("\n");
  });
  SmallTape tape(memory, room);
  CurrentTape here(tape);
  Rng rng(2);
  const bool isXorLearned = learnExclusiveOr(tape, rng);
  return learnTwoMoons(tape, rng) && isXorLearned ? 0 : 1;
}
