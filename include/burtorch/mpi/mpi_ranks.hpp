// Ranks that are processes started by mpirun, srun or another launcher of MPI. The only header that includes mpi.h: the library
// does without MPI, and a program that wants it includes this and is compiled as mpicxx says.
//
// Every call returns at once (Isend, Improbe, Imrecv, Test), so that waiting is the polling of ranks.hpp and ends when a rank has
// died. MPI's errors are returned and become errors of the code `peerLost`.
#pragma once

#ifndef OMPI_SKIP_MPICXX  // the C++ bindings that MPI 3 has removed
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <deque>

#include "../parallel/ranks.hpp"

namespace burtorch {

/// MPI from construction to `finish`, of which a program has one. It must be made and used by the main thread.
class MpiRanks final : public Ranks {
 public:
  MpiRanks() : MpiRanks(started()) {}
  ~MpiRanks() override {
    // Without `finish` something went wrong, and MPI_Finalize could wait for a rank that is not there: the launcher sees how
    // this process ends. MPI may still read what was being sent.
    if (!isFinished_) static_cast<void>(new std::deque<Sending>(std::move(sending_)));
  }

  /// The end of a program on all ranks: waits until what was sent has arrived, then for the others.
  void finish() {
    for (Sending& sending : sending_) check(MPI_Wait(&sending.request, MPI_STATUS_IGNORE), "send");
    sending_.clear();
    check(MPI_Comm_free(&world_.communicator), "end");
    isFinished_ = true;
    check(MPI_Finalize(), "end");
  }
  /// Ends this program on all ranks, at once and whatever they do.
  [[noreturn]] void abort(int code) {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::abort();
  }
  void leave(const std::string& reason) override {
    for (std::size_t other = 0; other < size(); ++other) {
      if (other == rank()) continue;
      const auto* const text = reinterpret_cast<const std::byte*>(reason.data());
      begin(other, leaving, {text, text + std::min<std::size_t>(reason.size(), mostReason)});
    }
  }

 private:
  static constexpr int data = 0, leaving = 1;  // tags
  static constexpr std::size_t mostReason = 200;

  struct World {
    MPI_Comm communicator;
    int rank, size, onThisMachine;
  };
  struct Sending {
    std::vector<std::byte> frame;
    MPI_Request request;
  };

  explicit MpiRanks(const World& world)
      : Ranks(static_cast<std::size_t>(world.rank), static_cast<std::size_t>(world.size)), world_(world) {
    if (static_cast<unsigned>(world.onThisMachine) <= std::thread::hardware_concurrency())
      setSpinning(std::chrono::milliseconds(20));
  }

  static void check(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    fail(ErrorCode::peerLost, "MPI cannot %s: %.150s", what, text);
  }
  static World started() {
    int isInitialised = 0, provided = 0;
    MPI_Initialized(&isInitialised);
    if (isInitialised != 0) fail("MpiRanks: MPI was initialised already; a program has one MpiRanks");
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "start");
    if (provided < MPI_THREAD_FUNNELED)
      fail(ErrorCode::unsupported, "this MPI does not allow threads beside it");
    World world{};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world.communicator), "start");
    check(MPI_Comm_set_errhandler(world.communicator, MPI_ERRORS_RETURN), "start");
    check(MPI_Comm_rank(world.communicator, &world.rank), "start");
    check(MPI_Comm_size(world.communicator, &world.size), "start");
    MPI_Comm machine;
    check(MPI_Comm_split_type(world.communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine), "start");
    check(MPI_Comm_size(machine, &world.onThisMachine), "start");
    check(MPI_Comm_free(&machine), "start");
    return world;
  }

  void carry(std::size_t to, std::vector<std::byte>&& frame) override {
    collectSent();
    begin(to, data, std::move(frame));
  }
  void begin(std::size_t to, int tag, std::vector<std::byte> frame) {
    if (frame.size() > INT_MAX)
      fail(ErrorCode::unsupported, "a message of %zu bytes is too long for MPI, which takes 2 GB",
           frame.size());
    // MPI keeps addresses of the frame's bytes and of the request: neither moves in a deque.
    Sending& sending = sending_.emplace_back(Sending{std::move(frame), MPI_REQUEST_NULL});
    check(MPI_Isend(sending.frame.data(), static_cast<int>(sending.frame.size()), MPI_BYTE,
                    static_cast<int>(to), tag, world_.communicator, &sending.request),
          "send");
  }
  /// Takes back the frames that are gone.
  void collectSent() {
    while (!sending_.empty()) {
      int isGone = 0;
      check(MPI_Test(&sending_.front().request, &isGone, MPI_STATUS_IGNORE), "send");
      if (isGone == 0) return;
      recycle(std::move(sending_.front().frame));
      sending_.pop_front();
    }
  }
  bool take(std::size_t from, std::size_t most, std::vector<std::byte>& frame) override {
    if (arriving_ == MPI_REQUEST_NULL) {
      collectSent();
      if (!begins(from, data, most, arrivingFrame_)) return false;
    }
    int isComplete = 0;
    check(MPI_Test(&arriving_, &isComplete, MPI_STATUS_IGNORE), "receive");
    if (isComplete == 0) return false;
    std::swap(frame, arrivingFrame_);
    return true;
  }
  /// Whether a message is there; then it is on its way into `frame`.
  bool begins(std::size_t from, int tag, std::size_t most, std::vector<std::byte>& frame) {
    int isThere = 0, bytes = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(MPI_Improbe(static_cast<int>(from), tag, world_.communicator, &isThere, &message, &status),
          "receive");
    if (isThere == 0) return false;
    check(MPI_Get_count(&status, MPI_BYTE, &bytes), "receive");
    if (bytes < 0 || static_cast<std::size_t>(bytes) > most) failMessage(from, "it is longer than agreed");
    frame.resize(static_cast<std::size_t>(bytes));
    check(MPI_Imrecv(frame.data(), bytes, MPI_BYTE, &message, &arriving_), "receive");
    return true;
  }
  bool findAbsence(Absence& absence) override {
    int isThere = 0, bytes = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, leaving, world_.communicator, &isThere, &status), "receive");
    if (isThere == 0) return false;
    absence.rank = static_cast<std::size_t>(status.MPI_SOURCE);
    char text[mostReason + 1] = "";
    check(MPI_Get_count(&status, MPI_BYTE, &bytes), "receive");
    if (bytes < 0 || static_cast<std::size_t>(bytes) > mostReason)
      failMessage(absence.rank, "its reason is too long");
    check(MPI_Recv(text, bytes, MPI_BYTE, status.MPI_SOURCE, leaving, world_.communicator, MPI_STATUS_IGNORE),
          "receive");
    absence.reason = text;
    return true;
  }

  World world_;
  bool isFinished_ = false;
  std::deque<Sending> sending_;
  MPI_Request arriving_ = MPI_REQUEST_NULL;
  std::vector<std::byte> arrivingFrame_;
};

}  // namespace burtorch
