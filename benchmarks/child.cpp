#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace bench {

Child::Child(const std::vector<std::string>& command, const std::string& errors) {
  signal(SIGPIPE, SIG_IGN);  // a child that died is an answer, not the end
  int toChild[2], fromChild[2];
  if (pipe2(toChild, O_CLOEXEC) != 0) return;
  to_ = toChild[1];
  if (pipe2(fromChild, O_CLOEXEC) == 0) {
    from_ = fromChild[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, toChild[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fromChild[1], STDOUT_FILENO);
    if (!errors.empty())
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                       0600);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    if (posix_spawnp(&id_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) id_ = 0;
    posix_spawn_file_actions_destroy(&actions);
    close(fromChild[1]);
  }
  close(toChild[0]);
}

bool Child::say(const std::string& line) {
  const std::string text = line + "\n";
  return to_ >= 0 && write(to_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool Child::hear(std::string& line, int patienceMs) {
  for (;;) {
    if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
      line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return true;
    }
    pollfd wait{from_, POLLIN, 0};
    if (id_ == 0 || poll(&wait, 1, patienceMs) <= 0) return false;
    char part[4096];
    const ssize_t count = read(from_, part, sizeof part);
    if (count <= 0) return false;
    pending_.append(part, static_cast<std::size_t>(count));
  }
}

int Child::finish() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  if (id_ == 0) return code_;
  int status = 0;
  for (int waited = 0; waitpid(id_, &status, WNOHANG) == 0; usleep(1000))
    if (++waited == 5000) kill(id_, SIGKILL);
  id_ = 0;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return code_;
}

}  // namespace bench
