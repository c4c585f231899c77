// Writes one of each kind of generated script and picture, with labels and numbers from a file, for scripts.py.
// usage: script_dump INPUT FOLDER    a line of INPUT is "label HEX" (its bytes) or "number HEX" (its bits)
#include <burtorch/viz/curve_svg.hpp>
#include <burtorch/viz/heat_map.hpp>
#include <burtorch/viz/heat_map_svg.hpp>
#include <burtorch/viz/plot.hpp>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace burtorch;

struct Input {
  std::vector<std::string> labels;
  std::vector<double> numbers;

  explicit Input(const char* path) {
    std::ifstream file(path);
    std::string kind, hex;
    while (file >> kind >> hex) {
      hex.erase(0, 1);  // an 'x', so that an empty label is a word too
      if (kind == "label") {
        labels.emplace_back();
        for (std::size_t i = 0; i < hex.size(); i += 2)
          labels.back() += static_cast<char>(std::stoul(hex.substr(i, 2), nullptr, 16));
      } else {
        const unsigned long long bits = std::stoull(hex, nullptr, 16);
        numbers.emplace_back();
        std::memcpy(&numbers.back(), &bits, sizeof bits);
      }
    }
  }
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fputs("usage: script_dump INPUT FOLDER\n", stderr), 2;
  const Input input(arguments[1]);
  const auto put = [&](const char* name, const std::string& text) {
    std::ofstream(std::string(arguments[2]) + "/" + name, std::ios::binary) << text;
  };
  const std::vector<std::string>& labels = input.labels;
  const std::size_t size = labels.size();
  const std::string &first = labels[0], &second = labels[1 % size], &third = labels[2 % size];

  std::vector<Curve> curves;
  for (const std::string& label : labels) {
    curves.push_back({label, {}});
    for (const double x : input.numbers)
      curves.back().points.push_back({static_cast<double>(curves.size()), x});
  }
  const PlotOptions plot{.points = 20, .title = first, .xLabel = second, .yLabel = third};
  put("curves.py", generatePlot(curves, plot));
  put("curves.svg", curveSvg(first, second, third, curves));
  put("function.py", generatePlot([](double x) { return 1 / x; }, -1, 1, plot));

  const HeatMapOptions options{
      .title = first, .xLabel = second, .yLabel = third, .rowLabels = labels, .columnLabels = labels};
  const auto item = [&](std::size_t row, std::size_t column) { return labels[(row + column) % size]; };
  const auto counter = [&](std::size_t row, std::size_t column) {
    return input.numbers[(row * size + column) % input.numbers.size()];
  };
  put("heat.py", generateHeatMap(size, size, item, counter, options));
  put("basic.py", generateHeatMapBasic(std::vector<std::vector<double>>{input.numbers}, {.title = first}));
  const HeatMap map = makeHeatMap(size, 1, item, counter, {.title = first, .rowLabels = labels});
  const HeatMapFigure figure{.title = first, .maps = {map, map, map}};
  put("heats.py", generateHeatMaps(figure));
  put("heats.svg", heatMapSvg(figure));
}
