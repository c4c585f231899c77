// What every operator must compute, told a second time: values and derivatives in long double, or in what ORACLE_REAL says
// (burtorch::Fp128), from the mathematical definitions. It knows nothing of the library and shares no rule with it (tanh' is 1 / cosh^2 here, not 1 - tanh^2),
// so an error would have to be made twice to go unnoticed. Slow and plain on purpose.
//
// Where a value is NaN (log of a negative number) the derivative is not defined and not meant to be compared.
// At a tie of max and min the derivative is 1/2 for each, at a kink what OPERATORS.md says.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

namespace oracle {

#ifdef ORACLE_REAL
using Real = ORACLE_REAL;
#else
using Real = long double;
#endif
using Reals = std::vector<Real>;
using std::atan, std::copysign, std::cos, std::cosh, std::erf, std::erfc, std::exp, std::expm1, std::fabs,
    std::fmax, std::fmin, std::log, std::log1p, std::pow, std::sin, std::sqrt, std::tanh;

/// Where random graphs may ask for an operator: where neither a kink nor strong cancellation is within rounding distance.
struct Domain {
  Real low = -std::numeric_limits<Real>::infinity(), high = std::numeric_limits<Real>::infinity();
  Real kink = std::numeric_limits<Real>::quiet_NaN();
  Real leastSlope = 0;  // a smaller one is a difference of larger terms
};
struct Unary {
  std::string_view name;
  Real (*value)(Real x);
  Real (*slope)(Real x);
  Domain domain = {};
  /// The sum of the absolute terms where a vjp rule is a difference (1 - y^2 of tanh); nullptr: |slope|.
  Real (*slopeTerms)(Real x) = nullptr;
};
/// Two numbers, or a number and a constant: then slopeY is not asked for.
struct Binary {
  std::string_view name;
  Real (*value)(Real x, Real y);
  Real (*slopeX)(Real x, Real y);
  Real (*slopeY)(Real x, Real y);
};

/// What a list operator is asked: two lists and a bias for inner products, a target for crossEntropy, and the gradients
/// that arrive at its results (one of them unless it is softmax).
struct ListProblem {
  Reals xs, ys;
  Real bias = 0;
  std::size_t target = 0;
  Reals seeds = {1};
};
struct ListGradient {
  Reals xs, ys = {};
  Real bias = 0;
};
struct ListRule {
  std::string_view name;
  Reals (*value)(const ListProblem&);
  ListGradient (*gradient)(const ListProblem&);
};

inline const Real pi = 4 * atan(Real{1});

// For x > 0 the plain formula; for x < 0 multiplied by exp(x) above and below, so that nothing overflows.
inline Real logistic(Real x) { return x > 0 ? 1 / (1 + exp(-x)) : exp(x) / (exp(x) + 1); }
inline Real normalDensity(Real x) { return exp(-x * x / 2) / sqrt(2 * pi); }
// By erfc, which does not cancel in the lower tail.
inline Real normalBelow(Real x) { return erfc(-x / sqrt(Real{2})) / 2; }

// (1 + tanh(u)) / 2 is the logistic function of 2 u, which does not cancel; this is the 2 u of gelu's approximation.
inline Real geluTanhOdds(Real x) { return sqrt(8 / pi) * (x + Real{44715} / 1000000 * x * x * x); }
inline Real geluTanhOddsSlope(Real x) { return sqrt(8 / pi) * (1 + 3 * Real{44715} / 1000000 * x * x); }

inline const Unary unaries[] = {
    {"relu",
     [](Real x) { return fmax(x, Real{0}); },
     [](Real x) { return x > 0 ? Real{1} : Real{0}; },
     {.kink = 0}},
    {"tanh",
     [](Real x) { return tanh(x); },
     [](Real x) { return 1 / (cosh(x) * cosh(x)); },
     {.low = -1.5L, .high = 1.5L},
     [](Real x) { return 1 + tanh(x) * tanh(x); }},
    {"exp", [](Real x) { return exp(x); }, [](Real x) { return exp(x); }, {.low = -2, .high = 3}},
    {"negativeLog", [](Real x) { return -log(x); }, [](Real x) { return -1 / x; }, {.low = 0.1L}},
    {"sigmoid",
     logistic,
     [](Real x) { return 1 / (exp(x) + 2 + exp(-x)); },
     {.low = -3, .high = 4},
     logistic},
    {"inv", [](Real x) { return 1 / x; }, [](Real x) { return -1 / (x * x); }},
    {"sqr", [](Real x) { return x * x; }, [](Real x) { return 2 * x; }},
    {"pow3", [](Real x) { return x * x * x; }, [](Real x) { return 3 * x * x; }},
    {"logarithm", [](Real x) { return log(x); }, [](Real x) { return 1 / x; }, {.low = 0.1L}},
    {"sqrt", [](Real x) { return sqrt(x); }, [](Real x) { return 1 / (2 * sqrt(x)); }, {.low = 0.1L}},
    {"invSqrt",
     [](Real x) { return 1 / sqrt(x); },
     [](Real x) { return -1 / (2 * x * sqrt(x)); },
     {.low = 0.1L}},
    {"neg", [](Real x) { return -x; }, [](Real) { return Real{-1}; }},
    {"sin",
     [](Real x) { return sin(x); },
     [](Real x) { return cos(x); },
     {.low = -4, .high = 4, .leastSlope = 0.3L}},
    {"cos",
     [](Real x) { return cos(x); },
     [](Real x) { return -sin(x); },
     {.low = -4, .high = 4, .leastSlope = 0.3L}},
    {"abs",
     [](Real x) { return fabs(x); },
     [](Real x) { return x == 0 ? Real{0} : copysign(Real{1}, x); },
     {.kink = 0}},
    // log(1 + e^x) = x + log(1 + e^-x)
    {"softplus",
     [](Real x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); },
     logistic,
     {.low = -3, .high = 4}},
    {"erf",
     [](Real x) { return erf(x); },
     [](Real x) { return 2 / sqrt(pi) * exp(-x * x); },
     {.low = -1.5L, .high = 1.5L}},
    {"gelu",
     [](Real x) { return x * normalBelow(x); },
     [](Real x) { return normalBelow(x) + x * normalDensity(x); },
     {.low = -4, .high = 4, .leastSlope = 0.3L},
     [](Real x) { return normalBelow(x) + fabs(x) * normalDensity(x); }},
    {"geluTanh",
     [](Real x) { return x * logistic(geluTanhOdds(x)); },
     [](Real x) {
       const Real odds = geluTanhOdds(x), share = logistic(odds);
       return share + x * share * logistic(-odds) * geluTanhOddsSlope(x);
     },
     {.low = -4, .high = 4, .leastSlope = 0.3L},
     [](Real x) {
       const Real odds = geluTanhOdds(x), share = logistic(odds);
       return share + fabs(x) * share * logistic(-odds) * geluTanhOddsSlope(x);
     }},
    {"log1p", [](Real x) { return log1p(x); }, [](Real x) { return 1 / (1 + x); }, {.low = -0.8L}},
    {"expm1",
     [](Real x) { return expm1(x); },
     [](Real x) { return exp(x); },
     {.low = -2, .high = 3},
     [](Real x) { return 1 + fabs(expm1(x)); }},
    {"atan", [](Real x) { return atan(x); }, [](Real x) { return 1 / (1 + x * x); }},
};

