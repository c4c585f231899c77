// CppAD. eager records the graph each time; optimised records it once, lets CppAD optimise the record and evaluates that at each
// new input; codegen, where CppADCodeGen is installed, does so with C that is generated from the record and compiled.
#if __has_include(<cppad/cg.hpp>)
#include <cppad/cg.hpp>
#define PEER_HAS_CODEGEN 1
#else
#include <cppad/cppad.hpp>
#define PEER_HAS_CODEGEN 0
#endif

#include <memory>

#include "peer.hpp"

namespace {

using Numbers = CppAD::vector<double>;

template <class X> struct Maths {
  static X square(const X& x) { return x * x; }
  static X cube(const X& x) { return x * x * x; }
  static X relu(const X& x) { return CppAD::CondExpGt(x, X(0.0), x, X(0.0)); }
};

/// The value at (a, b) is kept in the record, ready for a reverse sweep, and is in root.
template <class Graph, class Base>
CppAD::ADFun<Base> record(double a, double b, CppAD::vector<CppAD::AD<Base>>& root) {
  using X = CppAD::AD<Base>;
  CppAD::vector<X> x{X(a), X(b)};
  CppAD::Independent(x);
  root.resize(1);
  root[0] = Graph::template graph<Maths<X>>(x[0], x[1]);
  return CppAD::ADFun<Base>(x, root);
}
template <class Graph, class Base> CppAD::ADFun<Base> record(const peer::Job& job) {
  CppAD::vector<CppAD::AD<Base>> root;
  return record<Graph, Base>(job.settings.at("a"), job.settings.at("b"), root);
}

template <class Graph> auto eager(const peer::Job&) {
  return [root = CppAD::vector<CppAD::AD<double>>(1), one = Numbers{1.0}](double a, double b) mutable {
    auto recorded = record<Graph>(a, b, root);
    const Numbers gradient = recorded.Reverse(1, one);
    return peer::Gradient{CppAD::Value(root[0]), gradient[0], gradient[1]};
  };
}

template <class Graph> auto optimised(const peer::Job& job) {
  auto recorded = std::make_shared<CppAD::ADFun<double>>();
  *recorded = record<Graph, double>(job);
  recorded->optimize();
  return [recorded, x = Numbers(2), one = Numbers{1.0}](double a, double b) mutable {
    x[0] = a, x[1] = b;
    const Numbers value = recorded->Forward(0, x);
    const Numbers gradient = recorded->Reverse(1, one);
    return peer::Gradient{value[0], gradient[0], gradient[1]};
  };
}

#if PEER_HAS_CODEGEN
template <class Graph> auto codegen(const peer::Job& job) {
  namespace cg = CppAD::cg;
  auto recorded = record<Graph, cg::CG<double>>(job);
  cg::ModelCSourceGen<double> source(recorded, "graph");
  source.setCreateForwardZero(true), source.setCreateJacobian(true);
  cg::ModelLibraryCSourceGen<double> library(source);
  cg::DynamicModelLibraryProcessor<double> processor(library, job.folder + "/graph");
  cg::GccCompiler<double> compiler("/usr/bin/gcc");
  compiler.setTemporaryFolder(job.folder + "/cppadcg");
  compiler.setCompileFlags({"-O3", "-march=native"});
  std::shared_ptr<cg::DynamicLib<double>> loaded = processor.createDynamicLibrary(compiler);
  std::shared_ptr<cg::GenericModel<double>> model = loaded->model("graph");
  return [loaded, model](double a, double b) {
    const double x[] = {a, b};
    double value[1], gradient[2];
    model->ForwardZero({x, 2}, {value, 1});
    model->Jacobian({x, 2}, {gradient, 2});
    return peer::Gradient{value[0], gradient[0], gradient[1]};
  };
}
#endif

template <class Graph> std::vector<peer::Mode> modes() {
  std::vector<peer::Mode> list{peer::mode("eager", eager<Graph>), peer::mode("optimised", optimised<Graph>)};
#if PEER_HAS_CODEGEN
  list.push_back(peer::mode("codegen", codegen<Graph>));
#endif
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  // Its manual's advice for speed: memory that is freed stays with the thread.
  CppAD::thread_alloc::hold_memory(true);
  const std::string version = std::string(CPPAD_PACKAGE_STRING).substr(sizeof "cppad");
  return peer::main(argc, argv, version, {{"tiny", modes<peer::Tiny>()}, {"small", modes<peer::Small>()}});
}
