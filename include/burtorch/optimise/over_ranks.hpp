// A server of EF21 or MARINA on rank 0, and its clients dealt out over the other ranks.
//
// What goes over the wire are the messages of round_messages.hpp, with a label (parallel/ranks.hpp) and, upwards, 8 bytes more:
//   down   x, once to each rank, whose clients share it
//   up     an answer of each client, after the number of gradients that it has computed so far; or, where clients answer in parts,
//          the vector of each block as soon as its gradient is final, after the number of the block, and then the answer's header
// So what is measured upwards is what the server counts, plus `stated` bytes for each message.
//
// The server follows what its clients remember: it decodes what they send, as they do. So a rank that dies takes nothing along,
// the state is saved without asking anybody, and a run is resumed on any number of ranks. The price is the memory of all clients
// on rank 0. After an error everything is as before the round.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../base/workers.hpp"
#include "../parallel/ranks.hpp"
#include "round_scratch.hpp"
#include "round_server.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// The workers of a rank: `first` to `end` - 1. A server that is not alone has none.
struct WorkerRange {
  std::size_t first, end;

  static WorkerRange of(std::size_t rank, std::size_t ranks, std::size_t workers) {
    if (ranks == 1) return {0, workers};
    if (rank == 0) return {0, 0};
    return {workers * (rank - 1) / (ranks - 1), workers * rank / (ranks - 1)};
  }
};

namespace detail {

/// What ranks say to each other besides answers.
enum class RoundWire : std::uint32_t { round = 0x200, answer, part, previous, state, end };
inline constexpr std::size_t wireHead = sizeof(std::uint64_t);

inline MessageLabel wireLabel(RoundWire kind, std::size_t part, std::uint64_t number) {
  return {static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(part), number};
}
/// What a client remembers, as bytes.
template <class Client> void writeState(Client& client, std::vector<std::byte>& bytes) {
  bytes.clear();
  const auto put = [&](const void* from, std::size_t count) {
    const auto* const first = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), first, first + count);
  };
  client.visitState([&]<class State>(const char*, State&& state) {
    if constexpr (std::is_same_v<std::remove_cvref_t<State>, std::uint64_t>)
      put(&state, sizeof state);
    else
      put(state.data(), state.size_bytes());
  });
}
template <class Client> void readState(Client& client, std::span<const std::byte> bytes) {
  std::vector<std::byte> expected;
  writeState(client, expected);
  if (bytes.size() != expected.size()) fail(ErrorCode::badFile, "the state of a client has a wrong length");
  const auto take = [&](void* to, std::size_t count) {
    if (count > 0) std::memcpy(to, bytes.data(), count);
    bytes = bytes.subspan(count);
  };
  client.visitState([&]<class State>(const char*, State&& state) {
    if constexpr (std::is_same_v<std::remove_cvref_t<State>, std::uint64_t>)
      take(&state, sizeof state);
    else
      take(state.data(), state.size_bytes());
  });
}

}  // namespace detail

