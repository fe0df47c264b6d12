// Operators that move elements of plain tensors (quantized ones come as their integers).
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/limits.h"
#include "ops/core/common.h"
#include "ops/core/op.h"
#include "ops/shape/shape.h"
#include "ops/vision/padding.h"

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

// ---- blocks ----

// Reshaped, its dimensions permuted, and reshaped again.
Tensor rearranged(const Tensor& input, const IntArray& parts, const IntArray& order,
                  const IntArray& sizes) {
  return reshape(permute(reshape(input, parts), order), sizes);
}

struct Image {
  int64_t batches, height, width, channels;
};

Image image_of(const Tensor& input, bool nchw) {
  TORCHLET_CHECK(input.dim() == 4, "an image has %lld dimensions", ll(input.dim()));
  const IntSpan sizes = input.sizes();
  return nchw ? Image{sizes[0], sizes[2], sizes[3], sizes[1]}
              : Image{sizes[0], sizes[1], sizes[2], sizes[3]};
}

void require_multiple(int64_t size, int64_t factor, const char* what) {
  TORCHLET_CHECK(factor > 0 && size % factor == 0, "%lld %s are no multiple of %lld", ll(size),
                 what, ll(factor));
}

// Channels are [block, block, channels of the result].
Tensor depth_to_space(const Tensor& input, int64_t block, bool nchw) {
  const auto [n, h, w, c] = image_of(input, nchw);
  require_multiple(c, checked_mul(block, block), "channels");
  const int64_t rest = c / (block * block), rows = checked_mul(h, block),
                columns = checked_mul(w, block);
  return nchw ? rearranged(input, {n, block, block, rest, h, w}, {0, 3, 4, 1, 5, 2},
                           {n, rest, rows, columns})
              : rearranged(input, {n, h, w, block, block, rest}, {0, 1, 3, 2, 4, 5},
                           {n, rows, columns, rest});
}

Tensor space_to_depth(const Tensor& input, int64_t block, bool nchw) {
  const auto [n, h, w, c] = image_of(input, nchw);
  require_multiple(h, block, "rows");
  require_multiple(w, block, "columns");
  const int64_t rows = h / block, columns = w / block,
                depth = checked_mul(c, checked_mul(block, block));
  return nchw ? rearranged(input, {n, c, rows, block, columns, block}, {0, 3, 5, 1, 2, 4},
                           {n, depth, rows, columns})
              : rearranged(input, {n, rows, block, columns, block, c}, {0, 1, 3, 2, 4, 5},
                           {n, rows, columns, depth});
}

struct Block {
  int64_t height, width;
};

Block block_of(const IntArray& sizes) {
  TORCHLET_CHECK(sizes.size() == 2 && sizes[0] > 0 && sizes[1] > 0, "a block of sizes %s",
                 shape_text(sizes).c_str());
  return {sizes[0], sizes[1]};
}

// The batch is [block height, block width, batch of the result].
Tensor batch_to_space(const Tensor& input, const IntArray& block_sizes, bool nchw) {
  const auto [n, h, w, c] = image_of(input, nchw);
  const auto [y, x] = block_of(block_sizes);
  require_multiple(n, y * x, "images");
  const int64_t rest = n / (y * x), rows = checked_mul(h, y), columns = checked_mul(w, x);
  return nchw ? rearranged(input, {y, x, rest, c, h, w}, {2, 3, 4, 0, 5, 1},
                           {rest, c, rows, columns})
              : rearranged(input, {y, x, rest, h, w, c}, {2, 3, 0, 4, 1, 5},
                           {rest, rows, columns, c});
}

Tensor space_to_batch(const Tensor& input, const IntArray& block_sizes, const Tensor& paddings,
                      int64_t zero, bool nchw) {
  image_of(input, nchw);
  const IntArray sides = amounts(paddings, 2);  // top, bottom, left, right
  const IntArray pad = nchw ? IntArray{sides[2], sides[3], sides[0], sides[1]}
                            : IntArray{0, 0, sides[2], sides[3], sides[0], sides[1]};
  const Tensor padded = constant_pad(input, pad, zero);
  const auto [n, h, w, c] = image_of(padded, nchw);
  const auto [y, x] = block_of(block_sizes);
  require_multiple(h, y, "rows");
  require_multiple(w, x, "columns");
  const int64_t rows = h / y, columns = w / x, batches = checked_mul(n, y * x);
  return nchw ? rearranged(padded, {n, c, rows, y, columns, x}, {3, 5, 0, 1, 2, 4},
                           {batches, c, rows, columns})
              : rearranged(padded, {n, rows, y, columns, x, c}, {2, 4, 0, 1, 3, 5},
                           {batches, rows, columns, c});
}

// [groups, size] of the dimension becomes [size, groups].
Tensor shuffle(const Tensor& input, int64_t groups, int64_t axis) {
  const int64_t dim = wrap_dim(axis, input.dim());
  require_multiple(input.size(dim), groups, "channels");
  IntArray parts(input.sizes().begin(), input.sizes().end());
  parts[static_cast<size_t>(dim)] /= groups;
  parts.insert(parts.begin() + dim, groups);
  return reshape(transpose(reshape(input, parts), dim, dim + 1), input.sizes());
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
TORCHLET_OP_WITH(nnapi_depth_to_space, may_alias(),
                 "nnapi::depth_to_space(Tensor input, int block, bool nchw) -> Tensor",
                 depth_to_space);
TORCHLET_OP_WITH(nnapi_space_to_depth, may_alias(),
                 "nnapi::space_to_depth(Tensor input, int block, bool nchw) -> Tensor",
                 space_to_depth);
TORCHLET_OP_WITH(nnapi_batch_to_space, may_alias(),
                 "nnapi::batch_to_space(Tensor input, int[] block_sizes, bool nchw) -> Tensor",
                 batch_to_space);
TORCHLET_OP_WITH(nnapi_space_to_batch, may_alias(),
                 "nnapi::space_to_batch(Tensor input, int[] block_sizes, Tensor paddings, int "
                 "zero, bool nchw) -> Tensor",
                 space_to_batch);
TORCHLET_OP_WITH(nnapi_channel_shuffle, may_alias(),
                 "nnapi::channel_shuffle(Tensor input, int groups, int axis) -> Tensor", shuffle);

}  // namespace torchlet::ops
