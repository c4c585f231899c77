// An operator of a user's own, for the tests of the tape and of compile-time graphs.
#pragma once

#include <burtorch/burtorch.hpp>
#include <cmath>
#include <string_view>

namespace mine {

struct Hypotenuse : burtorch::BinaryOp {
  static constexpr std::string_view name = "hypotenuse";
  template <class T> static T value(T x, T y) {
    using std::sqrt;
    return sqrt(x * x + y * y);
  }
  template <class T> static T vjpX(T g, T x, burtorch::Unread, T z) { return g * (x / z); }
  template <class T> static T vjpY(T g, burtorch::Unread, T y, T z) { return g * (y / z); }
};

}  // namespace mine
