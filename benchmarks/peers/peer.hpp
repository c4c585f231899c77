// What the peers in C++ share: the graphs, their job, and the conversation with the harness (benchmarks/peers.hpp tells it).
// Each peer has its modes: for the graphs, step(a, b) records the graph, sweeps it, and gives value and gradient. The loop
// around it is here, and its inputs and outputs are laundered as ours are (benchmarks/graphs.cpp).
#pragma once

#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
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
  std::string only;  // a mode; empty: all
  bool isList = false;
};

/// As the harness does: keeps a number alive and hides where it comes from.
[[gnu::always_inline]] inline void launder(double& x) { asm volatile("" : "+x"(x)::"memory"); }

struct Answer {
  double value = 0;
  std::vector<double> gradient = {};
};

/// A mode at work: `run` does the work so many times, `answer` is what it found last, `figures` are name=number.
struct Running {
  std::function<void(long calls)> run;
  std::function<Answer()> answer;
  std::string figures = {};
};

struct Mode {
  std::string name;
  std::function<Running(const Job&)> build;
};

/// build(job) gives step(a, b). The loop is compiled together with the step: a call through a pointer would be a
/// noticeable part of the fastest ones.
template <class Build> Mode mode(std::string name, Build build) {
  return {std::move(name), [build](const Job& job) -> Running {
            auto last = std::make_shared<Gradient>();
            const auto run = [step = build(job), last, a0 = job.settings.at("a"),
                              b0 = job.settings.at("b")](long calls) mutable {
              double a = a0, b = b0;
              Gradient found{};
              for (long i = 0; i < calls; ++i) {
                launder(a), launder(b);
                found = step(a, b);
                launder(found.value), launder(found.a), launder(found.b);
              }
              *last = found;
            };
            return {run, [last] { return Answer{last->value, {last->a, last->b}}; }};
          }};
}

/// The modes of each experiment; a peer answers "ready" alone to any other one.
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
    if (word.rfind("only=", 0) == 0)
      job.only = word.substr(at + 1);
    else if (word == "list=1")
      job.isList = true;
    else if (at != std::string::npos)
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
  const Job job = jobOf(argc, argv);
  std::cout.precision(17);
  std::cout << "version " << version << std::endl;
  std::map<std::string, Running> running;
  const auto modes = experiments.find(job.experiment);
  if (modes != experiments.end())
    for (const Mode& mode : modes->second) try {
        if (!job.only.empty() && job.only != mode.name) continue;
        const auto started = Clock::now();
        if (!job.isList) {
          running[mode.name] = mode.build(job);
          running[mode.name].run(1);
        }
        const std::chrono::duration<double, std::milli> took = Clock::now() - started;
        std::cout << "mode " << mode.name << " fp64 " << took.count() << ' ' << running[mode.name].figures
                  << std::endl;
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
      mode.run(calls);
      const std::chrono::nanoseconds took = Clock::now() - started;
      std::cout << took.count() << std::endl;
    } else {
      const Answer answer = mode.answer();
      std::ofstream(job.folder + "/gradient.bin", std::ios::binary)
          .write(reinterpret_cast<const char*>(answer.gradient.data()),
                 static_cast<std::streamsize>(answer.gradient.size() * sizeof(double)));
      std::cout << answer.value << std::endl;
    }
  }
  return 0;
}

}  // namespace peer
