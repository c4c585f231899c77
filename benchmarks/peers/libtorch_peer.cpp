// LibTorch, the C++ side of PyTorch, on one thread: leaves and graph are built anew in each step, as in pytorch_peer.py.
#include <torch/torch.h>

#include "peer.hpp"

namespace {

using torch::Tensor;

struct Maths {
  static Tensor square(const Tensor& x) { return torch::pow(x, 2); }
  static Tensor cube(const Tensor& x) { return torch::pow(x, 3); }
  static Tensor relu(const Tensor& x) { return torch::relu(x); }
};

double number(const Tensor& x) { return *x.data_ptr<double>(); }

template <class Graph> auto eager(const peer::Job&) {
  return [](double x, double y) {
    const auto leaf = torch::dtype(torch::kFloat64).requires_grad(true);
    const Tensor a = torch::tensor(x, leaf), b = torch::tensor(y, leaf);
    const Tensor root = Graph::template graph<Maths>(a, b);
    root.backward();
    return peer::Gradient{number(root), number(a.grad()), number(b.grad())};
  };
}

template <class Graph> std::vector<peer::Mode> modes() { return {peer::mode("eager", eager<Graph>)}; }

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  return peer::main(argc, argv, TORCH_VERSION,
                    {{"tiny", modes<peer::Tiny>()}, {"small", modes<peer::Small>()}});
}
