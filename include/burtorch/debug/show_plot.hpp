// showPlot: a generated plot in a window, while the program goes on (paper E.8). The only function of the library that
// starts anything, and only when it is called: Python, directly, without a shell.
//
// The script goes into a fresh folder that only this user can read. Python (posix_spawn: safe in programs with threads)
// reads it from there, looks whether there is Matplotlib, leaves a process of its own behind that draws, and ends; this is
// what showPlot waits for, some tenth of a second. So the call itself says what is missing, no zombie is left, and the folder is gone
// when it returns. The window stays open until a person closes it, also after the program has ended or got a Ctrl-C. It
// has nothing of the program's: no files, no terminal; what it prints is lost. Of what goes wrong later, such as that
// there is no display, `ShownPlot::wait` tells.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "../base/check.hpp"
#include "../io/printable.hpp"

namespace burtorch::inline BURTORCH_TARGET {

struct ShowPlotOptions {
  std::string interpreter = "python3";  // a name to be found in PATH, or a path
};

/// A plot that is being shown. It may be forgotten at once: the window stays.
class ShownPlot {
 public:
  /// For showPlot: `report` is where its process writes, at its end, what went wrong.
  explicit ShownPlot(int report) : report_(report) {}
  ShownPlot(ShownPlot&& other) noexcept
      : report_(std::exchange(other.report_, -1)), problem_(std::move(other.problem_)) {}
  ShownPlot(const ShownPlot&) = delete;
  ShownPlot& operator=(const ShownPlot&) = delete;
  ~ShownPlot() { closeReport(); }

  /// Waits until the window is closed. Empty if all went well, otherwise one sentence.
  std::string wait() {
    char part[512];
    while (report_ >= 0) {
      const ssize_t count = read(report_, part, sizeof part);
      if (count > 0)
        problem_.append(part, static_cast<std::size_t>(count));
      else if (count == 0 || errno != EINTR)
        closeReport();
    }
    return problem_;
  }

 private:
  void closeReport() {
    if (report_ >= 0) close(report_);
    report_ = -1;
  }

  int report_;
  std::string problem_;
};

namespace detail {

/// What Python is started with, and the path of the plot's script behind it.
inline constexpr std::string_view plotLauncher = R"(import importlib.util
import os
import sys

folder = os.path.dirname(os.path.abspath(sys.argv[1]))
with open(sys.argv[1], encoding="utf-8") as file:
    script = file.read()
# The folder is about to go. Nobody who makes it again shall be able to put modules there.
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != folder]
if importlib.util.find_spec("matplotlib") is None:
    sys.exit("this Python cannot import Matplotlib; install it: pip install matplotlib")
for number in map(int, os.listdir("/dev/fd")):
    if number > 2:
        try:
            os.close(number)
        except OSError:
            pass
report = os.dup(2)
if os.fork() > 0:
    os._exit(0)

os.setsid()
nowhere = os.open(os.devnull, os.O_RDWR)
for number in (0, 1, 2):
    os.dup2(nowhere, number)
sys.argv = ["plot.py"]
problem = ""
try:
    exec(compile(script, "plot.py", "exec"), {"__name__": "__main__"})
except SystemExit as end:
    if end.code not in (None, 0):
        problem = end.code if isinstance(end.code, str) else f"the script of the plot ended with code {end.code}"
except BaseException as error:
    problem = f"the script of the plot failed: {type(error).__name__}: {error}"
try:
    os.write(report, " ".join(problem.split())[:400].encode("utf-8", "replace"))
except OSError:
    pass
)";

/// A folder of our own for a moment.
class PlotFolder {
 public:
  PlotFolder() {
    const char* place = std::getenv("TMPDIR");
    path_ = std::string(place != nullptr && *place != '\0' ? place : "/tmp") + "/burtorch_plot_XXXXXX";
    if (mkdtemp(path_.data()) == nullptr)  // readable by its owner only
      fail(ErrorCode::fileAccess,
           "no folder for a plot can be made in '%s' (%s); let TMPDIR name one where it can",
           printable(path_.substr(0, path_.rfind('/'))).c_str(), std::strerror(errno));
  }
  PlotFolder(const PlotFolder&) = delete;
  PlotFolder& operator=(const PlotFolder&) = delete;
  ~PlotFolder() { remove(); }

