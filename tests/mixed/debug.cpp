#undef NDEBUG
#include "both.hpp"

bool isRightInDebug() { return allIsRight() && burtorch::defaultConfig.checks; }