inline Real shareOf(bool isChosen, bool isTie) { return isTie ? Real{0.5} : isChosen ? Real{1} : Real{0}; }

inline const Binary binaries[] = {
    {"add", [](Real x, Real y) { return x + y; }, [](Real, Real) { return Real{1}; },
     [](Real, Real) { return Real{1}; }},
    {"sub", [](Real x, Real y) { return x - y; }, [](Real, Real) { return Real{1}; },
     [](Real, Real) { return Real{-1}; }},
    {"mul", [](Real x, Real y) { return x * y; }, [](Real, Real y) { return y; },
     [](Real x, Real) { return x; }},
    {"div", [](Real x, Real y) { return x / y; }, [](Real, Real y) { return 1 / y; },
     [](Real x, Real y) { return -x / (y * y); }},
    {"mean", [](Real x, Real y) { return (x + y) / 2; }, [](Real, Real) { return Real{0.5}; },
     [](Real, Real) { return Real{0.5}; }},
    {"addSquares", [](Real x, Real y) { return x * x + y * y; }, [](Real x, Real) { return 2 * x; },
     [](Real, Real y) { return 2 * y; }},
    {"meanSquares", [](Real x, Real y) { return (x * x + y * y) / 2; }, [](Real x, Real) { return x; },
     [](Real, Real y) { return y; }},
    {"negativeMean", [](Real x, Real y) { return -(x + y) / 2; }, [](Real, Real) { return Real{-0.5}; },
     [](Real, Real) { return Real{-0.5}; }},
    {"max", [](Real x, Real y) { return fmax(x, y); }, [](Real x, Real y) { return shareOf(x > y, x == y); },
     [](Real x, Real y) { return shareOf(y > x, x == y); }},
    {"min", [](Real x, Real y) { return fmin(x, y); }, [](Real x, Real y) { return shareOf(x < y, x == y); },
     [](Real x, Real y) { return shareOf(y < x, x == y); }},
};

