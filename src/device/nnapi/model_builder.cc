#include "device/nnapi/model_builder.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "device/nnapi/lower/lowering.h"
#include "ops/core/common.h"

namespace torchlet::nnapi {
namespace {

constexpr size_t kMostDims = 4;  // of most operations
constexpr std::array<int32_t, 4> kToNhwc = {0, 2, 3, 1}, kToNchw = {0, 3, 1, 2};

template <typename T>
std::vector<std::byte> bytes_of(const T* values, size_t count) {
  std::vector<std::byte> bytes(count * sizeof(T));
  if (count > 0) std::memcpy(bytes.data(), values, bytes.size());
  return bytes;
}

template <typename T>
Operand scalar_operand(int32_t code, T value) {
  Operand operand;
  operand.code = code;
  operand.bytes = bytes_of(&value, 1);
  return operand;
}

}  // namespace

int32_t to_int32(int64_t value) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    decline("a number that is too large for NNAPI");
  }
  return static_cast<int32_t>(value);
}

int32_t axis_in(Layout layout, int64_t dim) {
  return layout == Layout::kNhwc ? kToNchw[static_cast<size_t>(dim)] : static_cast<int32_t>(dim);
}

std::vector<uint32_t> operand_sizes(IntSpan sizes, Layout layout) {
  std::vector<uint32_t> all;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = sizes[layout == Layout::kNhwc ? static_cast<size_t>(kToNhwc[i]) : i];
    if (size == 0) decline("a tensor without elements");
    all.push_back(static_cast<uint32_t>(to_int32(size)));
  }
  if (all.empty()) all.push_back(1);
  return all;
}

void ModelBuilder::require_level(int64_t level, const char* what) const {
  if (this->level() < level) decline(std::string("this NNAPI is too old for ") + what);
}

// ---- operands ----

namespace {

void require_dims(const TensorDescription& d) {
  if (d.sizes.size() <= kMostDims) return;
  decline("a tensor of " + std::to_string(d.sizes.size()) + " dimensions");
}

}  // namespace

Operand ModelBuilder::type(const TensorDescription& d, Layout layout) const {
  require_dims(d);
  Operand operand;
  operand.sizes = operand_sizes(d.sizes, layout);
  switch (d.dtype) {
    case DType::kFloat32:
      operand.code = ANEURALNETWORKS_TENSOR_FLOAT32;
      break;
    case DType::kInt32:
      operand.code = ANEURALNETWORKS_TENSOR_INT32;
      break;
    case DType::kBool:
      operand.code = ANEURALNETWORKS_TENSOR_BOOL8;
      break;
    case DType::kQUInt8:
      operand.code = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
      break;
    case DType::kQInt8:
      operand.code = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
      break;
    default:
      decline("a tensor of " + std::string(dtype_name(d.dtype)));
  }
  require_level(level_of_operand(operand.code), "tensors of this type");
  if (d.quantizer) {
    if (!d.quantizer->per_tensor()) decline("a tensor that is quantized per channel");
    operand.scale = static_cast<float>(d.quantizer->scale);
    operand.zero_point = to_int32(d.quantizer->zero_point);
    const int32_t low = d.dtype == DType::kQInt8 ? -128 : 0;
    if (!(operand.scale > 0) || operand.scale > std::numeric_limits<float>::max() ||
        operand.zero_point < low || operand.zero_point > low + 255) {
      decline("an unusual scale or zero point");
    }
  }
  return operand;
}

OperandId ModelBuilder::new_operand(Operand operand) {
  model_.operands.push_back(std::move(operand));
  return static_cast<OperandId>(model_.operands.size() - 1);
}

OperandId ModelBuilder::scalar(int32_t value) {
  return new_operand(scalar_operand(ANEURALNETWORKS_INT32, value));
}
OperandId ModelBuilder::scalar(float value) {
  return new_operand(scalar_operand(ANEURALNETWORKS_FLOAT32, value));
}
OperandId ModelBuilder::scalar(bool value) {
  return new_operand(scalar_operand(ANEURALNETWORKS_BOOL, static_cast<uint8_t>(value)));
}

