// showPlot with a Python that has no real Matplotlib, and with stand-ins for Python: nothing here opens a window.
// label: full (it starts Python some thirty times)
#include <burtorch/debug/show_plot.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <burtorch/viz/plot.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace show_plot_test {

/// An environment variable until the end of the block.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before, hadOne_ = true;
    setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    if (hadOne_)
      setenv(name_, before_.c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::string before_;
  bool hadOne_ = false;
};

class ShowPlotTest : public testing::Test {
 protected:
  ShowPlotTest() : temporary_("TMPDIR", temporaries_.folder()), modules_("PYTHONPATH", scratch_.folder()) {
    // An empty module is enough for the scripts of these tests.
    scratch_.put("matplotlib.py", "");
  }
  /// A program in place of Python.
  std::string standIn(const std::string& commands) const {
    const std::string path = scratch_.put("stand_in", "#!/bin/sh\n" + commands + "\n");
    EXPECT_EQ(chmod(path.c_str(), 0700), 0);
    return path;
  }
  /// Python code that writes an expression's value into a file of ours.
  std::string writing(const std::string& name, const std::string& expression) const {
    return "open('" + scratch_.path(name) + "', 'w').write(str(" + expression + "))\n";
  }

  Scratch scratch_, temporaries_;
  Environment temporary_, modules_;
};

