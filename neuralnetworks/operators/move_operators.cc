// Operators that move elements of plain tensors (quantized ones come as their integers).
#include <algorithm>

#include "ops/core/common.h"
#include "ops/core/op.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

// ---- borders ----

// (before, after) of each dimension: int32 [rank, 2].
IntArray amounts(const Tensor& paddings, int64_t rank) {
  TORCHLET_CHECK(paddings.dim() == 2 && paddings.size(0) == rank && paddings.size(1) == 2,
                 "the paddings have sizes %s in place of [%lld, 2]",
                 shape_text(paddings.sizes()).c_str(), ll(rank));
  const Tensor dense = paddings.contiguous();
  IntArray numbers(static_cast<size_t>(2 * rank));
  convert_elements(dense.impl()->data(), dense.dtype(), 1, numbers.data(), DType::kInt64, 1,
                   2 * rank);
  for (const int64_t number : numbers) {
    TORCHLET_CHECK(number >= 0, "a padding of %lld", ll(number));
  }
  return numbers;
}

// As constant_pad_nd takes them: of the last dimension first.
IntArray border(const Tensor& paddings, int64_t rank) {
  const IntArray numbers = amounts(paddings, rank);
  IntArray result;
  for (size_t dim = numbers.size() / 2; dim-- > 0;) {
    result.push_back(numbers[2 * dim]);
    result.push_back(numbers[2 * dim + 1]);
  }
  return result;
}

// Positions of a dimension with its mirror images around it; the outermost elements are in them if
// `symmetric`.
Tensor mirrored_positions(int64_t size, int64_t before, int64_t after, bool symmetric) {
  const int64_t most = symmetric ? size : size - 1;
  TORCHLET_CHECK(before <= most && after <= most,
                 "a mirror image of %lld and %lld elements beside %lld", ll(before), ll(after),
                 ll(size));
  const int64_t count = before + size + after;
  Tensor positions = empty({&count, 1}, DType::kInt64);
  const int64_t edge = symmetric ? 1 : 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = i - before;
    positions.data_ptr<int64_t>()[i] = at < 0       ? -at - edge
                                       : at >= size ? 2 * size - 2 - at + edge
                                                    : at;
  }
  return positions;
}

Tensor mirror_pad(const Tensor& input, const Tensor& paddings, bool symmetric) {
  const IntArray numbers = amounts(paddings, input.dim());
  Tensor result = input;
  for (int64_t dim = 0; dim < input.dim(); ++dim) {
    const auto at = static_cast<size_t>(2 * dim);
    if (numbers[at] == 0 && numbers[at + 1] == 0) continue;
    result = index_select(
        result, dim, mirrored_positions(input.size(dim), numbers[at], numbers[at + 1], symmetric));
  }
  return result;
}

// ---- look-ups ----

// int32 [n], ascending, of which `key` may be one: its place, or none.
int64_t place_of(int32_t key, std::span<const int32_t> keys) {
  const auto found = std::ranges::lower_bound(keys, key);
  return found != keys.end() && *found == key ? found - keys.begin() : -1;
}

std::tuple<Tensor, Tensor> hashtable_lookup(const Tensor& lookups, const Tensor& keys,
                                            const Tensor& values, int64_t zero) {
  TORCHLET_CHECK(
      lookups.dim() == 1 && keys.dim() == 1 && values.dim() >= 1 && keys.size(0) == values.size(0),
      "keys of sizes %s for values of sizes %s and look-ups of sizes %s",
      shape_text(keys.sizes()).c_str(), shape_text(values.sizes()).c_str(),
      shape_text(lookups.sizes()).c_str());
  const Tensor wanted = lookups.contiguous(), known = keys.contiguous();
  const std::span<const int32_t> sorted(known.data_ptr<int32_t>(),
                                        static_cast<size_t>(known.numel()));
  IntArray sizes(values.sizes().begin(), values.sizes().end());
  sizes[0] = wanted.numel();
  const Tensor rows = full(sizes, zero, values.dtype());
  const Tensor hits = zeros(lookups.sizes(), DType::kUInt8);
  for (int64_t i = 0; i < wanted.numel(); ++i) {
    const int64_t place = place_of(wanted.data_ptr<int32_t>()[i], sorted);
    if (place < 0) continue;
    select(rows, 0, i).copy_(select(values, 0, place));
    hits.data_ptr<uint8_t>()[i] = 1;
  }
  return {rows, hits};
}

}  // namespace

TORCHLET_OP(nnapi_border, "nnapi::border(Tensor paddings, int rank) -> int[]", border);
TORCHLET_OP_WITH(nnapi_mirror_pad, may_alias(),
                 "nnapi::mirror_pad(Tensor input, Tensor paddings, bool symmetric) -> Tensor",
                 mirror_pad);
TORCHLET_OP(nnapi_hashtable_lookup,
            "nnapi::hashtable_lookup(Tensor lookups, Tensor keys, Tensor values, int zero) -> "
            "(Tensor rows, Tensor hits)",
            hashtable_lookup);

}  // namespace torchlet::ops
