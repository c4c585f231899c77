// Save, load and look: the program of docs/files.md. It works in a folder of its own, which it removes.
#include <unistd.h>

#include <burtorch/checkpoint/parameters_file.hpp>
#include <burtorch/checkpoint/training_file.hpp>
#include <burtorch/io/npy.hpp>
#include <burtorch/io/raw_file.hpp>
#include <burtorch/learn.hpp>
#include <burtorch/viz/dot.hpp>
#include <burtorch/viz/heat_map.hpp>
#include <burtorch/viz/plot.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace burtorch;

namespace {

void rawNumbers() {
  Tape<double> tape;
  CurrentTape here(tape);
  Value a(-41.0, "a"), b(2.0, "b");
  auto c = a + b;
  auto d = a * b + pow3(b);
  auto e = c - d;
  auto g = sqr(e) / 2.0;
  backward(g);

  const std::vector<Value<double>> seven{a, b, c, d, e, g, a * b};
  saveToFile("seven.bin", seven);
  saveToFile<Numbers::gradients>("from_a_to_e.bin", a, e);
  saveToFile<Numbers::valuesAndGradients>("graph.bin", tape);
  std::printf("raw files         %ju, %ju and %ju bytes\n", std::filesystem::file_size("seven.bin"),
              std::filesystem::file_size("from_a_to_e.bin"), std::filesystem::file_size("graph.bin"));

  a.setData(7.0);
  loadFromFile("seven.bin", seven);
  std::printf("loaded            a is %g again\n", a.value());

  const std::string dot = buildDotGraph(g, {.title = "g and its gradient"});
  std::ofstream("graph.dot") << dot;
  std::printf("graph.dot         %s\n", dot.substr(0, dot.find('\n')).c_str());
}

/// A network that learns a sine, and all that its next step depends on.
struct SineTraining {
  const Mlp<float> mlp{{.sizes = {1, 16, 1}}};
  ParameterStore<float> parameters{mlp.layout()};
  Optimizer<float, AdamW> optimizer{AdamW{.learningRate = 1e-2}, parameters.size()};
  Rng rng{1};
  Tape<float> tape{parameters};
  CurrentTape<float, defaultConfig> here{tape};

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      const SampleScope sample(tape);
      const Matrix<float> x(tape.leaves(8), 1, 8), wanted(tape.leaves(8), 1, 8);
      for (std::size_t k = 0; k < 8; ++k) {
        x.values()[k] = 6 * rng.uniform<float>() - 3;
        wanted.values()[k] = std::sin(x.values()[k]);
      }
      zeroGrad(parameters);
      backward(meanSquaredError(mlp(x), wanted));
      optimizer.step(parameters.values(), parameters.gradients());
    }
  }
};

void models() {
  std::vector<float> whole, resumed;
  {
    SineTraining training;
    training.steps(100);
    whole.assign(training.parameters.values().begin(), training.parameters.values().end());
  }
  {
    SineTraining training;
    training.steps(50);
    saveTraining("state.safetensors", training.parameters, training.optimizer, training.rng);
  }
  SineTraining training;
  loadTraining(SafetensorsFile("state.safetensors"), training.parameters, training.optimizer, training.rng);
  training.steps(50);
  resumed.assign(training.parameters.values().begin(), training.parameters.values().end());
  std::printf("50 + 50 steps     %s 100 steps\n", resumed == whole ? "bit for bit as" : "NOT as");

  auto& parameters = training.parameters;
  saveParameters("model.safetensors", parameters, {{"learned", "a sine"}});
  const SafetensorsFile file("model.safetensors");
  for (const TensorInfo& tensor : file.tensors())
    std::printf("  %-16s%s %s\n", tensor.name.c_str(), tensor.dtype.c_str(),
                safetensors::shapeText(tensor.shape).c_str());
  loadParameters(file, parameters);

  const std::vector<double> numbers{1.5, 2.5, 3.5, 4.5, 5.5, 6.5};
  saveNpy("numbers.npy", {2, 3}, std::span(numbers));
  std::vector<float> read(6);
  NpyFile("numbers.npy").read(std::span(read));
  std::printf("numbers.npy       the last is %g\n", static_cast<double>(read[5]));
}

void pictures() {
  const std::string plot = generatePlot([](double x) { return std::tanh(x); }, -3.0, 3.0, {.title = "tanh"});
  std::ofstream("plot.py") << plot;
  const std::string heat = generateHeatMap(
      2, 3, [](std::size_t row, std::size_t column) { return row == column ? 1.0 : 0.25; },
      [](std::size_t row, std::size_t column) { return row * 3 + column; });
  std::ofstream("heat.py") << heat;
  std::printf("scripts           python3 plot.py, python3 heat.py PICTURE.png\n");
}

}  // namespace

int main() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("burtorch-files-" + std::to_string(getpid()));
  fs::create_directories(folder);
  fs::current_path(folder);
  rawNumbers();
  models();
  pictures();
  fs::current_path(folder.parent_path());
  fs::remove_all(folder);
}
