// Builds a plan: lowers the calls of a specialised segment one by one.
//
// A lowering asks for its operands in the form that its kernel reads (an image, rows, known
// numbers), adds a step, and says what the outputs of the call are. What it cannot do it declines:
// nothing is left of it then, and the reference implementation becomes the step.
//
// With Precision::kFloat16, convolutions and linear layers round the float32 tensors that they read
// to Float16, and what follows computes in the type that it finds. Lowerings that ask for float32
// get it, converted if need be.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <torchlet/precision.h>

#include "device/cpu/packed_weights.h"
#include "device/cpu/plan.h"
#include "device/specialise/specialised_segment.h"
#include "kernels/spatial/window.h"

namespace torchlet::cpu {

using device::Arg;
using device::Call;
using device::CallArgument;
using device::decline;
using device::Declined;
using device::ValueId;

class PlanBuilder;

// [n, h, w, c] in memory; `stride` elements from pixel to pixel (kernels/nhwc.h).
struct NhwcImage {
  TensorId id;
  int64_t n, c, h, w, stride;
  int64_t pixels() const { return n * h * w; }
  operator Operand() const { return {id, Form::kImage}; }

 private:
  friend PlanBuilder;
  NhwcImage(TensorId tensor, const IntArray& sizes, int64_t pixel_stride)
      : id(tensor), n(sizes[0]), c(sizes[1]), h(sizes[2]), w(sizes[3]), stride(pixel_stride) {}
};
// The last dimension lies together, and rows are `stride` elements apart.
struct Rows {
  TensorId id;
  int64_t rows, cols, stride;
  operator Operand() const { return {id, Form::kRows}; }

 private:
  friend PlanBuilder;
  Rows(TensorId tensor, const MatrixLayout& layout)
      : id(tensor), rows(layout.rows), cols(layout.columns), stride(layout.stride) {}
};

class PlanBuilder {
 public:
  PlanBuilder(device::SpecialisedSegment& segment, PackedWeights& packed,
              Precision precision = Precision::kFloat32);
  ~PlanBuilder();

  // Declined or Error if the segment cannot run as a plan.
  std::unique_ptr<Plan> build();

  // ---- what a lowering reads ----

  // A tensor argument; a known one becomes a constant of the plan.
  TensorId tensor(const CallArgument& argument);
  TensorId tensor(const Call& call, Arg arg) { return tensor(call.argument(arg)); }
  std::vector<TensorId> tensors(const Call& call, Arg arg);
  // A tensor of the plan as an argument, for calls that a lowering makes up.
  CallArgument argument_of(TensorId id);
  // Who reads a tensor of the segment: places of calls, one for each use.
  const std::vector<int>& users(ValueId id) const;
  // What gives it; null for inputs.
  const Call* producer(ValueId id) const;
  // The call that alone reads it, once; null if there is none.
  const Call* only_user(ValueId id) const;
  const PlanTensor& info(TensorId id) const { return plan_->tensors[static_cast<size_t>(id)]; }
  // `dtype` or Declined.
  TensorId tensor_of(const Call& call, Arg arg, DType dtype);
  // What is float32 in the program, or Declined: in the type in which the plan has it.
  TensorId real_tensor(const Call& call, Arg arg);
  // What the program takes the tensor for.
  DType program_dtype(TensorId id) const {
    const DType dtype = info(id).dtype;
    return dtype == DType::kFloat16 && precision_ == Precision::kFloat16 ? DType::kFloat32 : dtype;
  }
  // The same elements in float32, or in the plan's precision.
  TensorId in_float32(TensorId id);
  TensorId in_precision(TensorId id);
  // The latter if some step computes it already, else the tensor itself.
  TensorId in_precision_at_hand(TensorId id) const;
  // Of what convolutions and linear layers compute.
  DType real_dtype() const {
    return precision_ == Precision::kFloat16 ? DType::kFloat16 : DType::kFloat32;
  }
  // Several in one type: Float16 if one of them is.
  void in_same_type(std::span<TensorId> ids);

  // The same elements where a kernel can read them, copied if need be.
  NhwcImage as_image(TensorId id);                         // logical [n, c, h, w]
  std::optional<NhwcImage> image_view(TensorId id) const;  // nothing if it needs a copy
  Rows as_rows(TensorId id);                               // 0-d and 1-d tensors are one row
  // The copy that an earlier as_image() made of it, if it is no image itself.
  std::optional<NhwcImage> image_at_hand(TensorId id) const;
  std::optional<Rows> rows_view(TensorId id) const;
  TensorId contiguous(TensorId id);

