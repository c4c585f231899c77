// GPT-2's tokenizer from its two files: vocab.json, which numbers the tokens, and merges.txt, the pairs in their order.
//
// OpenAI's own names for the same formats are encoder.json and vocab.bpe. Tokens are written in GPT-2's alphabet of bytes
// (data/byte_alphabet.hpp). A token that is neither a byte nor the result of a merge is special; if it has characters
// outside of that alphabet, its bytes are its text. Files are anybody's: everything is checked before a tokenizer exists,
// and an error names the file, what was expected and what was found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../base/check.hpp"
#include "../base/token_id.hpp"
#include "../data/bpe.hpp"
#include "../data/byte_alphabet.hpp"
#include "json.hpp"
#include "mapped_file.hpp"
#include "printable.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// How errors name the two texts of a tokenizer.
struct BytePairNames {
  std::string vocabulary = "vocab.json", merges = "merges.txt";
};

namespace bpe {

/// Reads the two files; a helper of `readBytePairs`.
class Reader {
 public:
  explicit Reader(const BytePairNames& names) : names_(names) {}

  BytePairVocabulary read(std::string_view vocabulary, std::string_view merges) {
    readTokens(vocabulary);
    readMerges(merges);
    std::vector<bool> isMade(result_.tokens.size());
    for (const TokenId token : byteTokens_) isMade[token] = true;
    for (const BytePairMerge& merge : result_.merges) isMade[merge.result] = true;
    checkParts(merges, isMade);
    for (std::size_t id = 0; id < isMade.size(); ++id)
      if (!isMade[id]) result_.special.push_back(static_cast<TokenId>(id));
    for (auto& [name, id] : ids_) result_.tokens[id] = ByteAlphabet::bytesOf(name).value_or(name);
    return std::move(result_);
  }

 private:
  void readTokens(std::string_view text) {
    JsonReader reader(text, names_.vocabulary, "the file");
    // An id is checked when the number of tokens is known; until then only that it can be one.
    reader.object([&](const std::string& name) {
      const std::uint64_t id = reader.integer();
      if (name.empty()) reader.refuseKey(name, "the empty token");
      if (id >= noToken) reader.refuseKey(name, "an id above 2^32 - 2 for token");
      if (!ids_.emplace(name, static_cast<TokenId>(id)).second) reader.refuseKey(name, "a second token");
    });
    reader.end("the end of the file");
    checkIds();
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::string name;
      appendUtf8(name, ByteAlphabet::characterOf(static_cast<std::uint8_t>(byte)));
      const auto found = ids_.find(name);
      if (found == ids_.end())
        fail(ErrorCode::badFile,
             "cannot read '%s': expected a token for each of the 256 bytes, found none for byte 0x%02X, "
             "written '%s'; "
             "is it the vocabulary of a byte-level tokenizer?",
             printable(names_.vocabulary).c_str(), byte, name.c_str());
      byteTokens_.push_back(found->second);
    }
  }
  /// Each number below the number of tokens is the id of one.
  void checkIds() {
    std::vector<const std::string*> owners(ids_.size());
    for (const auto& [name, id] : ids_) {
      if (id >= ids_.size())
        fail(ErrorCode::badFile,
             "cannot read '%s': expected ids from 0 to %zu for its %zu tokens, found %u for '%s'; was the "
             "file damaged?",
             printable(names_.vocabulary).c_str(), ids_.size() - 1, ids_.size(), id,
             printable(name, 30).c_str());
      if (owners[id] != nullptr)
        fail(ErrorCode::badFile,
             "cannot read '%s': expected one token for each id, found '%s' and '%s' for id %u; was the file "
             "damaged?",
             printable(names_.vocabulary).c_str(), printable(*owners[id], 20).c_str(),
             printable(name, 20).c_str(), id);
      owners[id] = &name;
    }
    result_.tokens.resize(ids_.size());
  }

