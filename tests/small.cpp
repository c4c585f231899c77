// What small.sh compiles and looks into: a tape with two operators, in the caller's memory.
#include <burtorch/core/backward.hpp>

namespace {
using namespace burtorch;
#ifdef EVERYTHING
constexpr Config config = defaultConfig;
#else
constexpr Config config{
    .names = false, .allocates = false, .threads = false, .ops = onlyOps<ops::Mul, ops::Sin>};
#endif
alignas(8) std::byte memory[4096];
}  // namespace

double slopeOfSquaredSine(double at) {
  Tape<double, config> tape{std::span<std::byte>(memory)};
  CurrentTape here(tape);
  const Value<double, config> x(at), y = sin(x);
  backward(y * y);
  return x.grad();
}
#ifdef FORBIDDEN
double forbidden(double at) { return tanh(Value<double, config>(at)).value(); }
#endif
