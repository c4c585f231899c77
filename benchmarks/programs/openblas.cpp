// All products of one gradient of a GPT by OpenBLAS, and nothing else: the limit of `./bench gpt --shape`. Linear layers are one
// product each over the whole batch, three with their way back; attention's are small ones per sample, head and 64 queries, which
// leave out the keys that lie later. Weights, their gradients and what the way back reads lie in memory of their own, as in a
// training.
//
// arguments: vocabulary context width heads layers batch; or product PASS outputs inputs columns, for one product of a linear layer
// with PASS forward, input or weight, whose matrices lie as the library's do: feature by feature. Talks as a peer does (peers.hpp); the environment variable
// OPENBLAS_CORETYPE chooses the kernels. Loads the library while it runs, so that building needs none. Ends with 77 without it,
// and with 1 if a product is wrong: a few numbers of every product are compared with sums in fp64 first.
#include <dlfcn.h>

#include <algorithm>
#include <burtorch/base/rng.hpp>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

/// The part of CBLAS that is used.
struct OpenBlas {
  using Sgemm = void (*)(int order, int turnA, int turnB, int m, int n, int k, float alpha, const float* a,
                         int strideA, const float* b, int strideB, float beta, float* c, int strideC);
  Sgemm sgemm = nullptr;
  std::string version;

  OpenBlas() {
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void* library = dlopen("libopenblas.so.0", RTLD_NOW);
    if (library == nullptr) {
      std::fprintf(stderr, "libopenblas.so.0 is missing; ./bench setup installs it\n");
      std::exit(77);
    }
    sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
    const auto text = [&](const char* name) {
      const auto ask = reinterpret_cast<const char* (*)()>(dlsym(library, name));
      return std::string(ask != nullptr ? ask() : "");
    };
    const std::string config = text("openblas_get_config"), words = "OpenBLAS ";  // "OpenBLAS 0.3.21 ..."
    if (config.rfind(words, 0) == 0)
      version = config.substr(words.size(), config.find(' ', words.size()) - words.size());
    version += ' ';
    version += text("openblas_get_corename");
  }
};

/// Numbers row by row; `isTurned`: to be read as its transpose.
struct Matrix {
  float* numbers;
  int rows, columns, stride;
  bool isTurned = false;

  Matrix turned() const { return {numbers, columns, rows, stride, !isTurned}; }
  Matrix columnsFrom(int first, int count) const { return {numbers + first, rows, count, stride}; }
  Matrix rowsFrom(int first, int count) const {
    return {numbers + std::ptrdiff_t{first} * stride, count, columns, stride};
  }
  float& at(int i, int j) const {
    return isTurned ? numbers[std::ptrdiff_t{j} * stride + i] : numbers[std::ptrdiff_t{i} * stride + j];
  }
};

class Products {
 public:
  explicit Products(const OpenBlas& blas) : blas_(blas) {}
  bool isChecked = false, isRight = true;

  /// c = a b, or c += a b.
  void operator()(const Matrix& c, const Matrix& a, const Matrix& b, bool isAdded = false) {
    constexpr int rowMajor = 101, asItIs = 111, turned = 112;
    const int places[3][2] = {{0, 0}, {c.rows - 1, c.columns - 1}, {c.rows / 2, c.columns / 3}};
    double before[3] = {};
    for (int p = 0; p < 3 && isAdded; ++p) before[p] = static_cast<double>(c.at(places[p][0], places[p][1]));
    blas_.sgemm(rowMajor, a.isTurned ? turned : asItIs, b.isTurned ? turned : asItIs, c.rows, c.columns,
                a.columns, 1.f, a.numbers, a.stride, b.numbers, b.stride, isAdded ? 1.f : 0.f, c.numbers,
                c.stride);
    for (int p = 0; p < 3 && isChecked; ++p) check(c, a, b, places[p][0], places[p][1], before[p]);
  }

 private:
  void check(const Matrix& c, const Matrix& a, const Matrix& b, int i, int j, double sum) {
    double size = std::abs(sum);
    for (int k = 0; k < a.columns; ++k) {
      const double term = static_cast<double>(a.at(i, k)) * static_cast<double>(b.at(k, j));
      sum += term, size += std::abs(term);
    }
    if (!(std::abs(static_cast<double>(c.at(i, j)) - sum) <= 1e-5 * size)) isRight = false;
  }
  const OpenBlas& blas_;
};

struct Shape {
  int vocabulary, context, width, heads, layers, batch;
  int positions() const { return batch * context; }
};

/// Every matrix of a linear layer, [position][feature]; weights are [output][input].
struct Linear {
  Matrix x, y, w, dx, dy, dw;
  void forward(Products& product) const { product(y, x, w.turned()); }
  void backward(Products& product) const {
    product(dw, dy.turned(), x);
    product(dx, dy, w);
  }
};

class Model {
 public:
  explicit Model(const Shape& shape) : shape_(shape) {
    const int w = shape.width;
    for (int i = 0; i < shape.layers; ++i) {
      Layer layer;
      layer.qkv = linear(w, 3 * w);
      layer.projection = linear(w, w);
      layer.expand = linear(w, 4 * w);
      layer.contract = linear(4 * w, w);
      // What the way back reads of the way there, and the layers that share a matrix.
      layer.contract.x = layer.expand.y, layer.expand.dy = layer.contract.dx;
      layer.shares = matrix(shape.batch * shape.heads * shape.context, shape.context);
      layers_.push_back(layer);
    }
    head_ = linear(w, shape.vocabulary);
    dShares_ = matrix(shape.context, shape.context);
  }

