#include "prepare/nnapi/nnapi_module.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "graph/function.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/rewrite.h"
#include "prepare/nnapi/nnapi_module_source.h"
#include "prepare/nnapi/serialized_model_writer.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::prepare {
namespace {

using nnapi::Operand;

constexpr char kPackage[] = "__torch__.torch.backends._nnapi.prepare";

// The dimensions of the tensor: an operand [n, h, w, c] is for [n, c, h, w].
IntArray tensor_sizes(const Operand& operand, bool is_nhwc) {
  const std::vector<uint32_t>& sizes = operand.sizes;
  if (is_nhwc) return {sizes[0], sizes[3], sizes[1], sizes[2]};
  return {sizes.begin(), sizes.end()};
}

const Operand& input_of(const NnapiModel& model, size_t i) {
  return model.model.operands[model.model.inputs[i]];
}
const Operand& output_of(const NnapiModel& model, size_t i) {
  return model.model.operands[model.model.outputs[i]];
}

// Of the tensors that PyTorch passes for such an operand.
DType dtype_of(const Operand& operand, const char* what, size_t index) {
  switch (operand.code) {
    case ANEURALNETWORKS_TENSOR_FLOAT32:
      return DType::kFloat32;
    case ANEURALNETWORKS_TENSOR_INT32:
      return DType::kInt32;
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
      return DType::kQUInt8;
    case ANEURALNETWORKS_TENSOR_BOOL8:
      return DType::kBool;
    default:
      fail(ErrorCode::kUnsupported,
           "%s %zu of the NNAPI model is of operand type %d, for which PyTorch has no tensor", what,
           index, operand.code);
  }
}

DType input_dtype(const NnapiModel& model, size_t i) {
  const DType dtype = dtype_of(input_of(model, i), "input", i);
  if (dtype == DType::kBool) {
    fail(ErrorCode::kUnsupported,
         "input %zu of the NNAPI model is bool, which PyTorch cannot pass to NNAPI", i);
  }
  return dtype;
}

// ---- sizes that are left open ----

[[noreturn]] void differ(const char* what) {
  fail(ErrorCode::kUnsupported,
       "no size of the NNAPI model can be left open: its %s is no linear function of it", what);
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !std::ranges::equal(a.sizes(), b.sizes())) return false;
  const size_t nbytes = static_cast<size_t>(a.numel()) * element_size(a.dtype());
  return a.impl()->data() == b.impl()->data() ||
         std::memcmp(a.impl()->data(), b.impl()->data(), nbytes) == 0;
}

OpenSize open_size(std::span<const WrittenNnapiModel> written, std::span<const int64_t> sizes,
                   InputDim dim) {
  const WrittenNnapiModel& first = written[0];
  for (const WrittenNnapiModel& other : written) {
    const bool is_same = other.words.numel() == first.words.numel() &&
                         std::ranges::equal(other.weights, first.weights, same_bytes);
    if (!is_same) differ("structure or one of its weights");
  }
  OpenSize open{dim, empty(first.words.sizes(), DType::kInt32),
                empty(first.words.sizes(), DType::kInt32)};
  for (int64_t i = 0; i < first.words.numel(); ++i) {
    const auto word = [&](size_t model) -> int64_t {
      return written[model].words.data_ptr<int32_t>()[i];
    };
    const int64_t step = (word(1) - word(0)) / (sizes[1] - sizes[0]);
    const int64_t base = word(0) - step * sizes[0];
    for (size_t model = 0; model < written.size(); ++model) {
      if (word(model) != base + step * sizes[model]) differ("plan");
    }
    open.base.data_ptr<int32_t>()[i] = static_cast<int32_t>(base);
    open.step.data_ptr<int32_t>()[i] = static_cast<int32_t>(step);
  }
  return open;
}

// ---- templates of outputs ----

