#ifndef NDEBUG
#define NDEBUG
#endif
#include "both.hpp"

bool isRightInRelease() { return allIsRight() && !burtorch::defaultConfig.checks; }
