// The record of a run: a line for every step in CSV and in JSON lines, the same for TensorBoard if wanted, and the loss
// curve as SVG.
#pragma once

#include <burtorch/io/tensorboard.hpp>
#include <burtorch/train/training.hpp>
#include <burtorch/viz/curve_svg.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "flags.hpp"

namespace burt {

class Metrics {
 public:
  /// Appends if `isResumed`, otherwise starts anew.
  Metrics(const std::filesystem::path& folder, bool isResumed)
      : csv_(open(folder / "metrics.csv", isResumed)), json_(open(folder / "metrics.jsonl", isResumed)) {
    if (!isResumed) std::fputs("step,loss,validation_loss,learning_rate,gradient_norm,seconds\n", csv_.get());
  }

  /// From now on steps are also added to a file for TensorBoard, which forgets what it knew of them in this folder.
  void showInTensorBoard(const std::filesystem::path& folder, std::uint64_t firstStep) {
    events_.emplace(folder.string(), burtorch::EventFileOptions{.firstStep = firstStep});
  }

  void add(const burtorch::TrainingStep& step, double seconds) {
    if (events_) events_->add(step);
    const auto number = static_cast<unsigned long long>(step.step);
    char validation[32] = "";
    if (step.isEvaluated()) std::snprintf(validation, sizeof validation, "%.9g", step.validationLoss);
    std::fprintf(csv_.get(), "%llu,%.9g,%s,%.9g,%.9g,%.3f\n", number, step.loss, validation,
                 step.learningRate, step.gradientNorm, seconds);
    std::fprintf(json_.get(), "{\"step\":%llu,\"loss\":%s,", number, finite(step.loss).c_str());
    if (step.isEvaluated())
      std::fprintf(json_.get(), "\"validation_loss\":%s,", finite(step.validationLoss).c_str());
    std::fprintf(json_.get(), "\"learning_rate\":%.9g,\"gradient_norm\":%s,\"seconds\":%.3f}\n",
                 step.learningRate, finite(step.gradientNorm).c_str(), seconds);
    sum_ += step.loss;
    if (++summed_ == share_) {
      train_.points.push_back({static_cast<double>(step.step), sum_ / static_cast<double>(summed_)});
      sum_ = 0;
      summed_ = 0;
    }
    if (step.isEvaluated())
      validation_.points.push_back({static_cast<double>(step.step), step.validationLoss});
  }
  /// Each point of the curve is the mean of this many steps.
  void setShare(std::size_t steps) { share_ = steps > 0 ? steps : 1; }

  std::string svg() const {
    const burtorch::Curve curves[] = {train_, validation_};
    return burtorch::curveSvg("Loss", "step", "cross-entropy, nats", curves);
  }
  /// Answers what could not be written, if anything: no reason to lose the model.
  std::string flush() {
    std::fflush(csv_.get());
    std::fflush(json_.get());
    try {
      if (events_) events_->flush();
    } catch (const burtorch::Error& error) {
      return error.what();
    }
    return {};
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;
  static File open(const std::filesystem::path& path, bool isResumed) {
    File file(std::fopen(path.c_str(), isResumed ? "a" : "w"));
    if (!file)
      throw BadInput("cannot write " + path.string() + ": " + std::generic_category().message(errno));
    return file;
  }
  /// JSON has no NaN.
  static std::string finite(double number) {
    if (!std::isfinite(number)) return "null";
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", number);
    return text;
  }

  File csv_, json_;
  std::optional<burtorch::EventFile> events_;
  burtorch::Curve train_{"training", {}}, validation_{"validation", {}};
  double sum_ = 0;
  std::size_t summed_ = 0, share_ = 1;
};

}  // namespace burt
