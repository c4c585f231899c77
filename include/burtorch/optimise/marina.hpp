// MARINA (Gorbunov et al., 2102.07845): workers mostly send compressed differences of gradients, and now and then, on a coin
// that all share, whole gradients.
//
//   g = grad f(x) in the first round; x <- x - step g; coin 1: g = mean grad f_i(x);
//   coin 0: g <- g + mean Q(grad f_i(x) - grad f_i(x before)), Q unbiased
//
// The coin is thrown by the server and part of the broadcast. VR-MARINA: the difference is that of a few samples, the same at
// both points. With p = 1, or a Q that sends everything, this is distributed gradient descent to the last bit.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../oracle/finite_sum.hpp"
#include "round_scratch.hpp"
#include "round_server.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Options of a MARINA server.
struct MarinaOptions {
  AnyCompressor compressor{};
  double stepSize = 0;     // marinaStepSize gives one
  double probability = 0;  // of a round with whole gradients; marinaProbability gives one
  std::size_t workers = 1;
  std::uint64_t seed = 0;
  VectorBlocks blocks{};  // compressed on their own; the clients' too
};

/// The server of MARINA: broadcast, receive, finishRound. No round can do without a worker.
template <class T> class MarinaServer : public RoundServer<T> {
 public:
  MarinaServer(std::span<const T> start, const MarinaOptions& options)
      : RoundServer<T>({.method = RoundMethod::marina,
                        .form = MessageForm::unbiased,
                        .fullProbability = probabilityOf(start.size(), options),
                        .isFirstFull = true,
                        .toleratesAbsence = false},
                       start, options.compressor, options.blocks, options.stepSize,
                       std::vector<double>(options.workers, 1 / static_cast<double>(options.workers)),
                       options.seed) {}

 private:
  static double probabilityOf(std::size_t d, const MarinaOptions& options) {
    if (!(options.probability > 0 && options.probability <= 1))
      fail("MARINA: expected a probability above 0 and up to 1, got %g", options.probability);
    omega(options.compressor, d);  // fails for a biased one
    return isIdentity(options.compressor, d) ? 1.0 : options.probability;
  }
};

/// Options of a MARINA client; the compressor is the server's.
struct MarinaClientOptions {
  AnyCompressor compressor{};
  std::size_t worker = 0;
  std::size_t batch = 0;  // VR-MARINA: samples of a difference, drawn with replacement; 0: all of them once
  /// Of an oracle with knobs: ask for the coordinates only that are sent, where they are known before.
  bool computesOnlySent = false;
  bool keepsPrevious = true;  // off: only for the server's own process, which keeps x before for everybody
  VectorBlocks blocks{};
};

