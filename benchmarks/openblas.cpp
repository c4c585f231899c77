#include "openblas.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>

#include "child.hpp"

namespace bench {
namespace {

/// A running program with one kind of kernels.
class Products {
 public:
  /// `kernels` as OPENBLAS_CORETYPE names them; empty: the library's choice.
  Products(const std::string& kernels, const std::vector<std::string>& shape, const std::string& errors)
      : child_(commandOf(kernels, shape), errors) {
    for (std::string line; child_.hear(line) && line != "ready";)
      if (line.rfind("version ", 0) == 0) version_ = line.substr(8);
    // Some tenths of a second; the program has run once already.
    double spent = 0;
    while (!version_.empty() && spent < 3e8) {
      const double ns = run(1);
      bestNs_ = std::min(bestNs_, ns), spent += ns;
    }
  }
  const std::string& version() const { return version_; }
  pid_t id() const { return child_.id(); }
  double run(long calls) {
    std::string ns;
    if (child_.say("run openblas " + std::to_string(calls)) && child_.hear(ns)) return std::atof(ns.c_str());
    return std::numeric_limits<double>::infinity();
  }
  /// Of a few calls.
  double bestNs() const { return bestNs_; }

 private:
  static std::vector<std::string> commandOf(const std::string& kernels,
                                            const std::vector<std::string>& shape) {
    std::vector<std::string> command = {"env", "OPENBLAS_CORETYPE=" + kernels, BENCH_PROGRAMS "/openblas"};
    command.insert(command.end(), shape.begin(), shape.end());
    return command;
  }
  Child child_;
  std::string version_;
  double bestNs_ = std::numeric_limits<double>::infinity();
};

Contestant contestantOf(const std::shared_ptr<Products>& products, const std::string& mode,
                        const Figures& params) {
  auto lastNs = std::make_shared<double>(0);
  return {.system = "limit",
          .mode = mode,
          .run = [products, lastNs](long calls) { *lastNs = products->run(calls); },
          .gradient = {},
          .params = params,
          .ownNs = [lastNs] { return *lastNs; },
          .dtype = "fp32",
          .version = "OpenBLAS " + products->version(),
          .process = products->id()};
}

std::string firstLineOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<Contestant> contestantsOf(const std::vector<std::string>& shape, const Figures& params) {
  const auto errors =
      std::filesystem::temp_directory_path() / ("burtorch-openblas-" + std::to_string(getpid()));
  const auto started = [&](const std::string& kernels) {
    return std::make_shared<Products>(kernels, shape, errors.string());
  };
  // Debian's 0.3.21 takes an AMD with AVX-512 for a Cooperlake. Kernels that the processor cannot run end their process.
  const auto own = started("");
  const std::string why = firstLineOf(errors);
  auto best = own;
  if (!own->version().empty())
    for (const char* kernels : {"SkylakeX", "Haswell"})
      if (const auto other = started(kernels); other->bestNs() < best->bestNs()) best = other;
  std::error_code ignored;
  std::filesystem::remove(errors, ignored);
  if (own->version().empty()) {
    std::fprintf(stderr, "bench: no limit rows: %s\n", why.c_str());
    return {};
  }
  std::vector<Contestant> contestants = {contestantOf(best, "openblas", params)};
  if (best->version() != own->version()) contestants.push_back(contestantOf(own, "openblas-default", params));
  return contestants;
}

}  // namespace

std::vector<Contestant> openblasProducts(const burtorch::GptConfig& config, std::size_t batch,
                                         const Figures& params) {
  std::vector<std::string> shape;
  for (const std::size_t size :
       {config.vocabulary, config.context, config.width, config.heads, config.layers, batch})
    shape.push_back(std::to_string(size));
  return contestantsOf(shape, params);
}

std::vector<Contestant> openblasProduct(const std::string& pass, std::size_t outputs, std::size_t inputs,
                                        std::size_t columns, const Figures& params) {
  return contestantsOf(
      {"product", pass, std::to_string(outputs), std::to_string(inputs), std::to_string(columns)}, params);
}

}  // namespace bench
