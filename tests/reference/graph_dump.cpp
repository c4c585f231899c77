// Prints random programs for another judge, and checks its answer:
//   graph_dump SEED COUNT [MAX_NODES]      writes programs to standard output
//   graph_dump --check FILE    reads programs with `expect` lines (make_graphs.py) and compares
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "graph_shrink.hpp"

namespace {

int check(const char* path) {
  const auto programs = graphs::Parser::parseFile(path);
  graphs::Features features;
  long failures = 0;
  for (const auto& program : programs) {
    const std::string complaint = graphs::checkProgram(program, features);
    if (!complaint.empty() && ++failures <= 3)
      std::printf("%s\n%s", complaint.c_str(), graphs::toText(program).c_str());
  }
  std::printf("%zu programs, %ld with expectations, %ld failures\n", programs.size(),
              features["expectations"], failures);
  return failures == 0 && !programs.empty() && features["expectations"] > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 3 && std::strcmp(argv[1], "--check") == 0) return check(argv[2]);
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: graph_dump SEED COUNT [MAX_NODES] | graph_dump --check FILE\n");
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10),
                      count = std::strtoull(argv[2], nullptr, 10);
  const std::size_t maxNodes = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : ~std::size_t{0};
  for (std::uint64_t seed = first, written = 0; written < count; ++seed) {
    const auto program = graphs::Generator::generate(seed);
    if (program.nodeCount() > maxNodes) continue;
    std::fputs(graphs::toText(program).c_str(), stdout);
    ++written;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "graph_dump: %s\n", error.what());
  return 1;
}
