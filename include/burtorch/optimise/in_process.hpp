// A server and its clients in one process: clients work in parallel on the current workers, and answer as over any wire.
//
// The bits are the same for any number of threads, since the server adds in the order of the clients. Answers are bytes;
// x is read where the server has it and counted as if it had been sent. Clients must not share an oracle whose calls are not
// const: each has its own. Gradients lie in memory that a thread has, whatever the number of clients. Where a server decodes,
// it uses the coordinates that the client has drawn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../base/workers.hpp"
#include "../core/sweep_options.hpp"
#include "round_scratch.hpp"
#include "round_server.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Runs rounds of a server with clients that live in this process and outlive this object.
template <class Server, class Client> class InProcess {
 public:
  InProcess(Server& server, std::span<Client> clients)
      : server_(&server), clients_(clients), messages_(clients.size()), hasAnswered_(clients.size()) {
    if (clients.size() != server.workers())
      fail("InProcess: the server expects %zu clients, got %zu", server.workers(), clients.size());
    for (std::size_t i = 0; i < clients.size(); ++i) server.shareMemory(i, clients[i].memory());
  }

  /// A round. `stop(worker)` is polled while a client works, by its thread, and ends it without an answer. After an error a
  /// round cannot be repeated: clients that answered have moved on.
  RoundReport round(FunctionRef<bool(std::size_t)> stop = {}) {
    const RoundHeader header = server_->header();
    requireFinite<typename Server::Scalar>(server_->x(), "the iterate");
    const auto one = [&](std::size_t i, std::size_t thread) {
      const auto stopOne = [&] { return stop(i); };
      FunctionRef<bool()> stopHere;
      if (stop) stopHere = stopOne;
      hasAnswered_[i] = clients_[i].answer(header, server_->x(), server_->previous(), scratch_[thread],
                                           messages_[i], stopHere);
    };
    Workers* const workers = currentWorkers();
    scratch_.resize(std::max(scratch_.size(), workers != nullptr ? workers->size() : 1));
    if (workers != nullptr && workers->size() > 1)
      workers->run(clients_.size(), one);
    else
      for (std::size_t i = 0; i < clients_.size(); ++i) one(i, 0);
    for (std::size_t i = 0; i < clients_.size(); ++i)
      if (hasAnswered_[i] != 0) server_->receive(i, messages_[i]);
    return server_->finishRound();
  }

  /// Gradients of single samples, of all clients so far.
  std::uint64_t gradients() const {
    std::uint64_t sum = 0;
    for (const Client& client : clients_) sum += client.counts().gradients;
    return sum;
  }
  std::uint64_t bitsUp() const { return server_->bitsUp(); }
  std::uint64_t bitsDown() const { return server_->bitsDown(); }

  /// The state of the server and of all clients, whose names begin with "client 0: ".
  template <class Visit> void visitState(Visit&& visit) {
    server_->visitState(visit);
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const std::string prefix = "client " + std::to_string(i) + ": ";
      clients_[i].visitState([&](const char* name, auto&& state) { visit((prefix + name).c_str(), state); });
    }
  }

 private:
  Server* server_;
  std::span<Client> clients_;
  std::vector<RoundScratch<typename Server::Scalar>> scratch_;  // of each thread
  std::vector<std::vector<std::byte>> messages_;
  std::vector<unsigned char> hasAnswered_;  // not bool: threads write neighbours
};

}  // namespace burtorch::inline BURTORCH_TARGET
