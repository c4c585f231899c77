// The mini GPT against PyTorch (reference/make_gpt.py).
#include <burtorch/model/gpt.hpp>

#include "model/parity.hpp"

namespace burtorch {
namespace {

constexpr std::size_t batch = 3, parameterCount = 46289;  // the paper's
template <class T> using Experiment = parity::Experiment<Gpt<T>, GptConfig>;

std::vector<double> reference() { return parity::reference("gpt.bin", parameterCount); }

TEST(Gpt, LossAndEveryGradientAreThoseOfPyTorch) {
  Experiment<double>({}, batch).expectGradient(reference(), {1, 2, 3}, 1e-12);
}
TEST(Gpt, InSinglePrecisionToo) { Experiment<float>({}, batch).expectGradient(reference(), {1, 2, 3}, 1e-5); }
TEST(Gpt, TenStepsFollowPyTorch) { Experiment<double>({}, batch).expectTenSteps(reference(), 1e-12); }
TEST(Gpt, TenStepsFollowPyTorchInSinglePrecision) {
  Experiment<float>({}, batch).expectTenSteps(reference(), 1e-5);
}

}  // namespace
}  // namespace burtorch
