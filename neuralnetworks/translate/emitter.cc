#include "neuralnetworks/translate/emitter.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "neuralnetworks/operators/operators.h"
#include "neuralnetworks/translate/representation.h"
#include "tensor/containers.h"

namespace torchlet::nn {
namespace {

const Operator& require_operator(std::string_view full_name) {
  const size_t dot = full_name.find('.');
  const std::string_view name = full_name.substr(0, dot);
  const std::string_view overload =
      dot == std::string_view::npos ? std::string_view() : full_name.substr(dot + 1);
  const Operator* op = find_own_operator(name);
  if (!op) op = find_operator(name, overload);
  if (!op) fail(ErrorCode::kInternal, "there is no operator %s", std::string(full_name).c_str());
  return *op;
}

TypePtr constant_type(const Value& value) {
  if (value.is_none()) return types::none();
  if (value.is_tensor()) return types::tensor();
  if (value.is_int()) return types::integer();
  if (value.is_float()) return types::floating();
  if (value.is_bool()) return types::boolean();
  if (value.is_string()) return types::string();
  fail(ErrorCode::kInternal, "%s is no constant of a model", value.kind_name());
}

// "(Tensor, float, ...)": whichever calls the operator knows what it gives.
TypePtr result_type(const TypePtr& declared) {
  return has_free_variables(*declared) ? types::unknown() : declared;
}

}  // namespace

Emitter::Emitter(Graph& graph, Block* block, const Model& model, std::span<SsaValue* const> inputs,
                 SsaValue* loop_timeout)
    : graph_(graph),
      block_(block),
      model_(model),
      loop_timeout_(loop_timeout),
      known_(model.operands.size()) {
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    if (model.operands[model.inputs[i]].lifetime == Lifetime::kInput) {
      known_[model.inputs[i]].plain = inputs[i];
    }
  }
}

std::vector<SsaValue*> Emitter::translate() {
  for (const Operation& operation : model_.operations) {
    const Call call(model_, operation);
    try {
      call.def().translate(*this, call);
    } catch (Error& error) {
      error.add_context(std::string("in ") + call.def().name);
      throw;
    }
  }
  std::vector<SsaValue*> outputs;
  for (const uint32_t output : model_.outputs) outputs.push_back(value(output));
  return outputs;
}

// ---- nodes ----

SsaValue* Emitter::constant(const Value& value) {
  Node* node = graph_.create(prim::kConstant);
  node->set_attribute("value", value);
  block_->append(node);
  return node->add_output(constant_type(value));
}

std::vector<SsaValue*> Emitter::unpack(SsaValue* list, size_t count) {
  Node* node = graph_.create(prim::kListUnpack, {list});
  block_->append(node);
  for (size_t i = 0; i < count; ++i) node->add_output(types::tensor());
  return node->outputs();
}

SsaValue* Emitter::argument(const Arg& arg, const TypePtr& type) {
  if (arg.value_) return arg.value_;
  if (!arg.is_list_) return constant(arg.constant_);
  const TypePtr& list = type->is(TypeKind::kOptional) ? type->element(0) : type;
  TORCHLET_ASSERT(list->is(TypeKind::kList));
  std::vector<SsaValue*> items;
  for (const Arg& item : arg.items_) items.push_back(argument(item, list->element(0)));
  Node* node = graph_.create(prim::kListConstruct, std::move(items));
  block_->append(node);
  return node->add_output(list);
}

