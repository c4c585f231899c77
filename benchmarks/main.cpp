// burtorch_bench: reads the command line, runs one experiment, prints its rows. Started by ./bench.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "harness.hpp"

namespace {

const std::map<std::string, std::vector<bench::Row> (*)(const bench::Options&)> experiments{
    {"tiny", bench::tiny},     {"small", bench::small}, {"scale", bench::scale},
    {"memory", bench::memory}, {"moons", bench::moons}, {"compile", bench::compile}};

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
    else if (argument == "--repeats")
      options.repeats = positive(argument, next()), hasRepeats = true;
    else if (argument == "--core")
      options.core = positive(argument, next());
    else if (argument == "--json")
      options.json = i + 1 < argc && (argv[i + 1][0] != '-' || argv[i + 1][1] == 0) ? argv[++i] : "-";
    else if (argument == "--peers") {
      if (std::string(next()) != "none") complain("no peers are wired in yet: --peers takes 'none'");
    } else if (argument[0] == '-')
      complain("unknown option '" + argument + "'");
    else if (options.experiment.empty())
      options.experiment = argument;
    else
      complain("one experiment at a time, not '" + argument + "' too");
  }
  if (options.isQuick && !hasRepeats) options.repeats = 15;
  if (options.repeats < 9) complain("--repeats takes at least 9: fewer say nothing about noise");
  if (experiments.find(options.experiment) == experiments.end()) {
    std::string known;
    for (const auto& [name, run] : experiments) known += " " + name;
    complain(options.experiment.empty()
                 ? "which experiment? There are:" + known
                 : "unknown experiment '" + options.experiment + "'; there are:" + known);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = parse(argc, argv);
  bench::pinToCore(options.core);
  bench::print(options, experiments.at(options.experiment)(options));
}
