#include "device/cpu/builder.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "base/checked.h"
#include "base/limits.h"
#include "device/cpu/fuse_blocks.h"
#include "device/cpu/lowering.h"
#include "device/cpu/memory_planner.h"
#include "device/cpu/reference_step.h"
#include "graph/prim_kinds.h"
#include "passes/effects.h"
#include "tensor/containers.h"

namespace torchlet::cpu {

using Entry = PlanBuilder::Entry;

void decline(std::string why) { throw Declined{std::move(why)}; }

PlanBuilder::PlanBuilder(const Node& segment, std::span<const Value> inputs, PackedWeights& packed,
                         Precision precision)
    : segment_(segment),
      inputs_(inputs),
      packed_(packed),
      precision_(precision),
      plan_(std::make_unique<Plan>()) {}
PlanBuilder::~PlanBuilder() = default;

std::unique_ptr<Plan> PlanBuilder::build(std::string& why) {
  try {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Entry entry{Entry::Kind::kKnown, inputs_[i], kNoTensor, {}};
      if (inputs_[i].is_tensor()) {
        const Tensor tensor = inputs_[i].to_tensor();
        refuse_float16(tensor.dtype());
        entry = {Entry::Kind::kTensor, {}, add_input(tensor, i), {}};
        wants_channels_last_ |=
            tensor.dim() == 4 && tensor.suggest_memory_format() == MemoryFormat::kChannelsLast;
      }
      entries_[segment_.input(i)] = std::move(entry);
    }
    lower_block(*segment_.block(0));
    add_outputs();
    drop_unread_steps();
    fuse_inverted_residuals(*plan_);
    assign_memory();
    return std::move(plan_);
  } catch (const Declined& declined) {
    why = declined.why;
  } catch (const Error& error) {
    if (is_limit(error.code())) throw;
    why = error.what();
  }
  return nullptr;
}

// ---- nodes ----

void PlanBuilder::lower_block(const Block& block) {
  for (const Node* node : block) {
    define_constants(*node);
    if (node->kind() == prim::kIf) {
      lower_branch(*node);
    } else if (node->kind() != prim::kConstant) {
      current_ = node;
      lower(*node);
    }
    lowered_.insert(node);
  }
  define_constants(*block.return_node());
}

void PlanBuilder::lower_branch(const Node& node) {
  const Entry& condition = entry(node, 0);
  if (condition.kind != Entry::Kind::kKnown) decline("a branch on what is not known");
  const Block& taken = *node.block(condition.known.to_bool() ? 0 : 1);
  lower_block(taken);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    define(node.output(i), entry(*taken.return_node(), i));
  }
  lowered_.insert(taken.return_node());
}

void PlanBuilder::lower(const Node& node) {
  if (lower_plain(node)) return;
  if (!node.op()) decline(node.kind().str() + " in a segment");
  if (!passes::is_pure(node)) decline(node.kind().str() + " must run each time");
  if (evaluate_known(node)) return;
  const size_t steps = plan_->steps.size();
  try {
    const Lowering* lowering = find_lowering(node.kind(), reads_quantized(node));
    if (!lowering) decline("no kernel for it");
    lowering->lower(*this, node);
  } catch (const Declined&) {
    TORCHLET_ASSERT(plan_->steps.size() >= steps);
    lower_reference(node);
  }
}

bool PlanBuilder::reads_quantized(const Node& node) const {
  const auto is_quantized = [&](const Entry& entry) {
    return entry.kind == Entry::Kind::kTensor && info(entry.tensor).quantizer;
  };
  for (const SsaValue* input : node.inputs()) {
    const Entry& argument = entry(input);
    if (is_quantized(argument) || std::ranges::any_of(argument.list, is_quantized)) return true;
  }
  return false;
}

bool PlanBuilder::lower_plain(const Node& node) {
  if (node.kind() == prim::kListConstruct || node.kind() == prim::kTupleConstruct) {
    Entry list{Entry::Kind::kList, {}, kNoTensor, {}};
    bool known = true;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      list.list.push_back(entry(node, i));
      known &= list.list.back().kind == Entry::Kind::kKnown;
      // Lists of the same list twice, many levels of them, would be 2^n entries.
      if (list.list.back().kind == Entry::Kind::kList) decline("a list of lists");
    }
    const TypePtr& type = node.output()->type();
    if (known && type->is(TypeKind::kList)) {
      std::vector<Value> items;
      for (Entry& item : list.list) items.push_back(std::move(item.known));
      list = {Entry::Kind::kKnown, make_list(type->element(0), std::move(items)), kNoTensor, {}};
    }
    define(node.output(), std::move(list));
    return true;
  }
  if (node.kind() == prim::kListUnpack || node.kind() == prim::kTupleUnpack) {
    const Entry list = entry(node, 0);
    std::vector<Entry> items = list.list;
    if (list.kind == Entry::Kind::kKnown) {
      for (const Value& item : list.known.to_list()) {
        items.push_back({Entry::Kind::kKnown, item, kNoTensor, {}});
      }
    }
    if (items.size() != node.outputs().size()) decline("a list of another length");
    for (size_t i = 0; i < items.size(); ++i) define(node.output(i), std::move(items[i]));
    return true;
  }
  return false;
}