/// The server's side, on rank 0. `followers` are clients that compute nothing: they hold what those on other ranks remember.
template <class Server, class Client> class ServerOverRanks {
 public:
  using T = typename Server::Scalar;
  /// What a message takes upwards beside what the server counts.
  static constexpr std::size_t stated = Ranks::headerBytes + detail::wireHead;

  ServerOverRanks(Ranks& ranks, Server& server, std::span<Client> followers)
      : ranks_(&ranks),
        server_(&server),
        followers_(followers),
        answers_(followers.size()),
        heads_(followers.size()),
        gradients_(followers.size()) {
    if (ranks.rank() != 0 || ranks.size() < 2)
      fail("ServerOverRanks: expected rank 0 of at least 2, got rank %zu of %zu", ranks.rank(), ranks.size());
    if (followers.size() != server.workers())
      fail("ServerOverRanks: the server expects %zu clients, got %zu", server.workers(), followers.size());
  }

  RoundReport round() {
    const RoundHeader header = server_->header();
    requireFinite<T>(server_->x(), "the iterate");
    const WireCounts sent = ranks_->sent(), received = ranks_->received();
    const Forgetting untilDone{server_};
    for (std::size_t rank = 1; rank < ranks_->size(); ++rank)
      ranks_->send(rank, detail::wireLabel(detail::RoundWire::round, 0, header.round), server_->broadcast());
    add(down_, sent, ranks_->sent());
    forEachWorker([&](std::size_t worker, std::size_t rank) {
      receiveAnswer(worker, rank, header.round);
      server_->receive(worker, answers_[worker]);
    });
    add(up_, received, ranks_->received());
    const RoundReport report = server_->finishRound();
    for (std::size_t worker = 0; worker < followers_.size(); ++worker)
      followers_[worker].follow(header, answers_[worker]);
    gradients_ = heads_;
    return report;
  }

  /// After a state was loaded: gives every client its own.
  void sendState() {
    for (std::size_t rank = 1; rank < ranks_->size(); ++rank)
      ranks_->send(rank, label(detail::RoundWire::previous), std::as_bytes(server_->previous()));
    std::vector<std::byte> bytes;
    forEachWorker([&](std::size_t worker, std::size_t rank) {
      detail::writeState(followers_[worker], bytes);
      ranks_->send(rank, label(detail::RoundWire::state, worker), bytes);
    });
  }
  /// Lets the others go: their `serve` returns.
  void end() {
    for (std::size_t rank = 1; rank < ranks_->size(); ++rank)
      ranks_->send(rank, label(detail::RoundWire::end), {});
  }

  /// Gradients of single samples, of all clients so far.
  std::uint64_t gradients() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : gradients_) sum += count;
    return sum;
  }
  std::uint64_t bitsUp() const { return server_->bitsUp(); }
  std::uint64_t bitsDown() const { return server_->bitsDown(); }
  /// What rounds took on the wire.
  const WireCounts& up() const { return up_; }
  const WireCounts& down() const { return down_; }

  /// The state of the server and of all clients, as InProcess has it.
  template <class Visit> void visitState(Visit&& visit) {
    server_->visitState(visit);
    for (std::size_t i = 0; i < followers_.size(); ++i) {
      const std::string prefix = "client " + std::to_string(i) + ": ";
      followers_[i].visitState(
          [&](const char* name, auto&& state) { visit((prefix + name).c_str(), state); });
    }
  }

 private:
  /// A round that does not end leaves nothing behind.
  struct Forgetting {
    Server* server;
    ~Forgetting() { server->forgetAnswers(); }
  };

  MessageLabel label(detail::RoundWire kind, std::size_t part = 0) const {
    return detail::wireLabel(kind, part, server_->round());
  }
  template <class Use> void forEachWorker(Use use) const {
    for (std::size_t rank = 1; rank < ranks_->size(); ++rank) {
      const WorkerRange range = WorkerRange::of(rank, ranks_->size(), followers_.size());
      for (std::size_t worker = range.first; worker < range.end; ++worker) use(worker, rank);
    }
  }
  static void add(WireCounts& sum, const WireCounts& before, const WireCounts& after) {
    sum.messages += after.messages - before.messages;
    sum.bytes += after.bytes - before.bytes;
  }
  /// An answer, or its parts until its header comes. What it says is checked by the server.
  void receiveAnswer(std::size_t worker, std::size_t rank, std::uint64_t round) {
    const std::size_t most = detail::wireHead + AnswerHeader::bytes +
                             server_->form().template mostBytes<T>(server_->parameterCount());
    bool hasParts = false;
    for (parts_.start(server_->blocks().count());; hasParts = true) {
      const Ranks::Message message = ranks_->receive(rank, most);
      const auto kind = static_cast<detail::RoundWire>(message.label.kind);
      const bool isPart = kind == detail::RoundWire::part;
      if (!(message.label == detail::wireLabel(isPart ? kind : detail::RoundWire::answer, worker, round)) ||
          message.bytes.size() < detail::wireHead)
        detail::failAnswer(worker, "it is of another round or worker, or damaged");
      std::uint64_t head = 0;
      std::memcpy(&head, message.bytes.data(), sizeof head);
      const auto bytes = message.bytes.subspan(detail::wireHead);
      if (isPart) {
        parts_.open(static_cast<std::size_t>(head)).assign(bytes.begin(), bytes.end());
        continue;
      }
      heads_[worker] = head;
      const auto whole = hasParts ? parts_.joined(bytes) : bytes;
      answers_[worker].assign(whole.begin(), whole.end());
      return;
    }
  }

  Ranks* ranks_;
  Server* server_;
  std::span<Client> followers_;
  AnswerParts parts_;
  std::vector<std::vector<std::byte>> answers_;
  std::vector<std::uint64_t> heads_, gradients_;
  WireCounts up_, down_;
};

