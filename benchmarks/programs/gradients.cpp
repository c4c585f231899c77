// For ./bench energy: as many gradients of the small graph as the first argument says, to have their instructions counted.
#include <burtorch/burtorch.hpp>
#include <cstdlib>

int main(int, char** arguments) {
  using burtorch::Value;
  burtorch::Tape<double> tape;
  const burtorch::CurrentTape here(tape);
  double sum = 0;
  for (long i = std::atol(arguments[1]); i > 0; --i) {
    const burtorch::SampleScope scope(tape);
    Value a(-4.0), b(2.0);
    auto c = a + b;
    auto d = a * b + pow3(b);
    c += c + Value(1.0);
    c += Value(1.0) + c - a;
    d += d * Value(2.0) + relu(b + a);
    d += Value(3.0) * d + relu(b - a);
    auto e = c - d;
    auto f = sqr(e);
    auto g = f / Value(2.0);
    g += Value(10.0) / f;
    backward(g);
    sum += a.gradCopy();
  }
  return sum > 0 ? 0 : 1;
}
