// burt plot: heat maps of what a trained model has learned, as a Python script, as SVG, or in a window.
#include <burtorch/burtorch.hpp>
#include <burtorch/data/tokenizer.hpp>
#include <burtorch/debug/show_plot.hpp>
#include <burtorch/model/attention_weights.hpp>
#include <burtorch/viz/heat_map.hpp>
#include <burtorch/viz/heat_map_svg.hpp>
#include <charconv>
#include <cstdio>

#include "checkpoint.hpp"
#include "command.hpp"
#include "flags.hpp"

namespace burt {
namespace {

using namespace burtorch;

struct PlotCommand {
  std::string subject, model, prompt, layer = "last", head = "all", out, python = "python3";
  bool isShown = false;
};

/// What a token looks like beside a picture: blanks and other characters without a shape get a name.
std::string labelOf(const Tokenizer& tokenizer, Token token) {
  const std::string text = tokenizer.decode(token);
  if (text == "\n") return "\\n";
  if (text == "\t") return "\\t";
  if (text == " ") return "\u2423";  // an open box
  const Utf8Step step = decodeUtf8(text, 0);
  char name[16];
  if (step.bytes != text.size())
    std::snprintf(name, sizeof name, "0x%02X", static_cast<unsigned>(static_cast<unsigned char>(text[0])));
  else if (step.codePoint < 0x20 || (step.codePoint >= 0x7F && step.codePoint <= 0xA0))
    std::snprintf(name, sizeof name, "U+%04X", static_cast<unsigned>(step.codePoint));
  else
    return text;
  return name;
}

/// What --layer and --head choose among 1 ... count.
std::vector<std::size_t> chosen(const std::string& flag, const std::string& text, std::size_t count) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool isNumber = error == std::errc{} && end == text.data() + text.size();
  if (text == "last") number = count;
  if (text != "all" && text != "last" && (!isNumber || number < 1 || number > count))
    throw BadInput(flag + " takes all, last or a whole number from 1 to " + std::to_string(count) +
                   ", not '" + text + "'");
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < count; ++i)
    if (text == "all" || i + 1 == number) indices.push_back(i);
  return indices;
}

template <class Model> struct Loaded {
  Model model;
  ParameterStore<float> parameters;
  template <class Config>
  Loaded(const SafetensorsFile& file, const Config& config) : model(config), parameters(model.layout()) {
    loadParameters(file, parameters);
  }
};

HeatMapFigure attentionFigure(const PlotCommand& command, const SafetensorsFile& file,
                              const GptConfig& config, const Tokenizer& tokenizer) {
  if (command.prompt.empty()) throw BadInput("attention is paid to a text: give it with --prompt TEXT");
  Loaded<Gpt<float>> gpt(file, config);
  std::vector<Index> tokens;
  const Tokens prompt = tokenizer.encode(command.prompt);
  for (const Token token : prompt.view()) tokens.push_back(token);
  const auto weights = attentionWeights(gpt.model, gpt.parameters, std::span<const Index>(tokens));
  const std::size_t seen = weights.positions();
  std::vector<std::string> labels;
  for (const Index token : std::span(tokens).last(seen)) labels.push_back(labelOf(tokenizer, token));

  const std::vector<std::size_t> layers = chosen("--layer", command.layer, config.layers);
  const std::vector<std::size_t> heads = chosen("--head", command.head, config.heads);
  HeatMapFigure figure{.title = "Attention of each character (row) to those before it",
                       .mapsPerRow = layers.size() > 1 ? heads.size() : 0};
  for (const std::size_t layer : layers)
    for (const std::size_t head : heads) {
      HeatMap map{.rows = seen, .columns = seen};
      for (std::size_t query = 0; query < seen; ++query)
        for (std::size_t key = 0; key < seen; ++key)
          map.values.push_back(static_cast<double>(weights(layer, head, query, key)));
      map.options = {.title = "layer " + std::to_string(layer + 1) + ", head " + std::to_string(head + 1),
                     .rowLabels = labels,
                     .columnLabels = labels};
      figure.maps.push_back(std::move(map));
    }
  return figure;
}