/// The clients of one rank other than 0: `serve` answers until the server ends it.
template <class Client> class ClientsOnRank {
 public:
  using T = typename Client::Scalar;

  /// The clients of the workers from `first` on; their options have no `keepsPrevious`. In parts: each block is sent as soon as
  /// its gradient is final, and clients work one after the other.
  ClientsOnRank(Ranks& ranks, RoundMethod method, std::span<Client> clients, std::size_t first, std::size_t d,
                bool inParts)
      : ranks_(&ranks),
        method_(method),
        clients_(clients),
        first_(first),
        isInParts_(inParts),
        x_(d),
        previous_(d),
        messages_(clients.size()) {}

  void serve() {
    for (;;) {
      const Ranks::Message message = ranks_->receive(0, RoundHeader::bytes + x_.size() * sizeof(T));
      switch (static_cast<detail::RoundWire>(message.label.kind)) {
        case detail::RoundWire::round: round(message); break;
        case detail::RoundWire::previous: takePrevious(message.bytes); break;
        case detail::RoundWire::state:
          if (message.label.part - first_ >= clients_.size()) failCommand();
          detail::readState(clients_[message.label.part - first_], message.bytes);
          break;
        case detail::RoundWire::end: return;
        default: failCommand();
      }
    }
  }

 private:
  [[noreturn]] static void failCommand() {
    fail(ErrorCode::badFile, "a message of the server is not understood; do all ranks run the same program?");
  }
  void takePrevious(std::span<const std::byte> bytes) {
    if (bytes.size() != previous_.size() * sizeof(T)) failCommand();
    if (!bytes.empty()) std::memcpy(previous_.data(), bytes.data(), bytes.size());
    requireFinite<T>(previous_, "the iterate before");
  }
  void round(const Ranks::Message& message) {
    const RoundHeader header = detail::readBroadcast<T>(method_, message.bytes, std::span(x_));
    if (header.round != message.label.number) failCommand();
    Workers* const workers = currentWorkers();
    scratch_.resize(std::max(scratch_.size(), workers != nullptr ? workers->size() : 1));
    if (isInParts_)
      for (std::size_t i = 0; i < clients_.size(); ++i) answerInParts(header, i);
    else
      answerWhole(header, workers);
    std::swap(x_, previous_);
  }
  void answerWhole(const RoundHeader& header, Workers* workers) {
    const auto one = [&](std::size_t i, std::size_t thread) {
      clients_[i].answer(header, x_, previous_, scratch_[thread], messages_[i]);
    };
    if (workers != nullptr && workers->size() > 1)
      workers->run(clients_.size(), one);
    else
      for (std::size_t i = 0; i < clients_.size(); ++i) one(i, 0);
    for (std::size_t i = 0; i < clients_.size(); ++i)
      send(detail::RoundWire::answer, i, header.round, clients_[i].counts().gradients, messages_[i]);
  }
  void answerInParts(const RoundHeader& header, std::size_t i) {
    clients_[i].answerInParts(header, x_, previous_, scratch_[0], parts_, messages_[i],
                              [&](std::size_t block, std::span<const std::byte> part) {
                                send(detail::RoundWire::part, i, header.round, block, part);
                              });
    send(detail::RoundWire::answer, i, header.round, clients_[i].counts().gradients, messages_[i]);
  }
  void send(detail::RoundWire kind, std::size_t i, std::uint64_t round, std::uint64_t head,
            std::span<const std::byte> bytes) {
    frame_.resize(detail::wireHead + bytes.size());
    std::memcpy(frame_.data(), &head, sizeof head);
    if (!bytes.empty()) std::memcpy(frame_.data() + detail::wireHead, bytes.data(), bytes.size());
    ranks_->send(0, detail::wireLabel(kind, first_ + i, round), frame_);
  }

  Ranks* ranks_;
  RoundMethod method_;
  std::span<Client> clients_;
  std::size_t first_;
  bool isInParts_;
  std::vector<T> x_, previous_;
  std::vector<RoundScratch<T>> scratch_;
  AnswerParts parts_;
  std::vector<std::vector<std::byte>> messages_;
  std::vector<std::byte> frame_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
