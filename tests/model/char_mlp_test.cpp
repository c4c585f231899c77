// The char MLP against PyTorch (reference/make_char_mlp.py).
#include <burtorch/model/char_mlp.hpp>

#include "model/parity.hpp"

namespace burtorch {
namespace char_mlp_test {

constexpr std::size_t batch = 11, hidden = 4;
template <class T> using Experiment = parity::Experiment<CharMlp<T>, CharMlpConfig>;

std::vector<double> reference() { return parity::reference("char_mlp.bin", 1052 * hidden + 1755); }

TEST(CharMlp, LossAndEveryGradientAreThoseOfPyTorch) {
  Experiment<double>({.hidden = hidden}, batch).expectGradient(reference(), {1, 2, 8, 11, 64}, 1e-12);
}
TEST(CharMlp, InSinglePrecisionToo) {
  Experiment<float>({.hidden = hidden}, batch).expectGradient(reference(), {1, 2, 8, 11, 64}, 1e-5);
}
TEST(CharMlp, TenStepsFollowPyTorch) {
  Experiment<double>({.hidden = hidden}, batch).expectTenSteps(reference(), 1e-12);
}
TEST(CharMlp, TenStepsFollowPyTorchInSinglePrecision) {
  Experiment<float>({.hidden = hidden}, batch).expectTenSteps(reference(), 1e-5);
}
TEST(CharMlp, HasThePapersNumberOfParameters) {
  EXPECT_EQ(CharMlp<float>({.hidden = 1024}).layout().size(), 1079003u);
}

}  // namespace char_mlp_test
}  // namespace burtorch
