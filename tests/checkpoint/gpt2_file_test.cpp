// GPT-2 in Hugging Face's files. That transformers agree is the matter of gpt2_live.py.
#include <burtorch/checkpoint/gpt2_file.hpp>

#include <gtest/gtest.h>

#include <burtorch/core/backward.hpp>
#include <cstdint>
#include <fstream>
#include <map>

#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace gpt2_file_test {

namespace fs = std::filesystem;

const GptConfig config{.vocabulary = 7,
                       .context = 5,
                       .width = 6,
                       .layers = 2,
                       .heads = 3,
                       .hidden = 11,
                       .finalNorm = true,
                       .hasAttentionBias = true,
                       .isTied = true,
                       .activation = Activation::geluTanh};
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Tensors by name, to be damaged and written.
struct Tensors {
  std::map<std::string, std::pair<std::vector<std::uint64_t>, std::vector<float>>> all;

  explicit Tensors(const std::string& path) {
    const SafetensorsFile file(path);
    for (const TensorInfo& tensor : file.tensors()) {
      std::vector<float> numbers(tensor.bytes() / 4);
      file.read(tensor.name, std::span(numbers));
      all[tensor.name] = {tensor.shape, numbers};
    }
  }
  void save(const std::string& path) const {
    std::vector<TensorView> views;
    for (const auto& [name, tensor] : all)
      views.emplace_back(name, tensor.first, std::span<const float>(tensor.second));
    saveSafetensors(path, views);
  }
};

class Gpt2Files : public testing::Test {
 protected:
  Gpt2Files() : gpt(config), parameters(gpt.layout(), 3) {
    for (float& x : parameters.values()) x += 0.01f;  // no bias is zero
  }
  std::string save() {
    const std::string folder = scratch.path("gpt2");
    fs::create_directories(folder);
    saveGpt2(folder, gpt, parameters);
    return folder;
  }
  /// What is said of files whose tensors were changed.
  template <class Change> std::string refusalAfter(Change change) {
    const std::string folder = save(), path = folder + "/model.safetensors";
    Tensors tensors(path);
    change(tensors);
    tensors.save(path);
    return sentenceOf([&] { const Gpt2File file(folder); });
  }

  Scratch scratch;
  Gpt<float> gpt;
  ParameterStore<float> parameters;
};