inline const Binary constants[] = {
    {"mulByConstant", [](Real x, Real c) { return x * c; }, [](Real, Real c) { return c; }, nullptr},
    {"addConstant", [](Real x, Real c) { return x + c; }, [](Real, Real) { return Real{1}; }, nullptr},
    {"subFromConstant", [](Real x, Real c) { return c - x; }, [](Real, Real) { return Real{-1}; }, nullptr},
    {"divByConstant", [](Real x, Real c) { return x / c; }, [](Real, Real c) { return 1 / c; }, nullptr},
    {"constantDiv", [](Real x, Real c) { return c / x; }, [](Real x, Real c) { return -c / (x * x); },
     nullptr},
    {"maxConstant", [](Real x, Real c) { return fmax(x, c); },
     [](Real x, Real c) { return shareOf(x > c, x == c); }, nullptr},
    {"minConstant", [](Real x, Real c) { return fmin(x, c); },
     [](Real x, Real c) { return shareOf(x < c, x == c); }, nullptr},
    {"leakyRelu", [](Real x, Real c) { return x > 0 ? x : c * x; },
     [](Real x, Real c) { return x > 0 ? Real{1} : c; }, nullptr},
    {"pow", [](Real x, Real c) { return pow(x, c); },
     [](Real x, Real c) { return c == 0 ? Real{0} : c * pow(x, c - 1); }, nullptr},
};

inline Real sum(const Reals& xs) {
  Real total = 0;
  for (Real x : xs) total += x;
  return total;
}
template <class Term> Reals map(const Reals& xs, Term term) {
  Reals result;
  for (Real x : xs) result.push_back(term(x));
  return result;
}
inline Real countOf(const ListProblem& p) { return static_cast<Real>(p.xs.size()); }
inline Real meanOf(const ListProblem& p) { return sum(p.xs) / countOf(p); }
inline Reals scaled(const Reals& xs, Real scale) {
  return map(xs, [scale](Real x) { return scale * x; });
}
inline Reals deviations(const ListProblem& p) {
  return map(p.xs, [mean = meanOf(p)](Real x) { return x - mean; });
}
inline Real sumOfSquares(const Reals& xs) {
  return sum(map(xs, [](Real x) { return x * x; }));
}
// Shifted: e^(x_i - m) / sum e^(x_j - m) for any m, and with the largest as m nothing overflows.
inline Reals probabilities(const Reals& xs) {
  const Real largest = *std::max_element(xs.begin(), xs.end());
  const Reals weights = map(xs, [largest](Real x) { return exp(x - largest); });
  return scaled(weights, 1 / sum(weights));
}
inline Real logSumExp(const Reals& xs) {
  const Real largest = *std::max_element(xs.begin(), xs.end());
  return largest + log(sum(map(xs, [largest](Real x) { return exp(x - largest); })));
}
inline Real inner(const Reals& xs, const Reals& ys) {
  Real total = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) total += xs[i] * ys[i];
  return total;
}
/// The product of all but one.
inline Real productWithout(const Reals& xs, std::size_t left) {
  Real product = 1;
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (i != left) product *= xs[i];
  return product;
}
inline ListGradient everywhere(const ListProblem& p, Real slope) {
  return {Reals(p.xs.size(), slope * p.seeds[0])};
}

