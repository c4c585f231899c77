// Writes DOT for dot_live.py. "names": leaves whose names are the following arguments, as hexadecimal bytes; "across": the same
// from left to right; "title": the first of them as a title. "cut", "layer", "compiled": other pictures.
#include <burtorch/nn/linear.hpp>
#include <burtorch/nn/parameter_nodes.hpp>
#include <burtorch/viz/dot.hpp>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace burtorch;

std::string fromHex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

std::string draw(const std::string& what, const std::vector<std::string>& names) {
  Tape<double> tape;
  const CurrentTape here(tape);
  if (what == "layer") {
    ParameterLayout layout;
    const Linear linear(layout, "layer", 3, 5);
    bindToLeaves(tape, layout, std::span<const double>(std::vector<double>(layout.size())));
    return buildDotGraph(linear(Matrix<double>(tape.leaves(3), 3, 1))(1, 0));
  }
  if (what == "compiled")
    return buildDotGraph(compile([](auto a, auto b) { return select(a < b, a * a, 3.0 / b); }), 1.0, 2.0);
  std::vector<Value<double>> leaves;
  for (const std::string& name : names) leaves.emplace_back(1.0, name);
  const auto root = reduceSum(leaves);
  if (what == "title") return buildDotGraph(root, {.title = names.at(0)});
  if (what == "cut") return buildDotGraph(root, {.maxNodes = 2});
  const bool isAcross = what == "across";
  return buildDotGraph(root, {.direction = isAcross ? DotDirection::leftToRight : DotDirection::topDown});
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> names;
  for (int i = 2; i < count; ++i) names.push_back(fromHex(arguments[i]));
  std::fputs(draw(arguments[1], names).c_str(), stdout);
}
