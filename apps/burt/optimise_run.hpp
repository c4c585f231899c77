// One method's run in burt optimise: its curve, its record as CSV, and a state file from which it continues bit for bit.
#pragma once

#include <burtorch/io/atomic_file.hpp>
#include <burtorch/io/safetensors.hpp>
#include <burtorch/viz/curve_svg.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "flags.hpp"
#include "optimise_method.hpp"

namespace burt {

/// A point of the curve. Seconds are those of the method, without looking at it.
struct OptimiseRow {
  std::uint64_t round = 0, gradients = 0, bitsUp = 0, bitsDown = 0;
  double seconds = 0, value = 0, gap = 0, gradientNorm = 0, clock = 0;
};

class OptimiseRun {
 public:
  OptimiseRun(std::string label, std::filesystem::path folder, std::unique_ptr<RunningMethod> method,
              const burtorch::Regulariser& regulariser)
      : label_(std::move(label)),
        folder_(std::move(folder)),
        method_(std::move(method)),
        regulariser_(regulariser) {}

  const std::string& label() const { return label_; }
  RunningMethod& method() { return *method_; }
  const std::vector<OptimiseRow>& rows() const { return rows_; }
  std::string stateFile() const { return (folder_ / "state.safetensors").string(); }
  std::string csvFile() const { return (folder_ / "metrics.csv").string(); }

  void step() {
    const auto start = Clock::now();
    method_->step();
    seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    ++round_;
  }
  std::uint64_t round() const { return round_; }
  std::uint64_t gradients() const { return before_.gradients + method_->gradients(); }

  /// Looks at f + R at the present point. `f` is not the method's own, so nothing of this is counted. The gradient is x less the
  /// proximal step from it, which without R is grad f.
  OptimiseRow look(Problem::Sum& f, burtorch::Batch all, std::optional<double> minimum) {
    gradient_.resize(method_->x().size());
    OptimiseRow row{.round = round_,
                    .gradients = gradients(),
                    .bitsUp = before_.bitsUp + method_->bitsUp(),
                    .bitsDown = before_.bitsDown + method_->bitsDown(),
                    .seconds = seconds_,
                    .value = f.gradient(method_->x(), all, gradient_),
                    .gap = std::nan(""),
                    .clock = method_->clock()};
    if (!std::holds_alternative<burtorch::NoRegulariser>(regulariser_)) {
      row.value += burtorch::valueOf(regulariser_, method_->x());
      std::vector<double> next(gradient_.size());
      burtorch::proximalStep(regulariser_, 1.0, method_->x().data(), gradient_.data(), next.data(),
                             next.size());
      for (std::size_t i = 0; i < next.size(); ++i) gradient_[i] = method_->x()[i] - next[i];
    }
    if (minimum) row.gap = std::max(0.0, row.value - *minimum);
    for (const double g : gradient_) row.gradientNorm += g * g;
    row.gradientNorm = std::sqrt(row.gradientNorm);
    rows_.push_back(row);
    return row;
  }

