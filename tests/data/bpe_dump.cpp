// The tokens of texts, for bpe_live.py, and how long they take.
//   bpe_dump VOCABULARY MERGES             reads texts from stdin, each behind its length in bytes and a newline; prints the
//                                          ids of each in a line, or "not the text" if they do not decode to it
//   bpe_dump VOCABULARY MERGES --time N    reads one text from stdin; prints the least of N times to encode it, in seconds
#include <algorithm>
#include <burtorch/io/bpe_files.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace burtorch;

std::string readStdin() {
  std::string text;
  char piece[65536];
  while (const std::size_t bytes = std::fread(piece, 1, sizeof piece, stdin)) text.append(piece, bytes);
  return text;
}
void printTokens(const BytePairTokenizer& tokenizer, std::string_view text) {
  const Tokens tokens = tokenizer.encode(text);
  if (tokenizer.decode(tokens) != text) std::fputs("not the text", stdout);
  for (const TokenId token : tokens.view()) std::printf("%u ", token);
  std::puts("");
}
double leastTime(const BytePairTokenizer& tokenizer, std::string_view text, int times) {
  double least = 1e9;
  for (; times > 0; --times) {
    const auto start = std::chrono::steady_clock::now();
    const Tokens tokens = tokenizer.encode(text);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (tokens.size() > 0) least = std::min(least, taken.count());
  }
  return least;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3 && count != 5) return 2;
  const BytePairTokenizer tokenizer = loadBytePairs(arguments[1], arguments[2]);
  const std::string input = readStdin();
  if (count == 5) {
    std::printf("%.9f\n", leastTime(tokenizer, input, std::atoi(arguments[4])));
    return 0;
  }
  for (std::size_t at = 0; at < input.size();) {
    char* end = nullptr;
    const std::size_t bytes = std::strtoull(input.c_str() + at, &end, 10);
    const auto first = static_cast<std::size_t>(end - input.c_str()) + 1;
    if (first > input.size() || bytes > input.size() - first) return 2;
    printTokens(tokenizer, std::string_view(input).substr(first, bytes));
    at = first + bytes;
  }
}
