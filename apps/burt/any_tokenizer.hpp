// What the tokens of a model are: the characters of a text, or the byte pairs of a GPT-2. Either is a part of a model's
// metadata, so a model needs no other file: characters as one line, byte pairs as the texts of their two files and a
// checksum of both.
#pragma once

#include <burtorch/data/text.hpp>
#include <burtorch/io/atomic_file.hpp>
#include <burtorch/io/bpe_files.hpp>
#include <burtorch/io/crc32c.hpp>
#include <burtorch/io/safetensors_header.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "flags.hpp"

namespace burt {

class AnyTokenizer {
 public:
  explicit AnyTokenizer(burtorch::Tokenizer characters) : characters_(std::move(characters)) {}
  /// The tokenizer in a folder with vocab.json and merges.txt, or with encoder.json and vocab.bpe.
  static AnyTokenizer fromFolder(const std::string& folder) {
    const burtorch::BytePairNames names = burtorch::bpe::filesIn(folder);
    const burtorch::MapOptions options{.maxBytes = std::size_t{64} << 20};
    const burtorch::MappedFile vocabulary(names.vocabulary, options), merges(names.merges, options);
    return AnyTokenizer(vocabulary.text(), merges.text(), names);
  }
  /// What `describe` wrote; errors name the file.
  static AnyTokenizer fromMetadata(const burtorch::Metadata& metadata, const std::string& file) {
    const std::string& vocabulary = textIn(metadata, vocabularyKey, file);
    if (!vocabulary.starts_with(bytePairs)) return AnyTokenizer(burtorch::Tokenizer::fromString(vocabulary));
    AnyTokenizer tokenizer(textIn(metadata, tokensKey, file), textIn(metadata, mergesKey, file),
                           {file + ": " + tokensKey, file + ": " + mergesKey});
    if (tokenizer.toString() != vocabulary)
      throw BadInput("'" + burtorch::printable(file) + "' has a tokenizer '" +
                     burtorch::printable(vocabulary, 30) + "', but its texts make '" + tokenizer.toString() +
                     "'; was it damaged?");
    return tokenizer;
  }

  /// The tokenizer of characters, or nullptr.
  const burtorch::Tokenizer* characters() const { return characters_ ? &*characters_ : nullptr; }
  std::size_t size() const { return characters_ ? characters_->size() : pairs_->tokenizer.size(); }
  burtorch::Tokens encode(std::string_view text) const {
    return characters_ ? characters_->encode(text) : pairs_->tokenizer.encode(text);
  }
  /// The bytes of a token; those of a byte pair may end inside a character.
  std::string decode(burtorch::TokenId token) const {
    return characters_ ? characters_->decode(token) : pairs_->tokenizer.decode(token);
  }
  /// The token after which nothing follows, if there is one.
  std::optional<burtorch::TokenId> endOfText() const {
    if (!characters_) return pairs_->tokenizer.endOfText();
    return characters_->hasEndMark() ? std::optional<burtorch::TokenId>(0) : std::nullopt;
  }
  /// A token to begin with where there is no text yet.
  burtorch::TokenId startOfText() const {
    if (characters_) return characters_->find('\n').value_or(0);
    return pairs_->tokenizer.endOfText().value_or(encode("\n").view()[0]);
  }

  /// One line that says which tokens there are.
  std::string toString() const {
    if (characters_) return characters_->toString();
    char checksum[17];
    std::snprintf(checksum, sizeof checksum, "%08x%08x",
                  static_cast<unsigned>(burtorch::crc32c(pairs_->vocabulary)),
                  static_cast<unsigned>(burtorch::crc32c(pairs_->merges)));
    return bytePairs + std::string(checksum);
  }
  /// Adds to metadata what `fromMetadata` reads.
  void describe(burtorch::Metadata& metadata) const {
    metadata[vocabularyKey] = toString();
    if (characters_) return;
    metadata[tokensKey] = pairs_->vocabulary;
    metadata[mergesKey] = pairs_->merges;
  }
  /// Writes vocab.json and merges.txt, byte for byte as they were read. Returns false for characters, which have no such files.
  bool saveTo(const std::string& folder) const {
    if (characters_) return false;
    write(folder, tokensKey, pairs_->vocabulary);
    write(folder, mergesKey, pairs_->merges);
    return true;
  }

 private:
  static constexpr const char *vocabularyKey = "vocabulary", *tokensKey = "vocab.json",
                              *mergesKey = "merges.txt", *bytePairs = "byte pairs ";
  struct BytePairs {
    std::string vocabulary, merges;
    burtorch::BytePairTokenizer tokenizer;
  };
  AnyTokenizer(std::string_view vocabulary, std::string_view merges, const burtorch::BytePairNames& names)
      : pairs_(std::make_shared<const BytePairs>(
            BytePairs{std::string(vocabulary), std::string(merges),
                      burtorch::readBytePairs(vocabulary, merges, names)})) {}

  static const std::string& textIn(const burtorch::Metadata& metadata, const char* key,
                                   const std::string& file) {
    const auto found = metadata.find(key);
    if (found == metadata.end())
      throw BadInput("'" + burtorch::printable(file) + "' has no '" + key +
                     "'; was it written by burt train?");
    return found->second;
  }
  static void write(const std::string& folder, const char* name, const std::string& text) {
    burtorch::AtomicFile file((std::filesystem::path(folder) / name).string());
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  }

  std::optional<burtorch::Tokenizer> characters_;
  std::shared_ptr<const BytePairs> pairs_;  // if there are no characters
};
static_assert(burtorch::TextTokenizer<AnyTokenizer>);

}  // namespace burt
