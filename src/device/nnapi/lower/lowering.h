// Which operators NNAPI has operations for.
#pragma once

#include <span>

#include "base/selection.h"
#include "device/nnapi/model_builder.h"

namespace torchlet::nnapi {

// Adds the operations of a call and defines its outputs, or throws Declined.
using LowerFn = void (*)(ModelBuilder& model, const Call& call);

struct Lowering {
  // Of an operator that this build leaves out, nothing.
  constexpr Lowering(const char* name, LowerFn lower_fn, bool images = false) {
    if (!selection::has_operator(name)) return;
    op = name;
    lower = lower_fn;
    reads_images = images;
  }

  const char* op = nullptr;  // "aten::conv2d": all its overloads
  LowerFn lower = nullptr;
  bool reads_images = false;  // [n, h, w, c]
};

// One table for each file of this room.
std::span<const Lowering> activation_lowerings();
std::span<const Lowering> convolution_lowerings();
std::span<const Lowering> elementwise_lowerings();
std::span<const Lowering> join_lowerings();
std::span<const Lowering> matrix_lowerings();
std::span<const Lowering> norm_lowerings();
std::span<const Lowering> pooling_lowerings();
std::span<const Lowering> quantized_lowerings();
std::span<const Lowering> reduction_lowerings();
std::span<const Lowering> resize_lowerings();
std::span<const Lowering> view_lowerings();

// Null if there is none.
const Lowering* find_lowering(Symbol op);

// The weights and the bias of a layer as operands.
struct LayerWeights {
  OperandId filter, bias;
};
// Of float32 weights, permuted. An undefined bias is zeros.
LayerWeights float_weights(ModelBuilder& model, const Tensor& weight, const Tensor& bias,
                           int64_t channels);
// Of qint8 weights whose channels are dimension `channel_dim`, for an input of that scale. The
// output's scale only matters to old NNAPI.
LayerWeights quantized_weights(ModelBuilder& model, const Tensor& weight, const Tensor& bias,
                               uint32_t channel_dim, float input_scale, float output_scale);

// A convolution of an image, whatever its numbers are. Sizes and paddings are height, then width.
struct ConvArguments {
  CallArgument input;
  Tensor weight, bias;  // [out, in / groups, h, w]
  std::array<int64_t, 2> stride, dilation;
  std::array<int64_t, 2> before, after;  // padding
  int64_t groups;
  int32_t activation = ANEURALNETWORKS_FUSED_NONE;
};
void add_convolution(ModelBuilder& model, const Call& call, const ConvArguments& arguments);
// The same with a weight [in, out / groups, h, w], whose padding is taken away from the result.
void add_transposed_convolution(ModelBuilder& model, const Call& call, ConvArguments arguments,
                                const std::array<int64_t, 2>& output_padding);

// Rows [..., in] with weight [out, in], quantized if the rows are.
void add_linear(ModelBuilder& model, const Call& call, const CallArgument& input,
                const Tensor& weight, const Tensor& bias,
                int32_t activation = ANEURALNETWORKS_FUSED_NONE);

// Two tensors that are broadcast, in one layout.
struct Pair {
  OperandId a, b;
  Layout layout;
};
Pair pair_of(ModelBuilder& model, const Call& call, Arg a, Arg b);

// float32, or Declined.
void require_float(const TensorDescription& description);

}  // namespace torchlet::nnapi
