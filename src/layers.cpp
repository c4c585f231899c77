// The layers for double and float, compiled once: each header says which of its rules (nn/compiled.hpp).
#define BURTORCH_INSTANCES
#include "burtorch/nn/attention.hpp"
#include "burtorch/nn/cross_entropy.hpp"
#include "burtorch/nn/dropout.hpp"
#include "burtorch/nn/elementwise.hpp"
#include "burtorch/nn/embedding.hpp"
#include "burtorch/nn/layer_norm.hpp"
#include "burtorch/nn/matmul.hpp"
#include "burtorch/nn/parameter_nodes.hpp"
#include "burtorch/nn/softmax.hpp"
#include "burtorch/nn/token_linear.hpp"
