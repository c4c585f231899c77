// A configuration that has been checked, for the initialisers of models.
#pragma once

namespace burtorch {

template <class Config> const Config& validated(const Config& config) {
  config.check();
  return config;
}

}  // namespace burtorch
