#include "device/cpu/plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/thread_pool.h"
#include "base/without_pool.h"
#include "device/cpu/cpu_device.h"
#include "kernels/simd/scratch.h"
#include "tensor/containers.h"

namespace torchlet::cpu {

int64_t PlanTensor::numel() const {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

namespace {

std::optional<MatrixLayout> image_layout(const PlanTensor& t) {
  if ((t.dim() != 4 && t.dim() != 5) || t.numel() == 0) return std::nullopt;
  const int64_t channels = t.sizes[1];
  const int64_t stride = matrix_stride(t, Form::kImage);
  if (stride < channels || (channels > 1 && t.strides[1] != 1)) return std::nullopt;
  int64_t pixels = 1;  // of the dimensions seen so far, from the right
  for (size_t d = t.sizes.size(); d-- > 0;) {
    if (d == 1 || t.sizes[d] == 1) continue;
    if (t.strides[d] != stride * pixels) return std::nullopt;
    pixels *= t.sizes[d];
  }
  return MatrixLayout{pixels, channels, stride};
}

std::optional<MatrixLayout> rows_layout(const PlanTensor& t) {
  if (t.numel() == 0) return std::nullopt;
  if (t.dim() == 0) return MatrixLayout{1, 1, 1};
  const int64_t columns = t.sizes.back();
  if (columns > 1 && t.strides.back() != 1) return std::nullopt;
  const int64_t stride = matrix_stride(t, Form::kRows);
  int64_t rows = 1;  // of the dimensions seen so far, from the right
  for (size_t d = t.sizes.size() - 1; d-- > 0;) {
    if (t.sizes[d] == 1) continue;
    if (t.strides[d] != stride * rows) return std::nullopt;
    rows *= t.sizes[d];
  }
  if (stride < columns) return std::nullopt;
  return MatrixLayout{rows, columns, stride};
}

}  // namespace

std::optional<MatrixLayout> matrix_layout(const PlanTensor& tensor, Form form) {
  if (form == Form::kImage) return image_layout(tensor);
  if (form == Form::kRows) return rows_layout(tensor);
  return std::nullopt;
}

// The stride of the first dimension, from the right, that is longer than 1.
int64_t matrix_stride(const PlanTensor& t, Form form) {
  const size_t rank = t.sizes.size();
  const size_t columns = form == Form::kImage ? 1 : rank - 1;
  for (size_t d = rank; d-- > 0;) {
    if (d != columns && t.sizes[d] > 1) return t.strides[d];
  }
  return rank == 0 ? 1 : t.sizes[columns];
}

bool may_lie_as(const PlanTensor& from, const PlanTensor& to, Form form) {
  if (form == Form::kFixed) return from.strides == to.strides;
  return form == Form::kStrided || matrix_layout(to, form).has_value();
}

bool sees_the_same(const PlanTensor& a, const PlanTensor& b) {
  return a.buffer == b.buffer && lies_alike(a, b);
}

bool lies_alike(const PlanTensor& a, const PlanTensor& b) {
  if (a.offset != b.offset || a.dtype != b.dtype) return false;
  const auto next = [](const PlanTensor& t, size_t& d) {
    while (d < t.sizes.size() && t.sizes[d] == 1) ++d;
    return d < t.sizes.size();
  };
  for (size_t i = 0, j = 0;; ++i, ++j) {
    const bool more = next(a, i);
    if (more != next(b, j)) return false;
    if (!more) return true;
    if (a.sizes[i] != b.sizes[j] || a.strides[i] != b.strides[j]) return false;
  }
}

void* Memory::address(Operand operand) const {
  const PlanTensor& t = tensor(operand);
  return bases_[t.buffer] + t.offset * static_cast<int64_t>(element_size(t.dtype));
}

Tensor Memory::handle(Operand operand) const {
  const PlanTensor& t = tensor(operand);
  const size_t nbytes =
      static_cast<size_t>(checked_extent(t.sizes, t.strides)) * element_size(t.dtype);
  Tensor tensor = make_tensor(make_ref<Storage>(address(operand), nbytes, nullptr), t.dtype,
                              t.sizes, t.strides, 0);
  tensor.impl()->quantizer = t.quantizer;
  return tensor;
}

// A tensor that was given out before and came back serves again; callers that keep many results
// get new ones. Large ones are not kept: each plan would have its own, and their memory waits for
// the next tensor of any (tensor/block_cache.h).
Tensor Plan::result(size_t output) const {
  constexpr size_t kMostSpares = 4, kMostSpareBytes = size_t{4} << 20;
  const PlanTensor& t = tensors[static_cast<size_t>(outputs[output].tensor)];
  const size_t nbytes = static_cast<size_t>(t.numel()) * element_size(t.dtype);
  const size_t most = std::min(kMostSpares, kMostSpareBytes / std::max<size_t>(nbytes, 1));
  SpareResults& spare = spares[output];
  const std::lock_guard lock(spare.mutex);
  for (const Tensor& tensor : spare.tensors) {
    const TensorImpl& impl = *tensor.impl();
    // Its holder may have changed more than its elements.
    if (impl.use_count() == 1 && impl.storage->use_count() == 1 && impl.dtype == t.dtype &&
        impl.sizes == t.sizes && impl.strides == t.strides && impl.storage_offset == 0 &&
        impl.quantizer == t.quantizer && !impl.requires_grad) {
      return tensor;
    }
  }
  Tensor result = empty_strided(t.sizes, t.strides, t.dtype);
  result.impl()->quantizer = t.quantizer;
  if (spare.tensors.size() < most) {
    spare.tensors.push_back(result);
  } else if (most > 0) {
    spare.tensors[spare.next++ % most] = result;
  }
  return result;
}

void Plan::run(std::span<const Value> inputs, std::span<Value> results, ArenaPool& arenas) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value& value = outputs[i].value;
    if (outputs[i].tensor != kNoTensor) {
      results[i] = Value(result(i));
    } else if (value.is_list()) {  // the caller may change it
      results[i] = make_list(value.list_ref().element_type, value.list_ref().items);
    } else {
      results[i] = value;
    }
  }
  if (!std::in_range<size_t>(arena_bytes)) {  // where addresses have 32 bits
    fail(ErrorCode::kOutOfMemory, "the tensors of a plan take " + std::to_string(arena_bytes) +
                                      " bytes, more than this processor has addresses for");
  }
  const ArenaPool::Lease arena(arenas, static_cast<size_t>(arena_bytes));
  const kernels::Scratch<std::byte*> bases(static_cast<int64_t>(buffers.size()));
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    std::byte*& base = bases[static_cast<int64_t>(i)];
    switch (buffer.kind) {
      case Buffer::Kind::kArena:
        base = arena.data() + buffer.arena_offset;
        break;
      case Buffer::Kind::kInput:
        base = inputs[buffer.index].tensor_impl()->data();
        break;
      case Buffer::Kind::kOutput:
        base = results[buffer.index].tensor_impl()->data();
        break;
      case Buffer::Kind::kConstant:
        base = buffer.constant.impl()->data();
        break;
    }
  }
  const Memory memory(*this, bases.data());
  if constexpr (!selection::kIsWhole) return run_steps(memory);
  const ThreadChoice::Run threads = thread_choice->next(num_threads());
  std::optional<WithoutPool> alone;
  if (threads.mode == ThreadChoice::Mode::kAlone) alone.emplace();
  if (!threads.is_timed) return run_steps(memory);
  const double begin = event_clock();
  run_steps(memory);
  thread_choice->done(threads.mode, event_clock() - begin);
}

void Plan::run_steps(const Memory& memory) const {
  if (EventSink* sink = event_sink()) return run_profiled(memory, *sink);
  for (const auto& step : steps) {
    poll();
    step->run(memory);
  }
}

void Plan::run_profiled(const Memory& memory, EventSink& sink) const {
  for (const auto& step : steps) {
    poll();
    const double begin = event_clock();
    step->run(memory);
    sink.record({.kernel = step->kernel(),
                 .node = step->node,
                 .device = kCpuDevice.name,
                 .sizes = memory.tensor(step->writes()).sizes,
                 .begin = begin,
                 .end = event_clock(),
                 .flops = step->flops(),
                 .is_int8 = step->is_int8()});
  }
}

}  // namespace torchlet::cpu