// "[1, size * 2 + 3]", where `first_word` is the operand's first size among the words.
std::string sizes_text(const Operand& operand, size_t first_word, const OpenSize* open) {
  std::string text;
  for (size_t d = 0; d < operand.sizes.size(); ++d) {
    if (d > 0) text += ", ";
    const int32_t step = open ? open->step.data_ptr<int32_t>()[first_word + d] : 0;
    if (step == 0) {
      text += std::to_string(operand.sizes[d]);
    } else {
      text += format("size * %d + %d", step, open->base.data_ptr<int32_t>()[first_word + d]);
    }
  }
  return "[" + text + "]";
}

std::vector<std::string> templates_of(const NnapiModel& model, const WrittenNnapiModel& written,
                                      const OpenSize* open) {
  std::vector<std::string> templates;
  for (size_t i = 0; i < model.model.outputs.size(); ++i) {
    const Operand& operand = output_of(model, i);
    const DType dtype = dtype_of(operand, "output", i);
    const std::string sizes = sizes_text(operand, written.sizes_of[model.model.outputs[i]], open);
    if (dtype == DType::kQUInt8) {
      templates.push_back(format("torch.quantize_per_tensor(torch.zeros(%s), %s, %d, %d)",
                                 sizes.c_str(), float_text(double{operand.scale}).c_str(),
                                 operand.zero_point, static_cast<int>(dtype)));
    } else {
      templates.push_back(
          format("torch.zeros(%s, dtype=%d)", sizes.c_str(), static_cast<int>(dtype)));
    }
  }
  return templates;
}

// ---- the objects ----

Value mem_fmts(const std::vector<bool>& nhwc) {
  return make_int_list(IntArray(nhwc.begin(), nhwc.end()));
}

Value make_objects(script::CompilationUnit& unit, const std::string& package,
                   const NnapiModel& model, WrittenNnapiModel written, const OpenSize* open) {
  const auto object_of = [&](const char* name) {
    return make_ref<Object>(
        std::static_pointer_cast<const ClassType>(unit.find_type(package + "." + name)));
  };
  const auto shapes = object_of("ShapeComputeModule");
  shapes->set_attribute("training", Value(false));
  const auto module = object_of("NnapiModule");
  const auto set = [&](const char* name, Value value) {
    module->set_attribute(name, std::move(value));
  };
  set("training", Value(false));
  set("ser_model", Value(std::move(written.words)));
  set("weights", make_tensor_list(std::move(written.weights)));
  set("inp_mem_fmts", mem_fmts(model.nhwc_inputs));
  set("out_mem_fmts", mem_fmts(model.nhwc_outputs));
  set("out_templates", make_tensor_list({}));
  set("comp", Value());
  set("compilation_preference", Value(int64_t{model.preference}));
  set("relax_f32_to_f16", Value(model.relax_float32_to_float16));
  if (open) {
    shapes->set_attribute("base", Value(open->base));
    shapes->set_attribute("step", Value(open->step));
    set("open_size", Value(int64_t{-1}));
  }
  set("shape_compute_module", Value(shapes));
  return Value(module);
}

}  // namespace

NnapiModel nnapi_model_of(const nnapi::LoweredSegment& lowered) {
  NnapiModel result;
  result.model = lowered.model;
  // Images of one channel or one pixel lie the same in both orders.
  const auto is_nhwc = [&](const nnapi::Binding& binding, nnapi::OperandId id) {
    const Operand& operand = lowered.model.operands[id];
    return binding.sizes.size() == 4 &&
           (!std::ranges::equal(operand.sizes, binding.sizes) ||
            !std::ranges::equal(binding.strides, contiguous_strides(binding.sizes)));
  };
  for (size_t i = 0; i < lowered.inputs.size(); ++i) {
    const nnapi::Binding& binding = lowered.inputs[i].binding;
    result.nhwc_inputs.push_back(is_nhwc(binding, lowered.model.inputs[i]));
    result.scalar_inputs.push_back(binding.sizes.empty());
  }
  result.nhwc_outputs.resize(lowered.model.outputs.size());
  for (const nnapi::LoweredSegment::Output& output : lowered.outputs) {
    if (output.from != nnapi::LoweredSegment::Output::From::kOutput) continue;
    result.nhwc_outputs[output.index] =
        is_nhwc(output.binding, lowered.model.outputs[output.index]);
  }
  return result;
}