// The constants that a node reads lie anywhere before it.
void PlanBuilder::define_constants(const Node& node) {
  for (const SsaValue* input : node.inputs()) {
    if (input->node()->kind() != prim::kConstant || entries_.contains(input)) continue;
    define(input, {Entry::Kind::kKnown, input->node()->value_attribute("value"), kNoTensor, {}});
  }
}

// An operator of known values is run now.
bool PlanBuilder::evaluate_known(const Node& node) {
  std::vector<Value> arguments;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Entry& argument = entry(node, i);
    if (argument.kind != Entry::Kind::kKnown) return false;
    arguments.push_back(argument.known);
  }
  const auto& parameters = node.op()->schema.arguments;
  for (size_t i = arguments.size(); i < parameters.size(); ++i) {
    arguments.push_back(parameters[i].default_value.value_or(Value()));
  }
  std::vector<Value> results(node.outputs().size());
  node.op()->call(arguments, results);
  for (size_t i = 0; i < results.size(); ++i) {
    define(node.output(i), {Entry::Kind::kKnown, std::move(results[i]), kNoTensor, {}});
  }
  return true;
}

void PlanBuilder::define(const Node& node, TensorId result) {
  define(node.output(), {Entry::Kind::kTensor, {}, result, {}});
}
void PlanBuilder::define(const SsaValue* value, Entry entry) { entries_[value] = std::move(entry); }

// ---- tensors and buffers ----

// In a plan of that precision, float16 stands for float32.
void PlanBuilder::refuse_float16(DType dtype) const {
  if (precision_ == Precision::kFloat16 && dtype == DType::kFloat16) {
    decline("the program has float16 tensors of its own");
  }
}

