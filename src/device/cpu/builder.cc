#include "device/cpu/builder.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/limits.h"
#include "device/cpu/fuse_blocks.h"
#include "device/cpu/lowering.h"
#include "device/cpu/memory_planner.h"
#include "device/cpu/reference_step.h"
#include "tensor/containers.h"

namespace torchlet::cpu {

PlanBuilder::PlanBuilder(device::SpecialisedSegment& segment, PackedWeights& packed,
                         Precision precision)
    : segment_(segment),
      packed_(packed),
      precision_(precision),
      plan_(std::make_unique<Plan>()),
      tensors_(segment.tensors.size(), kNoTensor) {}
PlanBuilder::~PlanBuilder() = default;

std::unique_ptr<Plan> PlanBuilder::build() {
  add_inputs();
  for (const Call& call : segment_.calls) {
    lower(call);
    ++current_;
  }
  add_outputs();
  drop_unread_steps();
  fuse_inverted_residuals(*plan_);
  assign_memory();
  return std::move(plan_);
}

void PlanBuilder::add_inputs() {
  for (size_t i = 0; i < segment_.inputs.size(); ++i) {
    if (!segment_.inputs[i].is_tensor()) continue;
    const device::TensorDescription& d = segment_.describe(segment_.inputs[i].id());
    refuse_float16(d.dtype);
    define(segment_.inputs[i], add_tensor(d, Buffer::Kind::kInput, i));
    wants_channels_last_ |=
        d.sizes.size() == 4 &&
        has_channels_last_strides(d.sizes, d.strides, MemoryFormat::kChannelsLast);
  }
}

// ---- calls ----

void PlanBuilder::lower(const Call& call) {
  node_ = call.node;
  const Mark before = mark();
  try {
    const Lowering* lowering = find_lowering(call.kind(), reads_quantized(call));
    if (!lowering) decline("no kernel for it");
    lowering->lower(*this, call);
  } catch (const Declined&) {
    take_back(before);
    lower_reference(call);
  }
}

bool PlanBuilder::reads_quantized(const Call& call) const {
  const auto is_quantized = [&](const CallArgument& argument) {
    return argument.is_tensor() &&
           info(tensors_[static_cast<size_t>(argument.id())]).quantizer != nullptr;
  };
  return std::ranges::any_of(call.arguments, [&](const CallArgument& argument) {
    return is_quantized(argument) || std::ranges::any_of(argument.items(), is_quantized);
  });
}

PlanBuilder::Mark PlanBuilder::mark() {
  oldest_change_ = SIZE_MAX;
  return {plan_->tensors.size(), plan_->buffers.size(), plan_->steps.size(), plan_->packed.size()};
}

// A lowering that may still decline adds only: what stood before it changes last.
void PlanBuilder::take_back(const Mark& mark) {
  TORCHLET_ASSERT(oldest_change_ >= mark.steps);
  plan_->steps.resize(mark.steps);
  plan_->tensors.resize(mark.tensors);
  plan_->buffers.resize(mark.buffers);
  plan_->packed.resize(mark.packed);
  written_at_.resize(mark.buffers);
  const auto is_gone = [&](TensorId id) { return id >= static_cast<TensorId>(mark.tensors); };
  for (TensorId& id : tensors_) {
    if (is_gone(id)) id = kNoTensor;
  }
  const auto is_gone_entry = [&](const auto& entry) { return is_gone(entry.second); };
  std::erase_if(constants_, is_gone_entry);
  std::erase_if(image_copies_, is_gone_entry);
  std::erase_if(conversions_, is_gone_entry);
}

void PlanBuilder::define(const CallArgument& output, TensorId result) {
  tensors_[static_cast<size_t>(output.id())] = result;
}

const std::vector<int>& PlanBuilder::users(ValueId id) const {
  static const std::vector<int> none;
  const auto place = static_cast<size_t>(id);
  return place < segment_.tensors.size() ? segment_.tensors[place].users : none;
}

const Call* PlanBuilder::producer(ValueId id) const {
  const auto place = static_cast<size_t>(id);
  if (place >= segment_.tensors.size() || segment_.tensors[place].producer < 0) return nullptr;
  return &segment_.calls[static_cast<size_t>(segment_.tensors[place].producer)];
}

const Call* PlanBuilder::only_user(ValueId id) const {
  const std::vector<int>& all = users(id);
  const bool is_one = all.size() == 1 && static_cast<size_t>(all[0]) < segment_.calls.size();
  return is_one ? &segment_.calls[static_cast<size_t>(all[0])] : nullptr;
}

// ---- tensors and buffers ----

// In a plan of that precision, float16 stands for float32.
void PlanBuilder::refuse_float16(DType dtype) const {
  if (precision_ == Precision::kFloat16 && dtype == DType::kFloat16) {
    decline("the program has float16 tensors of its own");
  }
}

TensorId PlanBuilder::add_tensor(const device::TensorDescription& d, Buffer::Kind kind,
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

TensorId PlanBuilder::constant(const Tensor& tensor) {
  const auto known = constants_.find(tensor.impl());
  if (known != constants_.end()) return known->second;
  refuse_float16(tensor.dtype());
  const TensorId id = add_constant(tensor);
  constants_.emplace(tensor.impl(), id);
  return id;
}

TensorId PlanBuilder::add_constant(const Tensor& tensor) {
  if (tensor.impl()->sparse || tensor.impl()->nested) decline("a sparse or nested tensor");
  const TensorId id = add_tensor(device::describe(tensor), Buffer::Kind::kConstant, 0);
  plan_->buffers.back().constant = tensor;
  return id;
}

TensorId PlanBuilder::new_tensor(DType dtype, IntSpan sizes, IntSpan strides,
                                 std::shared_ptr<const Quantizer> quantizer) {
  Buffer buffer;
  checked_numel(sizes);
  buffer.nbytes =
      checked_mul(checked_extent(sizes, strides), static_cast<int64_t>(element_size(dtype)));
  if (static_cast<size_t>(buffer.nbytes) > physical_memory()) decline("too large a tensor");
  plan_->buffers.push_back(std::move(buffer));
  written_at_.push_back(-1);
  plan_->tensors.push_back({dtype, sizes, strides, 0,
                            static_cast<int32_t>(plan_->buffers.size() - 1), std::move(quantizer)});
  return static_cast<TensorId>(plan_->tensors.size() - 1);
}

TensorId PlanBuilder::new_contiguous(DType dtype, IntSpan sizes,
                                     std::shared_ptr<const Quantizer> quantizer) {
  return new_tensor(dtype, sizes, contiguous_strides(sizes), std::move(quantizer));
}

NhwcImage PlanBuilder::new_image(DType dtype, int64_t n, int64_t c, int64_t h, int64_t w,
                                 std::shared_ptr<const Quantizer> quantizer) {
  const IntArray sizes = {n, c, h, w};
  const TensorId id = new_tensor(dtype, sizes, strides_for(sizes, MemoryFormat::kChannelsLast),
                                 std::move(quantizer));
  return {id, sizes, c};
}

TensorId PlanBuilder::new_view(TensorId base, IntSpan sizes, IntSpan strides, int64_t offset) {
  const PlanTensor& of = info(base);
  plan_->tensors.push_back({of.dtype, sizes, strides, offset, of.buffer, of.quantizer});
  return static_cast<TensorId>(plan_->tensors.size() - 1);
}

// ---- steps ----

void PlanBuilder::add(std::unique_ptr<Step> step) {
  step->node = node_;
  written_at_[static_cast<size_t>(info(step->writes().id()).buffer)] =
      static_cast<int>(plan_->steps.size());
  plan_->steps.push_back(std::move(step));
}

int PlanBuilder::written_at(TensorId id) const {
  return written_at_[static_cast<size_t>(info(id).buffer)];
}

// Does a step already, or will a later call, or who gets the outputs?
bool PlanBuilder::is_read_by_others(int32_t buffer) const {
  for (const auto& step : plan_->steps) {
    for (const Operand& read : step->reads()) {
      if (info(read.id()).buffer == buffer) return true;
    }
  }
  for (size_t i = 0; i < segment_.tensors.size(); ++i) {
    if (tensors_[i] < 0 || info(tensors_[i]).buffer != buffer) continue;
    const auto& users = segment_.tensors[i].users;
    if (!users.empty() && users.back() > current_) return true;
  }
  return false;
}

Step* PlanBuilder::sole_producer(const Call& call, Arg arg) const {
  const CallArgument& argument = call.argument(arg);
  if (!argument.is_tensor() || users(argument.id()).size() != 1) return nullptr;
  const TensorId id = tensors_[static_cast<size_t>(argument.id())];
  Step* step = step_that_wrote(id);
  return step && !is_read_by_others(info(id).buffer) ? step : nullptr;
}

bool PlanBuilder::fuse(const Call& call, Arg arg, const kernels::Activation& activation) {
  Step* step = sole_producer(call, arg);
  const TensorId id = step ? tensor(call, arg) : kNoTensor;
  if (!step || step->writes().id() != id || !step->fuse(activation)) return false;
  changed(id);
  step->node = call.node;
  return true;
}

void PlanBuilder::changed(TensorId id) {
  oldest_change_ = std::min(oldest_change_, static_cast<size_t>(written_at(id)));
}

// The tensor, or its copy, in that form, if it is there before `result` is computed.
std::optional<Operand> PlanBuilder::residual_at_hand(TensorId id, TensorId result,
                                                     Form form) const {
  std::optional<Operand> operand;
  if (form == Form::kImage) {
    if (const auto image = image_at_hand(id)) operand = *image;
  } else if (const auto rows = rows_view(id)) {
    operand = *rows;
  }
  if (operand && written_at(operand->id()) >= written_at(result)) return std::nullopt;
  return operand;
}

bool PlanBuilder::fuse_residual(TensorId result, TensorId other) {
  Step* step = step_that_wrote(result);
  if (!step || !(info(result).sizes == info(other).sizes) ||
      info(result).dtype != info(other).dtype) {
    return false;
  }
  // A step writes a matrix. `result` may be another view of it: then as well as there the same
  // element is in the same row and column of both if both have one form in which `result` lies as
  // what the step writes.
  const PlanTensor& whole = info(step->writes().id());
  const auto written = matrix_layout(whole, step->writes().form());
  if (!written || info(result).offset != whole.offset) return false;
  for (const Form form : {Form::kImage, Form::kRows}) {
    if (matrix_layout(info(result), form) != written) continue;
    const auto residual = residual_at_hand(other, result, form);
    if (residual && step->fuse_residual(*residual)) {
      changed(result);
      return true;
    }
  }
  return false;
}

bool PlanBuilder::may_lie_as(TensorId id, const PlanTensor& place) const {
  const auto may = [&](const Operand& operand) {
    return operand.id() != id || cpu::may_lie_as(info(id), place, operand.form());
  };
  return std::ranges::all_of(plan_->steps, [&](const auto& step) {
    return may(step->writes()) && std::ranges::all_of(step->reads(), may);
  });
}

bool PlanBuilder::place(TensorId id, TensorId place) {
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

TensorId PlanBuilder::widened(TensorId id, int64_t old_channels, int64_t channels) {
  const PlanTensor image = info(id);
  if (written_at(id) < 0) return kNoTensor;
  PlanTensor whole = image;
  whole.offset = 0;
  const auto set_channels = [&](int64_t count) {
    whole.sizes[1] = count;
    whole.strides = strides_for(whole.sizes, MemoryFormat::kChannelsLast);
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
  std::memcpy(to, tensor.contiguous().raw_data(),
              static_cast<size_t>(tensor.numel()) * sizeof(float));
}

const float* PlanBuilder::floats(const Tensor& tensor) {
  TORCHLET_ASSERT(tensor.dtype() == DType::kFloat32);
  const size_t nbytes = static_cast<size_t>(tensor.numel()) * sizeof(float);
  return static_cast<const float*>(packed(nbytes, pack_floats, tensor));
}

void PlanBuilder::lower_reference(const Call& call) {
  for (const CallArgument& output : call.outputs) {
    if (output.is_tensor()) refuse_float16(segment_.describe(output.id()).dtype);
  }
  add_reference_step(*this, call, segment_);
}

// ---- the end ----

// A list of lists or tensors.
static bool holds_containers(const Value& value) {
  return value.is_list() && std::ranges::any_of(value.list_ref().items, [](const Value& item) {
           return item.is_list() || item.is_tensor();
         });
}

void PlanBuilder::add_outputs() {
  for (size_t i = 0; i < segment_.outputs.size(); ++i) {
    const CallArgument& value = segment_.outputs[i].value;
    if (value.is_list() || (value.is_known() && holds_containers(value.known()))) {
      decline("a list that leaves the segment");
    }
    PlanOutput output;
    if (value.is_known() && !value.known().is_tensor()) {
      output.value = value.known();
    } else if (const TensorId id = value.is_tensor() ? tensors_[static_cast<size_t>(value.id())]
                                                     : constant(value.known().to_tensor());
               id != kNoneTensor) {
      output.tensor = output_tensor(id, i);
    }
    plan_->outputs.push_back(std::move(output));
  }
  plan_->spares = std::make_unique<SpareResults[]>(segment_.outputs.size());
}

static bool has_strides(const PlanTensor& tensor, const IntArray& strides) {
  for (size_t d = 0; d < strides.size(); ++d) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

// As the program has it, where that matters; else without gaps, and images as the inputs lie.
IntArray PlanBuilder::output_strides(const PlanTensor& tensor, size_t index) {
  const auto& [value, is_viewed] = segment_.outputs[index];
  if (is_viewed) {
    return value.is_tensor() ? segment_.describe(value.id()).strides
                             : IntArray(value.known().to_tensor().strides());
  }
  IntArray contiguous = contiguous_strides(tensor.sizes);
  if (tensor.dim() != 4 || !wants_channels_last_) return contiguous;
  IntArray channels_last = strides_for(tensor.sizes, MemoryFormat::kChannelsLast);
  const bool stays = has_strides(tensor, contiguous) && !has_strides(tensor, channels_last);
  return stays ? contiguous : channels_last;
}

// A tensor in memory of its own: what a step computes is computed there at once.
TensorId PlanBuilder::output_tensor(TensorId id, size_t index) {
  const PlanTensor tensor = info(id);
  const IntArray strides = output_strides(tensor, index);
  const bool laid_out = has_strides(tensor, strides);
  const Buffer& buffer = plan_->buffers[static_cast<size_t>(tensor.buffer)];
  const int64_t nbytes = tensor.numel() * static_cast<int64_t>(element_size(tensor.dtype));
  TensorId result = id;
  if (program_dtype(id) != tensor.dtype) {
    if (!laid_out) {  // which costs half as much before it is float32
      result = new_tensor(tensor.dtype, tensor.sizes, strides);
      copy(id, result);
    }
    return output_tensor(in_float32(result), index);
  }
  if (!laid_out || buffer.kind != Buffer::Kind::kArena || buffer.nbytes != nbytes ||
      tensor.offset != 0) {
    result = new_tensor(tensor.dtype, tensor.sizes, strides, tensor.quantizer);
    copy(id, result);
  }
  plan_->tensors[static_cast<size_t>(result)].strides = strides;
  Buffer& own = plan_->buffers[static_cast<size_t>(info(result).buffer)];
  own.kind = Buffer::Kind::kOutput;
  own.index = index;
  return result;
}

// Later nodes may have made a better step of what these compute.
void PlanBuilder::drop_unread_steps() {
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

void PlanBuilder::assign_memory() {
  std::vector<Lifetime> lifetimes(plan_->buffers.size());
  const int steps = static_cast<int>(plan_->steps.size());
  for (Lifetime& lifetime : lifetimes) lifetime = {0, steps, -1, 0};
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
  std::vector<Lifetime> arena;
  std::vector<Buffer*> owners;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    Buffer& buffer = plan_->buffers[i];
    if (buffer.kind != Buffer::Kind::kArena || lifetimes[i].last < 0) continue;
    lifetimes[i].nbytes = buffer.nbytes;
    arena.push_back(lifetimes[i]);
    owners.push_back(&buffer);
  }
  plan_->arena_bytes = plan_memory(arena);
  for (size_t i = 0; i < arena.size(); ++i) owners[i]->arena_offset = arena[i].offset;
}

}  // namespace torchlet::cpu