std::vector<SsaValue*> Emitter::call_all(std::string_view name, std::vector<Arg> args) {
  const Operator& op = require_operator(name);
  const std::vector<torchlet::Argument>& formal = op.schema.arguments;
  TORCHLET_ASSERT(args.size() <= formal.size());
  std::vector<SsaValue*> inputs;
  for (size_t i = 0; i < formal.size(); ++i) {
    if (i < args.size()) {
      inputs.push_back(argument(args[i], formal[i].type));
    } else if (formal[i].default_value) {
      const Value& value = *formal[i].default_value;
      if (value.is_list()) {
        std::vector<Arg> items;
        for (const Value& item : value.to_list()) items.emplace_back(item);
        inputs.push_back(argument(Arg(std::move(items)), formal[i].type));
      } else {
        inputs.push_back(constant(value));
      }
    } else {
      fail(ErrorCode::kInternal, "%s needs its argument %s", op.schema.full_name().c_str(),
           formal[i].name.c_str());
    }
  }
  Node* node = graph_.create(op.name, std::move(inputs));
  node->set_op(&op);
  block_->append(node);
  for (const torchlet::Argument& result : op.schema.returns) {
    node->add_output(result_type(result.type));
  }
  return node->outputs();
}

SsaValue* Emitter::call(std::string_view name, std::vector<Arg> args) {
  const std::vector<SsaValue*> results = call_all(name, std::move(args));
  TORCHLET_ASSERT(results.size() == 1);
  return results[0];
}

// ---- operands ----

SsaValue* Emitter::value(uint32_t index) {
  Known& known = known_[index];
  if (known.plain) return known.plain;
  const Operand& operand = model_.operands[index];
  if (known.nchw) {
    known.plain = call("aten::permute", {known.nchw, {0, 2, 3, 1}});
  } else if (operand.lifetime == Lifetime::kConstant) {
    known.plain = constant(hold(operand, operand.dims, operand.value, operand.keep_alive));
  } else if (operand.lifetime == Lifetime::kOmitted) {
    known.plain = constant(Value());
  } else {
    fail(ErrorCode::kInternal, "operand %u is read before it is computed", index);
  }
  return known.plain;
}

SsaValue* Emitter::real(const Call& call, std::string_view name) {
  return to_real(value(call, name), call.operand(name));
}

SsaValue* Emitter::to_real(SsaValue* held, const Operand& operand) {
  switch (operand.type) {
    case ANEURALNETWORKS_TENSOR_FLOAT32:
      return held;
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL:
      return call("aten::dequantize.self", {held});
    default:
      break;
  }
  SsaValue* real = call("aten::to.dtype", {held, DType::kFloat32});
  if (operand.type == ANEURALNETWORKS_TENSOR_QUANT16_SYMM ||
      operand.type == ANEURALNETWORKS_TENSOR_QUANT16_ASYMM) {
    if (operand.zero_point) real = call("aten::sub.Scalar", {real, int64_t{operand.zero_point}});
    real = call("aten::mul.Scalar", {real, double{operand.scale}});
  }
  return real;
}

SsaValue* Emitter::from_real(SsaValue* real, const Operand& operand) {
  const auto quantized = [&](DType dtype) {
    return call("aten::quantize_per_tensor",
                {real, double{operand.scale}, held_zero_point(operand), dtype});
  };
  const auto rounded = [&](int64_t least, int64_t most, DType dtype) {
    SsaValue* integers =
        call("aten::round", {call("aten::div.Scalar", {real, double{operand.scale}})});
    integers = call("aten::add.Scalar", {integers, int64_t{operand.zero_point}});
    return call("aten::to.dtype", {call("aten::clamp", {integers, least, most}), dtype});
  };
  switch (operand.type) {
    case ANEURALNETWORKS_TENSOR_FLOAT32:
      return real;
    case ANEURALNETWORKS_TENSOR_FLOAT16:
      return call("aten::to.dtype", {real, DType::kFloat16});
    case ANEURALNETWORKS_TENSOR_INT32:
      return call("aten::to.dtype", {real, DType::kInt32});
    case ANEURALNETWORKS_TENSOR_BOOL8:
      return call("aten::to.dtype", {real, DType::kBool});
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
      return quantized(DType::kQUInt8);
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
      return quantized(DType::kQInt8);
    case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
      return rounded(-32768, 32767, DType::kInt16);
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
      return rounded(0, 65535, DType::kInt32);
    default:
      fail(ErrorCode::kInternal, "no operation gives an operand of type %d", operand.type);
  }
}

void Emitter::give(uint32_t operand, SsaValue* held) { known_[operand].plain = held; }

// ---- sizes ----

