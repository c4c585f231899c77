// Counts what asks for memory: malloc and its kin, and mprotect, with which a growing tape takes more, are replaced in
// the executable that includes this, once, and operator new calls malloc.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

// A sanitizer brings a malloc of its own; there only operator new is counted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define COUNTS_MALLOC 0
#endif
#endif
#ifndef COUNTS_MALLOC
#define COUNTS_MALLOC 1
#endif

namespace {

// Of this thread only: gtest and the C library may do what they like elsewhere.
// volatile: compilers assume that operator new changes nothing that the program can see.
thread_local volatile bool isCounting = false;
thread_local volatile std::size_t allocations = 0;

void count() {
  if (isCounting) allocations = allocations + 1;
}

template <class Function> Function next(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  Function function;
  std::memcpy(&function, &symbol, sizeof function);
  return function;
}

#if COUNTS_MALLOC
// dlsym itself may call calloc before the real one is known.
alignas(16) char early[4096];
std::size_t earlyUsed = 0;
bool isEarly(const void* memory) { return memory >= early && memory < early + sizeof early; }
#endif

}  // namespace

#if COUNTS_MALLOC
extern "C" {
void* malloc(std::size_t bytes) {
  static const auto real = next<void* (*)(std::size_t)>("malloc");
  count();
  return real(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) {
  static thread_local bool isInside = false;
  static void* (*real)(std::size_t, std::size_t) = nullptr;
  if (real == nullptr) {
    if (isInside) {
      void* memory = early + earlyUsed;
      earlyUsed += (n * bytes + 15) / 16 * 16;
      return earlyUsed <= sizeof early ? memory : nullptr;
    }
    isInside = true;
    real = next<void* (*)(std::size_t, std::size_t)>("calloc");
    isInside = false;
  }
  count();
  return real(n, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  static const auto real = next<void* (*)(void*, std::size_t)>("realloc");
  count();
  return real(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  static const auto real = next<void* (*)(std::size_t, std::size_t)>("aligned_alloc");
  count();
  return real(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  static const auto real = next<int (*)(void**, std::size_t, std::size_t)>("posix_memalign");
  count();
  return real(memory, alignment, bytes);
}
int mprotect(void* memory, std::size_t bytes, int protection) noexcept {
  static const auto real = next<int (*)(void*, std::size_t, int)>("mprotect");
  count();
  return real(memory, bytes, protection);
}
void free(void* memory) {
  static const auto real = next<void (*)(void*)>("free");
  if (!isEarly(memory)) real(memory);
}
}
#else
void* operator new(std::size_t bytes) {
  count();
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

/// How often `work` asks for memory.
template <class Work> std::size_t allocationsOf(Work work) {
  allocations = 0;
  isCounting = true;
  work();
  isCounting = false;
  return allocations;
}