  void gradient(Products& product) {
    for (Layer& layer : layers_) {
      layer.qkv.forward(product);
      attention(product, layer, false);
      layer.projection.forward(product);
      layer.expand.forward(product);
      layer.contract.forward(product);
    }
    head_.forward(product);
    head_.backward(product);
    for (std::size_t i = layers_.size(); i-- > 0;) {
      Layer& layer = layers_[i];
      layer.contract.backward(product);
      layer.expand.backward(product);
      layer.projection.backward(product);
      attention(product, layer, true);
      layer.qkv.backward(product);
    }
  }

 private:
  struct Layer {
    Linear qkv, projection, expand, contract;
    Matrix shares;
  };

  /// Numbers around 0 that keep the size of a signal through `inputs` inputs.
  Matrix matrix(int rows, int columns, int inputs = 1) {
    std::vector<float>& numbers =
        memory_.emplace_back(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    const float scale = 2.f / std::sqrt(static_cast<float>(inputs));
    for (float& x : numbers) x = scale * (rng_.uniform<float>() - 0.5f);
    return {numbers.data(), rows, columns, columns};
  }
  Linear linear(int inputs, int outputs) {
    const int n = shape_.positions();
    return {matrix(n, inputs), matrix(n, outputs), matrix(outputs, inputs, inputs),
            matrix(n, inputs), matrix(n, outputs), matrix(outputs, inputs)};
  }

  void attention(Products& product, Layer& layer, bool isBack) {
    const int w = shape_.width, size = w / shape_.heads, t = shape_.context;
    constexpr int queries = 64;
    for (int sample = 0; sample < shape_.batch; ++sample)
      for (int head = 0; head < shape_.heads; ++head) {
        const auto part = [&](const Matrix& all, int block) {
          return all.rowsFrom(sample * t, t).columnsFrom(block * w + head * size, size);
        };
        const Matrix q = part(layer.qkv.y, 0), k = part(layer.qkv.y, 1), v = part(layer.qkv.y, 2);
        const Matrix dq = part(layer.qkv.dy, 0), dk = part(layer.qkv.dy, 1), dv = part(layer.qkv.dy, 2);
        const Matrix out = part(layer.projection.x, 0), dOut = part(layer.projection.dx, 0);
        const Matrix shares = layer.shares.rowsFrom((sample * shape_.heads + head) * t, t);
        // From the last queries on: the first product with all keys overwrites what the others add to.
        for (int first = (t - 1) / queries * queries; first >= 0; first -= queries) {
          const int count = std::min(queries, t - first), keys = first + count;
          const bool isAdded = keys < t;
          const auto rows = [&](const Matrix& m) { return m.rowsFrom(first, count); };
          const auto past = [&](const Matrix& m) { return m.rowsFrom(0, keys); };
          const Matrix p = rows(shares).columnsFrom(0, keys), dp = rows(dShares_).columnsFrom(0, keys);
          if (!isBack) {
            product(p, rows(q), past(k).turned());
            product(rows(out), p, past(v));
            continue;
          }
          product(dp, rows(dOut), past(v).turned());
          product(past(dv), p.turned(), rows(dOut), isAdded);
          product(rows(dq), dp, past(k));
          product(past(dk), dp.turned(), rows(q), isAdded);
        }
      }
  }

  Shape shape_;
  burtorch::Rng rng_{1};
  std::vector<std::vector<float>> memory_;
  std::vector<Layer> layers_;
  Linear head_;
  Matrix dShares_;
};

/// One product of a linear layer, W x or what its way back adds to.
class One {
 public:
  One(std::string pass, int outputs, int inputs, int columns)
      : pass_(std::move(pass)),
        w_(matrix(outputs, inputs)),
        x_(matrix(inputs, columns)),
        y_(matrix(outputs, columns)) {}
  void gradient(Products& product) {
    if (pass_ == "forward")
      product(y_, w_, x_);
    else if (pass_ == "input")
      product(x_, w_.turned(), y_, product.isChecked);
    else
      product(w_, y_, x_.turned(), product.isChecked);
  }

 private:
  Matrix matrix(int rows, int columns) {
    auto& numbers = memory_.emplace_back(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    for (float& x : numbers) x = rng_.uniform<float>() - 0.5f;
    return {numbers.data(), rows, columns, columns};
  }
  burtorch::Rng rng_{1};
  std::vector<std::vector<float>> memory_;
  std::string pass_;
  Matrix w_, x_, y_;
};

/// Checks every product once, then does as many as it is told.
template <class Work> int serve(const OpenBlas& blas, Work model) {
  Products product(blas);
  product.isChecked = true;
  model.gradient(product);
  product.isChecked = false;
  if (!product.isRight) {
    std::fprintf(stderr, "a product of OpenBLAS %s is wrong\n", blas.version.c_str());
    return 1;
  }
  std::cout << "version " << blas.version << "\nready" << std::endl;
  int count = 0;
  for (std::string word, mode; std::cin >> word >> mode >> count;) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) model.gradient(product);
    std::cout << std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count()
              << std::endl;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const bool isOne = count == 6 && std::string(arguments[1]) == "product";
  if (count != 7 && !isOne) {
    std::fprintf(stderr,
                 "usage: openblas vocabulary context width heads layers batch\n"
                 "       openblas product forward|input|weight outputs inputs columns\n");
    return 2;
  }
  const auto size = [&](int i) { return std::atoi(arguments[i]); };
  const OpenBlas blas;
  if (blas.sgemm == nullptr) return 77;
  if (isOne) return serve(blas, One(arguments[2], size(3), size(4), size(5)));
  return serve(blas, Model({size(1), size(2), size(3), size(4), size(5), size(6)}));
}
