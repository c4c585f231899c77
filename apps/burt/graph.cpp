// burt graph: a graph with its values and gradients as DOT, or as a picture where Graphviz is installed.
#include <algorithm>
#include <burtorch/burtorch.hpp>
#include <burtorch/io/atomic_file.hpp>
#include <burtorch/nn/parameter_nodes.hpp>
#include <burtorch/viz/dot.hpp>
#include <cstdio>

#include "command.hpp"
#include "default_data.hpp"
#include "flags.hpp"
#include "graphviz.hpp"
#include "model_file.hpp"

namespace burt {
namespace {

using namespace burtorch;

struct GraphOptions {
  std::string model, out;
  std::uint64_t maxNodes = DotOptions{}.maxNodes;

  DotOptions dot(std::string title) const {
    return {.maxNodes = static_cast<std::size_t>(maxNodes), .title = std::move(title)};
  }
};

/// Gives a node the name of the variable that holds it.
Value<double> named(const char* name, Value<double> node) {
  node.setName(name);
  return node;
}

/// The paper's Figure 1.
std::string tiny(const GraphOptions& options) {
  Tape<double> tape;
  const CurrentTape here(tape);
  const Value a(-41.0, "a"), b(2.0, "b");
  const auto c = named("c", a + b), ab = a * b, cube = pow3(b), d = named("d", ab + cube);
  const auto e = named("e", c - d), f = named("f", sqr(e)), g = named("g", f / Value(2.0));
  backward(g);
  return buildDotGraph(g, options.dot("Figure 1: g = f/2, f = e², e = c - d, d = ab + b³, c = a + b"));
}

/// The paper's Figure 2. No operator has two new operands: which one comes first would depend on the compiler.
std::string small(const GraphOptions& options) {
  Tape<double> tape;
  const CurrentTape here(tape);
  const Value a(-4.0, "a"), b(2.0, "b");
  auto c = named("c", a + b);
  auto d = a * b;
  d = named("d", d + pow3(b));
  auto step = c + Value(1.0);
  c = named("c", c + step);
  step = Value(1.0) + c;
  step = step - a;
  c = named("c", c + step);
  step = d * Value(2.0);
  step = step + relu(b + a);
  d = named("d", d + step);
  step = Value(3.0) * d;
  step = step + relu(b - a);
  d = named("d", d + step);
  const auto e = named("e", c - d), f = named("f", sqr(e));
  auto g = named("g", f / Value(2.0));
  step = Value(10.0) / f;
  g = named("g", g + step);
  backward(g);
  return buildDotGraph(g, options.dot("Figure 2: the small graph"));
}

/// The first tokens of a text, of the characters that the vocabulary has; if they are too few, the vocabulary in turn.
std::vector<TokenId> tokensOf(const AnyTokenizer& tokenizer, std::string_view text, std::size_t count) {
  std::vector<TokenId> tokens;
  const Tokenizer* const characters = tokenizer.characters();
  const Tokens pairs = characters == nullptr ? tokenizer.encode(text) : Tokens(0);
  for (const TokenId token : pairs.view())
    if (tokens.size() < count) tokens.push_back(token);
  for (const char c : text) {
    if (tokens.size() == count || characters == nullptr) break;
    if (const auto token = characters->find(static_cast<unsigned char>(c))) tokens.push_back(*token);
  }
  while (tokens.size() < count) tokens.push_back(static_cast<TokenId>(tokens.size() % tokenizer.size()));
  return tokens;
}

/// What the two models differ in. `fill` writes the tokens and the targets of one sample.
struct GptPicture {
  using Model = Gpt<float>;
  using Config = GptConfig;
  static constexpr const char* name = "gpt";
  static GptConfig smallConfig() { return {.context = 8, .width = 16, .layers = 1, .heads = 2}; }
  static AnyTokenizer tokenizer() { return AnyTokenizer(Tokenizer(defaultData::scenes())); }
  static void fill(const AnyTokenizer& tokenizer, std::span<TokenId> tokens, std::span<TokenId> targets) {
    const std::vector<TokenId> text = tokensOf(tokenizer, defaultData::scenes(), tokens.size() + 1);
    std::copy(text.begin(), text.end() - 1, tokens.begin());
    std::copy(text.begin() + 1, text.end(), targets.begin());
  }
};
struct MlpPicture {
  using Model = CharMlp<float>;
  using Config = CharMlpConfig;
  static constexpr const char* name = "mlp";
  static CharMlpConfig smallConfig() { return {.context = 8, .embedding = 8, .hidden = 16}; }
  static AnyTokenizer tokenizer() { return AnyTokenizer(Tokenizer(defaultData::names(), {.endMark = '\n'})); }
  /// The first name, and that it ends there.
  static void fill(const AnyTokenizer& tokenizer, std::span<TokenId> tokens, std::span<TokenId> targets) {
    const std::string_view names = defaultData::names(), word = names.substr(0, names.find('\n'));
    const std::size_t length = std::min(word.size(), tokens.size());
    std::fill(tokens.begin(), tokens.end(), 0);
    const auto letters = tokensOf(tokenizer, word, length);
    std::copy(letters.begin(), letters.end(), tokens.end() - static_cast<std::ptrdiff_t>(length));
    targets[0] = 0;
  }
};

/// On the current tape, which is bound to the model's parameters.
template <class Picture, class Model>
auto lossOfOneSample(const Model& model, const AnyTokenizer& tokenizer) {
  const std::size_t columns = model.columnsFor(1);
  std::vector<TokenId> tokens(model.tokenCount(columns), noToken), targets(columns, noToken);
  std::vector<TokenId> sampleTokens(model.tokensPerSample()), sampleTargets(model.targetsPerSample());
  Picture::fill(tokenizer, sampleTokens, sampleTargets);
  for (std::size_t i = 0; i < sampleTokens.size(); ++i)
    tokens[model.tokenAt(0, i, columns)] = sampleTokens[i];
  for (std::size_t i = 0; i < sampleTargets.size(); ++i) targets[model.targetAt(0, i)] = sampleTargets[i];
  auto loss = model.loss(tokens, targets);
  loss.setName("loss");
  return loss;
}

/// "head.weight 65 x 16" for every block.
void nameBlocks(Tape<float>& tape, const ParameterLayout& layout) {
  for (const Parameter& block : layout.blocks())
    tape.setName(block.first, layout.name(block) + " " + std::to_string(block.rows) +
                                  (block.columns > 1 ? " x " + std::to_string(block.columns) : ""));
}

template <class Picture, class Owned>
std::string drawing(const GraphOptions& options, const Owned& owned, const AnyTokenizer& tokenizer) {
  Tape<float> tape;
  const CurrentTape here(tape);
  bindToLeaves(tape, owned.model.layout(), std::span<const float>(owned.parameters.values()));
  nameBlocks(tape, owned.model.layout());
  const auto loss = lossOfOneSample<Picture>(owned.model, tokenizer);
  backward(loss);
  const std::string name = options.model.empty() ? std::string("a small ") + Picture::name : options.model;
  return buildDotGraph(loss, options.dot(name + ", " + std::to_string(owned.parameters.size()) +
                                         " parameters: the loss of one sample"));
}
template <class Picture> std::string drawModel(const GraphOptions& options) {
  if (!options.model.empty()) {
    const ModelFile file(options.model);
    const OwnedModel<typename Picture::Model> owned(file, file.config<typename Picture::Config>());
    return drawing<Picture>(options, owned, file.tokenizer());
  }
  auto config = Picture::smallConfig();
  const AnyTokenizer tokenizer = Picture::tokenizer();
  config.vocabulary = tokenizer.size();
  OwnedModel<typename Picture::Model> owned(config);
  Rng rng(1337);
  owned.parameters.initialise(rng);
  return drawing<Picture>(options, owned, tokenizer);
}

/// What --out asks for: a format of Graphviz, or "" for DOT itself.
std::string formatOf(const std::string& out) {
  const std::size_t slash = out.rfind('/'), dot = out.rfind('.');
  const bool hasEnding = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  const std::string ending = hasEnding ? out.substr(dot + 1) : "";
  if (ending == "svg" || ending == "png" || ending == "pdf") return ending;
  if (ending.empty() || ending == "dot" || ending == "gv") return "";
  throw BadInput("--out " + out + ": expected a name that ends in .svg, .png, .pdf, .dot or .gv");
}

void writeDot(const std::string& text, const std::string& out) {
  if (out.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);  // main checks stdout
    return;
  }
  const std::string format = formatOf(out), bytes = format.empty() ? text : pictureOf(text, format);
  AtomicFile file(out, {.durable = false});
  file.write(std::as_bytes(std::span(bytes)));
  file.commit();
}

}  // namespace

