// For ./bench energy: as many gradients of the small graph as the first argument says, to have their instructions counted.
#include <cstdlib>

#include "../listing.hpp"

int main(int, char** arguments) {
  burtorch::Tape<double> tape;
  const burtorch::CurrentTape here(tape);
  double sum = 0;
  for (long i = std::atol(arguments[1]); i > 0; --i) {
    const burtorch::SampleScope scope(tape);
    const auto nodes = bench::listing();
    backward(nodes.back());
    sum += nodes[0].grad();
  }
  return sum > 0 ? 0 : 1;
}