  void readMerges(std::string_view text) {
    std::unordered_map<std::uint64_t, std::size_t> lines;  // where a pair was found
    for (line_ = 1; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line_ == 1 && isVersion(line)) continue;
      const std::size_t space = line.find(' ');
      if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
        refuseLine("expected two tokens with a space between them, found", line);
      const std::string_view left = line.substr(0, space), right = line.substr(space + 1);
      const std::string both = std::string(left).append(right);
      const BytePairMerge merge{idOf(left), idOf(right), idOf(both)};
      if (!ByteAlphabet::bytesOf(both))
        refuseLine("expected characters of GPT-2's alphabet of bytes, found", both);
      const auto [known, isNew] = lines.emplace(std::uint64_t{merge.left} << 32 | merge.right, line_);
      if (!isNew)
        refuseLine(("expected a new pair, found that of line " + std::to_string(known->second) + ",").c_str(),
                   line);
      result_.merges.push_back(merge);
    }
  }
  /// A line that is missing leaves others without their parts.
  void checkParts(std::string_view text, const std::vector<bool>& isMade) {
    line_ = isVersion(text.substr(0, text.find('\n'))) ? 2 : 1;
    for (const BytePairMerge& merge : result_.merges) {
      for (const TokenId part : {merge.left, merge.right})
        if (!isMade[part]) refuseLine("expected bytes or results of other lines, found", nameOf(part));
      ++line_;
    }
  }
  static bool isVersion(std::string_view line) { return line.starts_with("#version"); }
  std::string_view nameOf(TokenId token) const {
    for (const auto& [name, id] : ids_)
      if (id == token) return name;
    return {};
  }
  /// The id of a part or of the result of a merge.
  TokenId idOf(std::string_view name) const {
    const auto found = ids_.find(std::string(name));
    if (found == ids_.end())
      refuseLine("expected tokens of the vocabulary, which has no", name,
                 "do the two files belong together?");
    return found->second;
  }
  [[noreturn]] void refuseLine(const char* why, std::string_view what,
                               const char* hint = "was the file damaged?") const {
    fail(ErrorCode::badFile, "cannot read '%s': in line %zu %s '%s'; %s", printable(names_.merges).c_str(),
         line_, why, printable(what, 40).c_str(), hint);
  }

  const BytePairNames& names_;
  std::unordered_map<std::string, TokenId> ids_;
  std::vector<TokenId> byteTokens_;
  BytePairVocabulary result_;
  std::size_t line_ = 0;
};

/// The files of a folder, by whichever of their names they have.
inline BytePairNames filesIn(const std::string& folder) {
  const auto path = [&](const char* name) { return (std::filesystem::path(folder) / name).string(); };
  std::error_code ignored;
  const auto exists = [&](const std::string& name) { return std::filesystem::exists(name, ignored); };
  const BytePairNames names{path("vocab.json"), path("merges.txt")};
  const BytePairNames openAi{path("encoder.json"), path("vocab.bpe")};
  if (exists(names.vocabulary) && exists(names.merges)) return names;
  if (exists(openAi.vocabulary) && exists(openAi.merges)) return openAi;
  fail(ErrorCode::fileAccess,
       "cannot read a tokenizer from '%s': expected a folder with vocab.json and merges.txt, or encoder.json "
       "and "
       "vocab.bpe; is the name right?",
       printable(folder).c_str());
}

}  // namespace bpe

/// A tokenizer from the contents of its two files.
inline BytePairTokenizer readBytePairs(std::string_view vocabulary, std::string_view merges,
                                       const BytePairNames& names = {}) {
  return BytePairTokenizer(bpe::Reader(names).read(vocabulary, merges));
}
/// A tokenizer from its two files, of up to 64 MB each: GPT-2's have 1 MB, and memory takes many times a file's size.
inline BytePairTokenizer loadBytePairs(const std::string& vocabularyPath, const std::string& mergesPath) {
  const MapOptions options{.maxBytes = std::size_t{64} << 20};
  const MappedFile vocabulary(vocabularyPath, options), merges(mergesPath, options);
  return readBytePairs(vocabulary.text(), merges.text(), {vocabularyPath, mergesPath});
}
/// A tokenizer from a folder with vocab.json and merges.txt, or with encoder.json and vocab.bpe.
inline BytePairTokenizer loadBytePairs(const std::string& folder) {
  const BytePairNames names = bpe::filesIn(folder);
  return loadBytePairs(names.vocabulary, names.merges);
}

}  // namespace burtorch::inline BURTORCH_TARGET
