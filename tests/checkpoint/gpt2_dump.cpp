// For gpt2_live.py: loads a GPT-2 of Hugging Face's files, writes what it computes and saves it again.
//
// usage: gpt2_dump DIR TOKENS TARGETS RESULTS COPY     tokens and targets are decimal numbers, comma-separated, whole contexts
// RESULTS is a safetensors file: the logits [positions][vocabulary], the loss, and the gradients under our names. COPY is a
// folder for what saveGpt2 writes.
#include <burtorch/checkpoint/gpt2_file.hpp>
#include <burtorch/core/backward.hpp>
#include <cstdio>
#include <exception>
#include <sstream>

using namespace burtorch;

namespace {

std::vector<TokenId> listOf(const std::string& text) {
  std::vector<TokenId> tokens;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');)
    tokens.push_back(static_cast<TokenId>(std::stoul(word)));
  return tokens;
}

void run(char** arguments) {
  const Gpt2File file(arguments[1]);
  const Gpt<float> gpt(file.config());
  ParameterStore<float> parameters(gpt.layout());
  file.load(gpt, parameters);
  saveGpt2(arguments[5], gpt, parameters);

  Tape<float> tape(parameters);
  const CurrentTape here(tape);
  const std::vector<TokenId> tokens = listOf(arguments[2]), targets = listOf(arguments[3]);
  zeroGrad(parameters);
  const auto all = gpt.logits(tokens);
  std::vector<float> logits;
  for (std::size_t position = 0; position < all.columns(); ++position)
    for (std::size_t row = 0; row < all.rows(); ++row) logits.push_back(all(row, position).value());
  const auto loss = gpt.loss(tokens, targets);
  backward(loss);
  const float lossValue = loss.value();
  std::vector<TensorView> tensors;
  tensors.emplace_back("logits", std::vector<std::uint64_t>{all.columns(), all.rows()},
                       std::span<const float>(logits));
  tensors.emplace_back("loss", std::vector<std::uint64_t>{1}, std::span<const float>(&lossValue, 1));
  for (const Parameter& block : gpt.layout().blocks())
    tensors.emplace_back(gpt2::nameOf(gpt.layout().name(block)).text, safetensors::shapeOf(block),
                         std::span<const float>(parameters.gradients(block)));
  saveSafetensors(arguments[4], tensors);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) return 2;
  try {
    run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