OperandId ModelBuilder::ints(const std::vector<int32_t>& values, std::vector<uint32_t> sizes) {
  Operand operand;
  operand.code = ANEURALNETWORKS_TENSOR_INT32;
  operand.sizes = std::move(sizes);
  if (operand.sizes.empty()) operand.sizes = {static_cast<uint32_t>(values.size())};
  operand.bytes = bytes_of(values.data(), values.size());
  return new_operand(std::move(operand));
}

OperandId ModelBuilder::constant(float value) {
  Operand operand = scalar_operand(ANEURALNETWORKS_TENSOR_FLOAT32, value);
  operand.sizes = {1};
  return new_operand(std::move(operand));
}

OperandId ModelBuilder::constant(Operand operand) {
  require_level(level_of_operand(operand.code), "constants of this type");
  return new_operand(std::move(operand));
}

OperandId ModelBuilder::constant(const Tensor& tensor, Layout layout) {
  auto& known = constants_[tensor.impl()][static_cast<size_t>(layout)];
  if (known) return *known;
  kept_.push_back(tensor);
  Operand operand = type(device::describe(tensor), layout);
  operand.tensor = layout == Layout::kNhwc ? ops::permute(tensor, IntArray{0, 2, 3, 1}) : tensor;
  operand.tensor = operand.tensor.contiguous();
  known = new_operand(std::move(operand));
  return *known;
}

TensorDescription ModelBuilder::describe(const CallArgument& argument) {
  if (argument.is_tensor()) return segment_.describe(argument.id());
  if (!argument.is_known() || !argument.known().is_tensor()) decline("an argument is no tensor");
  const Tensor tensor = argument.known().to_tensor();
  if (tensor.impl()->sparse || tensor.impl()->nested) decline("a tensor that is not dense");
  return device::describe(tensor);
}

// Made when it is first read, in the layout that is asked for: it is copied anyway.
OperandId ModelBuilder::input(ValueId id, Layout layout) {
  const TensorDescription& description = segment_.describe(id);
  const OperandId made = new_operand(type(description, layout));
  const auto is_it = [id](const CallArgument& argument) {
    return argument.is_tensor() && argument.id() == id;
  };
  const auto place = std::ranges::find_if(segment_.inputs, is_it);
  places_[made] = model_.inputs.size();
  model_.inputs.push_back(made);
  lowered_.inputs.push_back(
      {static_cast<size_t>(place - segment_.inputs.begin()), binding(description, made, layout)});
  return made;
}

Layout ModelBuilder::layout_at_hand(const CallArgument& argument) {
  const bool is_image = describe(argument).sizes.size() == 4;
  if (!is_image || !argument.is_tensor()) return Layout::kPlain;
  const Layouts& all = layouts(argument.id());
  if (!all[0] && !all[1]) return has_images_ ? Layout::kNhwc : Layout::kPlain;
  return all[static_cast<size_t>(Layout::kNhwc)] ? Layout::kNhwc : Layout::kPlain;
}

Held ModelBuilder::held(const CallArgument& argument) {
  const Layout layout = layout_at_hand(argument);
  return {operand(argument, layout), layout};
}

OperandId ModelBuilder::in_order(const CallArgument& argument) {
  if (layout_at_hand(argument) == Layout::kNhwc) {
    const OperandId image = operand(argument, Layout::kNhwc);
    const std::vector<uint32_t>& sizes = info(image).sizes;
    if (sizes[3] == 1 || (sizes[1] == 1 && sizes[2] == 1)) return image;
  }
  return operand(argument, Layout::kPlain);
}

OperandId ModelBuilder::operand(const CallArgument& argument, Layout layout) {
  const TensorDescription description = describe(argument);
  if (layout == Layout::kNhwc && description.sizes.size() != 4) {
    decline("a tensor of " + std::to_string(description.sizes.size()) +
            " dimensions where NNAPI has images");
  }
  if (argument.is_known()) return constant(argument.known().to_tensor(), layout);
  Layouts& all = layouts(argument.id());
  auto& wanted = all[static_cast<size_t>(layout)];
  if (wanted) return *wanted;
  const auto& other = all[1 - static_cast<size_t>(layout)];
  if (!other) {
    const auto& tensor = segment_.tensors[static_cast<size_t>(argument.id())];
    const bool is_free = tensor.producer < 0 || is_refused_[static_cast<size_t>(argument.id())];
    if (!is_free) {
      require_dims(description);
      decline("a tensor that NNAPI does not compute");
    }
    if (layout == Layout::kPlain || limits_.nhwc_borders) {
      wanted = input(argument.id(), layout);
    } else {
      all[static_cast<size_t>(Layout::kPlain)] = input(argument.id(), Layout::kPlain);
      return operand(argument, layout);
    }
  } else {
    if (info(*other).code != type(description, layout).code) {
      decline("a tensor of " + std::string(dtype_name(description.dtype)));
    }
    const auto& order = layout == Layout::kNhwc ? kToNhwc : kToNchw;
    wanted = transposed(*other, {order.begin(), order.end()});
  }
  return *wanted;
}

