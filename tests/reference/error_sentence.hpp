// What an action says when it fails, for tests of errors.
#pragma once

#include <burtorch/base/check.hpp>
#include <string>

/// The sentence of the Error that `action` throws; empty if it throws none.
template <class Action> std::string sentenceOf(Action&& action) {
  try {
    action();
  } catch (const burtorch::Error& error) {
    return error.what();
  }
  return {};
}
