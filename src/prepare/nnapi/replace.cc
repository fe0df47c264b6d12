#include "prepare/nnapi/replace.h"

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/rewrite.h"
#include "prepare/nnapi/channel_scales.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

using nnapi::LoweredSegment;
using passes::insert_constant;

const Operator& operator_of(const char* name, const char* overload) {
  const Operator* op = find_operator(name, overload);
  if (!op) fail(ErrorCode::kInternal, "there is no operator %s.%s", name, overload);
  return *op;
}

// Nodes in front of a segment.
class Writer {
 public:
  explicit Writer(Node* place) : place_(place) {}

  SsaValue* constant(Value value, TypePtr type) {
    return insert_constant(place_, std::move(value), std::move(type));
  }
  SsaValue* integer(int64_t value) { return constant(Value(value), types::integer()); }
  SsaValue* boolean(bool value) { return constant(Value(value), types::boolean()); }
  SsaValue* none(TypePtr type) { return constant(Value(), types::optional(std::move(type))); }
  SsaValue* ints(IntSpan values) {
    std::vector<Value> items(values.begin(), values.end());
    return constant(make_list(types::integer(), std::move(items)), types::list(types::integer()));
  }
  SsaValue* call(const char* name, const char* overload, std::vector<SsaValue*> inputs) {
    return passes::insert_call(place_, operator_of(name, overload), std::move(inputs))->output();
  }

  SsaValue* reshaped(SsaValue* tensor, IntSpan sizes) {
    return call("aten::reshape", "", {tensor, ints(sizes)});
  }
  SsaValue* converted(SsaValue* tensor, DType dtype) {
    return call("aten::to", "dtype",
                {tensor, integer(static_cast<int64_t>(dtype)), boolean(false), boolean(false),
                 none(types::integer())});
  }
  SsaValue* in_format(SsaValue* tensor, MemoryFormat format) {
    return call("aten::contiguous", "", {tensor, integer(static_cast<int64_t>(format))});
  }
  SsaValue* copied(SsaValue* tensor) {
    return call("aten::clone", "", {tensor, none(types::integer())});
  }
  SsaValue* both(SsaValue* a, SsaValue* b) {
    if (!a || !b) return a ? a : b;
    return call("aten::__and__", "bool", {a, b});
  }

 private:
  Node* place_;
};

// Is a number the same as in the example?
SsaValue* is_same_number(Writer& writer, SsaValue* number, const Value& example) {
  if (example.is_none()) {
    return writer.call("aten::__is__", "", {number, writer.none(types::none())});
  }
  if (example.is_list()) {
    return writer.call("aten::eq", "int_list",
                       {number, writer.constant(example, types::list(types::integer()))});
  }
  const char* overload = example.is_bool()     ? "bool"
                         : example.is_int()    ? "int"
                         : example.is_string() ? "str"
                                               : "float";
  const TypePtr type = example.is_bool()     ? types::boolean()
                       : example.is_int()    ? types::integer()
                       : example.is_string() ? types::string()
                                             : types::floating();
  return writer.call("aten::eq", overload, {number, writer.constant(example, type)});
}

class Replacing {
 public:
  Replacing(const CutSegment& segment, const NnapiModel& model, std::span<const InputDim> open)
      : node_(*segment.node),
        inputs_(segment.inputs),
        lowered_(segment.lowered),
        model_(model),
        open_(open),
        writer_(segment.node) {}

  void run(const std::string& name, const TypePtr& type, bool has_branch) {
    std::vector<SsaValue*> entering;
    for (const LoweredSegment::Input& input : lowered_.inputs) {
      entering.push_back(node_.input(input.index));
    }
    SsaValue* const fits = has_branch ? condition(entering) : nullptr;
    Node* branch = nullptr;
    if (fits) {
      branch = node_.graph()->create(prim::kIf, {fits});
      branch->set_range(node_.range());
      branch->insert_before(&node_);
    }
    const std::vector<SsaValue*> outputs = call(name, type, entering);
    if (!fits) return finish(outputs);
    Block* const here = branch->add_block();
    Block* const otherwise = branch->add_block();
    while (branch->next() != &node_) branch->next()->move_to_end(here);
    Block& body = *node_.block(0);
    while (Node* node = body.first()) node->move_to_end(otherwise);
    for (size_t i = 0; i < outputs.size(); ++i) {
      here->add_output(outputs[i]);
      otherwise->add_output(body.outputs()[i]);
      SsaValue* output = branch->add_output(node_.output(i)->type(), node_.output(i)->name());
      node_.output(i)->replace_all_uses_with(output);
    }
    node_.destroy();
  }

