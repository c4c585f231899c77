// Depth and width cost time and tape, never stack: a million nodes in a thread with 64 KB of stack.
#include "deep_graphs.hpp"

namespace deep_test {

constexpr std::size_t million = 1'000'000;

TEST(Deep, ChainOfAMillion) { deep::checkChain(million); }
TEST(Deep, InPlaceChainOfAMillion) { deep::checkInPlaceChain(million); }
TEST(Deep, FanInOfAMillion) { deep::checkFanIn(million); }
TEST(Deep, ScatteredFanInOfAMillion) { deep::checkScatteredFanIn(million); }
TEST(Deep, ProductOfAMillion) { deep::checkProduct(million); }
TEST(Deep, FanOutOfAMillion) { deep::checkFanOut(million); }
TEST(Deep, DeadPoleUnderAMillion) { deep::checkDeadPole(million); }

}  // namespace deep_test
