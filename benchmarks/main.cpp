// burtorch_bench: reads the command line, runs one experiment, prints its rows. Started by ./bench.
#include <algorithm>
#include <burtorch/burtorch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <sstream>
#include <string>

#include "harness.hpp"
#include "peers.hpp"

// ./bench builds only what is asked for: a program has the experiments that are linked into it, the others are null.
namespace bench {
[[gnu::weak]] std::vector<Row> tiny(const Options&);
[[gnu::weak]] std::vector<Row> small(const Options&);
[[gnu::weak]] std::vector<Row> scale(const Options&);
[[gnu::weak]] std::vector<Row> memory(const Options&);
[[gnu::weak]] std::vector<Row> energy(const Options&);
[[gnu::weak]] std::vector<Row> moons(const Options&);
[[gnu::weak]] std::vector<Row> compile(const Options&);
[[gnu::weak]] std::vector<Row> gpt(const Options&);
[[gnu::weak]] std::vector<Row> mlp(const Options&);
[[gnu::weak]] std::vector<Row> saveload(const Options&);
[[gnu::weak]] std::vector<Row> threads(const Options&);
[[gnu::weak]] std::vector<Row> kernels(const Options&);
[[gnu::weak]] std::vector<Row> optimise(const Options&);
[[gnu::weak]] std::vector<Row> pack(const Options&);
}  // namespace bench

namespace {

const std::map<std::string, std::vector<bench::Row> (*)(const bench::Options&)> experiments{
    {"tiny", bench::tiny},         {"small", bench::small},     {"scale", bench::scale},
    {"memory", bench::memory},     {"energy", bench::energy},   {"moons", bench::moons},
    {"compile", bench::compile},   {"gpt", bench::gpt},         {"mlp", bench::mlp},
    {"saveload", bench::saveload}, {"threads", bench::threads}, {"kernels", bench::kernels},
    {"optimise", bench::optimise}, {"pack", bench::pack}};

[[noreturn]] void complain(const std::string& sentence) {
  std::fprintf(stderr, "bench: %s (see ./bench --help)\n", sentence.c_str());
  std::exit(2);
}

int positive(const std::string& flag, const char* text) {
  const int value = std::atoi(text);
  if (value < 0 || (value == 0 && std::strcmp(text, "0") != 0))
    complain(flag + " takes a number, not '" + text + "'");
  return value;
}

/// The size of a GPT that a flag sets; null for any other flag.
std::size_t* sizeNamed(bench::Options& options, const std::string& flag) {
  if (flag == "--width") return &options.width;
  if (flag == "--heads") return &options.heads;
  if (flag == "--context") return &options.context;
  if (flag == "--layers") return &options.layers;
  return nullptr;
}

/// "all", "none" or names with commas between them.
std::vector<std::string> peersIn(const std::string& text) {
  const std::vector<std::string>& known = bench::knownPeers();
  if (text == "all") return known;
  std::vector<std::string> peers;
  std::istringstream list(text == "none" ? "" : text);
  for (std::string name; std::getline(list, name, ',');) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string names;
      for (const std::string& one : known) names += " " + one;
      complain("no peer '" + name + "'; there are: all none" + names);
    }
    peers.push_back(name);
  }
  return peers;
}

bench::Options parse(int argc, char** argv) {
  bench::Options options;
  bool hasRepeats = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto next = [&] {
      return i + 1 < argc ? argv[++i] : (complain(argument + " needs a value"), nullptr);
    };
    if (argument == "--quick")
      options.isQuick = true;
    else if (argument == "--judge")
      options.isOnlyJudged = options.isQuick = true;
    else if (argument == "--repeats")
      options.repeats = positive(argument, next()), hasRepeats = true;
    else if (argument == "--core")
      options.core = positive(argument, next());
    else if (argument == "--data")
      options.data = next();
    else if (argument == "--simulate")
      options.simulate = next();
    else if (argument == "--shape")
      options.shape = next();
    else if (std::size_t* size = sizeNamed(options, argument))
      *size = static_cast<std::size_t>(positive(argument, next()));
    else if (argument == "--json")
      options.json = i + 1 < argc && (argv[i + 1][0] != '-' || argv[i + 1][1] == 0) ? argv[++i] : "-";
    else if (argument == "--peers")
      options.peers = peersIn(next());
    else if (argument[0] == '-')
      complain("unknown option '" + argument + "'");
    else if (options.experiment.empty())
      options.experiment = argument;
    else
      complain("one experiment at a time, not '" + argument + "' too");
  }
  if (options.isQuick && !hasRepeats) options.repeats = 15;
  if (options.isOnlyJudged)
    options.repeats = 1;
  else if (options.repeats < bench::fewestRepeats)
    complain("--repeats takes at least 9: fewer say nothing about noise");
  const auto found = experiments.find(options.experiment);
  if (found != experiments.end() && found->second == nullptr)
    complain("the experiment '" + options.experiment +
             "' is in another program; ./bench starts the right one");
  if (found == experiments.end()) {
    std::string known;
    for (const auto& [name, run] : experiments) known += " " + name;
    complain(options.experiment.empty()
                 ? "which experiment? There are:" + known
                 : "unknown experiment '" + options.experiment + "'; there are:" + known);
  }
  if (options.experiment != "gpt" && (options.width | options.heads | options.context | options.layers) != 0)
    complain("--width, --heads, --context and --layers are for gpt");
  if (options.experiment != "gpt" && options.experiment != "threads" && !options.shape.empty())
    complain("--shape is for gpt and threads");
  if (options.experiment != "optimise" && !options.simulate.empty()) complain("--simulate is for optimise");
  if (options.experiment != "mlp" && !options.data.empty()) complain("--data is for mlp");
  const std::string alone[] = {"moons", "compile", "scale", "kernels", "pack"};
  if (!options.peers.empty() &&
      std::find(std::begin(alone), std::end(alone), options.experiment) != std::end(alone))
    complain("--peers is not for " + options.experiment + ": nobody else does it");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--about") == 0) {  // for the head of a file of results
    std::printf("{\"version\":\"%s\",\"compiler\":\"%s\",\"flags\":\"%s\"}\n", BURTORCH_VERSION,
                BENCH_COMPILER, BENCH_FLAGS);
    return 0;
  }
  const bench::Options options = parse(argc, argv);
  bench::pinToCores(options.core);
  try {
    const std::vector<bench::Row> rows = experiments.at(options.experiment)(options);
    if (options.simulate.empty()) bench::print(options, rows);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 2;
  }
}