// ---- operations ----

void ModelBuilder::add(int32_t code, std::vector<OperandId> inputs,
                       std::vector<OperandId> outputs) {
  require_level(level_of_operation(code), "this operation");
  model_.operations.push_back({code, std::move(inputs), std::move(outputs)});
}

OperandId ModelBuilder::add(int32_t code, std::vector<OperandId> inputs, Operand output) {
  const OperandId made = new_operand(std::move(output));
  add(code, std::move(inputs), std::vector{made});
  return made;
}

void ModelBuilder::add_result(const Call& call, int32_t code, std::vector<OperandId> inputs,
                              Layout layout, int activation) {
  const OperandId made = add(code, std::move(inputs), type(result(call), layout));
  define(call, {made, layout});
  if (activation >= 0) {
    fusable_[made] = {model_.operations.size() - 1, static_cast<size_t>(activation)};
  }
}

void ModelBuilder::define(const CallArgument& output, Held result) {
  layouts(output.id())[static_cast<size_t>(result.layout)] = result.id;
  fusable_.erase(result.id);  // it may have another name, and so other readers
}

OperandId ModelBuilder::reshaped(OperandId id, const std::vector<uint32_t>& sizes) {
  Operand output = info(id);
  if (output.sizes == sizes) return id;
  output.sizes = sizes;
  output.bytes.clear();
  output.tensor = Tensor();
  std::vector<int32_t> shape(sizes.begin(), sizes.end());
  const OperandId wanted = ints(shape);
  return add(ANEURALNETWORKS_RESHAPE, {id, wanted}, std::move(output));
}

OperandId ModelBuilder::transposed(OperandId id, const std::vector<int32_t>& order) {
  if (std::ranges::is_sorted(order)) return id;
  Operand output = info(id);
  for (size_t i = 0; i < order.size(); ++i) {
    output.sizes[i] = info(id).sizes[static_cast<size_t>(order[i])];
  }
  output.bytes.clear();
  output.tensor = Tensor();
  // Of one order of the elements nothing has to move.
  std::vector<int32_t> moved;
  for (const int32_t i : order) {
    if (info(id).sizes[static_cast<size_t>(i)] != 1) moved.push_back(i);
  }
  if (std::ranges::is_sorted(moved)) return reshaped(id, output.sizes);
  const OperandId wanted = ints(order);
  return add(ANEURALNETWORKS_TRANSPOSE, {id, wanted}, std::move(output));
}

void ModelBuilder::define_split(const Call& call, SplitChannels channels) {
  split_channels_.insert_or_assign(call.outputs[0].id(), std::move(channels));
}

const ModelBuilder::SplitChannels* ModelBuilder::split_channels(
    const CallArgument& argument) const {
  if (!argument.is_tensor()) return nullptr;
  const auto found = split_channels_.find(argument.id());
  return found == split_channels_.end() ? nullptr : &found->second;
}

bool ModelBuilder::fuse(const Call& call, Arg arg, int32_t activation) {
  const CallArgument& argument = call.argument(arg);
  if (!argument.is_tensor() ||
      segment_.tensors[static_cast<size_t>(argument.id())].users.size() != 1) {
    return false;
  }
  const Held result = held(argument);
  const auto found = fusable_.find(result.id);
  if (found == fusable_.end()) return false;
  model_.operations[found->second.operation].inputs[found->second.place] = scalar(activation);
  fusable_.erase(found);
  define(call, result);
  return true;
}

// ---- the whole ----

