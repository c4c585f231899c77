// burt --mpi: several processes at work on one run. burt itself is linked statically and knows no MPI; what follows is implemented
// twice, by ranks_mpi.cpp in the program burt-mpi and by ranks_none.cpp in burt, which becomes burt-mpi when it is asked for MPI.
//
// Rank 0 prints and writes files. What any other rank has to say it tells rank 0; only if that is gone does it speak for itself.
#pragma once

#include <burtorch/parallel/ranks.hpp>
#include <span>
#include <string>

namespace burt {

/// Whether a command line asks for MPI.
bool wantsRanks(std::span<const std::string> arguments);
/// Joins the other ranks. In burt: becomes burt-mpi, with the same arguments; a BadInput if that is not there.
void joinRanks(char** arguments);
/// The ranks of this program, or nullptr.
burtorch::Ranks* ranks();
/// Whether this process prints and writes files.
inline bool isFirstRank() { return ranks() == nullptr || ranks()->rank() == 0; }

/// Whether an error says that another rank is lost, or that a signal ended the wait for it.
inline bool isLossOfRank(const burtorch::Error& error) {
  return error.code() == burtorch::ErrorCode::peerLost || error.code() == burtorch::ErrorCode::stopped;
}

/// The end of a program that has failed, with a sentence for people, or none if it was printed. Does not return with ranks.
void endAfterError(int code, const std::string& sentence);
/// The end of a program, which all ranks reach with the same code; an exit code other than 0 ends the others as well.
void endTogether(int code);

}  // namespace burt