/// A client of MARINA or VR-MARINA, over its own data.
template <FiniteSum F> class MarinaClient {
 public:
  using Scalar = typename F::Scalar;

  MarinaClient(F& f, const MarinaClientOptions& options)
      : f_(&f),
        options_(options),
        compressed_{options.compressor, options.blocks, MessageForm::unbiased},
        whole_{Identity{}, options.blocks, MessageForm::unbiased},
        samples_(f.size()),
        batch_(options.batch),
        x_(options.keepsPrevious ? f.parameterCount() : 0),
        previous_(x_.size()) {
    omega(options.compressor, f.parameterCount());
    options.blocks.check(options.compressor, f.parameterCount());
  }

  /// Answers a broadcast. With `stop`, which is polled, this may end early: then it returns false, there is no answer and the
  /// client is as before.
  bool answer(std::span<const std::byte> broadcast, std::vector<std::byte>& message,
              FunctionRef<bool()> stop = {}) {
    if (!options_.keepsPrevious) fail("a MARINA client that answers bytes needs keepsPrevious");
    const RoundHeader round = detail::readBroadcast<Scalar>(RoundMethod::marina, broadcast, x_);
    if (!answer(round, x_, previous_, scratch_, message, stop)) return false;
    std::swap(x_, previous_);
    return true;
  }
  /// The same in the server's process, where x and the x before are read in place.
  bool answer(const RoundHeader& round, std::span<const Scalar> x, std::span<const Scalar> previous,
              RoundScratch<Scalar>& scratch, std::vector<std::byte>& message, FunctionRef<bool()> stop = {}) {
    const CompressionKey key = begin(round);
    const std::size_t d = f_->parameterCount();
    const std::span<Scalar> gradient = scratch.first(d);
    message.assign(AnswerHeader::bytes, std::byte{});
    double value = 0;
    if (round.isFull) {
      if (!roundGradient(*f_, x, samples_, gradient, {}, stop, value)) return false;
      send(whole_, key, Numbers<Scalar>{gradient}, message);
    } else {
      if (!sendDifference(x, previous, key, gradient, scratch.other(d), stop, message, value)) return false;
    }
    AnswerHeader{RoundMethod::marina, round.isFull, key.worker, round.round, value}.write(message.data());
    follow(round, message);
    return true;
  }
  /// Answers in parts, as Ef21Client does. Of a difference the gradient at x before is taken first, and blocks are sent while the
  /// one at x is computed.
  template <class Emit>
  bool answerInParts(const RoundHeader& round, std::span<const Scalar> x, std::span<const Scalar> previous,
                     RoundScratch<Scalar>& scratch, AnswerParts& parts, std::vector<std::byte>& header,
                     Emit emit, FunctionRef<bool()> stop = {}) {
    const CompressionKey key = begin(round);
    const std::size_t d = f_->parameterCount();
    const VectorForm& form = round.isFull ? whole_ : compressed_;
    const std::span<Scalar> before = scratch.other(d);
    const Batch batch = round.isFull ? Batch(samples_) : batchOf(key);
    const Wanted wanted = round.isFull ? Wanted() : wantedIn(key);
    parts.start(form.blocks.count());
    double value = 0, valueBefore = 0;
    if (!round.isFull && !roundGradient(*f_, previous, batch, before, wanted, stop, valueBefore))
      return false;
    const auto onFinal = [&](std::size_t block, std::span<const Scalar> now) {
      std::vector<std::byte>& part = parts.open(block);
      const CompressionKey own = form.blocks.keyOf(key, block);
      if (round.isFull)
        encode(form.compressor, own, form.form, Numbers<Scalar>{now}, memory_, part);
      else
        encode(form.compressor, own, form.form, Change{now, form.blocks.of(before, block)}, memory_, part);
      emit(block, std::span<const std::byte>(part));
    };
    if (!roundGradientInBlocks(*f_, x, batch, scratch.first(d), wanted, stop, form.blocks, onFinal, value))
      return false;
    header.resize(AnswerHeader::bytes);
    AnswerHeader{RoundMethod::marina, round.isFull, key.worker, round.round, value}.write(header.data());
    nextRound_ = round.round + 1;
    return true;
  }
  /// Brings a client to where the one is that sent this answer.
  void follow(const RoundHeader& round, std::span<const std::byte> /*answer*/) {
    nextRound_ = round.round + 1;
  }

  CompressorMemory& memory() { return memory_; }
  OracleCounts counts() const { return f_->counts(); }

  /// Hands out everything that a resumed run needs.
  template <class Visit> void visitState(Visit&& visit) {
    if (options_.keepsPrevious) visit("previous", std::span(previous_));
    visit("nextRound", nextRound_);
  }

 private:
  /// A difference that is computed where it is sent.
  struct Change {
    using Scalar = typename F::Scalar;
    std::span<const Scalar> now, before;
    std::size_t size() const { return now.size(); }
    Scalar operator[](std::size_t i) const { return now[i] - before[i]; }
  };

  CompressionKey begin(const RoundHeader& round) const {
    if (round.round < nextRound_) detail::failBroadcast("the round was answered already");
    if (!round.isFull && round.round != nextRound_) detail::failBroadcast("this worker missed a round");
    if (options_.worker >= round.workers) detail::failBroadcast("this worker is not among its workers");
    return {round.seed, round.round, static_cast<std::uint32_t>(options_.worker)};
  }
  Wanted wantedIn(const CompressionKey& key) {
    if (!options_.computesOnlySent) return {};
    return wantedOf<Scalar>(compressed_, f_->parameterCount(), key, memory_.set, wanted_);
  }
  bool sendDifference(std::span<const Scalar> x, std::span<const Scalar> previous, const CompressionKey& key,
                      std::span<Scalar> now, std::span<Scalar> before, FunctionRef<bool()> stop,
                      std::vector<std::byte>& message, double& value) {
    const Batch batch = batchOf(key);
    const Wanted wanted = wantedIn(key);
    if constexpr (requires { f_->difference(x, previous, batch, now); })
      if (wanted.isAll() && !stop) {
        value = f_->difference(x, previous, batch, now).atX;
        send(compressed_, key, Numbers<Scalar>{now}, message);
        return true;
      }
    double valueBefore = 0;
    if (!roundGradient(*f_, x, batch, now, wanted, stop, value) ||
        !roundGradient(*f_, previous, batch, before, wanted, stop, valueBefore))
      return false;
    send(compressed_, key, Change{now, before}, message);
    return true;
  }
  template <class Source>
  void send(const VectorForm& form, const CompressionKey& key, const Source& source,
            std::vector<std::byte>& message) {
    encodeBlocks(form.compressor, form.blocks, key, form.form, source, memory_, message);
  }
  /// The samples of a difference.
  Batch batchOf(const CompressionKey& key) {
    if (batch_.empty()) return samples_;
    constexpr std::uint64_t batches = 0x62617463686573;  // apart from the compressors' keys
    Rng rng(key.own() ^ batches, key.worker);
    for (std::size_t& sample : batch_) sample = rng.index(f_->size());
    return batch_;
  }

  F* f_;
  MarinaClientOptions options_;
  VectorForm compressed_, whole_;
  AllSamples samples_;
  std::vector<std::size_t> batch_;
  std::vector<Scalar> x_, previous_;
  RoundScratch<Scalar> scratch_;
  WantedBlocks wanted_;
  std::uint64_t nextRound_ = 0;
  CompressorMemory memory_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
