// Holds a plan while it is made: its tensors, buffers, steps and packed weights. What goes in and
// why is the builder's business (builder.h).
//
// Additions may be taken back to a mark; a change of what stood there before may not, so it is the
// last thing that is done for a call.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/cpu/packed_weights.h"
#include "device/cpu/memory_planner.h"
#include "device/cpu/plan.h"
#include "device/specialise/description.h"

namespace torchlet::cpu {

class PlanEmitter;

// Of four or five sizes: how an image lies without gaps.
IntArray image_strides(IntSpan sizes);

// [n, h, w, c] in memory; `stride` elements from pixel to pixel (kernels/nhwc.h). A volume is
// [n, d, h, w, c].
struct NhwcImage {
  TensorId id;
  int64_t n, c, d, h, w, stride;
  int64_t pixels() const { return n * d * h * w; }
  operator Operand() const { return {id, Form::kImage}; }

 private:
  friend PlanEmitter;
  NhwcImage(TensorId tensor, const IntArray& sizes, int64_t pixel_stride)
      : id(tensor),
        n(sizes[0]),
        c(sizes[1]),
        d(sizes.size() == 5 ? sizes[2] : 1),
        h(sizes.end()[-2]),
        w(sizes.back()),
        stride(pixel_stride) {}
};
// The last dimension lies together, and rows are `stride` elements apart.
struct Rows {
  TensorId id;
  int64_t rows, cols, stride;
  operator Operand() const { return {id, Form::kRows}; }

 private:
  friend PlanEmitter;
  Rows(TensorId tensor, const MatrixLayout& layout)
      : id(tensor), rows(layout.rows), cols(layout.columns), stride(layout.stride) {}
};

class PlanEmitter {
 public:
  const PlanTensor& info(TensorId id) const { return plan_->tensors[static_cast<size_t>(id)]; }
  TensorId new_tensor(DType dtype, IntSpan sizes, IntSpan strides,
                      std::shared_ptr<const Quantizer> quantizer = nullptr);
  TensorId new_contiguous(DType dtype, IntSpan sizes,
                          std::shared_ptr<const Quantizer> quantizer = nullptr);
  // Logical [n, c, h, w] or [n, c, d, h, w], channels last in memory.
  NhwcImage new_image(DType dtype, IntArray sizes,
                      std::shared_ptr<const Quantizer> quantizer = nullptr);
  NhwcImage new_image(DType dtype, int64_t n, int64_t c, int64_t h, int64_t w,
                      std::shared_ptr<const Quantizer> quantizer = nullptr) {
    return new_image(dtype, IntArray{n, c, h, w}, std::move(quantizer));
  }
  TensorId new_view(TensorId base, IntSpan sizes, IntSpan strides, int64_t offset);
  std::optional<NhwcImage> image_view(TensorId id) const;  // nothing if it needs a copy
  std::optional<Rows> rows_view(TensorId id) const;

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

 protected:
  explicit PlanEmitter(PackedWeights& packed) : packed_(packed) {}
  ~PlanEmitter() = default;

  // A tensor in a buffer of its own that is no memory of the plan's.
  TensorId add_tensor(const device::TensorDescription& description, Buffer::Kind kind,
                      size_t index);
  PlanTensor& tensor_at(TensorId id) { return plan_->tensors[static_cast<size_t>(id)]; }
  Buffer& buffer_of(TensorId id) { return plan_->buffers[static_cast<size_t>(info(id).buffer)]; }
  Plan& plan() { return *plan_; }
  const Plan& plan() const { return *plan_; }
  // The operator that the steps added from now on run.
  void set_node(const Node* node) { node_ = node; }
  // A step that stood before has now another result, place or way to write it.
  void changed(TensorId id);

  // How far the plan is: what comes after it can be taken back.
  struct Mark {
    size_t tensors, buffers, steps, packed;
  };
  Mark mark();
  void take_back(const Mark& mark);

  // The plan, with a place in the arena for each tensor that a step computes and another reads.
  std::unique_ptr<Plan> finish();

 private:
  bool may_lie_as(TensorId id, const PlanTensor& place) const;
  void drop_unread_steps();
  std::vector<Lifetime> lifetimes() const;
  std::vector<size_t> share_buffers(std::vector<Lifetime>& lifetimes) const;
  void assign_memory();

  PackedWeights& packed_;
  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
  const Node* node_ = nullptr;
  std::vector<int> written_at_;      // step, by buffer
  size_t oldest_change_ = SIZE_MAX;  // the first step that was changed since the last mark
};

}  // namespace torchlet::cpu
