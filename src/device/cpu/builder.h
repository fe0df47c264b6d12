// Builds a plan: lowers the calls of a specialised segment one by one.
//
// A lowering asks for its operands in the form that its kernel reads (an image, rows, known
// numbers), adds a step, and says what the outputs of the call are. What it cannot do it declines:
// nothing is left of it then, and the reference implementation becomes the step.
//
// With Precision::kFloat16, convolutions and linear layers round the float32 tensors that they read
// to Float16, and what follows computes in the type that it finds. Lowerings that ask for float32
// get it, converted if need be. Where the processor does not compute in float16, plans are in
// float32, and only the packed weights of layers that have many are float16.
//
// With Precision::kBFloat16 plans are in float32, and products of convolutions and linear layers in
// bfloat16, where the processor has them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <torchlet/footprint.h>
#include <torchlet/precision.h>

#include "device/cpu/emitter.h"
#include "device/device.h"
#include "device/specialise/specialised_segment.h"
#include "kernels/spatial/window.h"

namespace torchlet::cpu {

using device::Arg;
using device::Call;
using device::CallArgument;
using device::decline;
using device::Declined;
using device::ValueId;

class PlanBuilder : public PlanEmitter {
 public:
  PlanBuilder(device::SpecialisedSegment& segment, PackedWeights& packed,
              Precision precision = Precision::kFloat32, Footprint footprint = Footprint::kFast);
  ~PlanBuilder();

  // Declined or Error if the segment cannot run as a plan.
  std::unique_ptr<Plan> build();
  // The calls that have no step of their own, but one that calls the operator.
  const std::vector<device::RefusedCall>& by_reference() const { return by_reference_; }
  // Is the plan one call of a reference implementation, and its result large? What gives it is
  // worth less than the copy of it that the plan makes.
  bool only_copies() const;

  // ---- what a lowering reads ----

  // A tensor argument; a known one becomes a constant of the plan.
  TensorId tensor(const CallArgument& argument);
  TensorId tensor(const Call& call, Arg arg) { return tensor(call.argument(arg)); }
  std::vector<TensorId> tensors(const Call& call, Arg arg);
  // A tensor of the plan as an argument, for calls that a lowering makes up.
  CallArgument argument_of(TensorId id);
  // Who reads a tensor of the segment: places of calls, one for each use.
  const std::vector<int>& users(ValueId id) const;
  // Whether it only leaves the segment.
  bool only_leaves(ValueId id) const;
  // What gives it; null for inputs.
  const Call* producer(ValueId id) const;
  // Whether what it gave is its first argument, as a cast to the same type does.
  bool gave_back(const Call& call) const;
  // The call that alone reads it, once; null if there is none.
  const Call* only_user(ValueId id) const;
  // `dtype` or Declined.
  TensorId tensor_of(const Call& call, Arg arg, DType dtype);
  // What is float32 in the program, or Declined: in the type in which the plan has it.
  TensorId real_tensor(const CallArgument& argument);
  TensorId real_tensor(const Call& call, Arg arg) { return real_tensor(call.argument(arg)); }
  // What the program takes the tensor for.
  DType program_dtype(TensorId id) const {
    const DType dtype = info(id).dtype;
    return dtype == DType::kFloat16 && precision_ == Precision::kFloat16 ? DType::kFloat32 : dtype;
  }
  bool is_lean() const { return footprint_ == Footprint::kLean; }
  // What the weights of layers in float32 may be rounded to.
  kernels::WeightFormat weight_format() const { return weight_format_; }
  // A layer of bfloat16 computes in float32, and its products in bfloat16 where the processor has
  // them: those of its numbers are exact there.
  bool is_layer_dtype(DType dtype) const {
    return dtype == DType::kFloat32 ||
           (selection::kHasFloat16 && dtype == DType::kBFloat16 && real_dtype() == DType::kFloat32);
  }
  kernels::WeightFormat weight_format(DType weights) const {
    return weights == DType::kBFloat16 ? kernels::WeightFormat::kBFloat16 : weight_format_;
  }
  // What a layer of weights of that dtype reads, in float32 or the plan's precision; Declined if
  // it is of another one. And its result, as the program has it.
  TensorId layer_tensor(const CallArgument& argument, DType weights);
  void define_layer(const Call& call, TensorId result, DType weights);
  // The same elements in float32, or in the plan's precision.
  TensorId in_float32(TensorId id);
  TensorId in_precision(TensorId id);
  // A tensor that the program itself rounds to float16, or widens from it; Declined for others.
  TensorId in_dtype(TensorId id, DType dtype);
  // The latter if some step computes it already, else the tensor itself.
  TensorId in_precision_at_hand(TensorId id) const;
  // Of what convolutions and linear layers compute.
  DType real_dtype() const {
    return precision_ == Precision::kFloat16 ? DType::kFloat16 : DType::kFloat32;
  }
  // Several in one type: Float16 if one of them is.
  void in_same_type(std::span<TensorId> ids);

