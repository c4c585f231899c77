// Pictures by Graphviz's program dot: DOT in, an SVG, PNG or PDF file as a string out. The program is run directly, without
// a shell. What it reads and writes are temporary files without a name, so nothing stays behind, however this ends.
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <burtorch/io/printable.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "flags.hpp"

namespace burt {

/// A file that is gone when it is closed.
class NamelessFile {
 public:
  NamelessFile() : file_(std::tmpfile(), &std::fclose) {
    if (!file_) throw BadInput(std::string("a temporary file cannot be made: ") + std::strerror(errno));
  }
  int descriptor() const { return fileno(file_.get()); }
  void write(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || std::fflush(file_.get()) != 0)
      throw BadInput(std::string("a temporary file cannot be written: ") + std::strerror(errno));
    std::rewind(file_.get());
  }
  std::string read() {
    std::rewind(file_.get());
    std::string text;
    char part[65536];
    while (const std::size_t count = std::fread(part, 1, sizeof part, file_.get())) text.append(part, count);
    return text;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// Starts dot, waits for it and returns its status as waitpid gives it.
inline int runDot(const std::string& format, const NamelessFile& in, const NamelessFile& out,
                  const NamelessFile& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.descriptor(), STDERR_FILENO);
  std::string program = "dot", flag = "-T" + format;
  char* const arguments[] = {program.data(), flag.data(), nullptr};
  pid_t child = 0;
  const int problem = posix_spawnp(&child, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem == ENOENT)
    throw BadInput(
        "Graphviz is not installed (there is no program dot): write a .dot file, or install graphviz");
  if (problem != 0)
    throw BadInput(std::string("Graphviz's dot cannot be started: ") + std::strerror(problem) +
                   "; a .dot file works without it");
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw BadInput(std::string("dot cannot be waited for: ") + std::strerror(errno));
  return status;
}

/// A picture of `text` in a format of Graphviz: svg, png, pdf.
inline std::string pictureOf(const std::string& text, const std::string& format) {
  NamelessFile in, out, errors;
  in.write(text);
  const int status = runDot(format, in, out, errors);
  std::string picture = out.read();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !picture.empty()) return picture;
  std::string reason = errors.read();
  reason = reason.substr(0, reason.find('\n'));
  if (reason.empty()) reason = WIFSIGNALED(status) ? "it was killed" : "it gave no reason";
  throw BadInput("Graphviz's dot made no " + format + ": " + burtorch::printable(reason, 150) +
                 "; a .dot file works without it");
}

}  // namespace burt
