// Table 4 of the paper: seven activations of the small graph (Figure 2) to a file and back, and a file of 100 MB beside `cp`.
// The limit is the system's own open, write (or read) and close; `truncate` also cuts the file first, as most programs do, which
// makes some file systems (ext4) flush it when it is closed. All files lie in one folder for temporaries, and so on one
// file system; what is loaded, or was saved, is compared with the graph's numbers first.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <burtorch/base/rng.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/checkpoint/parameters_file.hpp>
#include <burtorch/io/raw_file.hpp>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "child.hpp"
#include "harness.hpp"
#include "listing.hpp"

namespace bench {
namespace {

namespace fs = std::filesystem;
using burtorch::RawSave;
using burtorch::Value;

constexpr std::size_t count = 7;

/// A folder for temporaries, removed with all it holds.
struct Folder {
  std::string path = (fs::temp_directory_path() / ("burtorch-files-" + std::to_string(getpid()))).string();
  Folder() { fs::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

/// Listing F.8 on a tape of its own, and its seven names.
struct Activations {
  burtorch::Tape<double> tape;
  std::array<Value<double>, count> nodes;

  Activations() {
    const burtorch::CurrentTape here(tape);
    nodes = listing();
  }
  std::vector<double> numbers() {
    const burtorch::CurrentTape here(tape);
    std::vector<double> all;
    for (const Value<double>& node : nodes) all.push_back(node.value());
    return all;
  }
  void forget() {
    for (double& x : tape.values()) x = 0;
  }
};

void require(bool isDone, const char* what) {
  if (!isDone) throw std::runtime_error(std::string("the plain loop cannot ") + what);
}
void plainWrite(const std::string& path, const std::array<double, count>& numbers, int flags) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | flags, 0666);
  require(file >= 0 && write(file, numbers.data(), sizeof numbers) == sizeof numbers && close(file) == 0,
          "write");
}
void plainRead(const std::string& path, std::array<double, count>& numbers) {
  const int file = open(path.c_str(), O_RDONLY);
  require(file >= 0 && read(file, numbers.data(), sizeof numbers) == sizeof numbers && close(file) == 0,
          "read");
}

template <class Step> std::function<void(long)> repeated(Step step) {
  return [step](long calls) {
    for (long i = 0; i < calls; ++i) step();
  };
}

/// The seven numbers in a file, by the plainest reader.
std::vector<double> numbersIn(const std::string& path) {
  std::array<double, count> numbers{};
  plainRead(path, numbers);
  return {numbers.begin(), numbers.end()};
}

Contestant inFile(std::string system, std::string mode, const std::string& path,
                  std::function<void(long)> run, std::function<std::vector<double>()> numbers) {
  run(1);
  Contestant contestant{std::move(system), std::move(mode), std::move(run), std::move(numbers)};
  contestant.extra = {{"file_bytes", static_cast<double>(fs::file_size(path))}};
  return contestant;
}

std::vector<Contestant> savers(const std::string& folder, const std::shared_ptr<Activations>& graph) {
  std::array<double, count> plain{};
  const std::vector<double> numbers = graph->numbers();
  std::copy(numbers.begin(), numbers.end(), plain.begin());
  const std::string loop = folder + "/loop", cut = folder + "/truncate";
  std::vector<Contestant> all{
      inFile("limit", "loop", loop, repeated([=] { plainWrite(loop, plain, 0); }),
             [=] { return numbersIn(loop); }),
      inFile("limit", "truncate", cut, repeated([=] { plainWrite(cut, plain, O_TRUNC); }),
             [=] { return numbersIn(cut); })};
  const std::pair<const char*, RawSave> ways[] = {
      {"raw", RawSave::inPlace}, {"atomic", RawSave::atomic}, {"durable", RawSave::durable}};
  for (const auto& [name, how] : ways) {
    const std::string path = folder + "/" + name;
    const auto save = [graph, path, way = how] {
      const burtorch::CurrentTape here(graph->tape);
      saveToFile(path, graph->nodes, way);
    };
    all.push_back(inFile("burtorch", name, path, repeated(save), [path] { return numbersIn(path); }));
  }
  return all;
}

std::vector<Contestant> loaders(const std::string& folder, const std::shared_ptr<Activations>& graph) {
  const std::string path = folder + "/raw";
  auto plain = std::make_shared<std::array<double, count>>();
  graph->forget();
  const auto load = [graph, path] {
    const burtorch::CurrentTape here(graph->tape);
    loadFromFile(path, graph->nodes);
  };
  return {inFile("limit", "loop", path, repeated([=] { plainRead(path, *plain); }),
                 [plain] { return std::vector<double>(plain->begin(), plain->end()); }),
          inFile("burtorch", "raw", path, repeated(load), [graph] { return graph->numbers(); })};
}

/// So few that comparing them costs nothing beside the work, from everywhere.
std::vector<double> someOf(std::span<const float> all) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < all.size(); i += 10'007) numbers.push_back(static_cast<double>(all[i]));
  return numbers;
}
/// As much of a file as the memory holds.
void readWhole(const std::string& path, std::vector<float>& into) {
  const int file = open(path.c_str(), O_RDONLY);
  const std::size_t wanted = into.size() * sizeof(float);
  std::size_t done = 0;
  for (ssize_t got = 1; file >= 0 && got > 0 && done < wanted; done += static_cast<std::size_t>(got))
    got = std::max<ssize_t>(0, read(file, reinterpret_cast<char*>(into.data()) + done, wanted - done));
  require(file >= 0 && done == wanted && close(file) == 0, "read");
}

/// 100 MB of parameters, loaded into a model that is there. The limit is one read into as much memory; `cp` stands beside it.
std::vector<Row> largeFile(const Options& options, const std::string& folder) {
  constexpr std::size_t rows = 5000, columns = 5000;  // fp32
  struct Model {
    static burtorch::ParameterLayout layout() {
      burtorch::ParameterLayout layout;
      layout.add("weight", burtorch::ParameterRole::weight, rows, columns);
      return layout;
    }
    burtorch::ParameterStore<float> parameters{layout()};
    std::vector<double> some() const { return someOf(parameters.values()); }
  };
  auto model = std::make_shared<Model>();
  burtorch::Rng rng(9);
  for (float& x : model->parameters.values()) x = rng.uniform<float>();
  const std::string path = folder + "/large.safetensors", copy = folder + "/copy";
  saveParameters(path, model->parameters, {}, {.durable = false});
  const std::vector<double> right = model->some();
  for (float& x : model->parameters.values()) x = 0;

  const auto memory = std::make_shared<std::vector<float>>(fs::file_size(path) / sizeof(float));
  const auto copied = [=] {
    Child cp({"cp", path, copy});
    if (cp.wait() != 0) throw std::runtime_error("cp failed: is there room for 200 MB of temporaries?");
  };
  const auto numbersOf = [right](const std::string& file) {
    auto other = std::make_shared<Model>();
    loadParameters(burtorch::SafetensorsFile(file), other->parameters);
    return other->some();
  };
  const auto load = [=] { loadParameters(burtorch::SafetensorsFile(path), model->parameters); };
  const std::vector<Contestant> contestants{
      inFile("limit", "read", path, repeated([=] { readWhole(path, *memory); }),
             [=] { return someOf(std::span<const float>(*memory).last(rows * columns)); }),
      inFile("limit", "cp", path, repeated(copied), [=] { return numbersOf(copy); }),
      inFile("burtorch", "safetensors", path, repeated(load), [model] { return model->some(); })};
  const Trial trial{.experiment = "saveload",
                    .iterations = 1,
                    .answers = {{right, 0}},
                    .unit = {"limit", "read"},
                    .dtype = "fp32",
                    .work = "load"};
  Options alone = options;
  alone.peers.clear();
  std::vector<Row> found = compare(alone, trial, contestants);
  for (Row& row : found) row.params.push_back({"megabytes", 100});
  return found;
}

}  // namespace

std::vector<Row> saveload(const Options& options) {
  const Folder folder;
  auto graph = std::make_shared<Activations>();
  const std::vector<double> numbers = graph->numbers();
  std::vector<Row> rows;
  for (const bool isLoad : {false, true}) {
    const Trial trial{.experiment = "saveload",
                      .iterations = 100,
                      .answers = {{numbers, numbers.back()}},
                      .unit = {"limit", "loop"},
                      .work = isLoad ? "load" : "save",
                      .peers = {.settings = {{"a", listingA}, {"b", listingB}, {"load", isLoad ? 1 : 0}}}};
    const auto contestants = isLoad ? loaders(folder.path, graph) : savers(folder.path, graph);
    for (Row& row : compare(options, trial, contestants)) rows.push_back(std::move(row));
  }
  for (Row& row : largeFile(options, folder.path)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace bench
