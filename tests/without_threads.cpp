// The library in a build without threads (-DBURTORCH_THREADS=0): the program has one current tape, so pools start no threads.
// Returns 0 if all is right.
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <cstdio>
#include <thread>

namespace {

using namespace burtorch;

int failures = 0;
void expect(bool isRight, const char* claim) {
  if (isRight) return;
  std::printf("not so: %s\n", claim);
  ++failures;
}

}  // namespace

int main() {
  expect(ThreadPool::coreCount() == 1 && ThreadPool().size() == 1 && ThreadPool(8).size() == 1,
         "a pool is the caller alone");
  const Value x(3.0);
  backward(x * x);
  expect(x.grad() == 6.0, "the gradient of x * x");
  const auto* tape = &currentTape<double>();
  std::thread([&] { expect(&currentTape<double>() == tape, "another thread has the same tape"); }).join();
  Tape<double> own;
  CurrentTape here(own);
  std::thread([&] { expect(&currentTape<double>() == &own, "also if it is made current"); }).join();
  return failures == 0 ? 0 : 1;
}
