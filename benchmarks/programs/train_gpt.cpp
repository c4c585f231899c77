// The paper's mini GPT on a text.
#include <burtorch/data/text.hpp>
#include <burtorch/model/gpt.hpp>

#include "train_steps.hpp"

int main(int, char** arguments) {
  using namespace burtorch;
  return trainSteps<Gpt<float>, GptConfig, TextCorpus>(
      arguments, {}, [](const TextCorpus& text) { return text.windows(Part::train, {.context = 8}); });
}
