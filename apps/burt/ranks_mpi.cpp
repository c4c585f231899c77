// Part of burt-mpi: the ranks are those of MPI.
#include <burtorch/mpi/mpi_ranks.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "ranks.hpp"
#include "system.hpp"

namespace burt {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<burtorch::MpiRanks> joined;
constexpr burtorch::MessageLabel theEnd{.kind = 1};

}  // namespace

void joinRanks(char**) { joined = std::make_unique<burtorch::MpiRanks>(); }
burtorch::Ranks* ranks() { return joined.get(); }

void endAfterError(int code, const std::string& sentence) {
  if (isFirstRank() && !sentence.empty()) std::fprintf(stderr, "burt: %s\n", sentence.c_str());
  if (joined == nullptr) return;
  std::fflush(stdout);
  // Rank 0 may hear this and save what there is; then it ends all.
  joined->leave(sentence.empty() ? "see above" : sentence);
  if (!isFirstRank()) {
    std::this_thread::sleep_for(8s);
    std::fprintf(stderr, "burt: rank %zu: %s\n", joined->rank(), sentence.c_str());
  }
  joined->abort(code);
}
void endTogether(int code) {
  if (joined == nullptr) return;
  if (!isFirstRank()) {
    // Rank 0 may have files to write. If it ends with an error this wait does not return.
    joined->setPatience(24h * 365);
    try {
      joined->receive(0, theEnd, 0);
    } catch (const burtorch::Error& error) {
      endAfterError(2, error.what());
    }
    return joined->finish();
  }
  if (code != 0) return endAfterError(code, "");
  for (std::size_t other = 1; other < joined->size(); ++other) joined->send(other, theEnd, {});
  joined->finish();
}

}  // namespace burt