TEST_F(ShowPlotTest, RunsTheScript) {
  EXPECT_EQ(showPlot(writing("seen", "6 * 7")).wait(), "");
  EXPECT_EQ(contentOf(scratch_.path("seen")), "42");
}
TEST_F(ShowPlotTest, ReturnsWhileTheWindowIsOpen) {
  // The script waits for what the program does after the call: a call that waited would never return.
  const std::string script = "import os, time\nwhile not os.path.exists('" + scratch_.path("closed") +
                             "'): time.sleep(0.01)\n" + writing("seen", "'closed'");
  ShownPlot plot = showPlot(script);
  EXPECT_EQ(contentOf(scratch_.path("seen")), "");
  scratch_.put("closed", "");
  EXPECT_EQ(plot.wait(), "");
  EXPECT_EQ(contentOf(scratch_.path("seen")), "closed");
}
TEST_F(ShowPlotTest, LeavesNoChildBehind) {
  ShownPlot plot = showPlot("pass");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  plot.wait();
}
TEST_F(ShowPlotTest, AForgottenPlotGoesOn) {
  const std::string ready = scratch_.path("ready"), done = scratch_.path("done");
  showPlot("import os, time\nwhile not os.path.exists('" + ready + "'): time.sleep(0.01)\n" +
           writing("done", "'yes'"));
  scratch_.put("ready", "");
  while (contentOf(done) != "yes") std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

TEST_F(ShowPlotTest, StartsTheInterpreterWithTheScriptInAPrivateFolder) {
  const std::string interpreter = standIn(
      "printf '%s\\n' $# \"$0\" > " + scratch_.path("arguments") + "; cp \"$2\" " + scratch_.path("copy") +
      "; stat -c '%a' \"$(dirname \"$2\")\" \"$2\" > " + scratch_.path("modes"));
  const std::string script("any\0bytes \xff $(touch x) `touch x` \"'\\\n", 38);
  EXPECT_EQ(showPlot(script, {.interpreter = interpreter}).wait(), "");
  EXPECT_EQ(contentOf(scratch_.path("arguments")), "2\n" + interpreter + "\n");
  EXPECT_EQ(contentOf(scratch_.path("copy")), script);
  EXPECT_EQ(contentOf(scratch_.path("modes")), "700\n600\n");
}
TEST_F(ShowPlotTest, TheFolderIsGoneWhenItReturns) {
  ShownPlot plot = showPlot("pass");
  EXPECT_TRUE(temporaries_.entries().empty());
  plot.wait();
}
TEST_F(ShowPlotTest, TheFolderIsGoneAfterAnErrorToo) {
  sentenceOf([&] { showPlot("pass", {.interpreter = scratch_.path("nothing")}); });
  sentenceOf([&] { showPlot("pass", {.interpreter = standIn("exit 3")}); });
  EXPECT_TRUE(temporaries_.entries().empty());
}
TEST_F(ShowPlotTest, NoModuleComesFromTheFolderOnceItIsGone) {
  // Whoever saw its name could make it again.
  showPlot("import os, sys\n" + writing("found", "[p for p in sys.path if 'burtorch_plot' in p]")).wait();
  EXPECT_EQ(contentOf(scratch_.path("found")), "[]");
}

TEST_F(ShowPlotTest, AMissingInterpreterIsOneSentence) {
  const std::string sentence = sentenceOf([] { showPlot("pass", {.interpreter = "no-such-python"}); });
  EXPECT_TRUE(contains(sentence, "no-such-python")) << sentence;
  EXPECT_TRUE(contains(sentence, "install Python 3")) << sentence;
  EXPECT_EQ(codeOf([] { showPlot("pass", {.interpreter = "no-such-python"}); }), ErrorCode::unsupported);
}
TEST_F(ShowPlotTest, AMissingMatplotlibIsOneSentenceOfTheCall) {
  // -I -S: without our module and without installed packages.
  const std::string python = standIn("exec python3 -I -S \"$@\"");
  const std::string sentence = sentenceOf([&] { showPlot("pass", {.interpreter = python}); });
  EXPECT_TRUE(contains(sentence, "pip install matplotlib")) << sentence;
}
TEST_F(ShowPlotTest, AnInterpreterThatFailsIsQuotedOrSaidToBeSilent) {
  const auto sentence = [&](const std::string& commands) {
    return sentenceOf([&] { showPlot("pass", {.interpreter = standIn(commands)}); });
  };
  EXPECT_TRUE(contains(sentence("echo first >&2; echo 'the last word' >&2; exit 3"), ": the last word"));
  EXPECT_TRUE(contains(sentence("exit 3"), "without a word"));
  // Its pipe is full, or held by a process that it left: nobody waits for anybody.
  EXPECT_NE(sentence("i=0; while [ $i -lt 3000 ]; do echo 'a line of some forty characters, or so' >&2; "
                     "i=$((i+1)); done; exit 3"),
            "");
  const std::string left = scratch_.path("left");
  // It ends with the folder too: the file may come and go between two looks.
  EXPECT_NE(sentence("(while [ -d " + scratch_.folder() + " ] && [ ! -e " + left +
                     " ]; do sleep 0.02; done) & exit 3"),
            "");
  scratch_.put("left", "");
}
TEST_F(ShowPlotTest, AFolderThatCannotBeMadeIsOneSentence) {
  const Environment nowhere("TMPDIR", scratch_.path("nowhere"));
  EXPECT_TRUE(contains(sentenceOf([] { showPlot("pass"); }), "TMPDIR"));
  EXPECT_EQ(codeOf([] { showPlot("pass"); }), ErrorCode::fileAccess);
}

TEST_F(ShowPlotTest, WaitTellsWhatWentWrong) {
  EXPECT_EQ(showPlot("import sys\nsys.exit('there is no display')").wait(), "there is no display");
  EXPECT_EQ(showPlot("import sys\nsys.exit(3)").wait(), "the script of the plot ended with code 3");
  EXPECT_EQ(showPlot("import sys\nsys.exit(0)").wait(), "");
  EXPECT_EQ(showPlot("raise ValueError('two\\nlines')").wait(),
            "the script of the plot failed: ValueError: two lines");
  EXPECT_TRUE(contains(showPlot("two words").wait(), "SyntaxError"));
}
TEST_F(ShowPlotTest, WaitCanBeAskedAgainAndAfterAMove) {
  ShownPlot plot = showPlot("import sys\nsys.exit('there is no display')");
  EXPECT_EQ(plot.wait(), "there is no display");
  ShownPlot moved = std::move(plot);
  EXPECT_EQ(moved.wait(), "there is no display");
}
TEST_F(ShowPlotTest, AGeneratedScriptFindsNoPyplotInAnEmptyMatplotlib) {
  const std::string script = generatePlot([](double x) { return x * x; }, -1, 1);
  EXPECT_TRUE(contains(showPlot(script).wait(), "matplotlib.pyplot")) << showPlot(script).wait();
}

TEST_F(ShowPlotTest, TheProgramsOutputStaysItsOwn) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const std::string problem =
      showPlot(
          "import os, sys\nprint('out')\nprint('err', file=sys.stderr)\nos.write(1, b'o')\nos.write(2, b'e')")
          .wait();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(problem, "");
}
TEST_F(ShowPlotTest, TheProgramsFilesAndInputStayItsOwn) {
  const int mine = open(scratch_.put("mine", "").c_str(), O_RDONLY);  // inherited by any child
  ASSERT_GE(mine, 3);
  showPlot("import os, sys\n" +
           writing("files", "[os.path.realpath('/dev/fd/' + n) for n in os.listdir('/dev/fd')]") +
           writing("input", "repr(sys.stdin.read())"))
      .wait();
  close(mine);
  EXPECT_NE(contentOf(scratch_.path("files")), "");
  EXPECT_FALSE(contains(contentOf(scratch_.path("files")), "/mine"));
  EXPECT_EQ(contentOf(scratch_.path("input")), "''");
}
TEST_F(ShowPlotTest, CanBeCalledFromThreads) {
  std::vector<std::thread> threads;
  std::vector<std::string> problems(4);
  for (std::size_t i = 0; i < problems.size(); ++i)
    threads.emplace_back([&, i] {
      problems[i] = showPlot("import sys\nsys.exit('thread " + std::to_string(i) + "')").wait();
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < problems.size(); ++i) EXPECT_EQ(problems[i], "thread " + std::to_string(i));
}

}  // namespace show_plot_test
}  // namespace burtorch
