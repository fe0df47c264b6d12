// Operators that only move elements of the last dimensions: padding by reflection, nearest
// resizing.
#pragma once

#include <array>
#include <vector>

#include "base/counted_vector.h"
#include "ops/core/common.h"

namespace torchlet::ops {

// Of each of the last (at most three) dimensions: output index -> input index.
using IndexTables = std::vector<CountedVector<int64_t>>;

// out[..., i, j] = self[..., tables[0][i], tables[1][j]] for tables.size() dimensions. Any dtype;
// a quantized tensor keeps its quantizer. The result has the memory format that self suggests.
Tensor gather_spatial(const Tensor& self, IndexTables tables);

// Uninitialised memory of another shape for a result of the same kind: dtype and quantizer.
Tensor empty_as(const Tensor& like, IntSpan sizes);

}  // namespace torchlet::ops
