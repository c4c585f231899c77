// Ranks that are threads of one process: for tests, and for programs that want to try on one machine what will run on many.
//
//   RankGroup group(3);
//   std::thread other([&] { work(group[1]); });   // and so on: each rank is used by one thread
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "ranks.hpp"

namespace burtorch {

/// So many ranks of one process.
class RankGroup {
 public:
  explicit RankGroup(std::size_t size) : queues_(size * size) {
    if (size == 0) fail("RankGroup: expected at least 1 rank, got 0");
    for (std::size_t i = 0; i < size; ++i) members_.push_back(std::make_unique<Member>(*this, i, size));
  }
  std::size_t size() const { return members_.size(); }
  Ranks& operator[](std::size_t rank) { return *members_[rank]; }

 private:
  class Member final : public Ranks {
   public:
    Member(RankGroup& group, std::size_t rank, std::size_t size) : Ranks(rank, size), group_(group) {}
    void leave(const std::string& reason) override {
      const std::lock_guard lock(group_.mutex_);
      if (!group_.hasAbsence_) group_.absence_ = {rank(), reason};
      group_.hasAbsence_ = true;
    }

   private:
    friend class RankGroup;
    using Ranks::Absence;

    void carry(std::size_t to, std::vector<std::byte>&& frame) override {
      const std::lock_guard lock(group_.mutex_);
      group_.queue(rank(), to).push_back(std::move(frame));
    }
    bool take(std::size_t from, std::size_t most, std::vector<std::byte>& frame) override {
      const std::lock_guard lock(group_.mutex_);
      auto& queue = group_.queue(from, rank());
      if (queue.empty()) return false;
      if (queue.front().size() > most) failMessage(from, "it is longer than agreed");
      recycle(std::move(frame));
      frame = std::move(queue.front());
      queue.pop_front();
      return true;
    }
    bool findAbsence(Absence& absence) override {
      const std::lock_guard lock(group_.mutex_);
      if (!group_.hasAbsence_ || group_.absence_.first == rank()) return false;
      absence = {group_.absence_.first, group_.absence_.second};
      return true;
    }

    RankGroup& group_;
  };

  std::deque<std::vector<std::byte>>& queue(std::size_t from, std::size_t to) {
    return queues_[from * members_.size() + to];
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::deque<std::vector<std::byte>>> queues_;
  std::pair<std::size_t, std::string> absence_;
  bool hasAbsence_ = false;
};

}  // namespace burtorch
