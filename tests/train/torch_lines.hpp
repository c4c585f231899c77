// Reads reference/optimizers.txt: what PyTorch does, written by reference/make_optimizers.py.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace torch_lines {

using Words = std::vector<std::string>;

/// All lines but the comments, cut into words.
inline std::vector<Words> read() {
  std::ifstream file(BURTORCH_TEST_DATA "/optimizers.txt");
  EXPECT_TRUE(file.is_open()) << BURTORCH_TEST_DATA "/optimizers.txt";
  std::vector<Words> lines;
  for (std::string text; std::getline(file, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream stream(text);
    Words& words = lines.emplace_back();
    for (std::string word; stream >> word;) words.push_back(word);
  }
  return lines;
}

inline double numberOf(const std::string& word) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  EXPECT_EQ(*end, '\0') << "not a number: " << word;
  return number;
}

/// The words from `first` on, as numbers.
template <class T> std::vector<T> numbersOf(const Words& words, std::size_t first) {
  std::vector<T> numbers;
  for (std::size_t i = first; i < words.size(); ++i) numbers.push_back(static_cast<T>(numberOf(words[i])));
  return numbers;
}

template <class T> constexpr const char* typeName = sizeof(T) == 8 ? "f64" : "f32";

/// How far a number may be from PyTorch's, relative to it. fp32 needs its 1e-5 where momenta of both signs nearly cancel.
template <class T> constexpr double tolerance = sizeof(T) == 8 ? 1e-13 : 1e-5;

template <class T>
void expectNear(const std::vector<T>& got, const std::vector<T>& want, double relative,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double x = static_cast<double>(got[i]), y = static_cast<double>(want[i]);
    EXPECT_LE(std::fabs(x - y), relative * std::fabs(y))
        << what << ", number " << i << ": " << x << ", torch has " << y;
  }
}

}  // namespace torch_lines

using Scalars = testing::Types<double, float>;
struct ScalarName {
  template <class T> static std::string GetName(int) { return sizeof(T) == 8 ? "fp64" : "fp32"; }
};
