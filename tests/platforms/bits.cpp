// Results as bits, a line for each, to be compared between machines: "exact NAME BITS" where the contract says that they are
// equal on all that compute in IEEE 754 without fused operations (+ - * / sqrt, sums in a fixed order, our own exp of packs), and
// "libm NAME BITS" where functions of the C library are among them, which may differ in the last bit.
#include <burtorch/learn.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using namespace burtorch;

class Fingerprint {
 public:
  template <class T> void add(T number) {
    unsigned char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    const std::uint16_t one = 1;
    const bool isLittle = *reinterpret_cast<const unsigned char*>(&one) == 1;
    for (std::size_t i = 0; i < sizeof number; ++i)
      sum_ = (sum_ ^ bytes[isLittle ? i : sizeof number - 1 - i]) * UINT64_C(1099511628211);
  }
  template <class L> void addAll(const L& numbers) {
    for (const auto number : numbers) add(number);
  }
  void print(const char* kind, const char* name) const {
    std::printf("%s %s %016llx\n", kind, name, static_cast<unsigned long long>(sum_));
  }

 private:
  std::uint64_t sum_ = UINT64_C(14695981039346656037);
};

// One operator in a statement: in which order the operands of `f(a) + f(b)` are recorded, and so in which order the gradient
// of `a` is summed, C++ leaves to the compiler.

/// The paper's Listing 4.
constexpr auto listing = [](auto a, auto b) {
  auto c = a + b, ab = a * b, d = pow3(b);
  d += ab;
  auto c1 = c + 1.0;
  c += c1;
  c1 = 1.0 + c;
  c1 -= a;
  c += c1;
  auto up = relu(b + a), d2 = d * 2.0;
  d2 += up;
  d += d2;
  auto down = relu(b - a), d3 = 3.0 * d;
  d3 += down;
  d += d3;
  auto e = c - d, f = sqr(e), g = f / 2.0, h = 10.0 / f;
  g += h;
  return g;
};
constexpr auto smooth = [](auto a, auto b) {
  auto sum = a * b, other = a - b;
  sum = tanh(sum);
  other = sigmoid(other);
  auto third = exp(b / 3.0);
  other = other * third;
  sum += other;
  other = log(a);
  third = sin(b);
  other = other * third;
  sum += other;
  sum += pow(a, 1.7);
  sum += erf(b);
  sum += softplus(a);
  sum += gelu(b);
  return sum;
};

template <class T> std::vector<T> numbers(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<T> some(count);
  for (T& number : some) number = 2 * rng.uniform<T>() - 1;
  return some;
}

template <class F> void functionOfTwo(const char* kind, const std::string& name, const F& f) {
  Fingerprint eager, unrolled;
  const auto compiled = compile(f);
  for (int i = 1; i < 200; ++i) {
    const double a = 0.125 + i / 64.0, b = 3.0 - i / 48.0;
    Tape<double> tape;
    CurrentTape here(tape);
    const Value x(a), y(b), root = f(x, y);
    backward(root);
    eager.addAll(std::array{root.value(), x.grad(), y.grad()});
    const auto [value, gradient] = compiled.valueAndGrad(a, b);
    unrolled.addAll(std::array{value, gradient[0], gradient[1]});
  }
  eager.print(kind, (name + "-eager").c_str());
  unrolled.print(kind, (name + "-compiled").c_str());
}

template <class T> void lists(const char* name) {
  Tape<T> tape;
  CurrentTape here(tape);
  const auto x = tape.leaves(numbers<T>(1003, 1)), y = tape.leaves(numbers<T>(1003, 2));
  const auto product = innerProduct(x, y), sum = reduceSum(x), square = reduceMeanSquares(y);
  const auto spread = variance(x.every(1000, 300, -3)), scaled = sum * square, both = product + scaled;
  const auto root = both + spread;
  backward(root);
  Fingerprint bits;
  bits.add(root.value());
  bits.addAll(x.gradients());
  bits.addAll(y.gradients());
  bits.print("exact", name);
}

/// Twenty steps of gradient descent on layers.
template <class T> void layers(const char* kind, const char* name, Activation activation) {
  const Mlp<T> mlp({.sizes = {7, 33, 18, 3}, .hidden = activation});
  ParameterStore<T> parameters(mlp.layout());
  Rng rng(3);
  parameters.initialise(rng);
  Tape<T> tape(parameters);
  CurrentTape here(tape);
  const auto in = numbers<T>(7 * 21, 4), out = numbers<T>(3 * 21, 5);
  const Matrix<T> x(tape.leaves(in), 7, 21), wanted(tape.leaves(out), 3, 21);
  Fingerprint bits;
  for (int step = 0; step < 20; ++step) {
    const SampleScope sample(tape);
    const auto loss = meanSquaredError(mlp(x), wanted);
    zeroGrad(parameters);
    backward(loss);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      parameters.values()[i] -= T{0.125} * parameters.gradients()[i];
    bits.add(loss.value());
  }
  bits.addAll(parameters.values());
  bits.print(kind, name);
}

/// Some steps of a training of the mini GPT, in single precision.
void gpt(const char* kind, const char* name, Activation activation, bool isAdam) {
  const Gpt<float> model(GptConfig{.activation = activation});
  ParameterStore<float> parameters(model.layout());
  Rng rng(6);
  parameters.initialise(rng);
  Tape<float> tape(parameters);
  CurrentTape here(tape);
  const std::size_t context = model.config().context, columns = model.columnsFor(4);
  std::vector<TokenId> tokens(columns), targets(columns);
  Optimizer<float, AdamW> optimizer(AdamW{.learningRate = 1e-2}, parameters.size());
  Fingerprint bits;
  float first = 0, last = 0;
  for (int step = 0; step < 12; ++step) {
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t k = 0; k < context; ++k) {
        tokens[model.tokenAt(i, k, columns)] =
            static_cast<TokenId>((i * 7 + k * k) % model.config().vocabulary);
        targets[model.tokenAt(i, k, columns)] =
            static_cast<TokenId>((i * 7 + (k + 1) * (k + 1)) % model.config().vocabulary);
      }
    const SampleScope sample(tape);
    const auto loss = model.loss(tokens, targets);
    zeroGrad(parameters);
    backward(loss);
    if (isAdam)
      optimizer.step(parameters.values(), parameters.gradients());
    else
      for (std::size_t i = 0; i < parameters.size(); ++i)
        parameters.values()[i] -= 0.25f * parameters.gradients()[i];
    bits.add(last = loss.value());
    if (step == 0) first = last;
  }
  bits.addAll(parameters.values());
  bits.print(kind, name);
  if (!(last < first))
    std::printf("error %s: the loss went from %g to %g\n", name, static_cast<double>(first),
                static_cast<double>(last));
}

}  // namespace

int main() {
  Fingerprint random;
  Rng rng(7);
  for (int i = 0; i < 1000; ++i) random.add(rng.normal<double>()), random.add(rng.uniform<float>());
  random.print("exact", "random-numbers");
  functionOfTwo("exact", "listing", listing);
  lists<double>("lists-double");
  lists<float>("lists-float");
  layers<double>("exact", "layers-double", Activation::relu);
  layers<float>("exact", "layers-float", Activation::relu);
  gpt("exact", "gpt", Activation::relu, false);
  functionOfTwo("libm", "smooth", smooth);
  layers<float>("libm", "layers-tanh", Activation::tanh);
  gpt("libm", "gpt-gelu-adamw", Activation::gelu, true);
}
