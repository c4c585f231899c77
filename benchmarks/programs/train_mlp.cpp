// The character MLP with 1024 hidden units on a list of names.
#include <burtorch/data/words.hpp>
#include <burtorch/model/char_mlp.hpp>

#include "train_steps.hpp"

int main(int, char** arguments) {
  using namespace burtorch;
  return trainSteps<CharMlp<float>, CharMlpConfig, WordList>(
      arguments, {.hidden = 1024}, [](const WordList& names) { return names.samples(Part::train, 16); });
}
