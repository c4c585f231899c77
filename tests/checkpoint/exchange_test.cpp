// Models that PyTorch saved, with the loss that it found for them (reference/make_models.py). The way back needs PyTorch:
// reference/models_live.py.
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/scratch.hpp"
#include "reference/exchange_models.hpp"

namespace burtorch {
namespace exchange_test {

double lossSaidBy(const std::string& path) {
  return std::strtod(SafetensorsFile(path).metadata().at("loss").c_str(), nullptr);
}

TEST(ModelsFromPyTorch, AGptHasTheLossThatPyTorchFound) {
  const std::string path = BURTORCH_TEST_DATA "/torch_gpt.safetensors";
  EXPECT_NEAR(exchange::lossOfFile<exchange::Gpt>(path) / lossSaidBy(path), 1, 1e-12);
}
TEST(ModelsFromPyTorch, ACharMlpHasTheLossThatPyTorchFound) {
  const std::string path = BURTORCH_TEST_DATA "/torch_mlp.safetensors";
  EXPECT_NEAR(exchange::lossOfFile<exchange::CharMlp>(path) / lossSaidBy(path), 1, 1e-12);
}
TEST(ModelsFromPyTorch, SavedAgainTheyAreTheSameBytesOfNumbersUnderTheSameNames) {
  const Scratch scratch;
  const SafetensorsFile theirs(BURTORCH_TEST_DATA "/torch_gpt.safetensors");
  const exchange::Gpt<float> model;
  ParameterStore<float> parameters(model.layout());
  loadParameters(theirs, parameters);
  saveParameters(scratch.path("ours"), parameters);
  const SafetensorsFile ours(scratch.path("ours"));
  ASSERT_EQ(ours.tensors().size(), theirs.tensors().size());
  for (const TensorInfo& tensor : theirs.tensors()) {
    EXPECT_EQ(ours.tensor(tensor.name).shape, tensor.shape) << tensor.name;
    const auto a = ours.bytes(tensor.name), b = theirs.bytes(tensor);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << tensor.name;
  }
}
TEST(ModelsFromPyTorch, ALayerWithOneInputIsAMatrixThere) {
  const Scratch scratch;
  ParameterLayout layout;
  const Linear layer(layout, "layer", 1, 3);
  saveParameters(scratch.path("f"), ParameterStore<float>(layout));
  const SafetensorsFile file(scratch.path("f"));
  EXPECT_EQ(file.tensor("layer.weight").shape, (std::vector<std::uint64_t>{3, 1}));
  EXPECT_EQ(file.tensor("layer.bias").shape, std::vector<std::uint64_t>{3});
}

}  // namespace exchange_test
}  // namespace burtorch
