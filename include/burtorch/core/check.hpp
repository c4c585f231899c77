// How the library reports a problem: one function, `fail`, that never returns. It throws `Error` where exceptions
// are on and calls the installed handler where they are off. It allocates nothing, prints nothing, exits nothing.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace burtorch {

/// What went wrong, in one sentence: what was expected, what was found, what to do.
class Error : public std::exception {
 public:
  explicit Error(const char* sentence) noexcept {
    std::snprintf(sentence_, sizeof sentence_, "%s", sentence);
  }
  const char* what() const noexcept override { return sentence_; }

 private:
  char sentence_[256];
};

/// Called with the sentence where exceptions are off. It must not return (longjmp, reset the device, ...).
using FailureHandler = void (*)(const char* sentence);

inline FailureHandler& failureHandler() noexcept {
  static FailureHandler handler = nullptr;
  return handler;
}

inline FailureHandler setFailureHandler(FailureHandler handler) noexcept {
  FailureHandler previous = failureHandler();
  failureHandler() = handler;
  return previous;
}

/// Reports a problem; `format` is printf's.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] inline void fail(const char* format, ...) {
  char sentence[256];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
#if defined(__cpp_exceptions)
  throw Error(sentence);
#else
  if (failureHandler() != nullptr) failureHandler()(sentence);
  std::abort();  // A handler that returns would let a half-made node through.
#endif
}

}  // namespace burtorch
