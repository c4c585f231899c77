// What a person sees of a training run: one live line with a small curve on a terminal, plain log lines elsewhere.
#pragma once

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <burtorch/train/training.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "ranks.hpp"

namespace burt {

/// Peak resident memory of this process, in MB.
inline double peakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // Linux counts in KB
}

/// Whether a person looks at stdout as it comes. mpirun gives its ranks a terminal, whatever its own output is.
inline bool isTerminal() { return ranks() == nullptr && isatty(STDOUT_FILENO) != 0; }

/// 0:07, 12:34, 1:02:03
inline std::string clockTime(double seconds) {
  const auto all = static_cast<long long>(seconds + 0.5);
  char text[32];
  if (all >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", all / 3600, all / 60 % 60, all % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", all / 60, all % 60);
  return text;
}

/// A curve of `width` characters, each the mean of its share of the numbers.
inline std::string sparkline(const std::vector<double>& numbers, std::size_t width) {
  static constexpr const char* bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<double> means;
  for (std::size_t i = 0; i < width && !numbers.empty(); ++i) {
    const std::size_t from = i * numbers.size() / width,
                      to = std::max(from + 1, (i + 1) * numbers.size() / width);
    double sum = 0;
    for (std::size_t k = from; k < to; ++k) sum += numbers[k];
    means.push_back(sum / static_cast<double>(to - from));
  }
  if (means.empty()) return "";
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  const double low = *least, high = *most;
  std::string line;
  for (const double mean : means) {
    const double part = high > low ? (mean - low) / (high - low) : 0;
    line += bars[std::min<std::size_t>(7, static_cast<std::size_t>(part * 8))];
  }
  return line;
}

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  Progress(std::uint64_t firstStep, std::uint64_t steps, std::size_t tokensPerStep)
      : first_(firstStep), steps_(steps), tokensPerStep_(tokensPerStep), isLive_(isTerminal()) {}

  bool isLive() const { return isLive_; }

  void show(const burtorch::TrainingStep& step) {
    paused_ += step.validationSeconds;
    losses_.push_back(step.loss);
    smooth_ = losses_.size() == 1 ? step.loss : 0.98 * smooth_ + 0.02 * step.loss;
    if (step.isEvaluated()) {
      validation_ = step.validationLoss;
      validatedStep_ = step.step;
    }
    const auto now = Clock::now();
    const bool isDue = isLive_ ? now - shown_ > std::chrono::milliseconds(100) : step.isEvaluated();
    if (!isDue && step.step != steps_) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count() - paused_;
    const auto done = static_cast<double>(step.step - first_);
    std::string line = text("step %llu/%llu  loss %.4f", static_cast<unsigned long long>(step.step),
                            static_cast<unsigned long long>(steps_), smooth_);
    if (!std::isnan(validation_)) line += text("  val %.4f", validation_);
    line += text("  %.0fk tok/s  %.3f ms/step  %.1f MB",
                 done * static_cast<double>(tokensPerStep_) / seconds / 1000, 1000 * seconds / done,
                 peakMegabytes());
    line += "  " + clockTime(seconds / done * static_cast<double>(steps_ - step.step)) + " left";
    if (!isLive_) {
      std::puts(line.c_str());
      std::fflush(stdout);
      return;
    }
    const std::size_t room = width() > line.size() + 6 ? width() - line.size() - 4 : 0;
    std::printf("\r\x1b[K%s  %s", line.substr(0, width()).c_str(),
                sparkline(losses_, std::min<std::size_t>(room, 32)).c_str());
    std::fflush(stdout);
  }

  /// Prints something between the live lines.
  void say(const std::string& words) {
    clear();
    std::printf("%s\n", words.c_str());
    std::fflush(stdout);
  }
  /// The same on stderr; `lines` end with a newline, or are empty.
  void warn(const std::string& lines) {
    if (lines.empty()) return;
    clear();
    std::fflush(stdout);
    std::fputs(lines.c_str(), stderr);
  }
  void finish() {
    if (isLive_) std::puts("");
  }
  /// What remains on the screen: the last losses.
  std::string losses() const {
    if (losses_.empty()) return "no step was taken";
    const std::size_t count = std::min<std::size_t>(100, losses_.size());
    double sum = 0;
    for (std::size_t i = losses_.size() - count; i < losses_.size(); ++i) sum += losses_[i];
    const double mean = sum / static_cast<double>(count);
    std::string line = text("training loss %.4f (mean of the last %zu steps), ", mean, count);
    if (std::isnan(validation_)) return line + "no validation yet";
    return line + text("validation loss %.4f (step %llu)", validation_,
                       static_cast<unsigned long long>(validatedStep_));
  }
  /// Does something that is not training, so that its time does not count.
  template <class Work> void aside(Work work) {
    const auto start = Clock::now();
    work();
    paused_ += std::chrono::duration<double>(Clock::now() - start).count();
  }

 private:
  void clear() const {
    if (isLive_) std::printf("\r\x1b[K");
  }
  template <class... Arguments> static std::string text(const char* format, Arguments... arguments) {
    char buffer[160];
    std::snprintf(buffer, sizeof buffer, format, arguments...);
    return buffer;
  }
  static std::size_t width() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 100;
  }

  std::uint64_t first_, steps_, validatedStep_ = 0;
  std::size_t tokensPerStep_;
  bool isLive_;
  Clock::time_point start_ = Clock::now(), shown_{};
  double smooth_ = 0, validation_ = std::numeric_limits<double>::quiet_NaN(), paused_ = 0;
  std::vector<double> losses_;
};

}  // namespace burt