TensorId PlanBuilder::add_input(const Tensor& tensor, size_t index) {
  const TensorImpl& impl = *tensor.impl();
  if (impl.sparse || impl.nested) decline("a sparse or nested tensor");
  if (impl.quantizer && !impl.quantizer->per_tensor()) decline("a tensor quantized per channel");
  Buffer buffer;
  buffer.kind = Buffer::Kind::kInput;
  buffer.index = index;
  plan_->buffers.push_back(std::move(buffer));
  written_at_.push_back(-1);
  plan_->tensors.push_back({impl.dtype, impl.sizes, impl.strides, 0,
                            static_cast<int32_t>(plan_->buffers.size() - 1), impl.quantizer});
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
  const TensorId id = add_input(tensor, 0);
  Buffer& buffer = plan_->buffers.back();
  buffer.kind = Buffer::Kind::kConstant;
  buffer.constant = tensor;
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

Image PlanBuilder::new_image(DType dtype, int64_t n, int64_t c, int64_t h, int64_t w,
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
  step->node = current_;
  written_at_[static_cast<size_t>(info(step->writes().id()).buffer)] =
      static_cast<int>(plan_->steps.size());
  plan_->steps.push_back(std::move(step));
}

int PlanBuilder::written_at(TensorId id) const {
  return written_at_[static_cast<size_t>(info(id).buffer)];
}

bool PlanBuilder::holds(const Entry& entry, int32_t buffer) const {
  if (entry.kind == Entry::Kind::kTensor) return info(entry.tensor).buffer == buffer;
  return std::ranges::any_of(entry.list, [&](const Entry& item) { return holds(item, buffer); });
}

// Does a step already, or will a later node?
bool PlanBuilder::is_read_by_others(const Node& node, int32_t buffer) const {
  for (const auto& step : plan_->steps) {
    for (const Operand& read : step->reads()) {
      if (info(read.id()).buffer == buffer) return true;
    }
  }
  for (const auto& [value, entry] : entries_) {
    if (!holds(entry, buffer)) continue;
    for (const Node* user : value->users()) {
      if (user != &node && !lowered_.contains(user)) return true;
    }
  }
  return false;
}

Step* PlanBuilder::sole_producer(const Node& node, Arg input) const {
  const Entry& argument = entry(node, input);
  if (argument.kind != Entry::Kind::kTensor || node.input(input.of(node))->users().size() != 1) {
    return nullptr;
  }
  Step* step = step_that_wrote(argument.tensor);
  return step && !is_read_by_others(node, info(argument.tensor).buffer) ? step : nullptr;
}

bool PlanBuilder::fuse(const Node& node, Arg input, const kernels::Activation& activation) {
  Step* step = sole_producer(node, input);
  if (!step || step->writes().id() != entry(node, input).tensor || !step->fuse(activation)) {
    return false;
  }
  step->node = &node;
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
    if (residual && step->fuse_residual(*residual)) return true;
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

void PlanBuilder::lower_reference(const Node& node) {
  if (!recording_) recording_ = record(segment_, inputs_);
  refuse_float16(recording_->contains(node.output()) ? recording_->at(node.output()).dtype
                                                     : DType::kFloat32);
  add_reference_step(*this, node, *recording_);
}

// ---- the end ----

// A list of lists or tensors.
static bool holds_containers(const Value& value) {
  return value.is_list() && std::ranges::any_of(value.list_ref().items, [](const Value& item) {
           return item.is_list() || item.is_tensor();
         });
}

void PlanBuilder::add_outputs() {
  const auto& outputs = segment_.block(0)->outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Entry& entry = entries_[outputs[i]];
    PlanOutput output;
    if (entry.kind == Entry::Kind::kTensor) {
      output.tensor = output_tensor(entry.tensor, i);
    } else if (entry.kind == Entry::Kind::kKnown && !entry.known.is_tensor() &&
               !holds_containers(entry.known)) {
      output.value = entry.known;
    } else if (entry.kind == Entry::Kind::kKnown && entry.known.is_tensor()) {
      output.tensor = output_tensor(constant(entry.known.to_tensor()), i);
    } else {
      decline("a list that leaves the segment");
    }
    plan_->outputs.push_back(std::move(output));
  }
  plan_->spares = std::make_unique<SpareResults[]>(outputs.size());
}

static bool holds_tensors(const Type& type) {
  return type.is(TypeKind::kTensor) || type.is(TypeKind::kAny) || type.is(TypeKind::kUnknown) ||
         std::ranges::any_of(type.elements(), [](const TypePtr& t) { return holds_tensors(*t); });
}

// Does what the operator gives depend on how its arguments lie?
static bool sees_strides(const Operator& op) {
  return op.facts->looks_at == LooksAt::kStrides ||
         std::ranges::any_of(op.schema.arguments, [](const Argument& argument) {
           return argument.is_aliased && !argument.is_written;
         });
}

// Whether reshape(), flatten() or view() outside of the segment gives a view, a copy or an error
// depends on the strides; who writes to the result sees the difference. What other operators
// compute lies as their inputs do, so what is made of the output counts as well. What leaves a
// branch or a loop, or goes to a method or an attribute, may be viewed there.
static bool is_viewed(const SsaValue& output) {
  std::unordered_set<const Node*> seen;
  std::vector<const SsaValue*> open = {&output};
  while (!open.empty()) {
    poll();
    const SsaValue* value = open.back();
    open.pop_back();
    for (const Node* user : value->users()) {
      const Block& block = *user->owner();
      if (user == block.return_node()) {
        if (block.owner()) return true;
        continue;
      }
      if (!seen.insert(user).second) continue;
      const Symbol kind = user->kind();
      if (user->op() ? sees_strides(*user->op())
                     : !prim::is_packing(kind) && kind != prim::kSegment) {
        return true;
      }
      for (const SsaValue* made : user->outputs()) {
        if (holds_tensors(*made->type())) open.push_back(made);
      }
    }
  }
  return false;
}

static bool has_strides(const PlanTensor& tensor, const IntArray& strides) {
  for (size_t d = 0; d < strides.size(); ++d) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

// As the program has it, where that matters; else without gaps, and images as the inputs lie.
IntArray PlanBuilder::output_strides(const PlanTensor& tensor, size_t index) {
  if (is_viewed(*segment_.output(index))) {
    if (!recording_) recording_ = record(segment_, inputs_);
    const auto known = recording_->find(segment_.block(0)->outputs()[index]);
    if (known != recording_->end() && known->second.sizes == tensor.sizes) {
      return known->second.strides;
    }
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
