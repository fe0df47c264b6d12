// A segment compiled for the shapes, dtypes and strides of its inputs: steps over one arena.
//
// A plan is immutable once it is built, and any number of threads may run it at once: each run
// takes an arena of its own from a pool.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/selection.h"
#include "base/small_vector.h"
#include "device/cpu/arena.h"
#include "device/cpu/thread_choice.h"
#include "graph/event_sink.h"
#include "graph/graph.h"
#include "kernels/nhwc.h"
#include "tensor/tensor_impl.h"

namespace torchlet::cpu {

using kernels::Float16;

// Of a tensor of a plan; small builds may have no such plans.
inline bool is_float16(DType dtype) { return selection::kHasFloat16 && dtype == DType::kFloat16; }

// A tensor of the plan, by its place in Plan::tensors. Views have numbers of their own.
using TensorId = int32_t;
inline constexpr TensorId kNoTensor = -1;
inline constexpr TensorId kNoneTensor = -2;  // a Tensor of the program that is None

// A strided view of a buffer; strides and offset count elements.
struct PlanTensor {
  DType dtype = DType::kFloat32;
  IntArray sizes, strides;
  int64_t offset = 0;
  int32_t buffer = -1;
  std::shared_ptr<const Quantizer> quantizer;  // per tensor, if dtype is quantized

  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
  int64_t numel() const;
};

// How a step walks over a tensor, and so with which other strides it would still find its elements.
enum class Form : uint8_t {
  kFixed,    // with the strides that it had when the step was made
  kStrided,  // with any strides
  kImage,    // logical [n, c, (d,) h, w]: pixels whose channels lie together, all equally far apart
  kRows,     // rows along the last dimension, whose elements lie together, all equally far apart
};

// A tensor as a step reads or writes it. Images and rows come from builder.h alone, where the
// tensor was found to be one, so that no step can take the one for the other.
class Operand {
 public:
  Operand() = default;
  static Operand fixed(TensorId id) { return {id, Form::kFixed}; }
  static Operand strided(TensorId id) { return {id, Form::kStrided}; }
  TensorId id() const { return id_; }
  Form form() const { return form_; }

 private:
  friend struct NhwcImage;
  friend struct Rows;
  Operand(TensorId id, Form form) : id_(id), form_(form) {}

  TensorId id_ = kNoTensor;
  Form form_ = Form::kFixed;
};

// Pixels by channels, or rows by columns: where an element lies in a tensor of that form.
struct MatrixLayout {
  int64_t rows, columns;
  int64_t stride;  // elements from row to row
  bool operator==(const MatrixLayout&) const = default;
};
// Nothing if the tensor is empty or does not have that form; also for kFixed and kStrided.
std::optional<MatrixLayout> matrix_layout(const PlanTensor& tensor, Form form);
// The stride of that layout, for a tensor that has it.
int64_t matrix_stride(const PlanTensor& tensor, Form form);
// Does a step that uses a tensor in this form still do so if it lies as `to` does? The sizes and
// the dtype stay.
bool may_lie_as(const PlanTensor& from, const PlanTensor& to, Form form);

// Do two tensors lie alike in their buffers, but for dimensions of size 1?
bool lies_alike(const PlanTensor& a, const PlanTensor& b);
// Do two views see the same elements in the same order, but for dimensions of size 1?
bool sees_the_same(const PlanTensor& a, const PlanTensor& b);

// Memory that tensors of the plan share.
struct Buffer {
  enum class Kind { kArena, kInput, kOutput, kConstant };
  Kind kind = Kind::kArena;
  size_t index = 0;    // which input or output
  int64_t nbytes = 0;  // of arena memory
  int64_t arena_offset = 0;
  Tensor constant;  // kept alive; of kind kConstant
};

struct Plan;

// Where the buffers are during one run.
class Memory {
 public:
  Memory(const Plan& plan, std::byte* const* bases) : plan_(plan), bases_(bases) {}
  template <typename T>
  T* data(Operand operand) const {
    return static_cast<T*>(address(operand));
  }
  void* address(Operand operand) const;
  const PlanTensor& tensor(Operand operand) const;
  // Of images and rows: elements from pixel to pixel, or from row to row.
  int64_t stride(Operand operand) const { return matrix_stride(tensor(operand), operand.form()); }
  // A tensor over that memory, for what is no kernel. Allocates the handle.
  Tensor handle(Operand operand) const;

 private:
  const Plan& plan_;
  std::byte* const* bases_;
};

// One call of a kernel. What a step reads and writes it says once, when it is made, by
// reading() and writing(): the builder goes by the same operands as run().
class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const Memory& memory) const = 0;
  // The name of the kernel and, if it is counted, its work.
  virtual const char* kernel() const = 0;
  virtual double flops() const { return 0; }
  virtual bool is_int8() const { return false; }  // flops() counts operations on bytes

  // What follows may become part of this step. True if it does: the step then writes the result
  // of the later operator in the place of its own.
  [[nodiscard]] virtual bool fuse(const kernels::Activation&) { return false; }
  // Adds `other`, which has the size and the form of the result.
  [[nodiscard]] virtual bool fuse_residual(Operand /*other*/) { return false; }

  const SmallVector<Operand, 6>& reads() const { return reads_; }
  Operand writes() const { return writes_; }
  // Whether the result may lie where an operand lies that has its layout and is not read again.
  bool writes_in_place() const { return in_place_; }

  const Node* node = nullptr;  // the operator that it runs, the last one if there are several

 protected:
  Operand reading(Operand operand) {
    reads_.push_back(operand);
    return operand;
  }
  Operand writing(Operand operand) { return writes_ = operand; }
  // Of a step that has read of its operands what lies where it writes an element.
  Operand writing_in_place(Operand operand) {
    in_place_ = true;
    return writing(operand);
  }

 private:
  SmallVector<Operand, 6> reads_;
  Operand writes_;
  bool in_place_ = false;
};

// What a segment gives back: a tensor of the plan or a value that depends on the shapes alone.
struct PlanOutput {
  TensorId tensor = kNoTensor;
  Value value;
};

// Results that nobody holds any more, to be given out again.
struct SpareResults {
  std::mutex mutex;
  std::vector<Tensor> tensors;
  size_t next = 0;  // the one to forget next
};

struct Plan {
  std::vector<PlanTensor> tensors;
  std::vector<Buffer> buffers;
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<PlanOutput> outputs;
  std::vector<std::shared_ptr<const void>> packed;  // weights that steps point to
  int64_t arena_bytes = 0;
  std::unique_ptr<SpareResults[]> spares;  // one for each output
  // Null in small builds, which take the pool.
  std::unique_ptr<ThreadChoice> thread_choice =
      selection::kIsWhole ? std::make_unique<ThreadChoice>() : nullptr;

  // `inputs` are those that the plan was built for, with other data. `outputs` receives
  // tensors that nobody else holds. In the steady state it does not touch the heap.
  void run(std::span<const Value> inputs, std::span<Value> outputs, ArenaPool& arenas) const;

 private:
  Tensor result(size_t output) const;
  void run_steps(const Memory& memory) const;
  void run_profiled(const Memory& memory, EventSink& sink) const;
};

inline const PlanTensor& Memory::tensor(Operand operand) const {
  return plan_.tensors[static_cast<size_t>(operand.id())];
}

}  // namespace torchlet::cpu
