// Sacado of Trilinos, its reverse mode: the graph is recorded each time, and the record is dropped with the sweep.
#include <Trilinos_version.h>
#include <Sacado_trad.hpp>

#include "peer.hpp"

namespace {

using Number = Sacado::Rad::ADvar<double>;

struct Maths {
  static Number square(const Number& x) { return x * x; }
  static Number cube(const Number& x) { return x * x * x; }
  static Number relu(const Number& x) { return x > 0.0 ? x : Number(0.0); }
};

template <class Graph> auto eager(const peer::Job&) {
  return [](double x, double y) {
    const Number a(x), b(y);
    const Number root = Graph::template graph<Maths>(a, b);
    Number::Gradcomp();
    return peer::Gradient{root.val(), a.adj(), b.adj()};
  };
}

template <class Graph> std::vector<peer::Mode> modes() { return {peer::mode("eager", eager<Graph>)}; }

}  // namespace

int main(int argc, char** argv) {
  return peer::main(argc, argv, TRILINOS_VERSION_STRING,
                    {{"tiny", modes<peer::Tiny>()}, {"small", modes<peer::Small>()}});
}
