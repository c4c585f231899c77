// The twin of data/bpe_merges.hpp and small vocabularies for its tests: merging by searching the whole list each time,
// vocabularies from a list of pairs or learned from a text, and the two files that describe them.
#pragma once

#include <burtorch/data/bpe.hpp>
#include <burtorch/data/byte_alphabet.hpp>
#include <burtorch/io/json.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/pre_tokens_naive.hpp"

using TokenList = std::vector<burtorch::TokenId>;

/// The lowest rank first, of these the leftmost, one merge at a time.
inline TokenList mergedNaively(TokenList tokens, const std::vector<burtorch::BytePairMerge>& merges) {
  while (true) {
    std::size_t best = merges.size(), place = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
      for (std::size_t rank = 0; rank < best; ++rank)
        if (merges[rank].left == tokens[i] && merges[rank].right == tokens[i + 1]) best = rank, place = i;
    if (best == merges.size()) return tokens;
    tokens[place] = merges[best].result;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

/// A vocabulary that grows: first <|endoftext|>, then the bytes, the last one first, then what is merged.
class VocabularyMaker {
 public:
  VocabularyMaker() {
    result_.tokens.push_back("<|endoftext|>");
    result_.special.push_back(0);
    for (unsigned byte = 256; byte-- > 0;) result_.tokens.push_back(std::string(1, static_cast<char>(byte)));
    for (burtorch::TokenId id = 1; id < result_.tokens.size(); ++id) ids_[result_.tokens[id]] = id;
  }
  burtorch::TokenId idOf(const std::string& bytes) const { return ids_.at(bytes); }
  /// Both must be tokens; what they become may be one already. False if the pair has been merged before.
  bool merge(const std::string& left, const std::string& right) {
    if (!pairs_.emplace(std::pair(left, right), true).second) return false;
    const auto [found, isNew] =
        ids_.emplace(left + right, static_cast<burtorch::TokenId>(result_.tokens.size()));
    if (isNew) result_.tokens.push_back(left + right);
    result_.merges.push_back({idOf(left), idOf(right), found->second});
    return true;
  }
  const burtorch::BytePairVocabulary& vocabulary() const { return result_; }

 private:
  burtorch::BytePairVocabulary result_;
  std::map<std::string, burtorch::TokenId> ids_;
  std::map<std::pair<std::string, std::string>, bool> pairs_;
};

inline burtorch::BytePairVocabulary vocabularyOf(
    const std::vector<std::pair<std::string, std::string>>& merges) {
  VocabularyMaker maker;
  for (const auto& [left, right] : merges) maker.merge(left, right);
  return maker.vocabulary();
}

/// Learned as GPT-2's was: the most frequent pair of neighbours becomes a token, again and again.
inline burtorch::BytePairVocabulary learnedFrom(std::string_view text, std::size_t merges) {
  VocabularyMaker maker;
  std::vector<std::vector<std::string>> words;
  for (const std::string& word : NaivePreTokens(text).pieces()) {
    words.emplace_back();
    for (const char byte : word) words.back().emplace_back(1, byte);
  }
  for (; merges > 0; --merges) {
    std::map<std::pair<std::string, std::string>, int> counts;
    for (const auto& word : words)
      for (std::size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
    auto best = counts.begin();
    for (auto each = counts.begin(); each != counts.end(); ++each)
      if (each->second > best->second) best = each;
    if (best == counts.end()) break;
    const auto [left, right] = best->first;
    maker.merge(left, right);
    for (auto& word : words)
      for (std::size_t i = 0; i + 1 < word.size(); ++i)
        if (word[i] == left && word[i + 1] == right) {
          word[i] += right;
          word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
  }
  return maker.vocabulary();
}

/// What a tokenizer of this vocabulary must make of a text.
inline TokenList encodedNaively(std::string_view text, const burtorch::BytePairVocabulary& vocabulary) {
  std::map<std::string, burtorch::TokenId> bytes;
  for (burtorch::TokenId id = 1; id < vocabulary.tokens.size(); ++id)
    bytes.emplace(vocabulary.tokens[id], id);
  TokenList result;
  for (const std::string& word : NaivePreTokens(text).pieces()) {
    TokenList tokens;
    for (const char byte : word) tokens.push_back(bytes.at(std::string(1, byte)));
    tokens = mergedNaively(std::move(tokens), vocabulary.merges);
    result.insert(result.end(), tokens.begin(), tokens.end());
  }
  return result;
}

/// vocab.json of a vocabulary whose special tokens are ASCII.
inline std::string vocabularyFile(const burtorch::BytePairVocabulary& vocabulary) {
  std::string text = "{";
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (id > 0) text += ", ";
    burtorch::appendJsonString(text, burtorch::ByteAlphabet::textOf(vocabulary.tokens[id]));
    text += ": " + std::to_string(id);
  }
  return text + "}";
}
/// merges.txt
inline std::string mergesFile(const burtorch::BytePairVocabulary& vocabulary) {
  std::string text = "#version: 0.2\n";
  for (const auto& merge : vocabulary.merges)
    text += burtorch::ByteAlphabet::textOf(vocabulary.tokens[merge.left]) + " " +
            burtorch::ByteAlphabet::textOf(vocabulary.tokens[merge.right]) + "\n";
  return text;
}
