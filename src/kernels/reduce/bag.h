// Sums of some rows of a table, as nn.EmbeddingBag makes them.
#pragma once

#include <cstdint>

namespace torchlet::kernels {

// row[dim] becomes the sum of rows indices[i] of table[.., dim], each times factors[i] if there are
// factors. `known` >= count indices are there, all of the table: rows of the others are wanted
// next.
void sum_bag(const float* table, int64_t dim, const int64_t* indices, int64_t count, int64_t known,
             const float* factors, float* row);

}  // namespace torchlet::kernels
