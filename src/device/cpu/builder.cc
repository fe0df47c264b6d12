#include "device/cpu/builder.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/limits.h"
#include "device/cpu/fuse_blocks.h"
#include "device/cpu/lower/lowering.h"
#include "device/cpu/memory_planner.h"
#include "device/cpu/reference_step.h"
#include "tensor/containers.h"

namespace torchlet::cpu {

namespace {

kernels::WeightFormat weight_format_of(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      break;
    case Precision::kFloat16:
      return kernels::WeightFormat::kFloat16;
    case Precision::kBFloat16:
      return kernels::WeightFormat::kBFloat16;
  }
  return kernels::WeightFormat::kFloat32;
}

}  // namespace

PlanBuilder::PlanBuilder(device::SpecialisedSegment& segment, PackedWeights& packed,
                         Precision precision, Footprint footprint)
    : PlanEmitter(packed),
      segment_(segment),
      precision_(precision == Precision::kFloat16 && kernels::has_float16() ? precision
                                                                            : Precision::kFloat32),
      weight_format_(selection::kHasFloat16 ? weight_format_of(precision)
                                            : kernels::WeightFormat::kFloat32),
      footprint_(footprint),
      tensors_(segment.tensors.size(), kNoTensor) {}
PlanBuilder::~PlanBuilder() = default;

std::unique_ptr<Plan> PlanBuilder::build() {
  add_inputs();
  for (const Call& call : segment_.calls) {
    lower(call);
    ++current_;
  }
  add_outputs();
  return finish();
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

bool PlanBuilder::only_copies() const {
  constexpr int64_t kLarge = 1 << 16;  // bytes
  if (segment_.calls.size() != 1 || by_reference_.size() != 1) return false;
  const device::TensorDescription& result = segment_.describe(segment_.calls[0].outputs[0].id());
  return checked_numel(result.sizes) * static_cast<int64_t>(element_size(result.dtype)) >= kLarge;
}

// ---- calls ----

void PlanBuilder::lower(const Call& call) {
  set_node(call.node);
  const Mark before = mark();
  try {
    const Lowering* lowering = find_lowering(call.kind(), reads_quantized(call));
    if (!lowering) decline("no kernel for it");
    lowering->lower(*this, call);
  } catch (const Declined& declined) {
    give_up(before);
    lower_reference(call);
    by_reference_.push_back({static_cast<size_t>(current_), declined.why});
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

// A lowering that may still decline adds only: what stood before it changes last.
void PlanBuilder::give_up(const Mark& before) {
  take_back(before);
  const auto is_gone = [&](TensorId id) { return id >= static_cast<TensorId>(before.tensors); };
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

bool PlanBuilder::only_leaves(ValueId id) const {
  const auto calls = static_cast<int>(segment_.calls.size());
  return std::ranges::all_of(users(id), [calls](int user) { return user >= calls; });
}

const Call* PlanBuilder::producer(ValueId id) const {
  const auto place = static_cast<size_t>(id);
  if (place >= segment_.tensors.size() || segment_.tensors[place].producer < 0) return nullptr;
  return &segment_.calls[static_cast<size_t>(segment_.tensors[place].producer)];
}

bool PlanBuilder::gave_back(const Call& call) const {
  if (call.outputs.size() != 1 || !call.outputs[0].is_tensor() || call.arguments.empty() ||
      !call.arguments[0].is_tensor()) {
    return false;
  }
  // What became part of the step before it, such as an activation, has the same tensor, too.
  if (!call.op->schema.returns[0].is_aliased && !call.op->facts->may_alias) return false;
  const auto tensor = [&](const CallArgument& argument) {
    return tensors_[static_cast<size_t>(argument.id())];
  };
  return tensor(call.outputs[0]) == tensor(call.arguments[0]);
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
  buffer_of(id).constant = tensor;
  return id;
}

// ---- steps ----

// Does a step already, or will a later call, or who gets the outputs?
bool PlanBuilder::is_read_by_others(int32_t buffer) const {
  for (const auto& step : plan().steps) {
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
  if (!step || !sees_the_same(info(step->writes().id()), info(id)) || !step->fuse(activation)) {
    return false;
  }
  changed(id);
  step->node = call.node;
  return true;
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
    plan().outputs.push_back(std::move(output));
  }
  plan().spares = std::make_unique<SpareResults[]>(segment_.outputs.size());
}

static bool has_strides(const PlanTensor& tensor, const IntArray& strides) {
  for (size_t d = 0; d < strides.size(); ++d) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

// As the program has it, where that matters or costs nothing; else without gaps, and images as the
// inputs lie.
IntArray PlanBuilder::output_strides(const PlanTensor& tensor, size_t index) {
  const auto& [value, is_viewed] = segment_.outputs[index];
  if (is_viewed) {
    return value.is_tensor() ? segment_.describe(value.id()).strides
                             : IntArray(value.known().to_tensor().strides());
  }
  IntArray contiguous = contiguous_strides(tensor.sizes);
  if (tensor.dim() != 4 || !wants_channels_last_) {
    if (!value.is_tensor()) return contiguous;
    const IntArray& programs = segment_.describe(value.id()).strides;
    const bool fits =
        has_strides(tensor, programs) && is_non_overlapping_and_dense(tensor.sizes, programs);
    return fits ? programs : contiguous;
  }
  IntArray channels_last = strides_for(tensor.sizes, MemoryFormat::kChannelsLast);
  const bool stays = has_strides(tensor, contiguous) && !has_strides(tensor, channels_last);
  return stays ? contiguous : channels_last;
}

// A tensor in memory of its own: what a step computes is computed there at once.
TensorId PlanBuilder::output_tensor(TensorId id, size_t index) {
  const PlanTensor tensor = info(id);
  const IntArray strides = output_strides(tensor, index);
  const bool laid_out = has_strides(tensor, strides);
  const Buffer& buffer = buffer_of(id);
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
  tensor_at(result).strides = strides;
  Buffer& own = buffer_of(result);
  own.kind = Buffer::Kind::kOutput;
  own.index = index;
  return result;
}

}  // namespace torchlet::cpu
