// burt plot: heat maps of what a trained model has learned, as a Python script, as SVG, or in a window.
#include <burtorch/burtorch.hpp>
#include <burtorch/debug/show_plot.hpp>
#include <burtorch/model/attention_weights.hpp>
#include <burtorch/viz/heat_map.hpp>
#include <burtorch/viz/heat_map_svg.hpp>
#include <charconv>
#include <cstdio>

#include "command.hpp"
#include "flags.hpp"
#include "model_file.hpp"

namespace burt {
namespace {

using namespace burtorch;

struct PlotCommand {
  std::string subject, model, prompt, layer = "last", head = "all", out, python = "python3";
  bool isShown = false;
};

/// What a token looks like beside a picture: blanks and other characters without a shape get a name.
std::string labelOf(const AnyTokenizer& tokenizer, TokenId token) {
  const std::string text = tokenizer.decode(token);
  std::string label;
  for (std::size_t at = 0; at < text.size();) {
    const auto [character, bytes] = decodeUtf8(text, at);
    char name[16] = "";
    if (bytes == 0)
      std::snprintf(name, sizeof name, "0x%02X", static_cast<unsigned>(static_cast<unsigned char>(text[at])));
    else if (character == '\n' || character == '\t' || character == ' ')
      std::snprintf(name, sizeof name, "%s",
                    character == '\n'   ? "\\n"
                    : character == '\t' ? "\\t"
                                        : "\u2423");
    else if (character < 0x20 || (character >= 0x7F && character <= 0xA0))
      std::snprintf(name, sizeof name, "U+%04X", static_cast<unsigned>(character));
    label += *name != 0 ? name : text.substr(at, bytes);
    at += bytes > 0 ? bytes : 1;
  }
  return label;
}

/// What --layer and --head choose among 1 ... count.
std::vector<std::size_t> chosen(const std::string& flag, const std::string& text, std::size_t count) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool isNumber = error == std::errc{} && end == text.data() + text.size();
  if (text == "last") number = count;
  if (text != "all" && text != "last" && (!isNumber || number < 1 || number > count))
    throw BadInput(flag + ": expected all, last or a whole number from 1 to " + std::to_string(count) +
                   ", got '" + text + "'");
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < count; ++i)
    if (text == "all" || i + 1 == number) indices.push_back(i);
  return indices;
}

HeatMapFigure attentionFigure(const PlotCommand& command, const ModelFile& file,
                              const AnyTokenizer& tokenizer) {
  if (command.prompt.empty())
    throw BadInput("plot attention needs a text to look at: pass it with --prompt TEXT");
  const auto config = file.config<GptConfig>();
  OwnedModel<Gpt<float>> gpt(file, config);
  std::vector<TokenId> tokens;
  const Tokens prompt = tokenizer.encode(command.prompt);
  for (const TokenId token : prompt.view()) tokens.push_back(token);
  const auto weights = attentionWeights(gpt.model, gpt.parameters, std::span<const TokenId>(tokens));
  const std::size_t seen = weights.positions();
  std::vector<std::string> labels;
  for (const TokenId token : std::span(tokens).last(seen)) labels.push_back(labelOf(tokenizer, token));

  const std::vector<std::size_t> layers = chosen("--layer", command.layer, config.layers);
  const std::vector<std::size_t> heads = chosen("--head", command.head, config.heads);
  HeatMapFigure figure{.title = "Attention of each token (row) to those before it",
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
HeatMapFigure embeddingFigure(const OwnedModel<Model>& owned, const AnyTokenizer& tokenizer) {
  const Parameter& table = owned.model.layout().blocks()[0];
  const std::size_t rows = tokenizer.size();  // a padded table has more
  const std::span<const float> values = owned.parameters.values(table).first(rows * table.columns);
  HeatMap map{.rows = rows, .columns = table.columns, .values = {values.begin(), values.end()}};
  map.options = {.xLabel = "dimension", .yLabel = "token"};
  for (TokenId token = 0; token < rows; ++token) map.options.rowLabels.push_back(labelOf(tokenizer, token));
  return {.title = "Embedding of the tokens", .maps = {std::move(map)}};
}

HeatMapFigure figureOf(const PlotCommand& command) {
  const ModelFile file(command.model);
  const AnyTokenizer& tokenizer = file.tokenizer();
  const bool isGpt = file.kind() == "gpt";
  if (command.subject == "attention") {
    if (!isGpt) throw BadInput(command.model + " is a character MLP, which has no attention; try embedding");
    return attentionFigure(command, file, tokenizer);
  }
  if (isGpt) return embeddingFigure(OwnedModel<Gpt<float>>(file, file.config<GptConfig>()), tokenizer);
  return embeddingFigure(OwnedModel<CharMlp<float>>(file, file.config<CharMlpConfig>()), tokenizer);
}

void writePicture(const std::string& path, const std::string& text) {
  AtomicFile file(path, {.durable = false});
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace

int plot(std::span<const std::string> arguments) {
  PlotCommand command;
  Flags flags;
  flags.add("--model", "PATH", "the model: the folder of a run, or a file", command.model);
  flags.add("--prompt", "TEXT", "attention: the text that the model reads", command.prompt);
  flags.add("--layer", "N", "attention: number of the layer (1 is the first), all or last", command.layer);
  flags.add("--head", "N", "attention: number of the head (1 is the first), all or last", command.head);
  flags.add("--out", "FILE",
            "write a picture (FILE.svg) or a Matplotlib script (FILE.py); default: print the script",
            command.out);
  flags.add("--show", "open a window and wait until it is closed; needs Python with Matplotlib",
            command.isShown);
  flags.add("--python", "NAME", "Python interpreter for --show", command.python);
  const std::string usage = "usage: " + self() +
                            " plot attention --model PATH --prompt TEXT [options]\n       " + self() +
                            " plot embedding --model PATH [options]\n";
  const bool hasSubject = !arguments.empty() && !arguments[0].starts_with('-');
  if (!flags.parseAll(arguments.subspan(hasSubject ? 1 : 0))) {
    std::printf("%s\n%s", usage.c_str(), flags.help().c_str());
    return 0;
  }
  if (hasSubject) command.subject = arguments[0];
  if (command.subject != "attention" && command.subject != "embedding")
    throw BadInput("plot: expected attention or embedding; see " + self() + " plot --help");
  if (command.model.empty())
    throw BadInput(self() + " plot needs --model PATH; see " + self() + " plot --help");
  if (!command.out.empty() && !command.out.ends_with(".svg") && !command.out.ends_with(".py"))
    throw BadInput("--out: expected FILE.svg or FILE.py, got '" + command.out +
                   "'; for other pictures run: python3 FILE.py OUT.png");

  const HeatMapFigure figure = figureOf(command);
  if (command.out.ends_with(".svg"))
    writePicture(command.out, heatMapSvg(figure));
  else if (!command.out.empty())
    writePicture(command.out, generateHeatMaps(figure));
  else if (!command.isShown)
    std::fputs(generateHeatMaps(figure).c_str(), stdout);
  if (command.isShown) {
    const std::string problem = showPlot(generateHeatMaps(figure), {.interpreter = command.python}).wait();
    if (!problem.empty()) throw BadInput(problem);
  }
  return 0;
}

}  // namespace burt
