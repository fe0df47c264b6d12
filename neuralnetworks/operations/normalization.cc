// Operations that set each element in relation to those around it.
#include "neuralnetworks/operations/operation.h"
#include "neuralnetworks/translate/emitter.h"

namespace torchlet::nn {
namespace {

// x / max(|x|, 1e-6) along the axis.
void l2_normalization(Emitter& emit, const Call& call) {
  SsaValue* input = emit.real(call, "input");
  SsaValue* squares = emit.call("aten::square", {input});
  SsaValue* sums = emit.call("aten::sum.dim_IntList", {squares, {call.integer("axis")}, true});
  SsaValue* norms = emit.call("aten::clamp_min", {emit.call("aten::sqrt", {sums}), 1e-6});
  emit.give_real(call, emit.call("aten::div.Tensor", {input, norms}));
}

void local_response_normalization(Emitter& emit, const Call& call) {
  emit.give_real(call,
                 emit.call("nnapi::local_response_normalization",
                           {emit.real(call, "input"), call.integer("radius"), call.real("bias"),
                            call.real("alpha"), call.real("beta"), call.integer("axis")}));
}

void instance_normalization(Emitter& emit, const Call& call) {
  SsaValue* image = emit.real_image(call, "input");
  SsaValue* result = emit.call("aten::instance_norm", {image, nullptr, nullptr, nullptr, nullptr,
                                                       true, 0.0, call.real("epsilon"), false});
  result = emit.call("aten::mul.Scalar", {result, call.real("gamma")});
  emit.give_real_image(call, emit.call("aten::add.Scalar", {result, call.real("beta")}));
}

void softmax_of(Emitter& emit, const Call& call, const char* op) {
  SsaValue* input = emit.real(call, "input");
  const double beta = call.real("beta");
  if (beta != 1) input = emit.call("aten::mul.Scalar", {input, beta});
  emit.give_real(call, emit.call(op, {input, call.integer("axis")}));
}

void softmax(Emitter& emit, const Call& call) { softmax_of(emit, call, "aten::softmax.int"); }
void log_softmax(Emitter& emit, const Call& call) {
  softmax_of(emit, call, "aten::log_softmax.int");
}

}  // namespace

NNAPI_OPERATION(L2_NORMALIZATION, l2_normalization,
                "T in FLOAT QUANT8: (T input, INT32 axis = -1) -> (T)");
NNAPI_OPERATION(LOCAL_RESPONSE_NORMALIZATION, local_response_normalization,
                "T in FLOAT: (T input, INT32 radius, SCALAR(T) bias, SCALAR(T) alpha, SCALAR(T) "
                "beta, INT32 axis = -1) -> (T)");
NNAPI_OPERATION(INSTANCE_NORMALIZATION, instance_normalization,
                "T in FLOAT: (T input, SCALAR(T) gamma, SCALAR(T) beta, SCALAR(T) epsilon, BOOL "
                "nchw) -> (T)");
NNAPI_OPERATION(SOFTMAX, softmax,
                "T in TENSOR_FLOAT32 QUANT8: (T input, FLOAT32 beta, INT32 axis = -1) -> (T)",
                "T in TENSOR_FLOAT16: (T input, FLOAT16 beta, INT32 axis = -1) -> (T)");
NNAPI_OPERATION(LOG_SOFTMAX, log_softmax,
                "T in FLOAT: (T input, SCALAR(T) beta, INT32 axis) -> (T)");

}  // namespace torchlet::nn
