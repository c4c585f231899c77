// The script header of the paper's listings (F.8): burtorch.hpp with its names at global scope. For programs of one file;
// a library should include <burtorch/burtorch.hpp> and keep its namespace.
#pragma once

#include "burtorch/burtorch.hpp"

using namespace burtorch;
