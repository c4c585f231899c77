// label: full
// Builders that run out of room, many times, in 2 to 8 threads: the error comes in the thread that hit it, and nothing else
// is lost.
#include <gtest/gtest.h>

#include <atomic>

#include "builder_pieces.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace builders_full_test {

constexpr Config checked{.names = true, .checks = true}, lean{.names = false, .checks = false};
constexpr int rounds = 200;

/// What is missing from the exact room of some of the segments.
enum class Room { exact, oneShort, farTooSmall };

template <Config C> void stress(Tape<double, C>& tape, std::size_t count, Room room) {
  using Piece = pieces::Piece;
  std::vector<Piece> parts(count);
  for (std::size_t i = 0; i < count; ++i) parts[i] = {17 * count + i, 20 + 5 * i};
  auto rooms = pieces::roomOf<C>(parts);
  std::vector<bool> isShort(count);
  for (std::size_t i = 0; i < count; ++i) {
    isShort[i] = room != Room::exact && i % 2 == 1;
    if (!isShort[i]) continue;
    const std::size_t missing = room == Room::oneShort ? 1 : rooms[i].scalars - 3;
    if (i % 4 == 1)
      rooms[i].scalars -= missing;
    else
      rooms[i].instructions = room == Room::oneShort ? rooms[i].instructions - 1 : 2;
  }
  std::vector<Piece> whole;  // those that have room
  for (std::size_t i = 0; i < count; ++i)
    if (!isShort[i]) whole.push_back(parts[i]);
  const pieces::Outcome wanted = pieces::serial<C>(whole);

  CurrentTape here(tape);
  for (int round = 0; round < rounds; ++round) {
    tape.clear();
    const pieces::Shared<C> shared(tape);
    std::vector<Value<double, C>> roots(count);
    std::vector<std::optional<ErrorCode>> errors(count);
    Builders<double, C> builders(tape, rooms);
    std::vector<std::thread> threads;
    std::atomic<bool> isStarted{false};  // together: otherwise the first is done before the last begins
    for (std::size_t i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        while (!isStarted) std::this_thread::yield();
        CurrentTape mine(builders[i]);
        errors[i] = codeOf([&] { roots[i] = pieces::record(shared, parts[i].seed, parts[i].steps); });
      });
    isStarted = true;
    for (std::thread& thread : threads) thread.join();
    builders.join();
    std::vector<Value<double, C>> found;
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(errors[i], isShort[i] ? std::optional(ErrorCode::outOfRoom) : std::nullopt) << i;
      if (!isShort[i]) found.push_back(roots[i]);
    }
    ASSERT_EQ(pieces::sweep<C>(shared, found), wanted) << count << " threads, round " << round;
  }
}

template <Config C> void stressAll(Room room) {
  for (std::size_t count : {2u, 3u, 5u, 8u}) {
    const TapeCapacity all{20'000, 20'000, 20'000};
    Tape<double, C> growing, fixed(all);
    std::vector<std::byte> memory(Tape<double, C>::requiredBytes(all));
    Tape<double, C> borrowed(memory, all);
    for (Tape<double, C>* tape : {&growing, &fixed, &borrowed}) stress<C>(*tape, count, room);
  }
}

TEST(BuildersStress, ExactRoom) { stressAll<checked>(Room::exact); }
TEST(BuildersStress, OneShort) { stressAll<checked>(Room::oneShort); }
TEST(BuildersStress, FarTooSmall) { stressAll<checked>(Room::farTooSmall); }
TEST(BuildersStress, ExactRoomWithoutChecks) { stressAll<lean>(Room::exact); }
TEST(BuildersStress, OneShortWithoutChecks) { stressAll<lean>(Room::oneShort); }
TEST(BuildersStress, FarTooSmallWithoutChecks) { stressAll<lean>(Room::farTooSmall); }

/// What a builder recorded before its segment was full stays: whole nodes, with a gradient.
TEST(BuildersStress, WhatWasRecordedBeforeTheErrorIsWhole) {
  for (std::size_t room = 0; room < 12; ++room) {
    Tape<double> tape;
    CurrentTape here(tape);
    const Value<double> x(1.01);
    Value<double> y = x;
    const TapeCapacity rooms[] = {{room, room, 0}, {4, 4, 0}};
    Builders<double> builders(tape, rooms);
    std::size_t done = 0;
    std::thread thread([&] {
      CurrentTape mine(builders[0]);
      EXPECT_EQ(codeOf([&] {
                  for (;; ++done) y = y * x;
                }),
                ErrorCode::outOfRoom);
    });
    Value<double> z;
    {
      CurrentTape mine(builders[1]);
      z = exp(x);
    }
    thread.join();
    builders.join();
    ASSERT_EQ(done, room);
    backward(y + z);
    const double n = static_cast<double>(room) + 1;
    EXPECT_NEAR(x.grad(), n * std::pow(1.01, n - 1) + std::exp(1.01), 1e-12);
  }
}

}  // namespace builders_full_test
}  // namespace burtorch