int graph(std::span<const std::string> arguments) {
  GraphOptions options;
  Flags flags;
  flags.add("--model", "PATH", "mlp, gpt: the folder of a run, or a file; default: a small untrained model",
            options.model);
  flags.add("--out", "FILE",
            "write DOT (.dot) or a picture (.svg, .png, .pdf; needs Graphviz); default: print DOT",
            options.out);
  flags.add("--max-nodes", "largest number of nodes to draw", options.maxNodes, 1, 1'000'000);
  const std::string kind = arguments.empty() ? "" : arguments[0];
  const bool isKind = kind == "tiny" || kind == "small" || kind == "mlp" || kind == "gpt";
  if (kind == "--help" || kind == "-h" || (isKind && !flags.parseAll(arguments.subspan(1)))) {
    std::printf(
        "usage: %s graph tiny|small|mlp|gpt [options]\n\n"
        "  tiny, small           the graphs of the paper's Figures 1 and 2\n"
        "  mlp, gpt              the loss of a model for one sample\n\n%s",
        self().c_str(), flags.help().c_str());
    return 0;
  }
  if (!isKind)
    throw BadInput((kind.empty() ? self() + " graph: expected" : "unknown graph '" + kind + "'; expected") +
                   " tiny, small, mlp or gpt");
  if (!options.model.empty() && (kind == "tiny" || kind == "small"))
    throw BadInput("graph " + kind + " takes no --model; leave it out, or draw mlp or gpt");
  formatOf(options.out);  // before any work
  writeDot(kind == "tiny"    ? tiny(options)
           : kind == "small" ? small(options)
           : kind == "mlp"   ? drawModel<MlpPicture>(options)
                             : drawModel<GptPicture>(options),
           options.out);
  return 0;
}

}  // namespace burt