inline const ListRule lists[] = {
    {"reduceSum", [](const ListProblem& p) { return Reals{sum(p.xs)}; },
     [](const ListProblem& p) { return everywhere(p, 1); }},
    {"reduceSub", [](const ListProblem& p) { return Reals{2 * p.xs[0] - sum(p.xs)}; },
     [](const ListProblem& p) {
       ListGradient g = everywhere(p, -1);
       g.xs[0] = p.seeds[0];
       return g;
     }},
    {"reduceMul", [](const ListProblem& p) { return Reals{productWithout(p.xs, p.xs.size())}; },
     [](const ListProblem& p) {
       ListGradient g = everywhere(p, 1);
       for (std::size_t i = 0; i < p.xs.size(); ++i) g.xs[i] = p.seeds[0] * productWithout(p.xs, i);
       return g;
     }},
    {"reduceMean", [](const ListProblem& p) { return Reals{meanOf(p)}; },
     [](const ListProblem& p) { return everywhere(p, 1 / countOf(p)); }},
    {"reduceSumOfSquares", [](const ListProblem& p) { return Reals{sumOfSquares(p.xs)}; },
     [](const ListProblem& p) { return ListGradient{scaled(p.xs, 2 * p.seeds[0])}; }},
    {"reduceMeanSquares", [](const ListProblem& p) { return Reals{sumOfSquares(p.xs) / countOf(p)}; },
     [](const ListProblem& p) { return ListGradient{scaled(p.xs, 2 * p.seeds[0] / countOf(p))}; }},
    {"reduceNegativeMean", [](const ListProblem& p) { return Reals{-meanOf(p)}; },
     [](const ListProblem& p) { return everywhere(p, -1 / countOf(p)); }},
    {"innerProduct", [](const ListProblem& p) { return Reals{inner(p.xs, p.ys)}; },
     [](const ListProblem& p) {
       return ListGradient{scaled(p.ys, p.seeds[0]), scaled(p.xs, p.seeds[0])};
     }},
    {"innerProductWithBias", [](const ListProblem& p) { return Reals{inner(p.xs, p.ys) + p.bias}; },
     [](const ListProblem& p) {
       return ListGradient{scaled(p.ys, p.seeds[0]), scaled(p.xs, p.seeds[0]), p.seeds[0]};
     }},
    {"varianceBiased", [](const ListProblem& p) { return Reals{sumOfSquares(deviations(p)) / countOf(p)}; },
     [](const ListProblem& p) { return ListGradient{scaled(deviations(p), 2 * p.seeds[0] / countOf(p))}; }},
    {"variance", [](const ListProblem& p) { return Reals{sumOfSquares(deviations(p)) / (countOf(p) - 1)}; },
     [](const ListProblem& p) {
       return ListGradient{scaled(deviations(p), 2 * p.seeds[0] / (countOf(p) - 1))};
     }},
    {"logSumExp", [](const ListProblem& p) { return Reals{logSumExp(p.xs)}; },
     [](const ListProblem& p) { return ListGradient{scaled(probabilities(p.xs), p.seeds[0])}; }},
    {"crossEntropy", [](const ListProblem& p) { return Reals{logSumExp(p.xs) - p.xs[p.target]}; },
     [](const ListProblem& p) {
       ListGradient g{scaled(probabilities(p.xs), p.seeds[0])};
       g.xs[p.target] -= p.seeds[0];
       return g;
     }},
    {"softmax", [](const ListProblem& p) { return probabilities(p.xs); },
     [](const ListProblem& p) {
       // d p_i / d x_j = p_i ([i = j] - p_j)
       const Reals ps = probabilities(p.xs);
       const Real mean = inner(p.seeds, ps);
       ListGradient g{ps};
       for (std::size_t j = 0; j < ps.size(); ++j) g.xs[j] = ps[j] * (p.seeds[j] - mean);
       return g;
     }},
};

/// The entry of that name in one of the tables above, or nullptr.
template <class Rule, std::size_t count> const Rule* find(const Rule (&table)[count], std::string_view name) {
  const Rule* found =
      std::find_if(std::begin(table), std::end(table), [&](const Rule& r) { return r.name == name; });
  return found == std::end(table) ? nullptr : found;
}

/// The distance from |want| to the next larger number of type T.
template <class T> Real ulpAt(Real want) {
  const T at = std::fabs(static_cast<T>(want));
  return static_cast<Real>(std::nextafter(at, std::numeric_limits<T>::infinity())) - static_cast<Real>(at);
}

}  // namespace oracle
