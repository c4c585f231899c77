// burt: trains small language models, evaluates them, writes text with them, draws them and shows what is in their files.
#include <algorithm>
#include <burtorch/base/check.hpp>
#include <burtorch/burtorch.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "command.hpp"
#include "flags.hpp"
#include "ranks.hpp"
#include "system.hpp"

namespace {

void printUsage() {
  std::printf("usage: %s COMMAND [options]\n\n", burt::self().c_str());
  for (const burt::Subcommand& command : burt::subcommands()) std::fputs(command.usage, stdout);
  std::printf(
      "\n"
      "  --help       show this text; after a command, its options\n"
      "  --version    show the version\n"
      "\n%s",
      burt::exitCodes);
}

int run(const std::vector<std::string>& arguments) {
  const std::string wanted = arguments.empty() ? "" : arguments[0];
  if (wanted == "--help" || wanted == "-h" || wanted == "help") {
    printUsage();
    return 0;
  }
  if (wanted == "--version") {
    std::puts("burt " BURTORCH_VERSION);
    return 0;
  }
  std::string names;
  for (const burt::Subcommand& command : burt::subcommands()) {
    if (wanted == command.name) return command.run(std::span(arguments).subspan(1));
    names += std::string(names.empty() ? "" : ", ") + command.name;
  }
  throw burt::BadInput(
      (wanted.empty() ? "expected a command" : "unknown command '" + wanted + "'; expected one") + " of " +
      names + "; see " + burt::self() + " --help");
}

}  // namespace

bool burt::wantsRanks(std::span<const std::string> arguments) {
  if (arguments.empty() || (arguments[0] != "train" && arguments[0] != "optimise")) return false;
  const auto has = [&](const char* flag) {
    return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
  };
  return has("--mpi") && !has("--help");
}

int main(int count, char** arguments) {
  burt::openStandardFiles();
  std::signal(SIGPIPE, SIG_IGN);  // A reader that goes away must not take the run with it.
  int code = 2;
  std::string problem;
  try {
    const std::vector<std::string> all(arguments + 1, arguments + count);
    if (burt::wantsRanks(all)) burt::joinRanks(arguments);
    code = run(all);
  } catch (const std::bad_alloc&) {
    problem = "out of memory; choose smaller sizes or a smaller --tile";
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (const std::string lost = burt::problemOfStdout(); !lost.empty()) {
    problem += (problem.empty() ? "" : "\nburt: ") + lost;
    code = code == 0 ? 2 : code;
  }
  if (problem.empty())
    burt::endTogether(code);
  else
    burt::endAfterError(code, problem);
  return code;
}
