// One shard of the random graph tests: a range of seeds, every program checked, every feature required.
#pragma once

#include <gtest/gtest.h>

#include "reference/graph_shrink.hpp"

namespace graphs {

/// What every shard must have met. The operators come from the library's own list.
inline std::vector<std::string> requiredFeatures() {
  std::vector<std::string> names = {"same node: mul",
                                    "same node: sub",
                                    "same node: div",
                                    "same node twice in one list",
                                    "same list on both sides of an inner product",
                                    "contiguous",
                                    "strided",
                                    "reversed",
                                    "scattered",
                                    "one node repeated",
                                    "list of ranges",
                                    "passed as a range",
                                    "c += c",
                                    "chain of in-place steps",
                                    "dead step",
                                    "dead pole",
                                    "spelled: left",
                                    "spelled: inplace",
                                    "spelled: inplaceName",
                                    "spelled: minus",
                                    "spelled: both",
                                    "spelled: function",
                                    "backward repeated 20 times",
                                    "several roots",
                                    "several roots share inner nodes",
                                    "root is a leaf",
                                    "rewind and rebuild",
                                    "fixed storage",
                                    "borrowed storage",
                                    "evenly shared storage",
                                    "single leaf",
                                    "block of leaves",
                                    "leaf after other nodes",
                                    "f + f = 2 f",
                                    "forward against reverse",
                                    "fp64",
                                    "fp32"};
  for (const int fanIn : fanIns) names.push_back("fan-in " + std::to_string(fanIn));
  for (const auto& info : burtorch::OpList::infos) names.emplace_back(info.name);
  return names;
}

inline void runShard(std::uint64_t firstSeed, std::uint64_t count) {
  Features features;
  for (std::uint64_t seed = firstSeed; seed < firstSeed + count; ++seed) {
    const Program program = Generator::generate(seed);
    const std::string complaint = checkProgram(program, features);
    if (!complaint.empty()) FAIL() << report(program, complaint);
  }
  for (const auto& name : requiredFeatures()) EXPECT_GT(features[name], 0) << name << " did not occur";
  if (std::getenv("BURTORCH_SHOW_FEATURES") != nullptr)
    for (const auto& [name, times] : features) std::printf("%9ld %s\n", times, name.c_str());
}

}  // namespace graphs
