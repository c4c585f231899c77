// Built with -mavx2, and linked with plain.cpp.
#include "work.hpp"

std::vector<double> wideWork() { return work(); }
std::size_t wideWidth() { return width(); }
/// An error of this object, for the other to catch.
void wideError() { burtorch::Rng(1).below(0); }