  // ---- what a lowering writes ----

  TensorId new_tensor(DType dtype, IntSpan sizes, IntSpan strides,
                      std::shared_ptr<const Quantizer> quantizer = nullptr);
  // A tensor that is known now; the plan keeps it.
  TensorId constant(const Tensor& tensor);
  TensorId new_contiguous(DType dtype, IntSpan sizes,
                          std::shared_ptr<const Quantizer> quantizer = nullptr);
  // Logical [n, c, h, w], channels last in memory.
  NhwcImage new_image(DType dtype, int64_t n, int64_t c, int64_t h, int64_t w,
                      std::shared_ptr<const Quantizer> quantizer = nullptr);
  TensorId new_view(TensorId base, IntSpan sizes, IntSpan strides, int64_t offset);
  // The same integers, meaning other numbers.
  TensorId requantized(TensorId id, std::shared_ptr<const Quantizer> quantizer);
  // [sizes] of the same elements in order (one size may be -1), copied if no view can do that.
  TensorId reshaped(TensorId id, IntSpan sizes);
  // A tensor of that shape without memory, for operators that only look at shapes, and the view
  // that such an operator made of it.
  Tensor shape_of(TensorId id) const;
  TensorId viewed(TensorId base, const Tensor& shape);

  void add(std::unique_ptr<Step> step);
  template <typename S, typename... Args>
  S& add_step(Args&&... args) {
    auto step = std::make_unique<S>(std::forward<Args>(args)...);
    S& added = *step;
    add(std::move(step));
    return added;
  }
  void copy(TensorId from, TensorId to);
  // Moves a tensor that steps compute into `place`, of the same sizes, part of a larger buffer.
  // False if some step does not write or read it in a form that it has there.
  [[nodiscard]] bool place(TensorId id, TensorId place);
  // An image of more channels that begins with all `old_channels` of the buffer in which `id` lies;
  // kNoTensor if some step cannot read or write there what it reads and writes now.
  TensorId widened(TensorId id, int64_t old_channels, int64_t channels);
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
  // The last step that wrote the tensor's buffer; null for inputs and constants.
  Step* step_that_wrote(TensorId id) const {
    const int at = written_at(id);
    return at < 0 ? nullptr : plan_->steps[static_cast<size_t>(at)].get();
  }
  // The place of the step that wrote the tensor's buffer last; -1 for inputs and constants.
  int written_at(TensorId id) const;

  // Packed weights as PackedWeights::get() gives them; the plan keeps them alive.
  template <typename... Args>
  const void* packed(size_t nbytes, void (*pack)(void* to, const Args&... args),
                     const std::type_identity_t<Args>&... args) {
    plan_->packed.push_back(packed_.get(nbytes, pack, args...));
    return plan_->packed.back().get();
  }
  // The elements of a float32 tensor one after the other, in memory that the plan keeps alive.
  const float* floats(const Tensor& tensor);

 private:
  // How far the plan was: what comes after it can be taken back.
  struct Mark {
    size_t tensors, buffers, steps, packed;
  };
  Mark mark();
  void take_back(const Mark& mark);

  // A step that stood before has now another result, place or way to write it.
  void changed(TensorId id);

  bool may_lie_as(TensorId id, const PlanTensor& place) const;
  bool is_read_by_others(int32_t buffer) const;
  std::optional<Operand> residual_at_hand(TensorId id, TensorId result, Form form) const;
  void refuse_float16(DType dtype) const;
  TensorId add_tensor(const device::TensorDescription& description, Buffer::Kind kind,
                      size_t index);
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
  void drop_unread_steps();
  void assign_memory();

  device::SpecialisedSegment& segment_;
  PackedWeights& packed_;
  Precision precision_;
  std::unique_ptr<Plan> plan_;
  int current_ = 0;                  // the place of the call that is lowered
  const Node* node_ = nullptr;       // of that call, or of the last one
  size_t oldest_change_ = SIZE_MAX;  // the first step that another call became part of
  std::vector<TensorId> tensors_;    // by ValueId, then those of argument_of()
  std::unordered_map<const TensorImpl*, TensorId> constants_;
  std::unordered_map<TensorId, TensorId> image_copies_;
  std::unordered_map<TensorId, TensorId> conversions_;  // between float32 and Float16
  std::vector<int> written_at_;                         // step, by buffer
  bool wants_channels_last_ = false;  // outputs lie as the first image among the inputs does
};

}  // namespace torchlet::cpu