// ---- making modules ----

std::string NnapiModules::free_package() {
  const auto has = [](script::CompilationUnit& unit, const std::string& package) {
    return unit.find_type(package + ".NnapiModule") ||
           unit.find_type(package + ".ShapeComputeModule");
  };
  const auto is_taken = [&](const std::string& package) {
    if (is_taken_ &&
        (is_taken_(package + ".NnapiModule") || is_taken_(package + ".ShapeComputeModule"))) {
      return true;
    }
    return has(program_, package) ||
           std::ranges::any_of(units_, [&](const auto& unit) { return has(*unit, package); });
  };
  std::string package = kPackage;
  for (size_t i = 0; is_taken(package); ++i) {
    package = kPackage + (".___torch_mangle_" + std::to_string(i));
  }
  return package;
}

Value NnapiModules::add(const NnapiModel& model, WrittenNnapiModel written, const OpenSize* open) {
  for (const auto& [id, quantized] : model.dequantized) {
    written.weights[written.weight_of[id].value()] = quantized;
  }
  const std::string package = free_package();
  auto source = std::make_shared<Source>();
  source->name = package;
  source->text = nnapi_module_source(
      package, {templates_of(model, written, open), !model.dequantized.empty(), open});
  script::Program program;
  program.find_source = [source](const std::string& name) -> std::shared_ptr<const Source> {
    return name == source->name ? source : nullptr;
  };
  script::CompilationUnit& unit =
      *units_.emplace_back(std::make_unique<script::CompilationUnit>(std::move(program)));
  return make_objects(unit, package, model, std::move(written), open);
}

Value NnapiModules::make(const NnapiModel& model) {
  return add(model, write_serialized_model(model.model), nullptr);
}

Value NnapiModules::make(std::span<const NnapiModel> models, std::span<const int64_t> sizes,
                         std::span<const InputDim> open) {
  if (models.size() < 3 || models.size() != sizes.size() || sizes[0] == sizes[1] || open.empty()) {
    fail(ErrorCode::kInternal, "an open size needs three models of different sizes");
  }
  std::vector<WrittenNnapiModel> written;
  for (const NnapiModel& model : models) written.push_back(write_serialized_model(model.model));
  const OpenSize size = open_size(written, sizes, open[0]);
  return add(models[0], std::move(written[0]), &size);
}

// ---- in graphs ----

namespace {

// Nodes in front of a place.
class Inserter {
 public:
  explicit Inserter(Node* place) : place_(place) {}

  Node* node(Symbol kind, std::vector<SsaValue*> inputs) {
    Node* made = place_->graph()->create(kind, std::move(inputs));
    made->set_range(place_->range());
    made->set_inlined_call(place_->inlined_call());
    made->insert_before(place_);
    return made;
  }
  SsaValue* call(const char* name, const char* overload, std::vector<SsaValue*> inputs) {
    return passes::insert_call(place_, *find_operator(name, overload), std::move(inputs))->output();
  }
  SsaValue* constant(int64_t value) {
    return passes::insert_constant(place_, Value(value), types::integer());
  }
  SsaValue* constant(double value) {
    return passes::insert_constant(place_, Value(value), types::floating());
  }
  SsaValue* constant(IntSpan values) {
    return passes::insert_constant(place_, make_int_list(values), types::list(types::integer()));
  }

 private:
  Node* place_;
};

// Collects conditions that all have to hold.
class Conditions {
 public:
  explicit Conditions(Inserter& at) : at_(at) {}
  void add(const char* compare, const char* overload, SsaValue* value, SsaValue* wanted) {
    SsaValue* holds = at_.call(compare, overload, {value, wanted});
    all_ = all_ ? at_.call("aten::__and__", "bool", {all_, holds}) : holds;
  }
  SsaValue* all() const { return all_; }

