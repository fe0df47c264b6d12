// Which operators plans have kernels for.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "base/selection.h"
#include "device/cpu/builder.h"
#include "kernels/reduce/fold.h"
#include "kernels/sequence/attention.h"
#include "kernels/spatial/pool_nhwc.h"

namespace torchlet::cpu {

// Adds the steps of a call and defines its outputs, or throws Declined.
using LowerFn = void (*)(PlanBuilder& plan, const Call& call);

struct Lowering {
  using RefusalFn = std::string (*)(const Node& node);
  constexpr Lowering() = default;
  // Of an operator that this build leaves out, nothing.
  constexpr Lowering(const char* name, LowerFn lower_fn, RefusalFn refusal_fn = nullptr) {
    if (!selection::has_operator(name)) return;
    op = name;
    lower = lower_fn;
    refusal = refusal_fn;
  }

  const char* op = nullptr;  // "aten::conv2d": all its overloads
  LowerFn lower = nullptr;
  // Why a node cannot be part of a segment, whatever the shapes; empty if it can.
  RefusalFn refusal = nullptr;
};

// Of a table, what this build has; only that is in the binary.
template <const auto& kTable>
std::span<const Lowering> present() {
  static constexpr auto kRows = [] {
    constexpr auto is_present = [](const Lowering& lowering) { return lowering.op != nullptr; };
    std::array<Lowering, std::ranges::count_if(kTable, is_present)> rows;
    std::ranges::copy_if(kTable, rows.begin(), is_present);
    return rows;
  }();
  return kRows;
}

// One table for each file of this room that lowers operators.
std::span<const Lowering> convolution_lowerings();
std::span<const Lowering> dynamic_lowerings();
std::span<const Lowering> einsum_lowerings();
std::span<const Lowering> elementwise_lowerings();
std::span<const Lowering> join_lowerings();
std::span<const Lowering> matmul_lowerings();
std::span<const Lowering> norm_lowerings();
std::span<const Lowering> padding_lowerings();
std::span<const Lowering> pooling_lowerings();
std::span<const Lowering> quantized_elementwise_lowerings();
std::span<const Lowering> quantized_layer_lowerings();
std::span<const Lowering> reduction_lowerings();
std::span<const Lowering> resize_lowerings();
std::span<const Lowering> rnn_lowerings();
std::span<const Lowering> transformer_lowerings();
std::span<const Lowering> view_lowerings();
std::span<const Lowering> volume_lowerings();

// A convolution of volumes, whatever the operator.
void lower_conv3d(PlanBuilder& plan, const Call& call);

// Of an operator of images or, by its name, of volumes: 2 or 3.
inline size_t window_dims(const Call& call) {
  return selection::kHasVolumes && call.kind().name().ends_with("3d") ? 3 : 2;
}

// Whether the call's windows slide along lines [n, c, length], which are images of one row.
inline bool is_of_lines(const Call& call) {
  return selection::kHasRareConvolutions && call.kind().name().ends_with("1d");
}
// The line as that image. Declined if its channels do not lie together: from planes, the reference
// is as fast.
NhwcImage line_image(PlanBuilder& plan, TensorId line);
// Defines the result of such a call, or of one of images.
void define_image(PlanBuilder& plan, const Call& call, TensorId image);

// Of a call of max_pool2d; Declined for windows without results.
kernels::PoolShape max_pool_shape(const Call& call, const NhwcImage& input);

// Pixels of `value` around an image, none of them negative.
struct Surround {
  int64_t left = 0, right = 0, top = 0, bottom = 0;
  double value = 0;
};
// What the call puts around its first argument, of `dim` dimensions; nothing if it is none that
// pads images or lines, or not known.
std::optional<Surround> surround_of(const Call& call, size_t dim);
// The first argument of a call, or what it was before zeros were put around it: a kernel that skips
// what is outside of its input need not see them.
struct Padded {
  CallArgument image;
  Surround zeros;
};
Padded without_zeros(PlanBuilder& plan, const Call& call);

// The linear layer of rows [..., in] with weight [out, in] and a bias, or none. With `may_pad`
// there may be gaps between the rows of the result, which another linear layer reads the better for
// it.
TensorId add_linear(PlanBuilder& plan, TensorId input, const Tensor& weight, const Tensor& bias,
                    bool may_pad = false);

// A number, or a tensor that stands for one: 0-d, with one element and no more dimensions than the
// other operand. Nothing if it is something else.
std::optional<double> known_number(const Call& call, Arg input);

// That which an operator of one tensor computes; Declined if it is none.
kernels::Activation activation_of(const Call& call);

// The activation of what a step of the call at hand wrote: as part of it if it takes that, else by
// a step of its own.
TensorId add_activation(PlanBuilder& plan, TensorId id, const kernels::Activation& activation);

// A change of the scores of an attention, and what is added or chooses; its strides are found here.
struct AttentionChange {
  kernels::ScoreChange change;
  TensorId operand = kNoTensor;  // can be expanded to the scores
};

// softmax(changes(scale q k)) v of q [heads..., queries, depth], k [heads..., depth, keys] and v
// [heads..., keys, value depth], at most kMostChanges of them. The result is [result_heads...,
// queries, value depth], where `heads` may be joined, and lies as [..., queries, heads, value
// depth]. No tensor if there is no kernel for them.
constexpr size_t kMostChanges = 4;
TensorId add_attention(PlanBuilder& plan, TensorId q, TensorId k, TensorId v,
                       std::span<AttentionChange> changes, double scale, IntSpan result_heads);

// Whether this is [n, c, ...] of float32 in contiguous planes. Never in small builds, which copy it
// to an image.
inline bool lies_in_planes(const PlanBuilder& plan, TensorId id) {
  if constexpr (!selection::kHasRareConvolutions) return false;
  const PlanTensor& t = plan.info(id);
  return t.dtype == DType::kFloat32 && t.dim() > 2 && t.numel() > 0 &&
         is_contiguous_as(t.sizes, t.strides, MemoryFormat::kContiguous);
}

// Those of which no copy lies as an image: what works on each channel by itself then takes them as
// they are.
inline bool are_planes(const PlanBuilder& plan, TensorId id) {
  return lies_in_planes(plan, id) && !plan.image_at_hand(id);
}

// Whether what only moves the pixels of this would turn it into an image, and the result back: it
// lies otherwise, and nothing here reads the result.
inline bool turns_twice(const PlanBuilder& plan, const Call& call, TensorId id) {
  return selection::kHasRareConvolutions && plan.info(id).numel() > 0 && !plan.image_at_hand(id) &&
         plan.only_leaves(call.outputs[0].id());
}

// Of a float32 tensor over `dims`, of which none means all. The result lies as the input does.
TensorId add_mean(PlanBuilder& plan, TensorId id, IntSpan dims, bool keepdim);

// Over the last `cols` elements; weight and bias may be undefined.
TensorId add_layer_norm(PlanBuilder& plan, TensorId input, int64_t cols, const Tensor& weight,
                        const Tensor& bias, float eps);

// A view with the dimensions in that order; none: as they are.
TensorId permuted(PlanBuilder& plan, TensorId id, IntSpan order);

// A product of matrices [batch..., rows, inner] and [batch..., inner, columns]: what a and b are
// with their dimensions in these orders. The product's are then put into that of the call's result.
struct Product {
  const CallArgument *a, *b;
  IntArray a_order = {}, b_order = {}, result_order = {};
};
// Nothing if it is none, or sums over several dimensions.
std::optional<Product> product_of_einsum(PlanBuilder& plan, const Call& call);

// Attention as one step, if the product `call` is the end of it; else false.
bool lower_attention(PlanBuilder& plan, const Call& call);

// Null if there is none. For quantized tensors and for others an operator may have two.
const Lowering* find_lowering(Symbol op, bool is_quantized);

}  // namespace torchlet::cpu
