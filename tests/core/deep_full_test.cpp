// Ten million nodes, see deep_test.cpp. label: full
#include "deep_graphs.hpp"

namespace deep_full_test {

constexpr std::size_t tenMillion = 10'000'000;

TEST(DeepFull, ChainOfTenMillion) { deep::checkChain(tenMillion); }
TEST(DeepFull, InPlaceChainOfTenMillion) { deep::checkInPlaceChain(tenMillion); }
TEST(DeepFull, FanInOfTenMillion) { deep::checkFanIn(tenMillion); }
TEST(DeepFull, ScatteredFanInOfTenMillion) { deep::checkScatteredFanIn(tenMillion); }
TEST(DeepFull, ProductOfTenMillion) { deep::checkProduct(tenMillion); }
TEST(DeepFull, FanOutOfTenMillion) { deep::checkFanOut(tenMillion); }
TEST(DeepFull, DeadPoleUnderTenMillion) { deep::checkDeadPole(tenMillion); }

}  // namespace deep_full_test
