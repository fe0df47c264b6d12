#include "device/cpu/emitter.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "base/limits.h"
#include "base/memory_use.h"
#include "device/cpu/copy_step.h"
#include "device/cpu/fuse_blocks.h"
#include "device/cpu/fuse_gates.h"
#include "device/cpu/fuse_planes.h"
#include "device/specialise/call.h"

namespace torchlet::cpu {

using device::decline;

TensorId PlanEmitter::add_tensor(const device::TensorDescription& d, Buffer::Kind kind,
                                 size_t index) {
  if (d.quantizer && !d.quantizer->per_tensor()) decline("a tensor quantized per channel");
  Buffer buffer;
  buffer.kind = kind;
  buffer.index = index;
  plan_->buffers.push_back(std::move(buffer));
  written_at_.push_back(-1);
  plan_->tensors.push_back({d.dtype, d.sizes, d.strides, 0,
                            static_cast<int32_t>(plan_->buffers.size() - 1), d.quantizer});
  return static_cast<TensorId>(plan_->tensors.size() - 1);
}

TensorId PlanEmitter::new_tensor(DType dtype, IntSpan sizes, IntSpan strides,
                                 std::shared_ptr<const Quantizer> quantizer) {
  Buffer buffer;
  checked_numel(sizes);
  buffer.nbytes =
      checked_mul(checked_extent(sizes, strides), static_cast<int64_t>(element_size(dtype)));
  if (std::cmp_greater(buffer.nbytes, physical_memory())) decline("too large a tensor");
  plan_->buffers.push_back(std::move(buffer));
  written_at_.push_back(-1);
  plan_->tensors.push_back({dtype, sizes, strides, 0,
                            static_cast<int32_t>(plan_->buffers.size() - 1), std::move(quantizer)});
  return static_cast<TensorId>(plan_->tensors.size() - 1);
}

TensorId PlanEmitter::new_contiguous(DType dtype, IntSpan sizes,
                                     std::shared_ptr<const Quantizer> quantizer) {
  return new_tensor(dtype, sizes, contiguous_strides(sizes), std::move(quantizer));
}

IntArray image_strides(IntSpan sizes) {
  return strides_for(
      sizes, sizes.size() == 5 ? MemoryFormat::kChannelsLast3d : MemoryFormat::kChannelsLast);
}

NhwcImage PlanEmitter::new_image(DType dtype, IntArray sizes,
                                 std::shared_ptr<const Quantizer> quantizer) {
  const TensorId id = new_tensor(dtype, sizes, image_strides(sizes), std::move(quantizer));
  return {id, sizes, sizes[1]};
}

TensorId PlanEmitter::new_view(TensorId base, IntSpan sizes, IntSpan strides, int64_t offset) {
  const PlanTensor& of = info(base);
  plan_->tensors.push_back({of.dtype, sizes, strides, offset, of.buffer, of.quantizer});
  return static_cast<TensorId>(plan_->tensors.size() - 1);
}

std::optional<NhwcImage> PlanEmitter::image_view(TensorId id) const {
  const auto layout = matrix_layout(info(id), Form::kImage);
  return layout ? std::optional(NhwcImage(id, info(id).sizes, layout->stride)) : std::nullopt;
}

std::optional<Rows> PlanEmitter::rows_view(TensorId id) const {
  const auto layout = matrix_layout(info(id), Form::kRows);
  return layout ? std::optional(Rows(id, *layout)) : std::nullopt;
}

// ---- steps ----

void PlanEmitter::add(std::unique_ptr<Step> step) {
  step->node = node_;
  written_at_[static_cast<size_t>(info(step->writes().id()).buffer)] =
      static_cast<int>(plan_->steps.size());
  plan_->steps.push_back(std::move(step));
}

int PlanEmitter::written_at(TensorId id) const {
  return written_at_[static_cast<size_t>(info(id).buffer)];
}

void PlanEmitter::copy(TensorId from, TensorId to) { add_step<CopyStep>(from, to); }

void PlanEmitter::changed(TensorId id) {
  oldest_change_ = std::min(oldest_change_, static_cast<size_t>(written_at(id)));
}

bool PlanEmitter::may_lie_as(TensorId id, const PlanTensor& place) const {
  const auto may = [&](const Operand& operand) {
    return operand.id() != id || cpu::may_lie_as(info(id), place, operand.form());
  };
  return std::ranges::all_of(plan_->steps, [&](const auto& step) {
    return may(step->writes()) && std::ranges::all_of(step->reads(), may);
  });
}

bool PlanEmitter::place(TensorId id, TensorId place) {
  PlanTensor& tensor = plan_->tensors[static_cast<size_t>(id)];
  const PlanTensor& target = info(place);
  if (written_at(id) < 0 || !may_lie_as(id, target)) return false;
  for (size_t i = 0; i < plan_->tensors.size(); ++i) {
    if (plan_->tensors[i].buffer == tensor.buffer && static_cast<TensorId>(i) != id) return false;
  }
  changed(id);
  int& written = written_at_[static_cast<size_t>(target.buffer)];
  written = std::max(written, written_at(id));
  tensor.strides = target.strides;
  tensor.offset = target.offset;
  tensor.buffer = target.buffer;
  return true;
}

TensorId PlanEmitter::widened(TensorId id, int64_t old_channels, int64_t channels) {
  const PlanTensor image = info(id);
  if (written_at(id) < 0) return kNoTensor;
  PlanTensor whole = image;
  whole.offset = 0;
  const auto set_channels = [&](int64_t count) {
    whole.sizes[1] = count;
    whole.strides = image_strides(whole.sizes);
    return checked_extent(whole.sizes, whole.strides) *
           static_cast<int64_t>(element_size(whole.dtype));
  };
  Buffer& buffer = plan_->buffers[static_cast<size_t>(image.buffer)];
  if (set_channels(old_channels) != buffer.nbytes) return kNoTensor;
  const IntArray old_strides = whole.strides;
  const int64_t nbytes = set_channels(channels);
  std::vector<TensorId> sharers;
  for (size_t i = 0; i < plan_->tensors.size(); ++i) {
    const PlanTensor& t = plan_->tensors[i];
    if (t.buffer != image.buffer) continue;
    sharers.push_back(static_cast<TensorId>(i));
    // Ranges of channels of all pixels, which stay where they begin.
    PlanTensor moved = t;
    moved.strides = whole.strides;
    if (t.strides != old_strides || t.offset + t.sizes[1] > old_channels ||
        !may_lie_as(sharers.back(), moved)) {
      return kNoTensor;
    }
  }
  changed(id);
  for (const TensorId sharer : sharers) {
    plan_->tensors[static_cast<size_t>(sharer)].strides = whole.strides;
  }
  buffer.nbytes = nbytes;
  return new_view(id, whole.sizes, whole.strides, 0);
}

static void pack_floats(void* to, const Tensor& tensor) {
  std::memcpy(to, tensor.to(DType::kFloat32).contiguous().raw_data(),
              static_cast<size_t>(tensor.numel()) * sizeof(float));
}

const float* PlanEmitter::floats(const Tensor& tensor) {
  TORCHLET_ASSERT(tensor.dtype() == DType::kFloat32 || tensor.dtype() == DType::kBFloat16);
  const size_t nbytes = static_cast<size_t>(tensor.numel()) * sizeof(float);
  return static_cast<const float*>(packed(nbytes, pack_floats, tensor));
}

// ---- taking back, and the end ----

PlanEmitter::Mark PlanEmitter::mark() {
  oldest_change_ = SIZE_MAX;
  return {plan_->tensors.size(), plan_->buffers.size(), plan_->steps.size(), plan_->packed.size()};
}

void PlanEmitter::take_back(const Mark& mark) {
  TORCHLET_ASSERT(oldest_change_ >= mark.steps);
  plan_->steps.resize(mark.steps);
  plan_->tensors.resize(mark.tensors);
  plan_->buffers.resize(mark.buffers);
  plan_->packed.resize(mark.packed);
  written_at_.resize(mark.buffers);
}

// Later nodes may have made a better step of what these compute.
void PlanEmitter::drop_unread_steps() {
  const auto buffer = [&](Operand o) { return static_cast<size_t>(info(o.id()).buffer); };
  std::vector<bool> is_read(plan_->buffers.size());
  for (size_t i = 0; i < is_read.size(); ++i) {
    is_read[i] = plan_->buffers[i].kind == Buffer::Kind::kOutput;
  }
  auto& steps = plan_->steps;
  for (size_t i = steps.size(); i-- > 0;) {
    if (!is_read[buffer(steps[i]->writes())]) {
      steps[i].reset();
      continue;
    }
    for (const Operand& read : steps[i]->reads()) is_read[buffer(read)] = true;
  }
  std::erase_if(steps, [](const auto& step) { return !step; });
}

// Of each buffer; `last` is -1 for those that no step touches.
std::vector<Lifetime> PlanEmitter::lifetimes() const {
  std::vector<Lifetime> lifetimes;
  const int steps = static_cast<int>(plan_->steps.size());
  for (const Buffer& buffer : plan_->buffers) lifetimes.push_back({buffer.nbytes, steps, -1, 0});
  const auto touch = [&](Operand operand, int step) {
    Lifetime& lifetime = lifetimes[static_cast<size_t>(info(operand.id()).buffer)];
    lifetime.first = std::min(lifetime.first, step);
    lifetime.last = std::max(lifetime.last, step);
  };
  for (int i = 0; i < steps; ++i) {
    const Step& step = *plan_->steps[static_cast<size_t>(i)];
    for (const Operand& read : step.reads()) touch(read, i);
    touch(step.writes(), i);
  }
  return lifetimes;
}

// The buffer in whose place each lies: where a step may write over an operand that it is the last
// to read, its result has the operand's, which lives on.
std::vector<size_t> PlanEmitter::share_buffers(std::vector<Lifetime>& lifetimes) const {
  std::vector<size_t> place(lifetimes.size());
  std::iota(place.begin(), place.end(), size_t{0});
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    const Step& step = *plan_->steps[i];
    if (!step.writes_in_place()) continue;
    const PlanTensor& result = info(step.writes().id());
    const auto at = static_cast<size_t>(result.buffer);
    const auto is_last_of = [&](size_t buffer) {
      const Lifetime& held = lifetimes[place[buffer]];
      return plan_->buffers[buffer].kind == Buffer::Kind::kArena &&
             held.last == static_cast<int>(i) && held.nbytes == lifetimes[at].nbytes;
    };
    if (plan_->buffers[at].kind != Buffer::Kind::kArena ||
        lifetimes[at].first != static_cast<int>(i)) {
      continue;
    }
    for (const Operand& read : step.reads()) {
      const auto from = static_cast<size_t>(info(read.id()).buffer);
      if (!is_last_of(from)) continue;
      const bool all_lie_alike = std::ranges::all_of(step.reads(), [&](const Operand& other) {
        const PlanTensor& tensor = info(other.id());
        return place[static_cast<size_t>(tensor.buffer)] != place[from] ||
               lies_alike(tensor, result);
      });
      if (!all_lie_alike) continue;
      place[at] = place[from];
      lifetimes[place[at]].last = lifetimes[at].last;
      break;
    }
  }
  return place;
}