LoweredSegment ModelBuilder::build() {
  layouts_.resize(segment_.tensors.size());
  is_refused_.resize(segment_.tensors.size());
  for (const Call& call : segment_.calls) {
    const Lowering* lowering = find_lowering(call.kind());
    has_images_ |= lowering && lowering->reads_images;
  }
  for (size_t i = 0; i < segment_.calls.size(); ++i) {
    lower(i);
    lowered_.calls.resize(model_.operations.size(), i);
  }
  if (!lowered_.refused.empty()) return std::move(lowered_);
  add_outputs();
  if (!lowered_.refused.empty()) return std::move(lowered_);
  lowered_.calls.resize(model_.operations.size(), segment_.calls.size() - 1);
  if (model_.operations.empty()) decline("there is nothing for NNAPI to compute");
  if (model_.inputs.empty()) decline("it computes the same each time");
  return std::move(lowered_);
}

void ModelBuilder::lower(size_t place) {
  const Call& call = segment_.calls[place];
  std::string why;
  try {
    const Lowering* lowering = find_lowering(call.kind());
    if (!lowering) decline("NNAPI has no operation for it");
    return lowering->lower(*this, call);
  } catch (const Declined& declined) {
    why = declined.why;
  } catch (const Error& error) {
    if (is_limit(error.code())) throw;
    why = error.what();
  }
  lowered_.refused.push_back({place, why});
  const auto free = [this](const CallArgument& output) {
    if (output.is_tensor()) is_refused_[static_cast<size_t>(output.id())] = true;
  };
  for (const CallArgument& output : call.outputs) {
    free(output);
    std::ranges::for_each(output.items(), free);
  }
}

Binding ModelBuilder::binding(const TensorDescription& d, OperandId id, Layout layout) const {
  const auto format =
      layout == Layout::kNhwc ? MemoryFormat::kChannelsLast : MemoryFormat::kContiguous;
  // NNAPI has no 64-bit integers: what it gives in their place is widened.
  const bool is_narrow = info(id).code == ANEURALNETWORKS_TENSOR_INT32;
  return {is_narrow ? DType::kInt32 : d.dtype, d.sizes, strides_for(d.sizes, format), d.quantizer};
}

// What cannot leave is refused to whom it comes from.
void ModelBuilder::add_outputs() {
  for (size_t i = 0; i < segment_.outputs.size(); ++i) {
    try {
      lowered_.outputs.push_back(output(i));
    } catch (const Declined& declined) {
      const CallArgument& value = segment_.outputs[i].value;
      if (!value.is_tensor()) throw;
      const int producer = segment_.tensors[static_cast<size_t>(value.id())].producer;
      if (producer < 0) throw;
      lowered_.refused.push_back({static_cast<size_t>(producer), declined.why});
    }
  }
}

LoweredSegment::Output ModelBuilder::output(size_t index) {
  const auto& [value, is_viewed] = segment_.outputs[index];
  LoweredSegment::Output output;
  output.from = LoweredSegment::Output::From::kKnown;
  if (value.is_list()) decline("a list that leaves the segment");
  if (value.is_known()) {
    const bool is_shared = value.known().is_tensor() || value.known().is_list();
    if (is_shared && !limits_.known_outputs) {
      decline("a known tensor that leaves the segment");
    }
    output.known = value.known();
    return output;
  }
  const Held result =
      limits_.nhwc_borders ? held(value) : Held{operand(value, Layout::kPlain), Layout::kPlain};
  output.result = segment_.describe(value.id());
  output.is_viewed = is_viewed;
  output.binding = binding(output.result, result.id, result.layout);
  if (info(result.id).is_constant()) decline("a known tensor that leaves the segment");
  if (const auto found = places_.find(result.id); found != places_.end()) {
    const bool is_input =
        found->second < model_.inputs.size() && model_.inputs[found->second] == result.id;
    output.from =
        is_input ? LoweredSegment::Output::From::kInput : LoweredSegment::Output::From::kOutput;
    output.index = found->second;
    return output;
  }
  output.from = LoweredSegment::Output::From::kOutput;
  output.index = places_[result.id] = model_.outputs.size();
  model_.outputs.push_back(result.id);
  return output;
}

}  // namespace torchlet::nnapi