  std::string file(const char* name) const { return path_ + "/" + name; }
  void write(const char* name, std::string_view text) {
    const int file = open(this->file(name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool isWritten = file >= 0;
    while (isWritten && !text.empty()) {
      const ssize_t count = ::write(file, text.data(), text.size());
      if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
      isWritten = count > 0 || (count < 0 && errno == EINTR);
    }
    const int reason = errno;
    if (file >= 0) close(file);
    if (isWritten) return;
    remove();
    fail(ErrorCode::fileAccess,
         "the script of a plot cannot be written to '%s' (%s); let TMPDIR name a folder with room",
         printable(path_).c_str(), std::strerror(reason));
  }
  /// Also called before fail: without exceptions no destructor runs.
  void remove() {
    for (const char* name : {"plot.py", "show.py"}) unlink(file(name).c_str());
    rmdir(path_.c_str());
  }

 private:
  std::string path_;
};

/// Starts `interpreter show.py plot.py`, its errors to `report`. Returns 0 and the process, or the reason why not.
inline int startPython(const std::string& interpreter, const PlotFolder& folder, int report, pid_t& process) {
  std::string arguments[] = {interpreter, folder.file("show.py"), folder.file("plot.py")};
  char* pointers[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, report, STDERR_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  // Signals that this thread blocks shall still be able to end the window.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int reason = posix_spawnp(&process, pointers[0], &actions, &attributes, pointers, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return reason;
}

/// Whether the process ended well. Unknown counts as well: the program may collect all its children itself.
inline bool endedWell(pid_t process) {
  int status = 0;
  pid_t ended = waitpid(process, &status, 0);
  while (ended < 0 && errno == EINTR) ended = waitpid(process, &status, 0);
  return ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// The last line of what can be read at once: the sentence of an error of Python.
inline std::string lastLine(int file) {
  fcntl(file, F_SETFL, O_NONBLOCK);
  char text[4096];
  const ssize_t count = read(file, text, sizeof text);
  std::string_view line(text, count > 0 ? static_cast<std::size_t>(count) : 0);
  while (line.ends_with('\n')) line.remove_suffix(1);
  return printable(line.substr(line.rfind('\n') + 1), 120);
}

}  // namespace detail

/// Opens a window with a plot, made by generatePlot, generateHeatMap or their like. Fails if Python cannot be started or
/// has no Matplotlib. The interpreter must be a Python 3.
inline ShownPlot showPlot(std::string_view script, const ShowPlotOptions& options = {}) {
  detail::PlotFolder folder;
  folder.write("show.py", detail::plotLauncher);
  folder.write("plot.py", script);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    folder.remove();
    fail(ErrorCode::unsupported, "no plot can be shown: %s", std::strerror(errno));
  }
  // Nothing that Python says may make it wait for us.
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  pid_t process = 0;
  const int reason = detail::startPython(options.interpreter, folder, ends[1], process);
  close(ends[1]);
  if (reason != 0) {
    folder.remove();
    close(ends[0]);
    fail(ErrorCode::unsupported,
         "cannot start '%s' to show a plot (%s); install Python 3, or name another one in ShowPlotOptions",
         printable(options.interpreter).c_str(), std::strerror(reason));
  }
  if (!detail::endedWell(process)) {
    const std::string line = detail::lastLine(ends[0]);
    folder.remove();
    close(ends[0]);
    fail(ErrorCode::unsupported, "'%s' cannot show the plot: %s", printable(options.interpreter).c_str(),
         line.empty() ? "it ended without a word" : line.c_str());
  }
  return ShownPlot(ends[0]);
}

}  // namespace burtorch::inline BURTORCH_TARGET
