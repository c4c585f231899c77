// Compressing, decoding and rounds of methods ask for no memory once they are warm.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "burtorch/optimise/compressor_text.hpp"
#include "burtorch/optimise/ef21.hpp"
#include "burtorch/optimise/in_process.hpp"
#include "burtorch/optimise/marina.hpp"
#include "quadratics.hpp"
#include "reference/allocation_counter.hpp"

namespace burtorch {
namespace allocation_test {

TEST(Allocation, MessagesNeedNoneOnceWarm) {
  Rng rng(2);
  std::vector<float> x(500), into(500);
  for (float& number : x) number = rng.normal<float>();
  for (const char* text :
       {"identity", "randk:7", "randk:90%", "randseqk:7", "topk:7", "permk:3", "natural", "levels:4"}) {
    CompressorMemory memory, receiver;
    std::vector<std::byte> message;
    const AnyCompressor any = compressorFromText(text);
    const auto once = [&](std::uint64_t round) {
      encode<float>(any, {3, round, 1}, x, memory, message);
      decodeAdd<float>(message, 0.5, into, receiver);
    };
    for (std::uint64_t round = 0; round < 8; ++round) once(round);
    EXPECT_EQ(allocationsOf([&] {
                for (std::uint64_t round = 8; round < 30; ++round) once(round);
              }),
              0u)
        << text;
  }
}

/// Half the squared distance to a point, whose gradient needs no memory.
struct Distance {
  using Scalar = double;
  Vector centre;
  std::size_t size() const { return 1; }
  std::size_t parameterCount() const { return centre.size(); }
  OracleCounts counts() const { return {}; }
  double value(std::span<const double> x, Batch) { return squaredDistance(x, centre) / 2; }
  double gradient(std::span<const double> x, Batch batch, std::span<double> into) {
    for (std::size_t i = 0; i < x.size(); ++i) into[i] = x[i] - centre[i];
    return value(x, batch);
  }
};
template <class Server, class Client>
std::size_t allocationsOfRounds(Server& server, std::vector<Client>& clients) {
  InProcess run(server, std::span(clients));
  for (int round = 0; round < 30; ++round) run.round();
  return allocationsOf([&] {
    for (int round = 0; round < 60; ++round) run.round();
  });
}
TEST(Allocation, RoundsNeedNoneOnceWarm) {
  std::vector<Distance> functions;
  for (std::uint64_t i = 0; i < 3; ++i) functions.push_back({randomVector(80, i)});
  for (const char* text : {"identity", "randk:7", "randseqk:7", "permk:3", "natural", "levels:4"}) {
    const AnyCompressor any = compressorFromText(text);
    Ef21Server<double> ef21(Vector(80), {.compressor = any, .stepSize = 0.1, .workers = 3});
    MarinaServer<double> marina(Vector(80),
                                {.compressor = any, .stepSize = 0.1, .probability = 0.3, .workers = 3});
    std::vector<Ef21Client<Distance>> ef21Clients;
    std::vector<MarinaClient<Distance>> marinaClients;
    for (std::size_t i = 0; i < 3; ++i) {
      ef21Clients.emplace_back(functions[i], Ef21ClientOptions{any, i});
      marinaClients.emplace_back(functions[i],
                                 MarinaClientOptions{.compressor = any, .worker = i, .keepsPrevious = false});
    }
    EXPECT_EQ(allocationsOfRounds(ef21, ef21Clients), 0u) << text;
    EXPECT_EQ(allocationsOfRounds(marina, marinaClients), 0u) << text;
  }
}

}  // namespace allocation_test
}  // namespace burtorch
