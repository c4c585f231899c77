// burt sample: text from a trained model.
#include <burtorch/burtorch.hpp>
#include <burtorch/data/tokenizer.hpp>
#include <burtorch/model/generate.hpp>
#include <cstdio>

#include "checkpoint.hpp"
#include "command.hpp"
#include "flags.hpp"

namespace burt {
namespace {

using namespace burtorch;

struct SampleOptions {
  std::string model, prompt;
  std::uint64_t length = 500, count = 1, seed = 1337, topK = 0;
  double temperature = 0.8;
};

template <class Model, class Config>
void write(const SampleOptions& options, const SafetensorsFile& file, const Config& config,
           const Tokenizer& tokenizer) {
  const Model model(config);
  ParameterStore<float> parameters(model.layout());
  loadParameters(file, parameters);
  constexpr bool isGpt = requires { config.heads; };
  for (std::uint64_t i = 0; i < options.count; ++i) {
    Rng rng(options.seed, i);
    std::vector<Index> tokens;
    const Tokens prompt = tokenizer.encode(options.prompt);
    for (const Token token : prompt.view()) tokens.push_back(token);
    std::fputs(options.prompt.c_str(), stdout);
    if (isGpt && tokens.empty()) tokens.push_back(tokenizer.find('\n').value_or(0));
    const std::size_t known = tokens.size();
    generate(model, parameters, tokens, options.length, {options.temperature, options.topK}, rng,
             [](Index token) { return !isGpt && token == 0; });
    for (const Index token : std::span(tokens).subspan(known))
      std::fputs(tokenizer.decode(token).c_str(), stdout);
    std::puts("");
  }
}

}  // namespace

int sample(std::span<const std::string> arguments) {
  SampleOptions options;
  Flags flags;
  flags.add("--model", "FILE", "model.safetensors of a run", options.model);
  flags.add("--prompt", "TEXT", "what to go on with", options.prompt);
  flags.add("--length", "most tokens of a text", options.length, 1, 100'000'000);
  flags.add("--count", "how many texts, or words", options.count, 1, 1'000'000);
  flags.add("--temperature", "above 1 wilder, below 1 tamer, 0: always the likeliest token",
            options.temperature, 0, 100);
  flags.add("--top-k", "choose among the likeliest only; 0: among all", options.topK, 0, 1'000'000);
  flags.add("--seed", "of chance", options.seed, 0, UINT64_MAX);
  if (!flags.parse(arguments)) {
    std::printf("usage: %s sample --model FILE [options]\n\n%s", self().c_str(), flags.help().c_str());
    return 0;
  }
  if (options.model.empty())
    throw BadInput(self() + " sample needs --model FILE; see " + self() + " sample --help");
  const SafetensorsFile file(options.model);
  const Description description(file);
  const Tokenizer tokenizer = Tokenizer::fromString(description.text("vocabulary"));
  const std::string& kind = description.text("model");
  if (kind == "gpt")
    write<Gpt<float>>(options, file, gptOf(description), tokenizer);
  else if (kind == "mlp")
    write<CharMlp<float>>(options, file, charMlpOf(description), tokenizer);
  else
    throw BadInput(options.model + " is a model of kind '" + kind + "': gpt or mlp can be sampled");
  return 0;
}

}  // namespace burt
