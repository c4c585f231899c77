// The server's half of EF21 and MARINA, which differ in three facts only: whether answers are contractive or unbiased, in which
// rounds everybody sends a whole gradient, and whether a round may do without somebody.
//
//   a round: broadcast x, receive answers, g <- g + sum w_i (what worker i sent), x <- x - step g
//
// In a full round g starts from zero, so that it is the mean gradient to the last bit. Answers may come in any order: they are
// checked on arrival and added in the order of the workers' numbers, so bits do not depend on it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blockwise.hpp"
#include "round_messages.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What a round did.
struct RoundReport {
  std::uint64_t round = 0;  // which
  double value = 0;         // the mean of f_i(x) over those who answered, at the x that was broadcast
  std::size_t answers = 0;  // how many answered
  bool isFull = false;      // whether they sent whole gradients
  std::uint64_t bitsUp = 0, bitsDown = 0;  // of this round, all workers together
};

template <class T> class RoundServer {
 public:
  using Scalar = T;

  RoundServer(const RoundServer&) = delete;
  RoundServer& operator=(const RoundServer&) = delete;
  RoundServer(RoundServer&&) = default;

  std::size_t parameterCount() const { return gradient_.size(); }
  std::size_t workers() const { return slots_.size(); }
  /// The iterate, and the one before it.
  std::span<const T> x() const { return std::span(x_).subspan(headerNumbers); }
  std::span<const T> previous() const { return std::span(previous_).subspan(headerNumbers); }
  /// g, with which the last step was made.
  std::span<const T> gradient() const { return gradient_; }
  std::uint64_t round() const { return round_; }
  std::uint64_t bitsUp() const { return bitsUp_; }
  std::uint64_t bitsDown() const { return bitsDown_; }
  double stepSize() const { return stepSize_; }
  void setStepSize(double stepSize) { stepSize_ = checkedStep(stepSize); }
  /// How answers of this round are compressed.
  const VectorForm& form() const { return isFull() ? whole_ : compressed_; }
  const VectorBlocks& blocks() const { return compressed_.blocks; }

  /// Of this round.
  RoundHeader header() const {
    return {.method = facts_.method,
            .isFull = isFull(),
            .workers = static_cast<std::uint32_t>(slots_.size()),
            .round = round_,
            .seed = seed_};
  }
  /// What is sent to everybody; valid until finishRound.
  std::span<const std::byte> broadcast() {
    const auto bytes = std::as_writable_bytes(std::span(x_));
    detail::writeRoundHeader<T>(header(), parameterCount(), bytes.data());
    return bytes;
  }

  /// Takes an answer, in any order; one that is wrong is an error and changes nothing.
  void receive(std::size_t worker, std::span<const std::byte> message) {
    if (worker >= slots_.size())
      fail(ErrorCode::outOfRange, "worker %zu is out of range for %zu workers", worker, slots_.size());
    Slot& slot = slots_[worker];
    if (slot.hasArrived) detail::failAnswer(worker, "it has answered in this round already");
    const AnswerHeader answer = detail::readAnswer(worker, header(), message);
    const auto check = [&](std::size_t block, const MessageHeader& expected,
                           std::span<const std::byte> vector) {
      if (!(checkMessage<T>(vector, blocks().size(block, parameterCount())) == expected))
        detail::failAnswer(worker, "it was not compressed as agreed; have both the same compressor?");
    };
    form().template forEachVector<T>(message.subspan(AnswerHeader::bytes), parameterCount(), keyOf(worker),
                                     check);
    slot.message.assign(message.begin(), message.end());
    slot.value = answer.value;
    slot.hasArrived = true;
  }
  bool hasArrived(std::size_t worker) const { return slots_[worker].hasArrived; }
  /// Forgets the answers that have come: the round can begin again, or the state be saved.
  void forgetAnswers() {
    for (Slot& slot : slots_) slot.hasArrived = false;
  }

  /// Adds the answers and steps. Somebody may be missing only where the method allows it, and never all.
  RoundReport finishRound() {
    RoundReport report{.round = round_, .isFull = isFull()};
    for (const Slot& slot : slots_) {
      if (!slot.hasArrived) continue;
      ++report.answers;
      report.value += slot.value;
      report.bitsUp += bitsSent(slot.message.size());
    }
    if (report.answers < slots_.size() && (!facts_.toleratesAbsence || report.isFull))
      fail("round %llu: expected answers of all %zu workers, got %zu",
           static_cast<unsigned long long>(round_), slots_.size(), report.answers);
    if (report.answers == 0) fail("round %llu: nobody has answered", static_cast<unsigned long long>(round_));
    report.value /= static_cast<double>(report.answers);
    report.bitsDown = bitsSent(slots_.size() * (RoundHeader::bytes + parameterCount() * sizeof(T)));
    addAnswers(report.isFull);
    step();
    bitsUp_ += report.bitsUp;
    bitsDown_ += report.bitsDown;
    ++round_;
    return report;
  }

  /// Memory that answers of a worker are decoded with: a client in the same process lends its own, which has drawn the
  /// coordinates already. It must outlive the server.
  void shareMemory(std::size_t worker, CompressorMemory& memory) { slots_[worker].memory = &memory; }

  /// Hands out everything that a resumed run needs, between two rounds: visit(name, numbers), visit(name, counter).
  template <class Visit> void visitState(Visit&& visit) {
    for (const Slot& slot : slots_)
      if (slot.hasArrived) fail("the state of a server is that between two rounds: finish the round first");
    visit("x", std::span(x_).subspan(headerNumbers));
    visit("previous", std::span(previous_).subspan(headerNumbers));
    visit("gradient", std::span(gradient_));
    visit("round", round_);
    visit("seed", seed_);
    visit("bitsUp", bitsUp_);
    visit("bitsDown", bitsDown_);
  }

 protected:
  /// What distinguishes methods.
  struct Facts {
    RoundMethod method;
    MessageForm form;
    double fullProbability;  // that a round is full
    bool isFirstFull, toleratesAbsence;
  };

  RoundServer(const Facts& facts, std::span<const T> start, const AnyCompressor& compressor,
              const VectorBlocks& blocks, double stepSize, std::vector<double> weights, std::uint64_t seed)
      : facts_(facts),
        compressed_{compressor, blocks, facts.form},
        whole_{Identity{}, blocks, MessageForm::unbiased},
        stepSize_(checkedStep(stepSize)),
        weights_(std::move(weights)),
        seed_(seed),
        x_(headerNumbers + start.size()),
        previous_(headerNumbers + start.size()),
        gradient_(start.size()),
        slots_(weights_.size()) {
    requireFinite(start, "the starting point");
    if (slots_.empty() || slots_.size() > UINT32_MAX) fail("a server needs workers");
    blocks.check(compressor, start.size());
    if (const auto* perm = std::get_if<PermK>(&compressor); perm != nullptr && perm->workers != slots_.size())
      fail("PermK: expected as many workers as the server has, %zu, got %llu", slots_.size(),
           static_cast<unsigned long long>(perm->workers));
    std::copy(start.begin(), start.end(), x_.begin() + headerNumbers);
    std::copy(start.begin(), start.end(), previous_.begin() + headerNumbers);
  }

 private:
  // A broadcast is sent from where x lies: its header lies in front.
  static constexpr std::size_t headerNumbers = RoundHeader::bytes / sizeof(T);

  struct Slot {
    std::vector<std::byte> message;
    double value = 0;
    bool hasArrived = false;
    CompressorMemory* memory = nullptr;
  };

  static double checkedStep(double stepSize) {
    if (!(stepSize > 0) || !std::isfinite(stepSize)) fail("expected a step size above 0, got %g", stepSize);
    return stepSize;
  }
  bool isFull() const {
    if (round_ == 0 && facts_.isFirstFull) return true;
    constexpr std::uint64_t coins = 0x636f696e73;  // apart from the compressors' keys
    return Rng(seed_ ^ coins, round_).template uniform<double>() < facts_.fullProbability;
  }
  CompressionKey keyOf(std::size_t worker) const {
    return {seed_, round_, static_cast<std::uint32_t>(worker)};
  }
  void addAnswers(bool isFullRound) {
    if (isFullRound) std::fill(gradient_.begin(), gradient_.end(), T{0});
    for (std::size_t worker = 0; worker < slots_.size(); ++worker) {
      Slot& slot = slots_[worker];
      if (!slot.hasArrived) continue;
      CompressorMemory& memory = slot.memory != nullptr ? *slot.memory : memory_;
      form().template forEachVector<T>(
          std::span<const std::byte>(slot.message).subspan(AnswerHeader::bytes), parameterCount(),
          keyOf(worker),
          [&](std::size_t block, const MessageHeader& header, std::span<const std::byte> vector) {
            detail::addChecked<T>(header, vector, weights_[worker], blocks().of(std::span(gradient_), block),
                                  memory.set);
          });
      slot.hasArrived = false;
    }
  }
  void step() {
    const T stepSize = static_cast<T>(stepSize_);
    const T* const x = x_.data() + headerNumbers;
    T* const next = previous_.data() + headerNumbers;
    const T* const g = gradient_.data();
    for (std::size_t i = 0; i < gradient_.size(); ++i) next[i] = x[i] - stepSize * g[i];
    std::swap(x_, previous_);
  }

  Facts facts_;
  VectorForm compressed_, whole_;
  double stepSize_;
  std::vector<double> weights_;
  std::uint64_t seed_, round_ = 0, bitsUp_ = 0, bitsDown_ = 0;
  std::vector<T> x_, previous_, gradient_;
  std::vector<Slot> slots_;
  CompressorMemory memory_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
