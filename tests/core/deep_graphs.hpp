// Graphs that would overflow the stack of a recursive engine, or take it quadratic time. Each is built and swept, by both
// forms of backward, in a thread with a stack of 64 KB; every gradient is known in advance.
#pragma once

#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "burtorch/burtorch.hpp"

namespace deep {

using V = burtorch::Value<double>;

// Without optimisation the address sanitizer gives every variable of every operator a place and a margin of its own.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t smallStack = 256 * 1024;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr std::size_t smallStack = 256 * 1024;
#else
inline constexpr std::size_t smallStack = 64 * 1024;
#endif
#else
inline constexpr std::size_t smallStack = 64 * 1024;
#endif

/// Runs `work` with a stack of 64 KB, or the least that the system allows. What it throws is thrown here.
template <class Work> void onSmallStack(Work work) {
  struct Job {
    Work* work;
    std::exception_ptr error;
  } job{&work, nullptr};
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  const std::size_t bytes = std::max<std::size_t>(smallStack, static_cast<std::size_t>(PTHREAD_STACK_MIN));
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  const auto start = [](void* argument) -> void* {
    Job& mine = *static_cast<Job*>(argument);
    try {
      (*mine.work)();
    } catch (...) {
      mine.error = std::current_exception();
    }
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, start, &job), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  if (job.error) std::rethrow_exception(job.error);
}

/// How many numbers of a list are not what they should be: one assertion instead of millions.
template <class L, class Wanted> std::size_t countWrong(const L& list, Wanted wanted) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < list.size(); ++i) wrong += list[i] != wanted(i) ? 1u : 0u;
  return wrong;
}

/// Sweeps in both forms; leaves then hold twice the gradient.
inline void sweepTwice(const V& root, std::vector<std::uint64_t>& scratch) {
  burtorch::backward(root);
  scratch.assign(burtorch::scratchWords(root), 0);
  burtorch::backwardWithScratchStorage(root, std::span(scratch));
}

/// x -> -x -> -x + 1/2 -> ...: exact numbers, derivative 1 or -1, and every node is the operand of the next.
inline void checkChain(std::size_t nodes) {
  double value = 0, gradient = 0, middle = 0;
  onSmallStack([&] {
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    std::vector<std::uint64_t> scratch;
    V x(1.5);
    V y = x;
    for (std::size_t i = 0; i < nodes / 2; ++i) y = -y + 0.5;
    sweepTwice(y, scratch);
    value = y.dataCopy();
    gradient = x.gradCopy();
    middle = tape.gradients()[nodes / 2];
  });
  EXPECT_EQ(value, nodes / 2 % 2 == 0 ? 1.5 : -1.0);
  EXPECT_EQ(gradient, nodes / 2 % 2 == 0 ? 2.0 : -2.0);
  EXPECT_EQ(middle, nodes / 4 % 2 == 0 ? 1.0 : -1.0);
}

/// c += x, again and again: a chain and a fan-out at once.
inline void checkInPlaceChain(std::size_t nodes) {
  double value = 0, gradient = 0, start = 0;
  onSmallStack([&] {
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    std::vector<std::uint64_t> scratch;
    V x(0.5);
    const V first(3.0);
    V c = first;
    for (std::size_t i = 0; i < nodes; ++i) c += x;
    sweepTwice(c, scratch);
    value = c.dataCopy();
    gradient = x.gradCopy();
    start = first.gradCopy();
  });
  EXPECT_EQ(value, 3.0 + 0.5 * static_cast<double>(nodes));
  EXPECT_EQ(gradient, 2.0 * static_cast<double>(nodes));
  EXPECT_EQ(start, 2.0);
}

/// One node with that many operands, side by side.
inline void checkFanIn(std::size_t count) {
  double value = 0;
  std::size_t wrong = count;
  onSmallStack([&] {
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    std::vector<std::uint64_t> scratch;
    const auto xs = tape.leaves(count);
    for (std::size_t i = 0; i < count; ++i) xs.values()[i] = static_cast<double>(i % 8);
    const V y = burtorch::innerProduct(xs, xs) + burtorch::reduceSum(xs);
    sweepTwice(y, scratch);
    value = y.dataCopy();
    wrong =
        countWrong(xs.gradients(), [](std::size_t i) { return 2 * (2 * static_cast<double>(i % 8) + 1); });
  });
  EXPECT_EQ(value, static_cast<double>(count / 8) * (140 + 28));
  EXPECT_EQ(wrong, 0u);
}

/// The same with inner nodes in no order, so that the list is written out on the tape.
inline void checkScatteredFanIn(std::size_t count) {
  double value = 0;
  std::size_t wrong = count;
  onSmallStack([&] {
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    std::vector<std::uint64_t> scratch;
    const auto xs = tape.leaves(count, 0.25);
    std::vector<V> handles(count);
    for (std::size_t i = 0; i < count; ++i) handles[i * 7919 % count] = xs[i] * 2.0;
    const V y = burtorch::reduceSum(handles);
    sweepTwice(y, scratch);
    value = y.dataCopy();
    wrong = countWrong(xs.gradients(), [](std::size_t) { return 4.0; });
  });
  EXPECT_EQ(value, 0.5 * static_cast<double>(count));
  EXPECT_EQ(wrong, 0u);
}

/// A product of 2, 1/2, 2, 1/2, ...: linear time, and no overflow on the way.
inline void checkProduct(std::size_t count) {
  double value = 0;
  std::size_t wrong = count;
  onSmallStack([&] {
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    std::vector<std::uint64_t> scratch;
    const auto xs = tape.leaves(count);
    for (std::size_t i = 0; i < count; ++i) xs.values()[i] = i % 2 == 0 ? 2.0 : 0.5;
    const V y = burtorch::reduceMul(xs);
    sweepTwice(y, scratch);
    value = y.dataCopy();
    wrong = countWrong(xs.gradients(), [](std::size_t i) { return i % 2 == 0 ? 1.0 : 4.0; });
  });
  EXPECT_EQ(value, 1.0);
  EXPECT_EQ(wrong, 0u);
}

/// One leaf that many nodes use.
inline void checkFanOut(std::size_t count) {
  double gradient = 0;
  std::size_t wrong = count;
  onSmallStack([&] {
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    std::vector<std::uint64_t> scratch;
    const V x(0.75);
    const std::size_t first = tape.size();
    for (std::size_t i = 0; i < count; ++i) x * 0.5;
    const V y = burtorch::reduceSum(
        burtorch::Range<double>(tape.handleOf(static_cast<burtorch::NodeIndex>(first)), count));
    sweepTwice(y, scratch);
    gradient = x.gradCopy();
    wrong = countWrong(tape.gradients().subspan(first, count), [](std::size_t) { return 1.0; });
  });
  EXPECT_EQ(gradient, static_cast<double>(count));
  EXPECT_EQ(wrong, 0u);
}

/// A pole that the root does not depend on, in the middle of a chain: the sweep that meets it must stay linear.
inline void checkDeadPole(std::size_t nodes) {
  double gradient = 0;
  onSmallStack([&] {
    burtorch::Tape<double> tape;
    burtorch::CurrentTape here(tape);
    std::vector<std::uint64_t> scratch;
    V x(0.0);
    V y = x;
    for (std::size_t i = 0; i < nodes; ++i) {
      y = y + 0.5;
      if (i % 10 == 0) burtorch::sqrt(x);
    }
    sweepTwice(y, scratch);
    gradient = x.gradCopy();
  });
  EXPECT_EQ(gradient, 2.0);
}

}  // namespace deep
