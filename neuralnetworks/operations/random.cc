// Random numbers, and hashes.
#include "neuralnetworks/translate/emitter.h"

namespace torchlet::nn {
namespace {

void random_multinomial(Emitter& emit, const Call& call) {
  emit.give(call, emit.call("nnapi::random_multinomial",
                            {emit.real(call, "input"), call.integer("sample_count"),
                             emit.value(call, "seeds")}));
}

void lsh_projection(Emitter& emit, const Call& call) {
  emit.give(call, emit.call("nnapi::lsh_projection",
                            {emit.real(call, "hash"), emit.value(call, "input"),
                             call.has("weight") ? Arg(emit.real(call, "weight")) : Arg(nullptr),
                             call.integer("type")}));
}

}  // namespace

NNAPI_OPERATION(RANDOM_MULTINOMIAL, random_multinomial,
                "T in FLOAT: (T input, INT32 sample_count, TENSOR_INT32 seeds) -> (TENSOR_INT32)");

NNAPI_OPERATION(LSH_PROJECTION, lsh_projection,
                "T in FLOAT: (T hash, TENSOR_FLOAT16|TENSOR_FLOAT32|TENSOR_INT32|"
                "TENSOR_QUANT8_ASYMM input, T? weight, INT32 type) -> (TENSOR_INT32)");

}  // namespace torchlet::nn
