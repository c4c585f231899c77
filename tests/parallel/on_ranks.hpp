// Runs something on every rank of a group, each in a thread of its own.
#pragma once

#include <burtorch/parallel/ranks_in_process.hpp>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace burtorch {

/// Calls `work(ranks)` on all ranks at once and returns what each rank's error said: "" where there was none. A rank that fails
/// leaves, as a program should.
template <class Work> std::vector<std::string> sentencesOnRanks(RankGroup& group, Work work) {
  std::vector<std::string> sentences(group.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < group.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        work(group[rank]);
      } catch (const std::exception& error) {
        sentences[rank] = error.what();
        group[rank].leave(sentences[rank]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  return sentences;
}

}  // namespace burtorch
