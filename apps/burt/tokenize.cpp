// burt tokenize: a text as the tokens of GPT-2, and back.
#include <unistd.h>
#include <burtorch/data/bpe.hpp>
#include <burtorch/data/utf8.hpp>
#include <burtorch/data/utf8_stream.hpp>
#include <burtorch/io/bpe_files.hpp>
#include <burtorch/io/mapped_file.hpp>
#include <burtorch/io/printable.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "command.hpp"
#include "flags.hpp"
#include "tokens_shown.hpp"

namespace burt {
namespace {

using namespace burtorch;

struct TokenizeOptions {
  std::string folder, vocabulary, merges, data, text;
  bool isCounting = false, isDecoding = false;
  bool isFromStdin() const { return data.empty() && text.empty(); }
};

void check(const TokenizeOptions& options) {
  const bool hasFiles = !options.vocabulary.empty() && !options.merges.empty();
  const bool hasOneFile = !options.vocabulary.empty() || !options.merges.empty();
  if (options.folder.empty() ? !hasFiles : hasOneFile)
    throw BadInput(self() + " tokenize needs --bpe DIR, or --vocab FILE and --merges FILE; see " + self() +
                   " tokenize --help");
  if (!options.data.empty() && !options.text.empty())
    throw BadInput("--data and --text exclude each other; leave one out");
  if (options.isCounting && options.isDecoding)
    throw BadInput("--count and --decode exclude each other; leave one out");
}

/// Calls `take(bytes)` with the input, piece by piece if it comes from a pipe.
template <class Take> void readInput(const TokenizeOptions& options, Take&& take) {
  if (!options.text.empty()) return take(std::string_view(options.text));
  if (!options.data.empty()) return take(MappedFile(options.data).text());
  char piece[65536];
  while (true) {
    const ssize_t bytes = read(STDIN_FILENO, piece, sizeof piece);
    if (bytes == 0) return;
    if (bytes > 0)
      take(std::string_view(piece, static_cast<std::size_t>(bytes)));
    else if (errno != EINTR)
      throw BadInput(std::string("cannot read stdin: ") + std::strerror(errno) +
                     "; pass a file with --data FILE");
  }
}

void printTokens(const BytePairTokenizer& tokenizer, std::string_view text) {
  const char* before = "";
  tokenizer.encode(text, [&](TokenId token) {
    std::printf("%s%u", before, token);
    before = " ";
  });
  std::puts("");
}
void printCount(const BytePairTokenizer& tokenizer, std::string_view text) {
  std::size_t tokens = 0;
  tokenizer.encode(text, [&](TokenId) { ++tokens; });
  std::printf("%zu tokens of a vocabulary of %zu; %zu bytes", tokens, tokenizer.size(), text.size());
  if (tokens > 0)
    std::printf(", %.2f per token", static_cast<double>(text.size()) / static_cast<double>(tokens));
  std::puts("");
}

/// Reads token ids as they come and writes their bytes at once.
class Decoder {
 public:
  explicit Decoder(const BytePairTokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void push(std::string_view text) {
    for (const char c : text) {
      if (c >= '0' && c <= '9')
        addDigit(c);
      else if (c == ' ' || c == ',' || c == '\n' || c == '\r' || c == '\t')
        endId();
      else
        refuse(std::string(1, c));
      ++at_;
    }
    std::fflush(stdout);
  }
  void finish() {
    endId();
    write(stream_.finish());
  }

 private:
  void addDigit(char digit) {
    id_ = 10 * id_ + static_cast<std::uint64_t>(digit - '0');
    hasId_ = true;
    if (id_ > UINT32_MAX) refuse(std::to_string(id_) + "...");
  }
  void endId() {
    if (hasId_) write(stream_.push(tokenizer_.bytesOf(static_cast<TokenId>(id_))));
    hasId_ = false;
    id_ = 0;
  }
  /// A file or a pipe gets the bytes. A terminal gets no characters that it would obey: a vocabulary may hold anything.
  void write(const std::string& text) const {
    const std::string shown = isTerminal_ ? shownText(text) : text;
    std::fwrite(shown.data(), 1, shown.size(), stdout);
  }
  [[noreturn]] void refuse(const std::string& found) const {
    throw BadInput("--decode: expected token ids separated by spaces, got '" + printable(found) +
                   "' at byte " + textOf(at_) + " of the input");
  }

  const BytePairTokenizer& tokenizer_;
  Utf8Stream stream_;
  std::uint64_t id_ = 0, at_ = 0;
  bool hasId_ = false;
  const bool isTerminal_ = isatty(STDOUT_FILENO) == 1;
};

}  // namespace

int tokenize(std::span<const std::string> arguments) {
  TokenizeOptions options;
  Flags flags;
  flags.add("--bpe", "DIR", "folder with vocab.json and merges.txt, or encoder.json and vocab.bpe",
            options.folder);
  flags.add("--vocab", "FILE", "the vocabulary, if it is elsewhere or has another name", options.vocabulary);
  flags.add("--merges", "FILE", "the merges, likewise", options.merges);
  flags.add("--data", "FILE", "the input; without it and --text, stdin is read", options.data);
  flags.add("--text", "TEXT", "the input itself", options.text);
  flags.add("--count", "print the number of tokens, not the tokens", options.isCounting);
  flags.add("--decode", "the input is token ids; write the bytes that they stand for", options.isDecoding);
  if (!flags.parseAll(arguments)) {
    std::printf(
        "usage: %s tokenize --bpe DIR [options]\n\n"
        "Prints the token ids of a text as GPT-2's tokenizer numbers them. Any bytes are a text.\n\n%s",
        self().c_str(), flags.help().c_str());
    return 0;
  }
  check(options);
  const BytePairTokenizer tokenizer = options.folder.empty()
                                          ? loadBytePairs(options.vocabulary, options.merges)
                                          : loadBytePairs(options.folder);
  if (options.isDecoding) {
    Decoder decoder(tokenizer);
    readInput(options, [&](std::string_view piece) { decoder.push(piece); });
    decoder.finish();
    return 0;
  }
  const auto print = options.isCounting ? printCount : printTokens;
  if (options.isFromStdin()) {
    std::string text;  // a word may go on in the next piece
    readInput(options, [&](std::string_view piece) { text += piece; });
    print(tokenizer, text);
  } else {
    readInput(options, [&](std::string_view text) { print(tokenizer, text); });
  }
  return 0;
}

}  // namespace burt
