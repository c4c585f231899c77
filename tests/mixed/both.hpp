// What both files of this program do: one is compiled with NDEBUG, one without, and the linker keeps one of two
// functions that have the same name. Functions that use a tape must therefore have its configuration in their names.
#pragma once

#include <array>
#include <burtorch/burtorch.hpp>
#include <span>

struct Cubic {
  template <class X> X operator()(std::span<const X> x) const { return burtorch::sqr(x[0]) * x[1]; }
};

/// Whether all of them give the right numbers.
static bool allIsRight() {
  const std::array x{1.5, -0.5}, v{1.0, 0.0};
  std::array<double, 2> gradient{}, product{};
  auto recorded = burtorch::record(Cubic{}, x);
  const double value = recorded.valueAndGrad(x, gradient);
  bool isRight = value == -1.125 && gradient[0] == -1.5 && gradient[1] == 2.25;
  burtorch::hvp<double>(Cubic{}, x, v, product);
  isRight = isRight && product[0] == -1 && product[1] == 3;
  isRight = isRight && burtorch::gradcheck(Cubic{}, x).isOk;
  const auto room = burtorch::capacityOf<double>([] { burtorch::tanh(burtorch::Value(0.5)); });
  return isRight && room.scalars == 2;
}

bool isRightInDebug();
bool isRightInRelease();
