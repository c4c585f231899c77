// Other systems on the same work. Each peer is a program of benchmarks/peers that runs in a process of its own: it gets the
// same numbers in files, takes part in the same turns, and its gradient is judged like everybody's.
//
// The conversation, in lines. The peer is started with the name of the experiment, a folder and the job's settings
// (name=number or word; only=MODE,...: no other mode; list=1: name the modes, build none; threads=N, if not 1), and says what it is and what it can do:
//   version TEXT
//   mode NAME[:WORK] fp32|fp64 INIT_MS [FIGURE=NUMBER]...
//                                  a way to compute the gradient, what building it and its first call took, other figures;
//                                  WORK: another work than the trial's, from which there is a gradient too
//   failed NAME TEXT               a way that did not work, and why
//   ready
// Then it answers, until its input ends:
//   run NAME CALLS                 does the work CALLS times, batch after batch from the first on: nanoseconds of it all
//   answer NAME                    writes the last gradient to FOLDER/gradient.bin (fp64): the loss
// A peer that ends with code 77 is not installed; the last line of its standard error says what is missing.
#pragma once

#include <cstdint>
#include <memory>

#include "harness.hpp"

namespace bench {

/// What there is, in the order of the tables.
const std::vector<std::string>& knownPeers();

class PeerProcess;

/// A process that takes part, and what its rows show.
struct PeerMember {
  std::shared_ptr<PeerProcess> process;
  Figures params;
  std::size_t threads;
};

/// All peers of one trial, alive as long as this.
class Peers {
 public:
  Peers(const Options& options, const Trial& trial);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  std::vector<Contestant> contestants() const;
  /// Fills in what is known of a peer's process, and adds rows for what could not take part.
  void finish(std::vector<Row>& rows, const Trial& trial) const;

 private:
  std::string folder_;
  std::vector<PeerMember> members_;
};

/// Processes with one mode of one peer and nothing else in them, from their start to their first gradient.
struct PeerStart {
  std::string system, mode, dtype, version, failure;
  std::vector<double> times = {};  // ns
  Memory memory = {};              // of the last one
};
/// Every mode of every peer that the options name, one after the other.
std::vector<PeerStart> startPeers(const Options& options, const Trial& trial);

}  // namespace bench
