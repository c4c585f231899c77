// Stan Math: the graph is recorded on Stan's stack each time, and the stack is rewound.
#include <stan/math/rev/core.hpp>
#include <stan/math/rev/fun/fmax.hpp>
#include <stan/math/rev/fun/square.hpp>
#include <stan/math/version.hpp>

#include "peer.hpp"

namespace {

using stan::math::var;

struct Maths {
  static var square(const var& x) { return stan::math::square(x); }
  static var cube(const var& x) { return x * x * x; }
  static var relu(const var& x) { return stan::math::fmax(x, 0.0); }
};

template <class Graph> auto eager(const peer::Job&) {
  return [](double x, double y) {
    const var a(x), b(y);
    var root = Graph::template graph<Maths>(a, b);
    root.grad();
    const peer::Gradient found{root.val(), a.adj(), b.adj()};
    stan::math::recover_memory();
    return found;
  };
}

template <class Graph> std::vector<peer::Mode> modes() { return {peer::mode("eager", eager<Graph>)}; }

}  // namespace

int main(int argc, char** argv) {
  const std::string version =
      stan::math::MAJOR_VERSION + "." + stan::math::MINOR_VERSION + "." + stan::math::PATCH_VERSION;
  return peer::main(argc, argv, version, {{"tiny", modes<peer::Tiny>()}, {"small", modes<peer::Small>()}});
}
