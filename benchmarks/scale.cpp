// How costs grow: of a node from 10 to 100 million nodes, recorded and swept; of a GPT's gradient with its parameters and with
// the batch.
#include "harness.hpp"
#include "scalar_chain.hpp"

namespace bench {

using burtorch::Value;

std::vector<Row> scale(const Options& options) {
  std::vector<Row> rows;
  const long most = options.isQuick ? 1'000'000 : 100'000'000;
  burtorch::Tape<double> tape;
  burtorch::CurrentTape here(tape);
  for (long nodes = 10; nodes <= most; nodes *= 10) {
    const auto start = tape.mark();
    const long calls = std::max<long>(1, 100'000 / nodes);
    const auto call = [&] {
      for (long i = 0; i < calls; ++i) {
        tape.rewind(start);
        Value<double> a(0.7), b(0.9);
        backward(scalarChain(a, b, nodes));
      }
    };
    call();  // the tape grows once
    std::vector<double> times = timesOf(call, options.isQuick ? 9 : 15);
    const auto used = tape.used();
    Row row{.experiment = "scale", .system = "burtorch", .mode = "eager", .work = "node"};
    row.params = {{"nodes", static_cast<double>(used.scalars)}};
    for (double& time : times) time /= static_cast<double>(calls) * static_cast<double>(used.scalars);
    setTimes(row, times);
    row.extra = {{"bytes_per_node", static_cast<double>(used.scalars * 2 * sizeof(double) +
                                                        used.instructions * sizeof(burtorch::Instruction) +
                                                        used.words * sizeof(burtorch::Word)) /
                                        static_cast<double>(used.scalars)}};
    rows.push_back(row);
    tape.rewind(start);
  }
  for (Row& row : gptGrowth(options)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace bench
