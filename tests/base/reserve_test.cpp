// Memory that does not move: spans outlive any number of appends, and what happens where address space is limited.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "burtorch/burtorch.hpp"

namespace burtorch {
namespace reserve_test {

template <Config C> void expectSpansToStay() {
  Tape<float, C> tape;
  CurrentTape here(tape);
  const auto w = tape.leaves(3, 0.5f);
  const std::span<float> values = w.values(), gradients = w.gradients(), all = tape.values();
  const std::size_t count = 10'000'000;
  Value<float, C> x = w[0];
  for (std::size_t i = 0; i < count / 2; ++i) x = (x + w[1]) * 0.5f;
  EXPECT_EQ(tape.size(), 3 + count);
  values[1] = 0.25f;
  EXPECT_EQ(w[1].dataCopy(), 0.25f);
  EXPECT_EQ(all[1], 0.25f);
  EXPECT_EQ(w.values().data(), values.data());
  backward(x);
  EXPECT_EQ(gradients[1], w[1].gradCopy());
  EXPECT_NE(gradients[1], 0.0f);
}
TEST(ReservedSpace, SpansStayGoodAcrossTenMillionAppends) { expectSpansToStay<Config{.checks = false}>(); }
TEST(ReservedSpace, SpansStayGoodAcrossTenMillionAppendsWithChecks) {
  expectSpansToStay<Config{.checks = true}>();
}

TEST(ReservedSpace, GradientsLieHalfAPageFromValues) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value a(0.5);
  const auto distance = reinterpret_cast<std::uintptr_t>(tape.gradients().data()) -
                        reinterpret_cast<std::uintptr_t>(tape.values().data());
  EXPECT_EQ(distance % 4096, 2112u);
}

TEST(ReservedSpace, ASmallTapeLeavesItsSpaceToTheNext) {
  const auto placeOf = [] {
    Tape<double> tape;
    CurrentTape here(tape);
    const Value a(0.5);
    return tape.values().data();
  };
  EXPECT_EQ(placeOf(), placeOf());
}

TEST(ReservedSpace, ALargeTapeReturnsItsMemory) {
  const auto residentPages = [] {
    std::size_t size = 0, resident = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r"); file != nullptr) {
      EXPECT_EQ(std::fscanf(file, "%zu %zu", &size, &resident), 2);
      std::fclose(file);
    }
    return resident;
  };
  const std::size_t before = residentPages();
  for (int i = 0; i < 3; ++i) {
    Tape<double> tape;
    tape.leaves(4'000'000, 0.5);
  }
  EXPECT_LT(residentPages(), before + 2'000);
}

TEST(ReservedSpace, ManyTapesLiveSideBySide) {
  std::vector<std::unique_ptr<Tape<double>>> tapes;
  for (int i = 0; i < 200; ++i) {
    tapes.push_back(std::make_unique<Tape<double>>());
    tapes.back()->leaves(100, i);
  }
  for (int i = 0; i < 200; ++i) EXPECT_EQ(tapes[static_cast<std::size_t>(i)]->values()[99], i);
}

TEST(ReservedSpace, GoesWithItsThread) {
  for (int i = 0; i < 50; ++i)
    std::thread([] {
      Value<double> a(0.5);
      Tape<double> tape;
      CurrentTape here(tape);
      EXPECT_EQ((Value<double>(0.25) + 0.25).dataCopy(), 0.5);
    }).join();
}

/// What `action` returns in a child process with this much address space beyond what it has.
template <class Action> int withLimitedSpace(std::size_t bytes, Action action) {
  const pid_t child = fork();
  if (child == 0) {
    std::size_t pages = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r"); file != nullptr) {
      if (std::fscanf(file, "%zu", &pages) != 1) _exit(99);
      std::fclose(file);
    }
    const rlimit limit{pages * 4096 + bytes, pages * 4096 + bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(98);
    while (SpareSpaces<TapeArrays<double, defaultConfig>>::take()) continue;  // made before there was a limit
    _exit(action());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BURTORCH_LIMITABLE 0  // the sanitizers' own shadow memory needs more
#elif defined(__has_feature)
#define BURTORCH_LIMITABLE (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define BURTORCH_LIMITABLE 1
#endif

#if BURTORCH_LIMITABLE
TEST(LimitedSpace, ATapeGrowsByRealloc) {
  EXPECT_EQ(withLimitedSpace(200u << 20,
                             [] {
                               Tape<double> tape;
                               CurrentTape here(tape);
                               const auto w = tape.leaves(3, 0.5);
                               Value<double> x = w[0];
                               for (int i = 0; i < 500'000; ++i) x = (x + w[1]) * 0.5;
                               backward(x);
                               if (tape.size() != 1'000'003 || w[2].dataCopy() != 0.5) return 1;
                               return w[1].gradCopy() > 0.9 ? 0 : 2;
                             }),
            0);
}
// The numbers that are copied lie in the array that moves.
TEST(LimitedSpace, LeavesAndNamesFromTheTapeItselfAreCopied) {
  EXPECT_EQ(withLimitedSpace(200u << 20,
                             [] {
                               Tape<double> tape;
                               CurrentTape here(tape);
                               auto w = tape.leaves(1000, 0.75);
                               w[0].setName(std::string(3000, 'n'));
                               for (int i = 0; i < 9; ++i) {
                                 w = tape.leaves(tape.values());
                                 w[1].setName(tape.nameOf(0));
                               }
                               for (const double x : tape.values())
                                 if (x != 0.75) return 1;
                               return w[1].name() == std::string(3000, 'n') ? 0 : 2;
                             }),
            0);
}
TEST(LimitedSpace, TooLittleIsAnErrorThatSaysSo) {
  EXPECT_EQ(withLimitedSpace(50u << 20,
                             [] {
                               Tape<double> tape;
                               try {
                                 tape.leaves(20'000'000, 0.5);
                               } catch (const Error& error) {
                                 return error.code() == ErrorCode::outOfMemory && tape.size() == 0 ? 0 : 1;
                               }
                               return 2;
                             }),
            0);
}
#endif

}  // namespace reserve_test
}  // namespace burtorch
