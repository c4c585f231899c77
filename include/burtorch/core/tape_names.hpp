// Names of nodes. A name lies among the words of the tape: [position + 1 of the name before it, node, length, its bytes].
// A rewind forgets it with everything else; looking one up walks the names backwards.
#pragma once

#include <cstring>
#include <string_view>

#include "tape.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T, Config C>
void Tape<T, C>::setName([[maybe_unused]] NodeIndex node, [[maybe_unused]] std::string_view name) {
  if constexpr (C.names) {
    const std::size_t words = wordsOfName(name);
    const std::size_t offset = offsetWithin(arrays_.words.data(), wordCount_ * sizeof(Word), name.data());
    ensure({0, 0, words});
    if (offset != notWithin)
      name = {reinterpret_cast<const char*>(arrays_.words.data()) + offset, name.size()};

    Word* at = nextWord();
    at[0] = lastName_;
    at[1] = node;
    at[2] = static_cast<NodeIndex>(name.size());
    std::memcpy(at + 3, name.data(), name.size());
    lastName_ = wordCount_ + 1;
    commitWords(words);
  }
}
template <class T, Config C> std::string_view Tape<T, C>::nameOf([[maybe_unused]] NodeIndex node) const {
  if constexpr (C.names) {
    for (NodeIndex at = lastName_; at != 0; at = arrays_.words.data()[at - 1]) {
      const Word* entry = arrays_.words.data() + (at - 1);
      if (entry[1] == node) return {reinterpret_cast<const char*>(entry + 3), entry[2]};
    }
  }
  return {};
}

}  // namespace burtorch::inline BURTORCH_TARGET
