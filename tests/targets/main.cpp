// Objects built with different -m flags in one program: each runs its own code, and errors are the same type in both.
#include <burtorch/base/check.hpp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

std::vector<double> plainWork(), wideWork();
std::size_t plainWidth(), wideWidth();
void wideError();

int main() {
  const auto plain = plainWork(), wide = wideWork(), again = plainWork();
  if (plainWidth() == wideWidth()) return std::puts("both objects have vectors of the same width"), 1;
  if (plain != again || plain.size() != wide.size()) return std::puts("the objects disturb each other"), 1;
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    largest = std::max(largest, std::abs(plain[i]));
    difference = std::max(difference, std::abs(plain[i] - wide[i]));
  }
  std::printf("%zu and %zu lanes, largest difference %g of %g\n", plainWidth(), wideWidth(), difference,
              largest);
  if (!(difference <= 2e-6 * largest)) return 1;
  try {
    wideError();
  } catch (const burtorch::Error&) {
    return 0;
  }
  return std::puts("an error was not caught"), 1;
}
