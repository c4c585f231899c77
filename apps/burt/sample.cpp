// burt sample: text from a trained model.
#include <unistd.h>
#include <burtorch/burtorch.hpp>
#include <burtorch/model/generate.hpp>
#include <cstdio>

#include "command.hpp"
#include "flags.hpp"
#include "model_file.hpp"
#include "tokens_shown.hpp"

namespace burt {
namespace {

using namespace burtorch;

struct SampleOptions {
  std::string model, prompt;
  std::uint64_t length = 500, count = 1, seed = 1337, topK = 0;
  double temperature = 0.8;
};

template <class Model, class Config> void write(const SampleOptions& options, const ModelFile& file) {
  constexpr bool isGpt = std::is_same_v<Config, GptConfig>;
  OwnedModel<Model> owned(file, file.config<Config>());
  const AnyTokenizer& tokenizer = file.tokenizer();
  const Tokens prompt = tokenizer.encode(options.prompt);
  const bool isLive = isatty(STDOUT_FILENO) == 1;
  // A reader that went away needs no more text.
  for (std::uint64_t i = 0; i < options.count && std::ferror(stdout) == 0; ++i) {
    Rng rng(options.seed, i);
    TokensShown shown(tokenizer);
    const auto show = [&](TokenId token) {
      std::fputs(shown.push(token).c_str(), stdout);
      if (isLive) std::fflush(stdout);
    };
    std::vector<TokenId> tokens;
    for (const TokenId token : prompt.view()) {
      tokens.push_back(token);
      show(token);
    }
    if (isGpt && tokens.empty()) tokens.push_back(tokenizer.startOfText());
    generate(owned.model, owned.parameters, tokens, options.length,
             {options.temperature, static_cast<std::size_t>(options.topK)}, rng, [&](TokenId token) {
               if (token == tokenizer.endOfText()) return true;
               show(token);
               return std::ferror(stdout) != 0;
             });
    std::puts(shown.finish().c_str());
  }
}

}  // namespace

int sample(std::span<const std::string> arguments) {
  SampleOptions options;
  Flags flags;
  flags.add("--model", "PATH", "the model: the folder of a run, a file, or the folder of a GPT-2",
            options.model);
  flags.add("--prompt", "TEXT", "text to continue", options.prompt);
  flags.add("--length", "largest number of tokens per text", options.length, 1, 100'000'000);
  flags.add("--count", "number of texts or words", options.count, 1, 1'000'000);
  flags.add("--temperature", "above 1: more surprising, below 1: safer, 0: always the most likely token",
            options.temperature, 0, 100);
  flags.add("--top-k", "choose among the K most likely tokens; 0: among all", options.topK, 0, 1'000'000);
  flags.add("--seed", "random seed", options.seed, 0, UINT64_MAX);
  if (!flags.parseAll(arguments)) {
    std::printf("usage: %s sample --model PATH [options]\n\n%s", self().c_str(), flags.help().c_str());
    return 0;
  }
  if (options.model.empty())
    throw BadInput(self() + " sample needs --model PATH; see " + self() + " sample --help");
  const ModelFile file(options.model);
  if (file.kind() == "gpt")
    write<Gpt<float>, GptConfig>(options, file);
  else
    write<CharMlp<float>, CharMlpConfig>(options, file);
  return 0;
}

}  // namespace burt
