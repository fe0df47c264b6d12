// The sizes by which blocks of an image become channels or images of the batch, and back: the image
// is reshaped into parts, these are permuted, and the result is reshaped.
#include "base/checked.h"
#include "ops/core/common.h"
#include "ops/core/op.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

using Sizes = std::tuple<Value, Value>;  // int[] of the parts and of the result

Sizes both(const IntArray& parts, const IntArray& result) {
  return {make_int_list(parts), make_int_list(result)};
}

struct Image {
  int64_t batches, height, width, channels;
};

Image image_of(const IntArray& sizes, bool nchw) {
  TORCHLET_CHECK(sizes.size() == 4, "an image has %zu dimensions", sizes.size());
  return nchw ? Image{sizes[0], sizes[2], sizes[3], sizes[1]}
              : Image{sizes[0], sizes[1], sizes[2], sizes[3]};
}

int64_t part_of(int64_t size, int64_t parts, const char* what) {
  TORCHLET_CHECK(parts > 0 && size % parts == 0, "%lld %s are no multiple of %lld", ll(size), what,
                 ll(parts));
  return size / parts;
}

// Channels are [block, block, channels of the result].
Sizes depth_to_space(const IntArray& sizes, int64_t block, bool nchw) {
  const auto [n, h, w, c] = image_of(sizes, nchw);
  const int64_t rest = part_of(c, checked_mul(block, block), "channels");
  const int64_t rows = checked_mul(h, block), columns = checked_mul(w, block);
  if (nchw) return both({n, block, block, rest, h, w}, {n, rest, rows, columns});
  return both({n, h, w, block, block, rest}, {n, rows, columns, rest});
}

Sizes space_to_depth(const IntArray& sizes, int64_t block, bool nchw) {
  const auto [n, h, w, c] = image_of(sizes, nchw);
  const int64_t rows = part_of(h, block, "rows"), columns = part_of(w, block, "columns");
  const int64_t depth = checked_mul(c, checked_mul(block, block));
  if (nchw) return both({n, c, rows, block, columns, block}, {n, depth, rows, columns});
  return both({n, rows, block, columns, block, c}, {n, rows, columns, depth});
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
Sizes batch_to_space(const IntArray& sizes, const IntArray& block_sizes, bool nchw) {
  const auto [n, h, w, c] = image_of(sizes, nchw);
  const auto [y, x] = block_of(block_sizes);
  const int64_t rest = part_of(n, checked_mul(y, x), "images");
  const int64_t rows = checked_mul(h, y), columns = checked_mul(w, x);
  if (nchw) return both({y, x, rest, c, h, w}, {rest, c, rows, columns});
  return both({y, x, rest, h, w, c}, {rest, rows, columns, c});
}

// `border` is that of columns and rows, as constant_pad_nd takes it.
Sizes space_to_batch(const IntArray& sizes, const IntArray& block_sizes, const IntArray& border,
                     bool nchw) {
  const auto [n, h, w, c] = image_of(sizes, nchw);
  const auto [y, x] = block_of(block_sizes);
  const int64_t rows = part_of(checked_add(h, checked_add(border[2], border[3])), y, "rows");
  const int64_t columns = part_of(checked_add(w, checked_add(border[0], border[1])), x, "columns");
  const int64_t batches = checked_mul(n, checked_mul(y, x));
  if (nchw) return both({n, c, rows, y, columns, x}, {batches, c, rows, columns});
  return both({n, rows, y, columns, x, c}, {batches, rows, columns, c});
}

// The dimension in groups.
IntArray grouped_sizes(const IntArray& sizes, int64_t groups, int64_t axis) {
  const int64_t dim = wrap_dim(axis, static_cast<int64_t>(sizes.size()));
  IntArray parts = sizes;
  int64_t& size = parts[static_cast<size_t>(dim)];
  size = part_of(size, groups, "channels");
  parts.insert(parts.begin() + dim, groups);
  return parts;
}

}  // namespace

TORCHLET_OP(nnapi_depth_to_space_sizes,
            "nnapi::depth_to_space_sizes(int[] sizes, int block, bool nchw) -> (int[] parts, int[] "
            "result)",
            depth_to_space);
TORCHLET_OP(nnapi_space_to_depth_sizes,
            "nnapi::space_to_depth_sizes(int[] sizes, int block, bool nchw) -> (int[] parts, int[] "
            "result)",
            space_to_depth);
TORCHLET_OP(nnapi_batch_to_space_sizes,
            "nnapi::batch_to_space_sizes(int[] sizes, int[] block_sizes, bool nchw) -> (int[] "
            "parts, int[] result)",
            batch_to_space);
TORCHLET_OP(nnapi_space_to_batch_sizes,
            "nnapi::space_to_batch_sizes(int[] sizes, int[] block_sizes, int[] border, bool nchw) "
            "-> (int[] parts, int[] result)",
            space_to_batch);
TORCHLET_OP(nnapi_grouped_sizes, "nnapi::grouped_sizes(int[] sizes, int groups, int axis) -> int[]",
            grouped_sizes);

}  // namespace torchlet::ops
