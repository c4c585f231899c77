// BurTorch for learning: layers, models, oracles, optimisers and data, on top of burtorch.hpp.
#pragma once

#include "base/rng.hpp"
#include "burtorch.hpp"
#include "data/text.hpp"
#include "data/words.hpp"
#include "model/char_mlp.hpp"
#include "model/generate.hpp"
#include "model/gpt.hpp"
#include "model/mlp.hpp"
#include "nn/matmul.hpp"
#include "nn/neuron.hpp"
#include "nn/parameter_nodes.hpp"
#include "nn/softmax.hpp"
#include "oracle/token_oracle.hpp"
#include "train/training.hpp"
