// Token ids, kept in as few bytes each as the vocabulary needs, and views of them.
//
// The vocabulary of a character model nearly always fits into a byte. Then the tokens of a file take as much memory as
// the file, a quarter of what 32-bit ids take, and the ids of a megabyte of text stay in the second-level cache. The
// width is chosen at run time, since the vocabulary is known only when the text has been read: a template would hand
// that choice to every caller. Cost: one well predicted branch per token read, where a model then spends thousands of
// operations on the token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "../base/check.hpp"
#include "../base/token_id.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Tokens that somebody else keeps.
class TokenView {
 public:
  TokenView() = default;
  TokenView(std::span<const TokenId> tokens) : TokenView(tokens.data(), tokens.size(), sizeof(TokenId)) {}
  TokenView(const std::vector<TokenId>& tokens) : TokenView(std::span<const TokenId>(tokens)) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t bytesPerToken() const { return bytesPerToken_; }

  TokenId operator[](std::size_t i) const {
    const std::byte* place = first_ + i * bytesPerToken_;
    if (bytesPerToken_ == 1) return static_cast<TokenId>(*place);
    if (bytesPerToken_ == 2) return load<std::uint16_t>(place);
    return load<std::uint32_t>(place);
  }

  /// `count` tokens from `first` on; both must lie inside.
  TokenView subview(std::size_t first, std::size_t count) const {
    if (first > size_ || count > size_ - first)
      fail(ErrorCode::outOfRange, "tokens %zu to %zu were asked for, but there are only %zu", first,
           first + count, size_);
    return TokenView(first_ + first * bytesPerToken_, count, bytesPerToken_);
  }

  void copyTo(std::span<TokenId> target) const {
    if (target.size() != size_) fail("%zu tokens cannot be copied to %zu places", size_, target.size());
    for (std::size_t i = 0; i < size_; ++i) target[i] = (*this)[i];
  }

  class Iterator {
   public:
    Iterator(const TokenView& view, std::size_t at) : view_(&view), at_(at) {}
    TokenId operator*() const { return (*view_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const TokenView* view_;
    std::size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  friend class Tokens;
  TokenView(const void* first, std::size_t size, std::size_t bytesPerToken)
      : first_(static_cast<const std::byte*>(first)), size_(size), bytesPerToken_(bytesPerToken) {}

  template <class Id> static TokenId load(const std::byte* place) {
    Id id;
    std::memcpy(&id, place, sizeof id);
    return id;
  }

  const std::byte* first_ = nullptr;
  std::size_t size_ = 0, bytesPerToken_ = 1;
};

/// Tokens of a vocabulary of a given size; they are added at the end.
class Tokens {
 public:
  explicit Tokens(std::size_t vocabularySize)
      : bytesPerToken_(vocabularySize <= 0x100     ? 1
                       : vocabularySize <= 0x10000 ? 2
                                                   : 4) {}

  void reserve(std::size_t count) { bytes_.reserve(count * bytesPerToken_); }
  /// Adds a token, which must be less than the size of the vocabulary.
  void push(TokenId token) {
    if (bytesPerToken_ == 1) {
      bytes_.push_back(static_cast<std::byte>(token));
      return;
    }
    const std::size_t end = bytes_.size();
    bytes_.resize(end + bytesPerToken_);
    if (bytesPerToken_ == 2)
      store(end, static_cast<std::uint16_t>(token));
    else
      store(end, token);
  }

  std::size_t size() const { return bytes_.size() / bytesPerToken_; }
  std::size_t bytesPerToken() const { return bytesPerToken_; }
  /// Valid until a token is added.
  TokenView view() const { return TokenView(bytes_.data(), size(), bytesPerToken_); }
  operator TokenView() const { return view(); }

 private:
  template <class Id> void store(std::size_t place, Id id) {
    std::memcpy(bytes_.data() + place, &id, sizeof id);
  }

  std::vector<std::byte> bytes_;
  std::size_t bytesPerToken_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
