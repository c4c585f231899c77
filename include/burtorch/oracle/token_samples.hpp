// What a token oracle (token_oracle.hpp) is made of beside a model: where samples come from, and how it works.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "../base/token_id.hpp"
#include "../base/workers.hpp"
#include "../parallel/ranks.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Where samples come from: `read` fills in the tokens and the targets of sample i. With workers, several threads read at once.
template <class S>
concept TokenSamples = requires(const S& samples, std::size_t i, std::span<TokenId> tokens,
                                std::span<TokenId> targets) {
  { samples.size() } -> std::convertible_to<std::size_t>;
  samples.read(i, tokens, targets);
};

/// How an oracle works. `workers` and `ranks` decide who computes, `tile` and `shards` decide the bits.
struct TokenOracleOptions {
  std::size_t tile = 0;        // samples on a tape at a time, at most; 0: what the model likes best
  Workers* workers = nullptr;  // who helps: a ThreadPool; nullptr: the current workers, if the thread has any
  std::size_t shards = 0;      // parts of a batch, at most as many as samples; 0: as many as pay
  /// Processes that share the shards of `value` and `gradient` without knobs, which all of them call at the same time.
  Ranks* ranks = nullptr;
};

}  // namespace burtorch::inline BURTORCH_TARGET
