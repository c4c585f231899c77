// Part of burt: no ranks. Asked for them, burt becomes burt-mpi.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "flags.hpp"
#include "ranks.hpp"

namespace burt {

void joinRanks(char** arguments) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = (self.parent_path() / "burt-mpi").string();
  if (error || !std::filesystem::exists(program, error))
    throw BadInput(
        "--mpi needs burt-mpi beside burt, which is built where MPI is installed (Debian: openmpi-bin "
        "libopenmpi-dev); install it and build burt again");
  execv(program.c_str(), arguments);
  throw BadInput("cannot start " + program + ": " + std::strerror(errno));
}
burtorch::Ranks* ranks() { return nullptr; }

void endAfterError(int, const std::string& sentence) {
  if (!sentence.empty()) std::fprintf(stderr, "burt: %s\n", sentence.c_str());
}
void endTogether(int) {}

}  // namespace burt