TEST_F(Gpt2Files, SavedAndLoadedAreTheSameBits) {
  const Gpt2File file(save());
  EXPECT_EQ(file.config().hiddenWidth(), 11u);
  const Gpt<float> again(file.config());
  ParameterStore<float> loaded(again.layout());
  file.load(again, loaded);
  EXPECT_TRUE(std::ranges::equal(loaded.values(), parameters.values()));
}
TEST_F(Gpt2Files, NamesAndShapesAreTheirs) {
  const SafetensorsFile file(save() + "/model.safetensors");
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.tensors().size(), 2u + 2 * 12 + 2);
  using Shape = std::vector<std::uint64_t>;
  EXPECT_EQ(file.tensor("transformer.wte.weight").shape, (Shape{7, 6}));
  EXPECT_EQ(file.tensor("transformer.h.1.attn.c_attn.weight").shape, (Shape{6, 18}));
  EXPECT_EQ(file.tensor("transformer.h.1.attn.c_attn.bias").shape, (Shape{18}));
  EXPECT_EQ(file.tensor("transformer.h.0.mlp.c_fc.weight").shape, (Shape{6, 11}));
  EXPECT_EQ(file.tensor("transformer.h.0.mlp.c_proj.weight").shape, (Shape{11, 6}));
  EXPECT_EQ(file.tensor("transformer.ln_f.bias").shape, (Shape{6}));
  // [inputs][outputs]
  const Parameter expand = gpt.layout().blocks()[10];
  ASSERT_EQ(gpt.layout().name(expand), "blocks.0.mlp.fc1.weight");
  std::vector<float> theirs(6 * 11);
  file.read("transformer.h.0.mlp.c_fc.weight", std::span(theirs));
  EXPECT_EQ(theirs[4 * 11 + 7], parameters.values(expand)[7 * 6 + 4]);
}
TEST_F(Gpt2Files, WithoutPrefixWithMasksAndASecondHeadTheyLoadToo) {
  const std::string folder = save(), path = folder + "/model.safetensors";
  Tensors tensors(path), plain(path);
  plain.all.clear();
  for (const auto& [name, tensor] : tensors.all) plain.all[name.substr(gpt2::prefix.size())] = tensor;
  plain.all["lm_head.weight"] = plain.all["wte.weight"];
  plain.all["h.0.attn.bias"] = {{1, 1, 5, 5}, std::vector<float>(25)};
  plain.all["h.1.attn.masked_bias"] = {{}, {-1e4f}};
  plain.save(path);
  const Gpt2File file(path);  // the path of the file itself
  ParameterStore<float> loaded(gpt.layout());
  file.load(gpt, loaded);
  EXPECT_TRUE(std::ranges::equal(loaded.values(), parameters.values()));
}
TEST_F(Gpt2Files, BiasesThatAreMissingAreZerosAndPaddedRowsAreLeftOut) {
  GptConfig plain = config;
  plain.hasBiases = plain.hasAttentionBias = false;
  plain.paddedVocabulary = 16;
  const Gpt<double> model(plain);
  ParameterStore<double> numbers(model.layout(), 5);
  const std::string folder = scratch.path("plain");
  fs::create_directories(folder);
  saveGpt2(folder, model, numbers);
  const Gpt2File file(folder);
  EXPECT_EQ(file.config().vocabularyRows(), 7u);
  const Gpt<double> again(file.config());
  ParameterStore<double> loaded(again.layout());
  file.load(again, loaded);
  const auto logitsOf = [](const Gpt<double>& of, ParameterStore<double>& at) {
    Tape<double> tape(at);
    const CurrentTape here(tape);
    const auto all = of.logits(std::vector<TokenId>{1, 6, 0, 3, 2});
    std::vector<double> logits;
    for (std::size_t i = 0; i < 7; ++i)
      for (std::size_t c = 0; c < 5; ++c) logits.push_back(all(i, c).value());
    return logits;
  };
  EXPECT_EQ(logitsOf(again, loaded), logitsOf(model, numbers));
}
TEST_F(Gpt2Files, RefusesTensorsThatAreNotThoseOfTheConfiguration) {
  EXPECT_TRUE(contains(refusalAfter([](Tensors& t) { t.all.erase("transformer.h.1.mlp.c_fc.bias"); }),
                       "lacks the tensor 'transformer.h.1.mlp.c_fc.bias' of shape [11]"));
  EXPECT_TRUE(contains(refusalAfter([](Tensors& t) {
                         t.all["more"] = {{1}, {0}};
                       }),
                       "has the tensor 'more', which a GPT-2 has not"));
  EXPECT_TRUE(contains(refusalAfter([](Tensors& t) {
                         t.all["transformer.h.0.mlp.c_fc.weight"].first = {11, 6};
                       }),
                       "of shape [11,6], but its configuration asks for [6,11]"));
}
TEST_F(Gpt2Files, ASmallFileCannotAskForALargeModel) {
  const std::string folder = save();
  const auto refusalOf = [&](const std::string& sizes) {
    std::ofstream(folder + "/config.json") << "{" << sizes << "}";
    return sentenceOf([&] { const Gpt2File file(folder); });
  };
  EXPECT_TRUE(contains(
      refusalOf(R"("n_layer": 4000000000, "n_head": 3, "n_embd": 6, "n_positions": 5, "vocab_size": 7)"),
      "too few for the 4000000000 layers"));
  EXPECT_TRUE(
      contains(refusalOf(R"("n_layer": 2, "n_head": 1, "n_embd": 4000, "n_positions": 5, "vocab_size": 7)"),
               "of shape [7,6], but its configuration asks for [7,4000]"));
  EXPECT_NE(
      refusalOf(R"("n_layer": 2, "n_head": 3, "n_embd": 3000000000, "n_positions": 5, "vocab_size": 7)"), "");
}
TEST_F(Gpt2Files, FilesThatAreCutOrMissingAreErrors) {
  const std::string folder = save(), path = folder + "/model.safetensors";
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_NE(sentenceOf([&] { const Gpt2File file(folder); }), "");
  fs::remove(folder + "/config.json");
  save();
  fs::remove(folder + "/config.json");
  EXPECT_TRUE(contains(sentenceOf([&] { const Gpt2File file(folder); }), "config.json"));
}
TEST_F(Gpt2Files, AStoreOfAnotherSizeIsRefusedAndUntouched) {
  const Gpt2File file(save());
  GptConfig other = config;
  other.hidden = 12;
  const Gpt<float> larger(other);
  ParameterStore<float> numbers(larger.layout(), 9);
  const std::vector<float> before(numbers.values().begin(), numbers.values().end());
  EXPECT_TRUE(contains(sentenceOf([&] { file.load(larger, numbers); }), "but its configuration asks for"));
  EXPECT_TRUE(std::ranges::equal(numbers.values(), before));
}

}  // namespace gpt2_file_test
}  // namespace burtorch