void PlanEmitter::assign_memory() {
  std::vector<Lifetime> all = lifetimes();
  const std::vector<size_t> place = share_buffers(all);
  std::vector<Lifetime> arena;
  std::vector<size_t> owners;
  for (size_t i = 0; i < all.size(); ++i) {
    if (plan_->buffers[i].kind != Buffer::Kind::kArena || all[i].last < 0 || place[i] != i) {
      continue;
    }
    arena.push_back(all[i]);
    owners.push_back(i);
  }
  plan_->arena_bytes = plan_memory(arena);
  if constexpr (selection::kIsWhole) note_plan({plan_->arena_bytes, most_alive(arena)});
  for (size_t i = 0; i < arena.size(); ++i) all[owners[i]].offset = arena[i].offset;
  for (size_t i = 0; i < all.size(); ++i) plan_->buffers[i].arena_offset = all[place[i]].offset;
}

std::unique_ptr<Plan> PlanEmitter::finish() {
  drop_unread_steps();
  fuse_inverted_residuals(*plan_);
  if constexpr (selection::kHasRareConvolutions) fuse_planes(*plan_);
  if constexpr (selection::has_operator("aten::mul")) fuse_gates(*plan_);
  assign_memory();
  return std::move(plan_);
}

}  // namespace torchlet::cpu