 private:
  Inserter& at_;
  SsaValue* all_ = nullptr;
};

}  // namespace

std::vector<SsaValue*> call_nnapi_module(Node* place, SsaValue* module,
                                         std::span<SsaValue* const> inputs, size_t num_outputs) {
  Inserter at(place);
  const TypePtr tensors = types::list(types::tensor());
  Node* list = at.node(prim::kListConstruct, {inputs.begin(), inputs.end()});
  Node* call = at.node(prim::kCallMethod, {module, list->add_output(tensors)});
  call->set_attribute("name", std::string("forward"));
  call->set_attribute("function", module->type()->as_class()->find_method("forward"));
  Node* unpack = at.node(prim::kListUnpack, {call->add_output(tensors)});
  std::vector<SsaValue*> outputs;
  for (size_t i = 0; i < num_outputs; ++i) outputs.push_back(unpack->add_output(types::tensor()));
  return outputs;
}

SsaValue* sizes_fit(Node* place, const NnapiModel& model, std::span<SsaValue* const> inputs,
                    std::span<const InputDim> open) {
  Inserter at(place);
  Conditions conditions(at);
  SsaValue* const size = open.empty() ? nullptr
                                      : at.call("aten::size", "int",
                                                {inputs[open[0].input], at.constant(open[0].dim)});
  if (size) conditions.add("aten::gt", "int", size, at.constant(int64_t{0}));
  std::vector<size_t> quantized;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DType dtype = input_dtype(model, i);
    if (dtype == DType::kQUInt8) quantized.push_back(i);
    conditions.add("aten::eq", "int", at.call("prim::dtype", "", {inputs[i]}),
                   at.constant(static_cast<int64_t>(dtype)));
    const bool is_scalar = !model.scalar_inputs.empty() && model.scalar_inputs[i];
    const IntArray sizes =
        is_scalar ? IntArray() : tensor_sizes(input_of(model, i), model.nhwc_inputs[i]);
    std::vector<SsaValue*> wanted;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const bool is_open = std::ranges::any_of(open, [&](const InputDim& o) {
        return o.input == i && o.dim == static_cast<int64_t>(d);
      });
      wanted.push_back(is_open ? size : at.constant(sizes[d]));
    }
    Node* list = at.node(prim::kListConstruct, std::move(wanted));
    conditions.add("aten::eq", "int_list", at.call("aten::size", "", {inputs[i]}),
                   list->add_output(types::list(types::integer())));
  }
  if (quantized.empty()) return conditions.all();

  // Only quantized tensors can be asked for their scale.
  Node* branch = at.node(prim::kIf, {conditions.all()});
  Conditions quantization(at);
  for (const size_t i : quantized) {
    const Operand& operand = input_of(model, i);
    SsaValue* const scale = at.call("aten::q_scale", "", {inputs[i]});
    // The model has it in float32.
    const double near = operand.scale;
    quantization.add("aten::gt", "float", scale, at.constant(near * (1 - 1e-6)));
    quantization.add("aten::lt", "float", scale, at.constant(near * (1 + 1e-6)));
    quantization.add("aten::eq", "int", at.call("aten::q_zero_point", "", {inputs[i]}),
                     at.constant(int64_t{operand.zero_point}));
  }
  Block* const then = branch->add_block();
  while (branch->next() != place) branch->next()->move_to_end(then);
  then->add_output(quantization.all());
  Block* const otherwise = branch->add_block();
  Node* no = otherwise->append(place->graph()->create(prim::kConstant));
  no->set_attribute("value", Value(false));
  otherwise->add_output(no->add_output(types::boolean()));
  return branch->add_output(types::boolean());
}

}  // namespace torchlet::prepare
