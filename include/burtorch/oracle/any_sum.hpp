// A finite sum whose type is not known before the program runs: a method that is compiled for AnySum<double> works on every
// problem of doubles. What a sum can do beyond the concept it still can; a call costs one jump more.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "finite_sum.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Any finite sum of functions of numbers of type T.
template <class T> class AnySum {
 public:
  using Scalar = T;

  /// Takes the sum over, also one that cannot be moved; a sum that lives elsewhere comes as a pointer.
  template <FiniteSum F>
  requires(!std::is_same_v<F, AnySum>) explicit AnySum(F f)
      : sum_(std::make_unique<Holder<F, F>>(std::move(f))) {}
  template <FiniteSum F>
  explicit AnySum(std::unique_ptr<F> f)
      : sum_(std::make_unique<Holder<F, std::unique_ptr<F>>>(std::move(f))) {}
  template <FiniteSum F> explicit AnySum(F* f) : sum_(std::make_unique<Holder<F, F*>>(f)) {}

  std::size_t size() const { return sum_->size(); }
  std::size_t parameterCount() const { return sum_->parameterCount(); }
  OracleCounts counts() const { return sum_->counts(); }
  double value(std::span<const T> x, Batch batch) { return sum_->value(x, batch); }
  double gradient(std::span<const T> x, Batch batch, std::span<T> into) {
    return sum_->gradient(x, batch, into);
  }
  /// A sum without knobs takes only the empty options.
  GradientResult gradient(std::span<const T> x, Batch batch, std::span<T> into,
                          const GradientOptions<T>& options) {
    return sum_->guided(x, batch, into, options);
  }
  ValuesAtTwo gradientsAtTwo(std::span<const T> x, std::span<const T> y, Batch batch, std::span<T> intoX,
                             std::span<T> intoY) {
    return sum_->atTwo(x, y, batch, intoX, intoY);
  }
  ValuesAtTwo difference(std::span<const T> x, std::span<const T> y, Batch batch, std::span<T> into) {
    return sum_->difference(x, y, batch, into);
  }

 private:
  struct Interface {
    virtual ~Interface() = default;
    virtual std::size_t size() const = 0;
    virtual std::size_t parameterCount() const = 0;
    virtual OracleCounts counts() const = 0;
    virtual double value(std::span<const T> x, Batch batch) = 0;
    virtual double gradient(std::span<const T> x, Batch batch, std::span<T> into) = 0;
    virtual GradientResult guided(std::span<const T> x, Batch batch, std::span<T> into,
                                  const GradientOptions<T>& options) = 0;
    virtual ValuesAtTwo atTwo(std::span<const T> x, std::span<const T> y, Batch batch, std::span<T> intoX,
                              std::span<T> intoY) = 0;
    virtual ValuesAtTwo difference(std::span<const T> x, std::span<const T> y, Batch batch,
                                   std::span<T> into) = 0;
  };
  template <class F, class Stored> struct Holder final : Interface {
    Stored stored;

    explicit Holder(Stored given) : stored(std::move(given)) {}
    F& get() {
      if constexpr (std::is_same_v<Stored, F>)
        return stored;
      else
        return *stored;
    }
    const F& get() const { return const_cast<Holder*>(this)->get(); }
    std::size_t size() const override { return get().size(); }
    std::size_t parameterCount() const override { return get().parameterCount(); }
    OracleCounts counts() const override { return get().counts(); }
    double value(std::span<const T> x, Batch batch) override { return get().value(x, batch); }
    double gradient(std::span<const T> x, Batch batch, std::span<T> into) override {
      return get().gradient(x, batch, into);
    }
    GradientResult guided(std::span<const T> x, Batch batch, std::span<T> into,
                          const GradientOptions<T>& options) override {
      if constexpr (GuidedSum<F>) {
        return get().gradient(x, batch, into, options);
      } else {
        if (options.stop || options.onFinal || !options.wanted.isAll() || options.keep.probability < 1)
          fail("AnySum: this sum has gradients without knobs only");
        return {SweepStatus::finished, get().gradient(x, batch, into)};
      }
    }
    ValuesAtTwo atTwo(std::span<const T> x, std::span<const T> y, Batch batch, std::span<T> intoX,
                      std::span<T> intoY) override {
      return burtorch::gradientsAtTwo(get(), x, y, batch, intoX, intoY);
    }
    ValuesAtTwo difference(std::span<const T> x, std::span<const T> y, Batch batch,
                           std::span<T> into) override {
      if constexpr (!requires { get().difference(x, y, batch, into); }) scratch.resize(into.size());
      return burtorch::difference(get(), x, y, batch, into, std::span<T>(scratch));
    }
    std::vector<T> scratch;
  };

  std::unique_ptr<Interface> sum_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
