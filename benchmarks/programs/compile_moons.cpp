// For ./bench compile: one gradient of micrograd's moons network with respect to its 337 parameters.
#include "../../examples/moons/model.hpp"

using Parameters = std::array<double, moons::parameterCount>;

Parameters gradient(const Parameters& w, const moons::Sample<double>& sample) {
  return burtorch::compile(moons::loss).grad<0>(w, sample);
}