  void save(const burtorch::Metadata& arguments) {
    burtorch::Metadata metadata = arguments;
    std::vector<burtorch::TensorView> tensors;
    method_->visitState({.numbers =
                             [&](const std::string& name, std::span<double> numbers) {
                               tensors.emplace_back(name, std::vector<std::uint64_t>{numbers.size()},
                                                    std::span<const double>(numbers));
                             },
                         .count = [&](const std::string& name,
                                      std::uint64_t& count) { metadata["state." + name] = textOf(count); }});
    std::vector<double> table;
    for (const OptimiseRow& row : rows_)
      for (const double number : {static_cast<double>(row.round), static_cast<double>(row.gradients),
                                  static_cast<double>(row.bitsUp), static_cast<double>(row.bitsDown),
                                  row.seconds, row.value, row.gap, row.gradientNorm, row.clock})
        table.push_back(number);
    tensors.emplace_back("curve", std::vector<std::uint64_t>{rows_.size(), columns},
                         std::span<const double>(table));
    metadata["run.round"] = textOf(round_);
    metadata["run.gradients"] = textOf(gradients());
    metadata["run.bits_up"] = textOf(before_.bitsUp + method_->bitsUp());
    metadata["run.bits_down"] = textOf(before_.bitsDown + method_->bitsDown());
    metadata["run.seconds"] = textOf(seconds_);
    burtorch::saveSafetensors(stateFile(), tensors, metadata);
    writeCsv();
  }
  void load() {
    const burtorch::SafetensorsFile file(stateFile());
    const auto number = [&](const std::string& key, auto& into) {
      const auto found = file.metadata().find(key);
      if (found == file.metadata().end())
        throw BadInput("'" + burtorch::printable(stateFile()) + "' has no '" + key +
                       "'; is it the state of another program?");
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(into)>, double>)
        parse(into, key, found->second, 0, INFINITY);
      else
        parse(into, key, found->second, 0, UINT64_MAX);
    };
    method_->visitState(
        {.numbers = [&](const std::string& name, std::span<double> into) { file.read(name, into); },
         .count = [&](const std::string& name, std::uint64_t& count) { number("state." + name, count); }});
    method_->sendState();
    number("run.round", round_);
    number("run.gradients", before_.gradients);
    number("run.bits_up", before_.bitsUp);
    number("run.bits_down", before_.bitsDown);
    number("run.seconds", seconds_);
    // Of a server that remembers its bits they must not be counted twice.
    before_.bitsUp -= std::min(before_.bitsUp, method_->bitsUp());
    before_.bitsDown -= std::min(before_.bitsDown, method_->bitsDown());
    before_.gradients -= std::min(before_.gradients, method_->gradients());
    const burtorch::TensorInfo& info = file.tensor("curve");
    if (info.shape.size() != 2 || info.shape[1] != columns)
      throw BadInput("'" + burtorch::printable(stateFile()) + "' has a curve of another shape");
    std::vector<double> table(static_cast<std::size_t>(info.shape[0]) * columns);
    file.read("curve", std::span<double>(table));
    rows_.clear();
    for (std::size_t i = 0; i < table.size(); i += columns) {
      const auto whole = [&](std::size_t column) { return static_cast<std::uint64_t>(table[i + column]); };
      rows_.push_back({whole(0), whole(1), whole(2), whole(3), table[i + 4], table[i + 5], table[i + 6],
                       table[i + 7], table[i + 8]});
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t columns = 9;

  void writeCsv() const {
    std::string text =
        "round,gradients,bits_up,bits_down,seconds,value,gap,gradient_norm,simulated_seconds\n";
    const auto ifAny = [](double number) { return std::isnan(number) ? std::string() : textOf(number); };
    for (const OptimiseRow& row : rows_) {
      char line[256];
      std::snprintf(
          line, sizeof line, "%llu,%llu,%llu,%llu,%.6f,%.17g,%s,%.9g,%s\n",
          static_cast<unsigned long long>(row.round), static_cast<unsigned long long>(row.gradients),
          static_cast<unsigned long long>(row.bitsUp), static_cast<unsigned long long>(row.bitsDown),
          row.seconds, row.value, ifAny(row.gap).c_str(), row.gradientNorm, ifAny(row.clock).c_str());
      text += line;
    }
    burtorch::AtomicFile file(csvFile(), {.durable = false});
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  }

  std::string label_;
  std::filesystem::path folder_;
  std::unique_ptr<RunningMethod> method_;
  burtorch::Regulariser regulariser_;
  std::vector<OptimiseRow> rows_;
  std::vector<double> gradient_;
  std::uint64_t round_ = 0;
  OptimiseRow before_;  // what an earlier program did, as far as the method does not remember it
  double seconds_ = 0;
};

/// All runs in one picture: how far f is from its minimum (or f, where that is not known) and the squared gradient, against gradients,
/// bits, seconds and simulated seconds, where there are any.
inline std::string pictureOf(const std::vector<std::unique_ptr<OptimiseRun>>& runs, std::size_t samples,
                             std::size_t workers, const std::string& title, bool isSmooth) {
  bool hasMinimum = true, hasBits = false, hasClock = false;
  for (const auto& run : runs)
    for (const OptimiseRow& row : run->rows())
      hasMinimum = hasMinimum && !std::isnan(row.gap), hasBits = hasBits || row.bitsUp > 0,
      hasClock = hasClock || !std::isnan(row.clock);
  struct Axis {
    const char* label;
    std::function<double(const OptimiseRow&)> of;
  };
  std::vector<Axis> xs{{"epochs (gradients of all samples)", [&](const OptimiseRow& row) {
                          return static_cast<double>(row.gradients) / static_cast<double>(samples);
                        }}};
  if (hasBits)
    xs.push_back({"bits sent by each worker", [&](const OptimiseRow& row) {
                    return row.bitsUp > 0 ? static_cast<double>(row.bitsUp) / static_cast<double>(workers)
                                          : std::nan("");
                  }});
  xs.push_back({"seconds", [](const OptimiseRow& row) { return row.seconds; }});
  if (hasClock) xs.push_back({"simulated seconds", [](const OptimiseRow& row) { return row.clock; }});
  const Axis ys[] = {{hasMinimum ? isSmooth ? "f - f*" : "f + R - min"
                      : isSmooth ? "f"
                                 : "f + R",
                      [&](const OptimiseRow& row) { return hasMinimum ? row.gap : row.value; }},
                     {isSmooth ? "|grad f|^2" : "|x - prox(x - grad f)|^2",
                      [](const OptimiseRow& row) { return row.gradientNorm * row.gradientNorm; }}};
  std::vector<std::vector<burtorch::Curve>> curves;
  std::vector<burtorch::CurvePanel> panels;
  for (const Axis& y : ys)
    for (const Axis& x : xs) {
      std::vector<burtorch::Curve>& panel = curves.emplace_back();
      for (const auto& run : runs) {
        burtorch::Curve& curve = panel.emplace_back(burtorch::Curve{run->label(), {}});
        for (const OptimiseRow& row : run->rows()) curve.points.push_back({x.of(row), y.of(row)});
      }
    }
  for (std::size_t i = 0; i < curves.size(); ++i)
    panels.push_back({.title = i == 0 ? title : "",
                      .xLabel = xs[i % xs.size()].label,
                      .yLabel = ys[i / xs.size()].label,
                      .curves = curves[i],
                      .axes = {.isLogY = true}});
  return burtorch::curvePanelsSvg(panels, xs.size());
}

}  // namespace burt
