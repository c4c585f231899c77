// Built without any -m flag.
#include "work.hpp"

std::vector<double> plainWork() { return work(); }
std::size_t plainWidth() { return width(); }
