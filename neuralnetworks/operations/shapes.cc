// Operations that give the same elements other sizes or another order of dimensions, and such that
// tell or follow sizes.
#include "base/error.h"
#include "neuralnetworks/operations/moving.h"

namespace torchlet::nn {
namespace {

void reshape(Emitter& emit, const Call& call) {
  require_rank(call, "input", 1, 4);
  give_moved(emit, call, "input",
             emit.call("aten::reshape", {emit.value(call, "input"), list(emit, call, "shape")}));
}

void transpose(Emitter& emit, const Call& call) {
  require_rank(call, "input", 1, 4);
  const Arg rank = emit.rank(call.index("input"));
  SsaValue* dims = call.has("perm")
                       ? emit.call("nnapi::permutation", {list(emit, call, "perm"), rank})
                       : emit.call("nnapi::reversed_dims", {rank});
  give_moved(emit, call, "input", emit.call("aten::permute", {emit.value(call, "input"), dims}));
}

void squeeze(Emitter& emit, const Call& call) {
  require_rank(call, "input", 1, 4);
  const Arg dims = call.has("dims") ? Arg(list(emit, call, "dims")) : Arg(nullptr);
  SsaValue* sizes = emit.call("nnapi::squeezed_sizes", {emit.sizes(call.index("input")), dims});
  give_moved(emit, call, "input", emit.call("aten::reshape", {emit.value(call, "input"), sizes}));
}

void expand_dims(Emitter& emit, const Call& call) {
  give_moved(emit, call, "input",
             emit.call("aten::unsqueeze", {emit.value(call, "input"), call.integer("axis")}));
}

void rank(Emitter& emit, const Call& call) {
  const Arg rank = emit.rank(call.index("input"));
  emit.give(call, rank.number() ? emit.constant(Value(*rank.number()))
                                : emit.call("aten::dim", {emit.value(call, "input")}));
}

void fill(Emitter& emit, const Call& call) {
  const int32_t type = call.output().type;
  const DType dtype = type == ANEURALNETWORKS_TENSOR_INT32     ? DType::kInt32
                      : type == ANEURALNETWORKS_TENSOR_FLOAT16 ? DType::kFloat16
                                                               : DType::kFloat32;
  emit.give(call,
            emit.call("aten::full", {list(emit, call, "dims"), emit.value(call, "value"), dtype}));
}

}  // namespace

NNAPI_OPERATION(RESHAPE, reshape,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input, TENSOR_INT32 shape) -> (T)");
NNAPI_OPERATION(TRANSPOSE, transpose, "T in FLOAT QUANT8: (T input, TENSOR_INT32? perm) -> (T)");
NNAPI_OPERATION(SQUEEZE, squeeze, "T in FLOAT QUANT8: (T input, TENSOR_INT32? dims) -> (T)");
NNAPI_OPERATION(EXPAND_DIMS, expand_dims,
                "T in FLOAT QUANT8 TENSOR_INT32: (T input, INT32 axis) -> (T)");
NNAPI_OPERATION(RANK, rank,
                "(TENSOR_FLOAT32|TENSOR_FLOAT16|TENSOR_INT32|TENSOR_BOOL8|TENSOR_QUANT8_ASYMM|"
                "TENSOR_QUANT8_ASYMM_SIGNED|TENSOR_QUANT8_SYMM|TENSOR_QUANT8_SYMM_PER_CHANNEL|"
                "TENSOR_QUANT16_SYMM|TENSOR_QUANT16_ASYMM input) -> (INT32)");
NNAPI_OPERATION(FILL, fill, "(TENSOR_INT32 dims, FLOAT32 value) -> (TENSOR_FLOAT32)",
                "(TENSOR_INT32 dims, FLOAT16 value) -> (TENSOR_FLOAT16)",
                "(TENSOR_INT32 dims, INT32 value) -> (TENSOR_INT32)");

}  // namespace torchlet::nn
