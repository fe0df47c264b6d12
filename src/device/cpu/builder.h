// Builds a plan: lowers the nodes of a segment one by one, for the inputs at hand.
//
// A lowering asks for its operands in the form that its kernel reads (an image, rows, known
// numbers), adds a step, and says what the node's outputs are. What it cannot do it declines, and
// the reference implementation becomes the step.
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
#include "kernels/window.h"

namespace torchlet::cpu {

// Thrown when a lowering does not take these shapes, dtypes or arguments.
struct Declined {
  std::string why;
};
[[noreturn]] void decline(std::string why);

// What each tensor value of a segment was in one run of the reference implementations.
struct TensorDescription {
  DType dtype;
  IntArray sizes, strides;
  std::shared_ptr<const Quantizer> quantizer;
};
using Recording = std::unordered_map<const SsaValue*, TensorDescription>;

class PlanBuilder;

// An argument of an operator: by its name in the schema; by its place where it is the first, or
// where operators that share a lowering name it differently.
class Arg {
 public:
  Arg(const char* name) : name_(name) {}
  Arg(int place) : place_(static_cast<size_t>(place)) {}
  Arg(size_t place) : place_(place) {}

  // Its place among the arguments of the node's operator; Declined if this overload has none of
  // that name.
  size_t of(const Node& node) const;

 private:
  const char* name_ = nullptr;
  size_t place_ = 0;
};

// [n, h, w, c] in memory; `stride` elements from pixel to pixel (kernels/nhwc.h).
struct Image {
  TensorId id;
  int64_t n, c, h, w, stride;
  int64_t pixels() const { return n * h * w; }
  operator Operand() const { return {id, Form::kImage}; }

 private:
  friend PlanBuilder;
  Image(TensorId tensor, const IntArray& sizes, int64_t pixel_stride)
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
  PlanBuilder(const Node& segment, std::span<const Value> inputs, PackedWeights& packed,
              Precision precision = Precision::kFloat32);
  ~PlanBuilder();

  // Null, and why, if the segment cannot run as a plan with these inputs.
  std::unique_ptr<Plan> build(std::string& why);

  // ---- what a lowering reads ----

  // What an SSA value is while the plan is built.
  struct Entry {
    enum class Kind { kUndefined, kKnown, kTensor, kList } kind = Kind::kUndefined;
    Value known;  // depends on constants and shapes alone
    TensorId tensor = kNoTensor;
    std::vector<Entry> list;
  };
  const Entry& entry(const Node& node, Arg input) const;
  const Entry& entry(const SsaValue* value) const;

  // Has the operator, in this overload, an argument of that name?
  static bool has_argument(const Node& node, const char* name);
  bool is_none(const Node& node, Arg input) const;
  // The values of arguments; Declined unless they are known and of that kind.
  const Value& known(const Node& node, Arg input) const;
  Tensor known_tensor(const Node& node, Arg input) const;
  int64_t known_int(const Node& node, Arg input) const;
  double known_double(const Node& node, Arg input) const;  // ints are converted
  bool known_bool(const Node& node, Arg input) const;
  IntArray known_ints(const Node& node, Arg input) const;
  // int[n] arguments of one number mean it n times.
  IntArray known_ints(const Node& node, Arg input, size_t count) const;

  // A tensor argument; a known one becomes a constant of the plan.
  TensorId tensor(const Node& node, Arg input);
  std::vector<TensorId> tensors(const Node& node, Arg input);
  const PlanTensor& info(TensorId id) const { return plan_->tensors[static_cast<size_t>(id)]; }
  // `dtype` or Declined.
  TensorId tensor_of(const Node& node, Arg input, DType dtype);
  // What is float32 in the program, or Declined: in the type in which the plan has it.
  TensorId real_tensor(const Node& node, Arg input);
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
  Image as_image(TensorId id);                         // logical [n, c, h, w]
  std::optional<Image> image_view(TensorId id) const;  // nothing if it needs a copy
  Rows as_rows(TensorId id);                           // 0-d and 1-d tensors are one row
  // The copy that an earlier as_image() made of it, if it is no image itself.
  std::optional<Image> image_at_hand(TensorId id) const;
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
  Image new_image(DType dtype, int64_t n, int64_t c, int64_t h, int64_t w,
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
  bool place(TensorId id, TensorId place);
  // An image of more channels that begins with all `old_channels` of the buffer in which `id` lies;
  // kNoTensor if some step cannot read or write there what it reads and writes now.
  TensorId widened(TensorId id, int64_t old_channels, int64_t channels);
  void define(const Node& node, TensorId result);  // of the only output
  void define(const SsaValue* value, Entry entry);

  // The step that computed this argument, if nothing but `node` ever reads the memory that it
  // wrote: `node` may then become part of the step. The argument may be a view. Else null.
  Step* sole_producer(const Node& node, Arg input) const;
  // The activation of an argument as part of its sole producer. False if that cannot take it.
  bool fuse(const Node& node, Arg input, const kernels::Activation& activation);
  // `other` added to `result` by the step that wrote it. False if that cannot do it, or if the two
  // are not the same matrix, element by element.
  bool fuse_residual(TensorId result, TensorId other);
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
  const Node& current_node() const { return *current_; }

 private:
  bool may_lie_as(TensorId id, const PlanTensor& place) const;
  bool is_read_by_others(const Node& node, int32_t buffer) const;
  bool holds(const Entry& entry, int32_t buffer) const;
  std::optional<Operand> residual_at_hand(TensorId id, TensorId result, Form form) const;
  void refuse_float16(DType dtype) const;
  TensorId add_input(const Tensor& tensor, size_t index);
  TensorId add_constant(const Tensor& tensor);
  TensorId part_of_converted(TensorId id, DType dtype);
  TensorId converted(TensorId id, DType dtype);
  TensorId tensor_of_entry(const Entry& entry);
  void lower_block(const Block& block);
  void lower_branch(const Node& node);
  void define_constants(const Node& node);
  void lower(const Node& node);
  bool lower_plain(const Node& node);
  bool reads_quantized(const Node& node) const;
  bool evaluate_known(const Node& node);
  void lower_reference(const Node& node);
  void add_outputs();
  IntArray output_strides(const PlanTensor& tensor, size_t index);
  TensorId output_tensor(TensorId id, size_t index);
  void drop_unread_steps();
  void assign_memory();

  const Node& segment_;
  std::span<const Value> inputs_;
  PackedWeights& packed_;
  Precision precision_;
  std::unique_ptr<Plan> plan_;
  const Node* current_ = nullptr;
  std::unordered_map<const SsaValue*, Entry> entries_;
  std::unordered_set<const Node*> lowered_;  // what they read they have read
  std::unordered_map<const TensorImpl*, TensorId> constants_;
  std::unordered_map<TensorId, TensorId> image_copies_;
  std::unordered_map<TensorId, TensorId> conversions_;  // between float32 and Float16
  std::vector<int> written_at_;                         // step, by buffer
  std::optional<Recording> recording_;                  // made when a lowering first declines
  bool wants_channels_last_ = false;  // outputs lie as the first image among the inputs does
};

}  // namespace torchlet::cpu
