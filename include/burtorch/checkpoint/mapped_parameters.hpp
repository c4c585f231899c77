// Parameters that lie in a mapped file: nothing is read before it is used, and any number of processes share the pages.
//
//   saveMapped("model.f32", parameters);
//   MappedParameters<float> mapped(model.layout(), "model.f32");
//   Tape<float> tape(mapped.store());
//
// The file is the bare numbers in the order of the layout, as `saveToFile` writes them. Steps of an optimiser change the
// numbers in memory, page by page; the file stays as it is.
#pragma once

#include <span>
#include <string>

#include "../io/atomic_file.hpp"
#include "../io/mapped_file.hpp"
#include "../nn/parameter_store.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T> class MappedParameters {
 public:
  MappedParameters(const ParameterLayout& layout, const std::string& path)
      : file_(path, {.isCopiedOnWrite = true}), store_(layout, numbersIn(file_, layout, path)) {}

  ParameterStore<T>& store() { return store_; }

 private:
  static std::span<T> numbersIn(MappedFile& file, const ParameterLayout& layout, const std::string& path) {
    const std::size_t bytes = layout.size() * sizeof(T);
    if (file.size() != bytes)
      fail(ErrorCode::badFile,
           "cannot map '%s': expected %zu bytes for %zu parameters, found %zu; is it the file of another "
           "model?",
           printable(path).c_str(), bytes, layout.size(), file.size());
    return {reinterpret_cast<T*>(file.ownBytes().data()),
            layout.size()};  // a page is aligned for every number
  }

  MappedFile file_;
  ParameterStore<T> store_;
};

/// Saves the values for MappedParameters. The file is replaced as a whole or not at all.
template <class T>
void saveMapped(const std::string& path, const ParameterStore<T>& parameters,
                const SaveOptions& options = {}) {
  AtomicFile file(path, options);
  file.write(std::as_bytes(parameters.values()));
  file.commit();
}

}  // namespace burtorch::inline BURTORCH_TARGET
