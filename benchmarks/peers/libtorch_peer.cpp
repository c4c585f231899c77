// LibTorch, the C++ side of PyTorch, on one thread: leaves and graph are built anew in each step, as in pytorch_peer.py. For
// saveload, torch::save and torch::load of the seven tensors.
#include <torch/torch.h>

#include <filesystem>

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

/// The tensors with names in Listing F.8.
std::vector<Tensor> activations(double x, double y) {
  const Tensor a = torch::tensor(x, torch::kFloat64), b = torch::tensor(y, torch::kFloat64);
  Tensor c = a + b, d = a * b + Maths::cube(b);
  c = c + (c + 1.0);
  c = c + (1.0 + c - a);
  d = d + (d * 2.0 + Maths::relu(b + a));
  d = d + (3.0 * d + Maths::relu(b - a));
  const Tensor e = c - d, f = Maths::square(e), g = f / 2.0 + 10.0 / f;
  return {a, b, c, d, e, f, g};
}

peer::Running files(const peer::Job& job) {
  const std::string path = job.folder + "/saved";
  const auto nodes = activations(job.settings.at("a"), job.settings.at("b"));
  torch::save(nodes, path);
  const bool isLoad = job.settings.at("load") != 0;
  auto loaded = std::make_shared<std::vector<Tensor>>();
  const auto load = [=] {
    loaded->clear();
    torch::load(*loaded, path);
  };
  const auto run = [=](long calls) {
    for (long i = 0; i < calls; ++i)
      if (isLoad)
        load();
      else
        torch::save(nodes, path);
  };
  const auto answer = [=] {
    if (!isLoad) load();
    peer::Answer found;
    for (const Tensor& x : *loaded) found.gradient.push_back(number(x));
    found.value = found.gradient.empty() ? 0 : found.gradient.back();
    return found;
  };
  return {run, answer, "file_bytes=" + std::to_string(std::filesystem::file_size(path))};
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  return peer::main(
      argc, argv, TORCH_VERSION,
      {{"tiny", modes<peer::Tiny>()}, {"small", modes<peer::Small>()}, {"saveload", {{"eager", files}}}});
}
