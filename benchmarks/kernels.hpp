// What the files of the experiment `kernels` share.
#pragma once

#include <string>
#include <vector>

#include "harness.hpp"

namespace bench {

/// A trial of a kernel that works on `count` numbers, without its answer.
Trial kernelTrial(std::size_t count, const Figures& params);
/// Compares, and adds the rows with the time of each of `numbers` numbers; 0: without it.
void addRows(const Options& options, const Trial& trial, const std::vector<Contestant>& contestants,
             double numbers, std::vector<Row>& rows);

/// AdamW and clipping.
void kernelSteps(const Options& options, std::vector<Row>& rows);
/// The products of GPTs.
void kernelProducts(const Options& options, std::vector<Row>& rows);

}  // namespace bench
