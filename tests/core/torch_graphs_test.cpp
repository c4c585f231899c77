// Random graphs against numbers that PyTorch gave for them (tests/reference/graphs.txt). The same against a live PyTorch
// is tests/reference/torch_live.sh.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "reference/graph_checks.hpp"

namespace torch_graphs_test {

TEST(TorchGraphs, AgreeWithStoredNumbers) {
  const auto folder = std::filesystem::path(__FILE__).parent_path().parent_path() / "reference";
  graphs::Features features;
  for (const auto& program : graphs::Parser::parseFile((folder / "graphs.txt").string())) {
    const std::string complaint = graphs::checkProgram(program, features);
    EXPECT_TRUE(complaint.empty()) << complaint << "\n" << graphs::toText(program);
  }
  EXPECT_GE(features["expectations"], 400);
  // Operators may be added without PyTorch: the stored programs then lag behind, and it is said which they lack.
  std::size_t met = 0;
  for (const auto& info : burtorch::OpList::infos)
    if (features[std::string(info.name)] > 0)
      ++met;
    else
      std::printf("no stored program has %s; reference/make_graphs.py writes new ones\n",
                  std::string(info.name).c_str());
  EXPECT_GE(met, 54u);
}

}  // namespace torch_graphs_test
