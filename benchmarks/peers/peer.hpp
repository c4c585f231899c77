// What the peers in C++ share: the graphs, their job, and the conversation with the harness (benchmarks/peers.hpp tells it).
// Each peer has its modes: step(a, b) records the graph, sweeps it, and gives value and gradient. The loop around it is here,
// and its inputs and outputs are laundered as ours are (benchmarks/graphs.cpp).
#pragma once

#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace peer {

struct Gradient {
  double value, a, b;
};

/// Figure 1. Maths has the library's square, cube and relu.
struct Tiny {
  template <class Maths, class X> static X graph(const X& a, const X& b) {
    const X c = a + b;
    const X d = a * b + Maths::cube(b);
    const X e = c - d;
    const X f = Maths::square(e);
    return f / 2.0;
  }
};

/// Figure 2, Listing F.8.
struct Small {
  template <class Maths, class X> static X graph(const X& a, const X& b) {
    X c = a + b;
    X d = a * b + Maths::cube(b);
    c = c + (c + 1.0);
    c = c + (1.0 + c - a);
    d = d + (d * 2.0 + Maths::relu(b + a));
    d = d + (3.0 * d + Maths::relu(b - a));
    const X e = c - d;
    const X f = Maths::square(e);
    const X g = f / 2.0;
    return g + 10.0 / f;
  }
};

struct Job {
  std::string experiment, folder;
  std::map<std::string, double> settings;
};

/// As the harness does: keeps a number alive and hides where it comes from.
[[gnu::always_inline]] inline void launder(double& x) { asm volatile("" : "+x"(x)::"memory"); }

/// The work, `calls` times over; gives the last gradient.
using Run = std::function<Gradient(double a, double b, long calls)>;

struct Mode {
  std::string name;
  std::function<Run(const Job&)> build;
};

/// build(job) gives step(a, b). The loop is compiled together with the step: a call through a pointer would be a
/// noticeable part of the fastest ones.
template <class Build> Mode mode(std::string name, Build build) {
  return {std::move(name), [build](const Job& job) -> Run {
            return [step = build(job)](double a, double b, long calls) mutable {
              Gradient found{};
              for (long i = 0; i < calls; ++i) {
                launder(a), launder(b);
                found = step(a, b);
                launder(found.value), launder(found.a), launder(found.b);
              }
              return found;
            };
          }};
}

/// The modes of the two graphs; a peer answers "ready" alone to any other experiment.
using Experiments = std::map<std::string, std::vector<Mode>>;

inline Job jobOf(int count, char** words) {
  if (count < 3) {
    std::cerr << "usage: " << words[0] << " EXPERIMENT FOLDER name=number...\n";
    std::exit(2);
  }
  Job job{words[1], words[2], {}};
  for (int i = 3; i < count; ++i) {
    const std::string word = words[i];
    const std::size_t at = word.find('=');
    if (at != std::string::npos)
      job.settings[word.substr(0, at)] = std::strtod(word.c_str() + at + 1, nullptr);
  }
  return job;
}

inline std::string oneLine(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line.substr(0, 200);
}

/// Takes part until its input ends.
inline int main(int argc, char** argv, const std::string& version, const Experiments& experiments) {
  using Clock = std::chrono::steady_clock;
  struct Running {
    Run run;
    Gradient last;
  };

  const Job job = jobOf(argc, argv);
  std::cout.precision(17);
  std::cout << "version " << version << std::endl;
  std::map<std::string, Running> running;
  const auto modes = experiments.find(job.experiment);
  if (modes != experiments.end())
    for (const Mode& mode : modes->second) try {
        const auto started = Clock::now();
        Run run = mode.build(job);
        const Gradient first = run(job.settings.at("a"), job.settings.at("b"), 1);
        const std::chrono::duration<double, std::milli> took = Clock::now() - started;
        running[mode.name] = {std::move(run), first};
        std::cout << "mode " << mode.name << " fp64 " << took.count() << std::endl;
      } catch (const std::exception& error) {
        std::cout << "failed " << mode.name << ' ' << oneLine(error.what()) << std::endl;
      }
  std::cout << "ready" << std::endl;

  std::string command, name;
  while (std::cin >> command >> name) {
    const auto found = running.find(name);
    if (found == running.end()) {
      std::cerr << "no mode " << name << '\n';
      return 2;
    }
    Running& mode = found->second;
    if (command == "run") {
      long calls = 0;
      std::cin >> calls;
      const auto started = Clock::now();
      mode.last = mode.run(job.settings.at("a"), job.settings.at("b"), calls);
      const std::chrono::nanoseconds took = Clock::now() - started;
      std::cout << took.count() << std::endl;
    } else {
      const double gradient[] = {mode.last.a, mode.last.b};
      std::ofstream(job.folder + "/gradient.bin", std::ios::binary)
          .write(reinterpret_cast<const char*>(gradient), sizeof gradient);
      std::cout << mode.last.value << std::endl;
    }
  }
  return 0;
}

}  // namespace peer
