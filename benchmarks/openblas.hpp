// The products of a GPT's gradient by OpenBLAS (programs/openblas.cpp) as contestants: what a good library for products needs
// for them, without norms, softmax and everything else. In processes of their own, because the library chooses its kernels once.
#pragma once

#include <burtorch/model/gpt.hpp>

#include "harness.hpp"

namespace bench {

/// The fastest kernels on this machine are the mode `openblas`, those that the library would choose `openblas-default` if they are
/// others. Empty, with a word on standard error, where OpenBLAS is not installed.
std::vector<Contestant> openblasProducts(const burtorch::GptConfig& config, std::size_t batch,
                                         const Figures& params);

/// One product of a linear layer: `pass` is forward, input or weight.
std::vector<Contestant> openblasProduct(const std::string& pass, std::size_t outputs, std::size_t inputs,
                                        std::size_t columns, const Figures& params);

}  // namespace bench
