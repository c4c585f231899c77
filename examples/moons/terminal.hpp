// The picture in the terminal: two shades for the two sides of the boundary, a letter for every sample. Colours only
// where a person looks at them, and does not mind (https://no-color.org).
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "plane.hpp"

namespace moons {

inline bool terminalHasColours() {
  const char* noColour = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (!noColour || !*noColour);
}

/// `o` and `x` are samples on their side of the boundary, `O` and `X` are on the wrong side.
template <class Score>
void drawInTerminal(const View& view, std::span<const Sample<double>> samples, const Score& scoreAt) {
  // Characters are twice as high as wide: this is three to two, as the view.
  constexpr std::size_t columns = 72, rows = 24;
  const auto place = [](double part, std::size_t count) {
    return std::min(static_cast<std::size_t>(part * static_cast<double>(count)), count - 1);
  };
  std::string letters(columns * rows, ' ');
  for (const auto& [x, y, label] : samples) {
    const std::size_t column = place((x - view.left) / view.width, columns);
    const std::size_t row = place((y - view.bottom) / view.height, rows);
    const bool isRight = label * scoreAt(x, y) > 0;
    letters[row * columns + column] = label < 0 ? (isRight ? 'o' : 'O') : (isRight ? 'x' : 'X');
  }

  const bool hasColours = terminalHasColours();
  for (std::size_t row = rows; row-- > 0;) {
    std::fputs("  ", stdout);
    for (std::size_t column = 0; column < columns; ++column) {
      const double x = view.left + view.width * (static_cast<double>(column) + 0.5) / columns;
      const double y = view.bottom + view.height * (static_cast<double>(row) + 0.5) / rows;
      const bool isUpper = scoreAt(x, y) < 0;
      const char letter = letters[row * columns + column];
      if (hasColours)
        std::printf("\x1b[1;38;5;%d;48;5;%dm%c", letter == 'o' || letter == 'O' ? 19 : 124,
                    isUpper ? 153 : 223, letter);
      else if (letter != ' ')
        std::putchar(letter);
      else
        std::fputs(isUpper ? "·" : "░", stdout);
    }
    std::puts(hasColours ? "\x1b[0m" : "");
  }
  std::puts("  o upper moon, x lower moon; capitals are on the wrong side");
}

}  // namespace moons
