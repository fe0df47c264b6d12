#include "device/cpu/builder.h"

#include <algorithm>
#include <new>

#include "base/huge_pages.h"
#include "device/cpu/fuse_blocks.h"
#include "device/cpu/lowering.h"
#include "device/cpu/memory_planner.h"
#include "device/cpu/reference_step.h"
#include "graph/prim_kinds.h"
#include "tensor/containers.h"

namespace torchlet::cpu {

using Entry = PlanBuilder::Entry;

void decline(std::string why) { throw Declined{std::move(why)}; }

std::shared_ptr<std::byte> PackedWeights::allocate(size_t nbytes) {
  constexpr std::align_val_t kAlignment{64};
  auto* memory = static_cast<std::byte*>(::operator new(std::max<size_t>(nbytes, 1), kAlignment));
  prefer_huge_pages(memory, nbytes);
  return {memory, [](std::byte* data) { ::operator delete(data, kAlignment); }};
}

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
}

void PlanBuilder::lower(const Node& node) {
  if (lower_plain(node)) return;
  if (!node.op()) decline(node.kind().str() + " in a segment");
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
  buffer.nbytes = checked_extent(sizes, strides) * static_cast<int64_t>(element_size(dtype));
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
  return {id, n, c, h, w, c};
}

TensorId PlanBuilder::new_view(TensorId base, IntSpan sizes, IntSpan strides, int64_t offset) {
  const PlanTensor& of = info(base);
  plan_->tensors.push_back({of.dtype, sizes, strides, offset, of.buffer, of.quantizer});
  return static_cast<TensorId>(plan_->tensors.size() - 1);
}

// ---- steps ----

void PlanBuilder::add(std::unique_ptr<Step> step) {
  step->node = current_;
  written_at_[static_cast<size_t>(info(step->writes).buffer)] =
      static_cast<int>(plan_->steps.size());
  plan_->steps.push_back(std::move(step));
}

int PlanBuilder::written_at(TensorId id) const {
  return written_at_[static_cast<size_t>(info(id).buffer)];
}

Step* PlanBuilder::sole_producer(const Node& node, size_t input) const {
  const Entry& argument = entry(node, input);
  if (argument.kind != Entry::Kind::kTensor) return nullptr;
  // The value itself, and that of which it is a view, must have no other reader.
  const SsaValue* value = node.input(input);
  if (value->users().size() != 1) return nullptr;
  const int at = written_at(argument.tensor);
  if (at < 0) return nullptr;
  Step* step = plan_->steps[static_cast<size_t>(at)].get();
  return step->writes == argument.tensor ? step : nullptr;
}

bool PlanBuilder::strides_may_change(TensorId id) const {
  return std::ranges::all_of(plan_->steps, [&](const auto& step) {
    const bool uses = step->writes == id || std::ranges::find(step->reads, id) != step->reads.end();
    return !uses || step->reads_strides();
  });
}

bool PlanBuilder::place(TensorId id, TensorId place) {
  PlanTensor& tensor = plan_->tensors[static_cast<size_t>(id)];
  const PlanTensor& target = info(place);
  if (written_at(id) < 0 || tensor.dim() != 4 || target.strides[1] != 1) return false;
  for (size_t i = 0; i < plan_->tensors.size(); ++i) {
    if (plan_->tensors[i].buffer == tensor.buffer && static_cast<TensorId>(i) != id) return false;
  }
  if (!strides_may_change(id)) return false;
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
  IntArray sizes = image.sizes;
  sizes[1] = old_channels;
  const IntArray old_strides = strides_for(sizes, MemoryFormat::kChannelsLast);
  sizes[1] = channels;
  const IntArray strides = strides_for(sizes, MemoryFormat::kChannelsLast);
  std::vector<TensorId> sharers;
  for (size_t i = 0; i < plan_->tensors.size(); ++i) {
    if (plan_->tensors[i].buffer != image.buffer) continue;
    sharers.push_back(static_cast<TensorId>(i));
    if (plan_->tensors[i].strides != old_strides || !strides_may_change(sharers.back())) {
      return kNoTensor;
    }
  }
  for (const TensorId sharer : sharers) {
    plan_->tensors[static_cast<size_t>(sharer)].strides = strides;
  }
  plan_->buffers[static_cast<size_t>(image.buffer)].nbytes =
      checked_extent(sizes, strides) * static_cast<int64_t>(element_size(image.dtype));
  return new_view(id, sizes, strides, 0);
}

const void* PlanBuilder::keep(std::shared_ptr<const void> weights) {
  plan_->packed.push_back(std::move(weights));
  return plan_->packed.back().get();
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

// A contiguous tensor in memory of its own: what a step computes is computed there at once.
TensorId PlanBuilder::output_tensor(TensorId id, size_t index) {
  const PlanTensor tensor = info(id);
  const bool channels_last = tensor.dim() == 4 && wants_channels_last_;
  const IntArray strides = channels_last ? strides_for(tensor.sizes, MemoryFormat::kChannelsLast)
                                         : contiguous_strides(tensor.sizes);
  const bool laid_out =
      is_contiguous_as(tensor.sizes, tensor.strides,
                       channels_last ? MemoryFormat::kChannelsLast : MemoryFormat::kContiguous);
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
  const auto buffer = [&](TensorId id) { return static_cast<size_t>(info(id).buffer); };
  std::vector<bool> is_read(plan_->buffers.size());
  for (size_t i = 0; i < is_read.size(); ++i) {
    is_read[i] = plan_->buffers[i].kind == Buffer::Kind::kOutput;
  }
  auto& steps = plan_->steps;
  for (size_t i = steps.size(); i-- > 0;) {
    if (!is_read[buffer(steps[i]->writes)]) {
      steps[i].reset();
      continue;
    }
    for (const TensorId id : steps[i]->reads) is_read[buffer(id)] = true;
  }
  std::erase_if(steps, [](const auto& step) { return !step; });
}

void PlanBuilder::assign_memory() {
  std::vector<Lifetime> lifetimes(plan_->buffers.size());
  const int steps = static_cast<int>(plan_->steps.size());
  for (Lifetime& lifetime : lifetimes) lifetime = {0, steps, -1, 0};
  const auto touch = [&](TensorId id, int step) {
    Lifetime& lifetime = lifetimes[static_cast<size_t>(info(id).buffer)];
    lifetime.first = std::min(lifetime.first, step);
    lifetime.last = std::max(lifetime.last, step);
  };
  for (int i = 0; i < steps; ++i) {
    const Step& step = *plan_->steps[static_cast<size_t>(i)];
    for (const TensorId id : step.reads) touch(id, i);
    touch(step.writes, i);
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
