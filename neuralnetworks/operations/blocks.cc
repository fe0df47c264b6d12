// Operations that move blocks of an image's pixels to its channels or to its batch, and back.
#include <algorithm>

#include "base/error.h"
#include "neuralnetworks/operations/moving.h"

namespace torchlet::nn {
namespace {

int64_t block_size(const Call& call) {
  const int64_t size = call.integer("block_size");
  if (size < 1) {
    fail(ErrorCode::kInvalidArgument, "the block has a size of %lld", static_cast<long long>(size));
  }
  return size;
}

// Reshaped into the parts, permuted, and reshaped.
void give_rearranged(Emitter& emit, const Call& call, SsaValue* image,
                     const std::vector<SsaValue*>& sizes, const Arg& order) {
  SsaValue* parts = emit.call("aten::reshape", {image, sizes[0]});
  SsaValue* permuted = emit.call("aten::permute", {parts, order});
  give_moved(emit, call, "input", emit.call("aten::reshape", {permuted, sizes[1]}));
}

void depth_to_space(Emitter& emit, const Call& call) {
  require_rank(call, "input", 4, 4);
  const bool nchw = call.boolean("nchw");
  const auto sizes = emit.call_all("nnapi::depth_to_space_sizes",
                                   {emit.sizes(call.index("input")), block_size(call), nchw});
  give_rearranged(emit, call, emit.value(call, "input"), sizes,
                  nchw ? Arg{0, 3, 4, 1, 5, 2} : Arg{0, 1, 3, 2, 4, 5});
}

void space_to_depth(Emitter& emit, const Call& call) {
  require_rank(call, "input", 4, 4);
  const bool nchw = call.boolean("nchw");
  const auto sizes = emit.call_all("nnapi::space_to_depth_sizes",
                                   {emit.sizes(call.index("input")), block_size(call), nchw});
  give_rearranged(emit, call, emit.value(call, "input"), sizes,
                  nchw ? Arg{0, 3, 5, 1, 2, 4} : Arg{0, 1, 3, 2, 4, 5});
}

void batch_to_space_nd(Emitter& emit, const Call& call) {
  require_rank(call, "input", 4, 4);
  const bool nchw = call.boolean("nchw");
  const auto sizes =
      emit.call_all("nnapi::batch_to_space_sizes",
                    {emit.sizes(call.index("input")), list(emit, call, "block_sizes"), nchw});
  give_rearranged(emit, call, emit.value(call, "input"), sizes,
                  nchw ? Arg{2, 3, 4, 0, 5, 1} : Arg{2, 3, 0, 4, 1, 5});
}

// Columns before and after, and rows, as PyTorch pads an image NCHW.
Arg border_of(Emitter& emit, const Call& call) {
  const auto known = known_numbers(call, "paddings");
  if (!known || known->size() != 4 ||
      std::ranges::any_of(*known, [](int64_t count) { return count < 0; })) {
    return emit.call("nnapi::border", {emit.value(call, "paddings"), 2});
  }
  const IntArray& p = *known;
  return {p[2], p[3], p[0], p[1]};
}

void space_to_batch_nd(Emitter& emit, const Call& call) {
  require_rank(call, "input", 4, 4);
  const bool nchw = call.boolean("nchw");
  const Arg border = border_of(emit, call);
  const auto sizes = emit.call_all(
      "nnapi::space_to_batch_sizes",
      {emit.sizes(call.index("input")), list(emit, call, "block_sizes"), border, nchw});
  SsaValue* padded = emit.call("aten::constant_pad_nd", {emit.image(call, "input"), border, 0.0});
  if (!nchw) padded = emit.call("aten::permute", {padded, {0, 2, 3, 1}});
  give_rearranged(emit, call, padded, sizes, nchw ? Arg{3, 5, 0, 1, 2, 4} : Arg{2, 4, 0, 1, 3, 5});
}

// [groups, size] of the dimension becomes [size, groups].
void channel_shuffle(Emitter& emit, const Call& call) {
  require_rank(call, "input", 1, 4);
  const int64_t groups = call.integer("groups"), axis = call.integer("axis");
  const Arg sizes = emit.sizes(call.index("input"));
  SsaValue* parts = emit.call(
      "aten::reshape",
      {emit.value(call, "input"), emit.call("nnapi::grouped_sizes", {sizes, groups, axis})});
  SsaValue* shuffled = emit.call("aten::transpose.int",
                                 {parts, axis < 0 ? axis - 1 : axis, axis < 0 ? axis : axis + 1});
  give_moved(emit, call, "input", emit.call("aten::reshape", {shuffled, sizes}));
}

}  // namespace

NNAPI_OPERATION(DEPTH_TO_SPACE, depth_to_space,
                "T in FLOAT QUANT8: (T input, INT32 block_size, BOOL nchw = 0) -> (T)");
NNAPI_OPERATION(SPACE_TO_DEPTH, space_to_depth,
                "T in FLOAT QUANT8: (T input, INT32 block_size, BOOL nchw = 0) -> (T)");
NNAPI_OPERATION(BATCH_TO_SPACE_ND, batch_to_space_nd,
                "T in FLOAT QUANT8: (T input, TENSOR_INT32 block_sizes, BOOL nchw = 0) -> (T)");
NNAPI_OPERATION(SPACE_TO_BATCH_ND, space_to_batch_nd,
                "T in FLOAT QUANT8: (T input, TENSOR_INT32 block_sizes, TENSOR_INT32 paddings, "
                "BOOL nchw = 0) -> (T)");
NNAPI_OPERATION(CHANNEL_SHUFFLE, channel_shuffle,
                "T in FLOAT QUANT8: (T input, INT32 groups, INT32 axis) -> (T)");

}  // namespace torchlet::nn
