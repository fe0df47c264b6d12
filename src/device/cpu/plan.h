// A segment compiled for the shapes, dtypes and strides of its inputs: steps over one arena.
//
// A plan is immutable once it is built, and any number of threads may run it at once: each run
// takes an arena of its own from a pool.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/small_vector.h"
#include "device/cpu/arena.h"
#include "graph/event_sink.h"
#include "graph/graph.h"
#include "kernels/nhwc.h"
#include "tensor/tensor_impl.h"

namespace torchlet::cpu {

using kernels::Float16;

// A tensor of the plan, by its place in Plan::tensors. Views have numbers of their own.
using TensorId = int32_t;
inline constexpr TensorId kNoTensor = -1;

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

// A tensor as a kernel sees it: a matrix of pixels (rows) by channels (columns).
struct Operand {
  TensorId id = kNoTensor;
  bool is_image = false;  // logical [n, c, h, w]; else rows along the last dimension
};
// Elements from pixel to pixel, or from row to row.
int64_t pixel_stride(const PlanTensor& tensor, bool is_image);

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
  T* data(TensorId id) const {
    return static_cast<T*>(address(id));
  }
  void* address(TensorId id) const;
  const PlanTensor& tensor(TensorId id) const;
  int64_t stride(Operand operand) const {
    return pixel_stride(tensor(operand.id), operand.is_image);
  }
  // A tensor over that memory, for what is no kernel. Allocates the handle.
  Tensor handle(TensorId id) const;

 private:
  const Plan& plan_;
  std::byte* const* bases_;
};

// One call of a kernel.
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
  virtual bool fuse(const kernels::Activation&) { return false; }
  // Adds `other`, which has the size and the form of the result.
  virtual bool fuse_residual(Operand /*other*/) { return false; }

  // Does run() look up the strides of its tensors, so that they may change until the plan is done?
  virtual bool reads_strides() const { return false; }

  SmallVector<TensorId, 6> reads;
  TensorId writes = kNoTensor;
  const Node* node = nullptr;  // the operator that it runs, the last one if there are several
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

  // `inputs` are those that the plan was built for, with other data. `outputs` receives
  // tensors that nobody else holds. In the steady state it does not touch the heap.
  void run(std::span<const Value> inputs, std::span<Value> outputs, ArenaPool& arenas) const;

 private:
  Tensor result(size_t output) const;
  void run_profiled(const Memory& memory, EventSink& sink) const;
};

inline const PlanTensor& Memory::tensor(TensorId id) const {
  return plan_.tensors[static_cast<size_t>(id)];
}

}  // namespace torchlet::cpu
