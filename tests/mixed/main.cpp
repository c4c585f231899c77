// Objects with and without checks in one program.
#include <cstdio>

bool isRightInDebug();
bool isRightInRelease();

int main() {
  const bool debug = isRightInDebug(), release = isRightInRelease();
  if (!debug) std::puts("the file compiled without NDEBUG computes wrong numbers");
  if (!release) std::puts("the file compiled with NDEBUG computes wrong numbers");
  return debug && release ? 0 : 1;
}
