// Our side of tensorboard_live.py: a run that was stopped and went on from an earlier step, as two event files of a folder.
// usage: tensorboard_dump FOLDER    prints each value as "file tag step bits": file is 0 or 1, tag and bits are hexadecimal
#include <burtorch/io/tensorboard.hpp>
#include <cstdio>
#include <limits>
#include <string>

namespace {

using namespace burtorch;

class Dump {
 public:
  Dump(int number, const std::string& folder, const EventFileOptions& options)
      : number_(number), events_(folder, options) {}

  void scalar(std::string_view tag, std::uint64_t step, float value) {
    events_.scalar(tag, step, static_cast<double>(value));
    print(tag, step, value);
  }
  void add(const TrainingStep& step) {
    events_.add(step);
    print("loss/train", step.step, static_cast<float>(step.loss));
    print("gradient_norm", step.step, static_cast<float>(step.gradientNorm));
    if (step.isEvaluated()) print("loss/validation", step.step, static_cast<float>(step.validationLoss));
    print("learning_rate", step.step, static_cast<float>(step.learningRate));
  }
  void flush() { events_.flush(); }

 private:
  void print(std::string_view tag, std::uint64_t step, float value) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    std::printf("%d x", number_);
    for (const char c : tag) std::printf("%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    std::printf(" %llu %08x\n", static_cast<unsigned long long>(step), static_cast<unsigned>(bits));
  }

  int number_;
  EventFile events_;
};

void addSteps(Dump& dump, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t i = first; i <= last; ++i) {
    const double x = static_cast<double>(i);
    TrainingStep step{.step = i, .loss = 3 / x, .gradientNorm = 0.1 * x, .learningRate = 1e-3 * x};
    if (i % 5 == 0) step.validationLoss = 4 / x;
    dump.add(step);
  }
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 2) {
    std::fputs("usage: tensorboard_dump FOLDER\n", stderr);
    return 2;
  }
  Dump stopped(0, arguments[1], {});
  addSteps(stopped, 1, 300);
  stopped.flush();
  Dump resumed(1, arguments[1], {.firstStep = 251});
  addSteps(resumed, 251, 400);
  using Limits = std::numeric_limits<float>;
  for (const float x :
       {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(), -0.0F})
    resumed.scalar("numbers", 400, x);
  for (const std::string_view tag :
       {"", "a \"b\" \\ $(c) `d` <script>\n\x01", "Füße 日本 🙂", "bad \xFF\xC0\x80"})
    resumed.scalar(tag, 400, 1.5F);
  resumed.scalar("far", INT64_MAX, 0.25F);
  resumed.flush();
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
