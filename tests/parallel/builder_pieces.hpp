// Random pieces of a graph, for tests of builders: recorded by several threads, or one after the other as the reference.
#pragma once

#include <array>
#include <burtorch/base/rng.hpp>
#include <burtorch/core/backward.hpp>
#include <burtorch/core/reduce.hpp>
#include <burtorch/parallel/builders.hpp>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "reference/user_operators.hpp"

namespace pieces {

using namespace burtorch;

/// What all pieces read: leaves and a computed node from before the split.
template <Config C> struct Shared {
  Range<double, C> w;
  Value<double, C> a, b;

  explicit Shared(Tape<double, C>& tape)
      : w(tape.leaves(std::array{0.5, -1.5, 2.0, 0.25, -0.75})), a(0.7), b(tanh(a * w[1])) {}
};

/// Scalars, constants, lists, blocks of leaves and of results, the user's own operator, leaves; `steps` steps. The root is the
/// last node.
template <Config C> Value<double, C> record(const Shared<C>& shared, std::uint64_t seed, std::size_t steps) {
  using V = Value<double, C>;
  Rng rng(seed);
  // The newest numbers; a ring, so that recording allocates nothing.
  std::array<V, 8> pool{shared.a,    shared.b,    shared.w[0], shared.w[2],
                        shared.w[3], shared.w[4], shared.a,    shared.b};
  const auto any = [&] { return pool[rng.below(8)]; };
  V root = shared.a * shared.w[0];
  for (std::size_t i = 0; i < steps; ++i) {
    V next;
    switch (rng.below(11)) {
      case 0: next = any() * any(); break;
      case 1: next = tanh(any() + any()); break;
      case 2: next = sin(any()) * 0.9; break;
      case 3: next = reduceMean(std::array{any(), any(), any()}); break;
      case 4: next = innerProduct(shared.w, shared.w) * any(); break;
      case 5: next = softmax(std::array{any(), any(), any()})[1]; break;
      case 6: next = V(rng.uniform<double>() - 0.5) - any(); break;
      case 7: next = relu(any()) + any() * 0.25; break;
      case 8: next = apply<mine::Hypotenuse>(any(), V(1.5)); break;
      case 9: next = logSumExp(std::array{any(), any()}); break;
      default: next = currentTape<double, C>().leaves(std::array{0.3, -0.6})[1] * any(); break;
    }
    pool[i % 8] = next = sin(next);
    root = root + next * shared.a;
  }
  return root;
}

/// Numbers as their bits: -0 is not 0, and a NaN equals itself.
inline std::vector<std::uint64_t> bitsOf(std::span<const double> numbers) {
  std::vector<std::uint64_t> bits(numbers.size());
  if (!bits.empty()) std::memcpy(bits.data(), numbers.data(), numbers.size_bytes());
  return bits;
}

/// What a graph of pieces comes to: the gradients of what they share, and the value and gradient of each root.
using Outcome = std::vector<std::uint64_t>;
template <Config C> Outcome sweep(const Shared<C>& shared, std::span<const Value<double, C>> roots) {
  const auto loss = reduceSumOfSquares(roots);
  backward(loss);
  std::vector<double> numbers{loss.value(), shared.a.grad(), shared.b.grad()};
  for (std::size_t i = 0; i < shared.w.size(); ++i) numbers.push_back(shared.w[i].grad());
  for (const auto& root : roots) numbers.insert(numbers.end(), {root.value(), root.grad()});
  return bitsOf(numbers);
}

struct Piece {
  std::uint64_t seed;
  std::size_t steps;
};

/// How much room every piece takes. Words are ample: a list whose nodes happen to lie at equal distances takes fewer of them,
/// and distances to nodes before the split depend on the segment.
template <Config C> std::vector<TapeCapacity> roomOf(std::span<const Piece> parts) {
  std::vector<TapeCapacity> rooms;
  for (const Piece& part : parts) {
    Tape<double, C> tape;
    CurrentTape here(tape);
    const Shared<C> shared(tape);
    const TapeCapacity before = tape.used();
    record(shared, part.seed, part.steps);
    const TapeCapacity after = tape.used();
    rooms.push_back({after.scalars - before.scalars, after.instructions - before.instructions,
                     after.words - before.words + 4 * part.steps});
  }
  return rooms;
}

/// One after the other, on one tape.
template <Config C> Outcome serial(std::span<const Piece> parts) {
  Tape<double, C> tape;
  CurrentTape here(tape);
  const Shared<C> shared(tape);
  std::vector<Value<double, C>> roots;
  for (const Piece& part : parts) roots.push_back(record(shared, part.seed, part.steps));
  return sweep<C>(shared, roots);
}

/// By a thread each. Threads start in the reverse order.
template <Config C>
Outcome parallel(Tape<double, C>& tape, std::span<const Piece> parts, std::span<const TapeCapacity> rooms) {
  CurrentTape here(tape);
  const Shared<C> shared(tape);
  std::vector<Value<double, C>> roots(parts.size());
  {
    Builders<double, C> builders(tape, rooms);
    std::vector<std::thread> threads;
    for (std::size_t i = parts.size(); i-- > 0;)
      threads.emplace_back([&, i] {
        CurrentTape mine(builders[i]);
        roots[i] = record(shared, parts[i].seed, parts[i].steps);
      });
    for (std::thread& thread : threads) thread.join();
    builders.join();
  }
  return sweep<C>(shared, roots);
}

}  // namespace pieces
