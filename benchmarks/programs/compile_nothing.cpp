// For ./bench compile: the library, and nothing done with it.
#include <burtorch/burtorch.hpp>