Arg Emitter::size(uint32_t operand, int64_t axis) {
  const std::vector<uint32_t>& dims = model_.operands[operand].dims;
  if (const auto at = static_cast<size_t>(axis); at < dims.size() && dims[at] != 0) {
    return int64_t{dims[at]};
  }
  return call("aten::size.int", {value(operand), axis});
}

Arg Emitter::sizes(uint32_t operand) {
  const std::vector<uint32_t>& dims = model_.operands[operand].dims;
  if (dims.empty() || std::ranges::find(dims, 0u) != dims.end()) {
    return call("aten::size", {value(operand)});
  }
  std::vector<Arg> sizes;
  for (const uint32_t size : dims) sizes.emplace_back(int64_t{size});
  return sizes;
}

Arg Emitter::rank(uint32_t operand) {
  const size_t rank = model_.operands[operand].dims.size();
  return rank != 0 ? Arg(static_cast<int64_t>(rank)) : call("aten::dim", {value(operand)});
}

// ---- images ----

SsaValue* Emitter::image(uint32_t operand) {
  if (!known_[operand].nchw) {
    SsaValue* plain = value(operand);
    known_[operand].nchw = call("aten::permute", {plain, {0, 3, 1, 2}});
  }
  return known_[operand].nchw;
}

SsaValue* Emitter::image(const Call& call, std::string_view name) {
  return call.boolean("nchw") ? value(call, name) : image(call.index(name));
}

void Emitter::give_image(const Call& call, SsaValue* nchw, size_t i) {
  if (call.boolean("nchw")) return give(call, nchw, i);
  give_image(call.output_index(i), nchw);
}

bool Emitter::as_images(std::span<const uint32_t> operands) {
  return std::ranges::all_of(operands,
                             [&](uint32_t i) { return model_.operands[i].dims.size() == 4; }) &&
         std::ranges::any_of(operands,
                             [&](uint32_t i) { return known_[i].nchw && !known_[i].plain; });
}

// ---- what many operations share ----

SsaValue* Emitter::activate(SsaValue* tensor, int64_t fuse_code) {
  switch (fuse_code) {
    case ANEURALNETWORKS_FUSED_NONE:
      return tensor;
    case ANEURALNETWORKS_FUSED_RELU:
      return call("aten::relu", {tensor});
    case ANEURALNETWORKS_FUSED_RELU1:
      return call("aten::hardtanh", {tensor, -1.0, 1.0});
    case ANEURALNETWORKS_FUSED_RELU6:
      return call("aten::hardtanh", {tensor, 0.0, 6.0});
    default:
      fail(ErrorCode::kInvalidArgument, "there is no activation of number %lld",
           static_cast<long long>(fuse_code));
  }
}

SsaValue* Emitter::requantized(SsaValue* held, const Operand& from, const Operand& to) {
  if (!is_quantized(to.type) || (from.scale == to.scale && from.zero_point == to.zero_point)) {
    return held;
  }
  return from_real(to_real(held, from), to);
}

int64_t needed_activation(int64_t fuse_code, const Operand& result) {
  constexpr int64_t kNone = ANEURALNETWORKS_FUSED_NONE;
  const int64_t zero = held_zero_point(result);
  const bool has_negative = zero > 0;
  // Whether anything that is rounded as the scale says lies above.
  const auto exceeds = [&](double bound) {
    return zero + std::lround(bound / double{result.scale}) < 255;
  };
  switch (fuse_code) {
    case ANEURALNETWORKS_FUSED_RELU:
      return has_negative ? fuse_code : kNone;
    case ANEURALNETWORKS_FUSED_RELU6:
      return exceeds(6) ? fuse_code : needed_activation(ANEURALNETWORKS_FUSED_RELU, result);
    case ANEURALNETWORKS_FUSED_RELU1: {
      const bool has_less = zero - std::lround(1 / double{result.scale}) > 0;
      return exceeds(1) || has_less ? fuse_code : kNone;
    }
    default:
      return fuse_code;
  }
}

}  // namespace torchlet::nn
