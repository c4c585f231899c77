// How the library reports a problem: one function, `fail`, that never returns. It throws `Error` where exceptions
// are on and calls the installed handler where they are off. It allocates nothing, prints nothing, exits nothing.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "config.hpp"

namespace burtorch {

/// The kind of a problem, for programs that react to it.
enum class ErrorCode {
  invalidArgument,  // a call that cannot mean anything: sizes that do not match, a stale or foreign handle
  outOfRange,       // an index or a part beyond the end
  outOfRoom,        // a fixed tape is full, or a tape is at its limit
  outOfMemory,      // the system gave no memory
  fileAccess,       // the system did not let a file be opened, read or written
  badFile,          // a file that is damaged or of another kind; one that only does not fit is an argument
  notFinite,        // a number that must be finite is not
  unsupported,      // possible in principle, not here
  stopped,          // the caller's stop ended a wait
  peerLost,         // another rank has left, died or fallen silent
  internal,         // a mistake of the library's own
};

/// What went wrong, in one sentence: what was expected, what was found, what to do.
class Error : public std::exception {
 public:
  explicit Error(const char* sentence, ErrorCode code = ErrorCode::invalidArgument) noexcept : code_(code) {
    std::snprintf(sentence_, sizeof sentence_, "%s", sentence);
  }
  const char* what() const noexcept override { return sentence_; }
  ErrorCode code() const noexcept { return code_; }

 private:
  char sentence_[256];
  ErrorCode code_;
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

namespace errors {
[[noreturn, gnu::cold, gnu::noinline]] inline void raise([[maybe_unused]] ErrorCode code,
                                                         const char* sentence) {
#if defined(__cpp_exceptions)
  throw Error(sentence, code);
#else
  if (failureHandler() != nullptr) failureHandler()(sentence);
  std::abort();  // A handler that returns would let a half-made node through.
#endif
}
}  // namespace errors

/// Reports a problem; `format` is printf's. Without a code it is an invalid argument.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] inline void fail(ErrorCode code,
                                                                                   const char* format, ...) {
  if constexpr (formatsMessages) {
    char sentence[256];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    errors::raise(code, sentence);
  } else {
    errors::raise(code, format);
  }
}
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] inline void fail(const char* format, ...) {
  if constexpr (formatsMessages) {
    char sentence[256];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    errors::raise(ErrorCode::invalidArgument, sentence);
  } else {
    errors::raise(ErrorCode::invalidArgument, format);
  }
}

}  // namespace burtorch
