// What burt asks of the system as a program that runs for hours: descriptors that are open, signals that stop it gently, and
// output that was really written.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace burt {

/// Opens /dev/null on a closed stdin, stdout or stderr. Otherwise the first file that is opened takes its number, and what
/// is printed ends up in it.
inline void openStandardFiles() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDWR) != descriptor)
      _exit(2);
}

/// Returns why stdout is incomplete, or "". A reader that closed its pipe has seen what it wanted: that is no error.
inline std::string problemOfStdout() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  const int reason = errno;
  pollfd state{STDOUT_FILENO, POLLOUT, 0};
  if (reason == EPIPE || (poll(&state, 1, 0) == 1 && (state.revents & POLLERR) != 0)) return {};
  return std::string("cannot write to stdout: ") +
         (reason != 0 ? std::strerror(reason) : "not everything was written");
}

/// While it lives, Ctrl-C, SIGTERM and SIGHUP only leave their number in `received`. A SIGHUP that is ignored (nohup)
/// stays so.
class StopSignals {
 public:
  StopSignals() {
    received_ = 0;
    struct sigaction stop {};
    stop.sa_handler = [](int signal) { received_ = signal; };
    for (auto& [signal, before] : before_) {
      sigaction(signal, &stop, &before);
      if (signal == SIGHUP && before.sa_handler == SIG_IGN) sigaction(signal, &before, nullptr);
    }
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals() {
    for (const auto& [signal, before] : before_) sigaction(signal, &before, nullptr);
  }
  /// 0 if there was none.
  static int received() { return received_; }

 private:
  inline static volatile std::sig_atomic_t received_ = 0;
  std::pair<int, struct sigaction> before_[3] = {{SIGINT, {}}, {SIGTERM, {}}, {SIGHUP, {}}};
};

}  // namespace burt
