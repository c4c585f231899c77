// A configuration that has been checked, for the initialisers of models.
#pragma once

#include "../base/config.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class Config> const Config& validated(const Config& config) {
  config.check();
  return config;
}

}  // namespace burtorch::inline BURTORCH_TARGET
