// A small network of every layer, for tests of what surrounds layers: memory, replays, second derivatives. Its parameters
// are the first leaves of a tape, to which `loss` binds it, of any scalar.
#pragma once

#include <array>
#include <burtorch/core/reduce.hpp>
#include <burtorch/nn/attention.hpp>
#include <burtorch/nn/cross_entropy.hpp>
#include <burtorch/nn/elementwise.hpp>
#include <burtorch/nn/embedding.hpp>
#include <burtorch/nn/layer_norm.hpp>
#include <burtorch/nn/linear.hpp>
#include <span>
#include <type_traits>
#include <vector>

namespace burtorch {

class LayerNetwork {
 public:
  /// How many leaves it begins with.
  std::size_t size() const { return layout_.size(); }

  /// A point that is nothing special.
  template <class T = double> std::vector<T> point() const {
    std::vector<T> x(size());
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = T(0.9 * static_cast<double>((i * 37 + 11) % 101) / 101 - 0.4);
    return x;
  }

  template <class T> Value<T> loss() const {
    currentTape<T>().bind(Range<T>(currentTape<T>().handleOf(0), size()));
    const auto embedded = embedding_.lookup<T>(tokens, columns);
    const auto normed = norm_(embedded);
    const auto logits = linear_(attention(embedded, normed, normed, 2, columns) + tanh(normed));
    // Scalar nodes before and behind a layer.
    const Matrix<T> last(currentTape<T>().handleOf(last_.first), 1, columns);
    const Value<T> first = sin(last(0, 0));
    for (std::size_t c = 1; c < columns; ++c) sin(last(0, c));
    const Matrix<T> row(first.handle(), 1, columns);
    return meanCrossEntropy(logits, targets) * 3.0 + reduceSumOfSquares(map<ops::Mul>(row, row).range()) +
           logits(2, 1) * logits(0, 4);
  }

  /// The same as a function of its leaves. Layers are on tapes only, so plain numbers get a tape of their own.
  template <class X> X operator()(std::span<const X> x) const {
    if constexpr (std::is_floating_point_v<X>) {
      Tape<X> tape;
      CurrentTape here(tape);
      tape.leaves(x);
      return loss<X>().dataCopy();
    } else {
      return loss<typename X::Scalar>();
    }
  }

 private:
  static constexpr std::size_t classes = 5, width = 4, columns = 8;
  static constexpr std::array<TokenId, columns> tokens{0, 3, 1, 4, 2, noToken, 3, 1},
      targets{1, 4, noToken, 0, 2, noToken, 3, 3};

  ParameterLayout layout_;
  Embedding embedding_{layout_, "wte", classes, width};
  LayerNorm norm_{layout_, "ln", width};
  Linear linear_{layout_, "head", width, classes};
  Parameter last_ = layout_.add("last", ParameterRole::weight, columns);
};

}  // namespace burtorch
