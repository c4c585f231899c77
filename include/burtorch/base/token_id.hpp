// Tokens as models and data sets exchange them.
#pragma once

#include <cstdint>

namespace burtorch {

/// An index into a vocabulary.
using TokenId = std::uint32_t;

/// A column without a token, or without a target.
inline constexpr TokenId noToken = UINT32_MAX;

}  // namespace burtorch