/// The table of a model is its first block of parameters.
template <class Model>
HeatMapFigure embeddingFigure(const Loaded<Model>& loaded, const Tokenizer& tokenizer) {
  const Parameter& table = loaded.model.layout().blocks()[0];
  const std::span<const float> values = loaded.parameters.values(table);
  HeatMap map{.rows = table.rows, .columns = table.columns, .values = {values.begin(), values.end()}};
  map.options = {.xLabel = "dimension", .yLabel = "character"};
  for (Index token = 0; token < table.rows; ++token)
    map.options.rowLabels.push_back(labelOf(tokenizer, token));
  return {.title = "Embedding of the characters", .maps = {std::move(map)}};
}

HeatMapFigure figureOf(const PlotCommand& command) {
  const SafetensorsFile file(command.model);
  const Description description(file);
  const Tokenizer tokenizer = Tokenizer::fromString(description.text("vocabulary"));
  const std::string& kind = description.text("model");
  if (kind != "gpt" && kind != "mlp")
    throw BadInput(command.model + " is a model of kind '" + kind + "': gpt or mlp can be drawn");
  if (description.number("vocabulary_size") != tokenizer.size())
    throw BadInput(command.model + " has a vocabulary of another size than it says: was the file damaged?");
  if (command.subject == "attention") {
    if (kind != "gpt")
      throw BadInput(command.model + " is a character MLP, which has no attention; try embedding");
    return attentionFigure(command, file, gptOf(description), tokenizer);
  }
  if (kind == "gpt") return embeddingFigure(Loaded<Gpt<float>>(file, gptOf(description)), tokenizer);
  return embeddingFigure(Loaded<CharMlp<float>>(file, charMlpOf(description)), tokenizer);
}

void write(const std::string& path, const std::string& text) {
  AtomicFile file(path, {.isDurable = false});
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace

int plot(std::span<const std::string> arguments) {
  PlotCommand command;
  Flags flags;
  flags.add("--model", "FILE", "model.safetensors of a run", command.model);
  flags.add("--prompt", "TEXT", "attention: the text to look at", command.prompt);
  flags.add("--layer", "N", "attention: 1 is the first; or all, or last", command.layer);
  flags.add("--head", "N", "attention: likewise", command.head);
  flags.add("--out", "FILE",
            "FILE.svg: a picture; FILE.py: a script for Matplotlib, which otherwise is printed", command.out);
  flags.add("--show", "open a window; needs Python with Matplotlib, and waits until it is closed",
            command.isShown);
  flags.add("--python", "NAME", "the Python of --show", command.python);
  const std::string usage = "usage: " + self() +
                            " plot attention --model FILE --prompt TEXT [options]\n       " + self() +
                            " plot embedding --model FILE [options]\n";
  const bool hasSubject = !arguments.empty() && !arguments[0].starts_with('-');
  if (!flags.parse(arguments.subspan(hasSubject ? 1 : 0))) {
    std::printf("%s\n%s", usage.c_str(), flags.help().c_str());
    return 0;
  }
  if (hasSubject) command.subject = arguments[0];
  if (command.subject != "attention" && command.subject != "embedding")
    throw BadInput("plot what? attention or embedding; see " + self() + " plot --help");
  if (command.model.empty())
    throw BadInput(self() + " plot needs --model FILE; see " + self() + " plot --help");
  if (!command.out.empty() && !command.out.ends_with(".svg") && !command.out.ends_with(".py"))
    throw BadInput("--out takes FILE.svg or FILE.py, not '" + command.out +
                   "'; for other pictures: python3 FILE.py OUT.png");

  const HeatMapFigure figure = figureOf(command);
  if (command.out.ends_with(".svg"))
    write(command.out, heatMapSvg(figure));
  else if (!command.out.empty())
    write(command.out, generateHeatMaps(figure));
  else if (!command.isShown)
    std::fputs(generateHeatMaps(figure).c_str(), stdout);
  if (command.isShown) {
    const std::string problem = showPlot(generateHeatMaps(figure), {.interpreter = command.python}).wait();
    if (!problem.empty()) throw BadInput(problem);
  }
  return 0;
}

}  // namespace burt
