// Operations that move blocks of an image's pixels to its channels or to its batch, and back.
#include "base/error.h"
#include "neuralnetworks/operations/moving.h"
#include "neuralnetworks/translate/representation.h"

namespace torchlet::nn {
namespace {

int64_t block_size(const Call& call) {
  const int64_t size = call.integer("block_size");
  if (size < 1) {
    fail(ErrorCode::kInvalidArgument, "the block has a size of %lld", static_cast<long long>(size));
  }
  return size;
}

void depth_to_space(Emitter& emit, const Call& call) {
  require_rank(call, "input", 4, 4);
  give_plain(emit, call, "input",
             emit.call("nnapi::depth_to_space",
                       {plain(emit, call, "input"), block_size(call), call.boolean("nchw")}));
}

void space_to_depth(Emitter& emit, const Call& call) {
  require_rank(call, "input", 4, 4);
  give_plain(emit, call, "input",
             emit.call("nnapi::space_to_depth",
                       {plain(emit, call, "input"), block_size(call), call.boolean("nchw")}));
}

void batch_to_space_nd(Emitter& emit, const Call& call) {
  require_rank(call, "input", 4, 4);
  give_plain(
      emit, call, "input",
      emit.call("nnapi::batch_to_space", {plain(emit, call, "input"),
                                          list(emit, call, "block_sizes"), call.boolean("nchw")}));
}

void space_to_batch_nd(Emitter& emit, const Call& call) {
  require_rank(call, "input", 4, 4);
  const Operand& input = call.operand("input");
  give_plain(
      emit, call, "input",
      emit.call("nnapi::space_to_batch",
                {plain(emit, call, "input"), list(emit, call, "block_sizes"),
                 emit.value(call, "paddings"),
                 is_quantized(input.type) ? held_zero_point(input) : 0, call.boolean("nchw")}));
}

void channel_shuffle(Emitter& emit, const Call& call) {
  require_rank(call, "input", 1, 4);
  const int64_t groups = call.integer("groups");
  if (groups < 1) {
    fail(ErrorCode::kInvalidArgument, "there are %lld groups", static_cast<long long>(groups));
  }
  const uint32_t index = call.index("input");
  const Operand& input = call.operand("input");
  int64_t axis = call.integer("axis");
  if (emit.as_images({&index, 1})) {
    require_same_quantization(call, input);
    axis = nchw_axis(axis < 0 ? axis + 4 : axis);
    SsaValue* shuffled =
        emit.call("nnapi::channel_shuffle", {plain(emit, emit.image(index), input), groups, axis});
    return emit.give_image(call.output_index(), held(emit, shuffled, input));
  }
  give_plain(emit, call, "input",
             emit.call("nnapi::channel_shuffle", {plain(emit, call, "input"), groups, axis}));
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
