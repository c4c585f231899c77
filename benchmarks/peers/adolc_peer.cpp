// ADOL-C. eager traces the graph each time; reuse traces it once and evaluates the trace at each new input.
#include <adolc/adolc.h>

#include "peer.hpp"

namespace {

enum Tag : short { eachTime = 1, once = 2 };

struct Maths {
  static adouble square(const adouble& x) { return x * x; }
  static adouble cube(const adouble& x) { return x * x * x; }
  static adouble relu(const adouble& x) { return fmax(x, 0.0); }
};

/// Traces the graph and keeps the values that the reverse sweep wants.
template <class Graph> double trace(Tag tag, const double* x) {
  double value = 0;
  trace_on(tag, 1);
  {
    adouble a, b;
    a <<= x[0], b <<= x[1];
    adouble root = Graph::template graph<Maths>(a, b);
    root >>= value;
  }
  trace_off();
  return value;
}

peer::Gradient sweep(Tag tag, double value) {
  double weight = 1, gradient[2];
  fos_reverse(tag, 1, 2, &weight, gradient);
  return {value, gradient[0], gradient[1]};
}

template <class Graph> auto eager(const peer::Job&) {
  return [](double a, double b) {
    const double x[] = {a, b};
    return sweep(eachTime, trace<Graph>(eachTime, x));
  };
}

template <class Graph> auto reuse(const peer::Job& job) {
  const double start[] = {job.settings.at("a"), job.settings.at("b")};
  trace<Graph>(once, start);
  return [](double a, double b) {
    const double x[] = {a, b};
    double value = 0;
    zos_forward(once, 1, 2, 1, x, &value);
    return sweep(once, value);
  };
}

template <class Graph> std::vector<peer::Mode> modes() {
  return {peer::mode("eager", eager<Graph>), peer::mode("reuse", reuse<Graph>)};
}

}  // namespace

int main(int argc, char** argv) {
  return peer::main(argc, argv, PEER_VERSION,
                    {{"tiny", modes<peer::Tiny>()}, {"small", modes<peer::Small>()}});
}
