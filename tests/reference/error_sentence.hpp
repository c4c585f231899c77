// What an action says when it fails, and the code of it, for tests of errors.
#pragma once

#include <burtorch/base/check.hpp>
#include <optional>
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

/// The code of the Error that `action` throws; none if it throws none.
template <class Action> std::optional<burtorch::ErrorCode> codeOf(Action&& action) {
  try {
    action();
  } catch (const burtorch::Error& error) {
    return error.code();
  }
  return {};
}