 private:
  void finish(const std::vector<SsaValue*>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      node_.output(i)->replace_all_uses_with(outputs[i]);
    }
    node_.destroy();
  }

  // Are the inputs like those of the example?
  SsaValue* condition(const std::vector<SsaValue*>& entering) {
    SsaValue* fits = sizes_fit(&node_, model_, entering, open_);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].is_tensor()) {
        fits = writer_.both(fits, is_same_number(writer_, node_.input(i), inputs_[i]));
      }
    }
    return fits;
  }

  std::vector<SsaValue*> call(const std::string& name, const TypePtr& type,
                              std::vector<SsaValue*> entering) {
    for (size_t i = 0; i < entering.size(); ++i) {
      if (lowered_.inputs[i].binding.sizes.empty()) {
        entering[i] = writer_.reshaped(entering[i], IntArray{1});
      }
    }
    Graph& graph = *node_.graph();
    Node* module = graph.create(prim::kGetAttr, {graph.inputs().at(0)});
    module->set_attribute("name", name);
    module->set_range(node_.range());
    module->insert_before(&node_);
    const std::vector<SsaValue*> results = call_nnapi_module(
        &node_, module->add_output(type), entering, lowered_.model.outputs.size());
    std::vector<SsaValue*> outputs;
    for (size_t i = 0; i < lowered_.outputs.size(); ++i) {
      outputs.push_back(output(lowered_.outputs[i], node_.output(i)->type(), results));
    }
    return outputs;
  }

  SsaValue* output(const LoweredSegment::Output& output, const TypePtr& type,
                   const std::vector<SsaValue*>& results) {
    using From = LoweredSegment::Output::From;
    if (output.from == From::kKnown) {
      SsaValue* value = writer_.constant(output.known, type);
      return output.known.is_tensor() ? writer_.copied(value) : value;
    }
    const IntArray& sizes = output.result.sizes;
    if (output.from == From::kInput) {
      SsaValue* value = node_.input(lowered_.inputs[output.index].index);
      return writer_.copied(writer_.reshaped(value, sizes));
    }
    SsaValue* value = results[output.index];
    if (output.binding.dtype != output.result.dtype) {
      value = writer_.converted(value, output.result.dtype);
    }
    if (sizes.empty()) return writer_.reshaped(value, sizes);
    if (output.is_viewed && output.binding.strides != output.result.strides) {
      const bool is_channels_last =
          sizes.size() == 4 &&
          output.result.strides == strides_for(sizes, MemoryFormat::kChannelsLast);
      value = writer_.in_format(
          value, is_channels_last ? MemoryFormat::kChannelsLast : MemoryFormat::kContiguous);
    }
    return value;
  }

  Node& node_;
  const std::vector<Value>& inputs_;
  const LoweredSegment& lowered_;
  const NnapiModel& model_;
  const std::span<const InputDim> open_;
  Writer writer_;
};

}  // namespace

NnapiModel Replacement::model_of(const LoweredSegment& lowered) const {
  NnapiModel model = nnapi_model_of(lowered);
  WithoutChannelScales plain = without_channel_scales(std::move(model.model));
  model.model = std::move(plain.model);
  model.dequantized = std::move(plain.filters);
  model.preference = options_.preference;
  model.relax_float32_to_float16 = options_.relax_fp16;
  return model;
}

void Replacement::replace(const CutSegment& segment, const OpenBatch* batch, Draft& draft) {
  const NnapiModel model = model_of(segment.lowered);
  Value module;
  if (batch) {
    std::vector<NnapiModel> models;
    for (const LoweredSegment& lowered : batch->lowered) models.push_back(model_of(lowered));
    module = modules_.make(models, kOpenSizes, batch->open);
  } else {
    module = modules_.make(model);
  }
  const std::string name = new_name();
  const TypePtr type = module.object_ref().type;
  draft.set_attribute(name, type, module);
  for (const Value& weight : module.object_ref().attribute("weights").to_list()) {
    weights_.push_back(weight.to_tensor());
  }
  const std::vector<InputDim> open = batch ? batch->open : std::vector<InputDim>();
  Replacing(segment, model, open).run(name, type, !options_.fixed_shapes);
}

std::string Replacement::new_name() {
  std::string name;
  do {
    name = "nnapi_" + std::to_string(next_++);
  } while (root_.find_attribute(name) || root_.find_method(name));
  return name;
}

}  // namespace torchlet::prepare
