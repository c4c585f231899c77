// The record of a run: a line for every step in CSV and in JSON lines, the same for TensorBoard if wanted, and the loss
// curve as SVG. A disk that is full costs the record, not the run: problems are reported and the steps go on.
#pragma once

#include <burtorch/io/tensorboard.hpp>
#include <burtorch/train/training.hpp>
#include <burtorch/viz/curve_svg.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "flags.hpp"

namespace burt {

class Metrics {
 public:
  /// Begins empty files, or, for a run that is resumed after `stepsDone` steps, drops what they say of later ones: those
  /// steps were lost when the run was killed, and are taken again.
  Metrics(const std::filesystem::path& folder, std::uint64_t stepsDone, std::uint64_t steps)
      : share_(steps >= 800 ? steps / 400 : 1) {
    const std::string csv = (folder / "metrics.csv").string(), json = (folder / "metrics.jsonl").string();
    if (stepsDone > 0) {
      keep(csv, "", stepsDone, [this](const char* row) { restore(row); });
      keep(json, "{\"step\":", stepsDone, [](const char*) {});
    }
    csv_.open(csv, stepsDone > 0);
    json_.open(json, stepsDone > 0);
    if (std::ftell(csv_.file.get()) <= 0)
      std::fputs("step,loss,validation_loss,learning_rate,gradient_norm,seconds\n", csv_.file.get());
  }

  /// From now on steps are also added to a file for TensorBoard, which forgets later steps that it knew of in this folder.
  void showInTensorBoard(const std::filesystem::path& folder, std::uint64_t firstStep) {
    events_.emplace(folder.string(), burtorch::EventFileOptions{.firstStep = firstStep});
  }

  /// `seconds` since the program started.
  void add(const burtorch::TrainingStep& step, double seconds) {
    seconds += secondsBefore_;
    if (events_) events_->add(step);
    const auto number = static_cast<unsigned long long>(step.step);
    char validation[32] = "";
    if (step.isEvaluated()) std::snprintf(validation, sizeof validation, "%.9g", step.validationLoss);
    std::fprintf(csv_.file.get(), "%llu,%.9g,%s,%.9g,%.9g,%.3f\n", number, step.loss, validation,
                 step.learningRate, step.gradientNorm, seconds);
    std::FILE* json = json_.file.get();
    std::fprintf(json, "{\"step\":%llu,\"loss\":%s,", number, finite(step.loss).c_str());
    if (step.isEvaluated())
      std::fprintf(json, "\"validation_loss\":%s,", finite(step.validationLoss).c_str());
    std::fprintf(json, "\"learning_rate\":%.9g,\"gradient_norm\":%s,\"seconds\":%.3f}\n", step.learningRate,
                 finite(step.gradientNorm).c_str(), seconds);
    addToCurve(static_cast<double>(step.step), step.loss, step.validationLoss);
  }

  std::string svg() const {
    const burtorch::Curve curves[] = {train_, validation_};
    return burtorch::curveSvg("Loss", "step", "cross-entropy, nats", curves);
  }

  /// Writes what waits. Returns the sentences, each with a newline, about files that cannot be written and were not
  /// mentioned before.
  std::string flush() {
    std::string problems = csv_.flush() + json_.flush();
    try {
      if (events_) events_->flush();
    } catch (const burtorch::Error& error) {
      if (!std::exchange(isEventProblemTold_, true)) problems += "burt: " + std::string(error.what()) + "\n";
    }
    return problems;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct Output {
    std::string path;
    std::unique_ptr<std::FILE, Close> file;
    bool isProblemTold = false;

    void open(const std::string& name, bool isResumed) {
      path = name;
      file.reset(std::fopen(name.c_str(), isResumed ? "a" : "w"));
      if (!file) throw BadInput("cannot write '" + burtorch::printable(name) + "': " + std::strerror(errno));
      if (isResumed) std::fseek(file.get(), 0, SEEK_END);
    }
    std::string flush() {
      errno = 0;
      if ((std::fflush(file.get()) == 0 && std::ferror(file.get()) == 0) ||
          std::exchange(isProblemTold, true))
        return {};
      return "burt: cannot write '" + burtorch::printable(path) +
             "': " + (errno != 0 ? std::strerror(errno) : "some steps are missing") +
             "; the training continues without them\n";
    }
  };

  /// Cuts a file before its first line of a step after `last` and before a line without end; `use` sees the lines kept.
  template <class Use>
  static void keep(const std::string& path, std::string_view before, std::uint64_t last, Use use) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    std::uintmax_t kept = 0;
    while (std::getline(file, line) && !file.eof()) {
      std::uint64_t step = 0;
      const std::size_t at = std::min(before.size(), line.size());
      std::from_chars(line.data() + at, line.data() + line.size(), step);
      if (step > last) break;
      use(line.c_str());
      kept += line.size() + 1;
    }
    std::error_code error;
    if (const auto size = std::filesystem::file_size(path, error); error || size == kept) return;
    std::filesystem::resize_file(path, kept, error);
    if (error) throw BadInput("cannot shorten '" + burtorch::printable(path) + "': " + error.message());
  }
  /// A row of an earlier part of the run, for the curve and the clock.
  void restore(const char* row) {
    double step = 0, loss = 0, validation = std::nan("");
    if (std::sscanf(row, "%lf,%lf,%lf", &step, &loss, &validation) < 2) return;
    addToCurve(step, loss, validation);
    if (const char* comma = std::strrchr(row, ',')) secondsBefore_ = std::strtod(comma + 1, nullptr);
  }
  /// Each point of the training curve is the mean of `share_` steps.
  void addToCurve(double step, double loss, double validation) {
    sum_ += loss;
    if (++summed_ == share_) {
      train_.points.push_back({step, sum_ / static_cast<double>(summed_)});
      sum_ = 0;
      summed_ = 0;
    }
    if (!std::isnan(validation)) validation_.points.push_back({step, validation});
  }
  /// JSON has no NaN.
  static std::string finite(double number) {
    if (!std::isfinite(number)) return "null";
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", number);
    return text;
  }

  Output csv_, json_;
  std::optional<burtorch::EventFile> events_;
  bool isEventProblemTold_ = false;
  burtorch::Curve train_{"training", {}}, validation_{"validation", {}};
  double sum_ = 0, secondsBefore_ = 0;
  std::size_t summed_ = 0, share_;
};

}  // namespace burt