  // The same elements where a kernel can read them, copied if need be.
  NhwcImage as_image(TensorId id, int64_t dim = 4);  // logical [n, c, h, w]; 5: [n, c, d, h, w]
  Rows as_rows(TensorId id);                         // 0-d and 1-d tensors are one row
  // The copy that an earlier as_image() made of it, if it is no image itself.
  std::optional<NhwcImage> image_at_hand(TensorId id) const;
  TensorId contiguous(TensorId id);

  // ---- what a lowering writes ----

  // A tensor that is known now; the plan keeps it.
  TensorId constant(const Tensor& tensor);
  // The same integers, meaning other numbers.
  TensorId requantized(TensorId id, std::shared_ptr<const Quantizer> quantizer);
  // [sizes] of the same elements in order (one size may be -1), copied if no view can do that.
  TensorId reshaped(TensorId id, IntSpan sizes);
  // A tensor of that shape without memory, for operators that only look at shapes, and the view
  // that such an operator made of it.
  Tensor shape_of(TensorId id) const;
  TensorId viewed(TensorId base, const Tensor& shape);

  void define(const Call& call, TensorId result) { define(call.outputs[0], result); }
  void define(const CallArgument& output, TensorId result);  // kNoneTensor: it is None

  // The step that computed this argument, if nothing but `call` ever reads the memory that it
  // wrote: `call` may then become part of the step. The argument may be a view. Else null.
  Step* sole_producer(const Call& call, Arg arg) const;
  // The activation of an argument as part of its sole producer. False if that cannot take it.
  [[nodiscard]] bool fuse(const Call& call, Arg arg, const kernels::Activation& activation);
  // `other` added to `result` by the step that wrote it. False if that cannot do it, or if the two
  // are not the same matrix, element by element.
  [[nodiscard]] bool fuse_residual(TensorId result, TensorId other);

 private:
  // Nothing stays of what was added for a call that is given up.
  void give_up(const Mark& before);
  bool is_read_by_others(int32_t buffer) const;
  std::optional<Operand> residual_at_hand(TensorId id, TensorId result, Form form) const;
  void refuse_float16(DType dtype) const;
  TensorId add_constant(const Tensor& tensor);
  TensorId part_of_converted(TensorId id, DType dtype);
  TensorId converted(TensorId id, DType dtype);
  void add_inputs();
  void lower(const Call& call);
  bool reads_quantized(const Call& call) const;
  void lower_reference(const Call& call);
  void add_outputs();
  IntArray output_strides(const PlanTensor& tensor, size_t index);
  TensorId output_tensor(TensorId id, size_t index);

  device::SpecialisedSegment& segment_;
  Precision precision_;
  kernels::WeightFormat weight_format_;
  Footprint footprint_;
  int current_ = 0;                // the place of the call that is lowered
  std::vector<TensorId> tensors_;  // by ValueId, then those of argument_of()
  std::unordered_map<const TensorImpl*, TensorId> constants_;
  std::unordered_map<TensorId, TensorId> image_copies_;
  std::unordered_map<TensorId, TensorId> conversions_;  // between float32 and a 16-bit type
  bool wants_channels_last_ = false;  // outputs lie as the first image among the inputs does
  std::vector<device::RefusedCall> by_reference_;
};

}  // namespace torchlet::cpu
