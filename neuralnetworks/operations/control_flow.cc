// IF and WHILE. The models that they refer to become blocks of the same graph.
#include <algorithm>
#include <string>

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "neuralnetworks/model/specialise.h"
#include "neuralnetworks/operations/operation.h"
#include "neuralnetworks/translate/emitter.h"

namespace torchlet::nn {
namespace {

// A model may be referred to any number of times and is written out each time, so what is small in
// the application's hands may be large here.
constexpr int kMaxDepth = 64;  // of blocks, of which a loop has two
constexpr size_t kMaxValues = size_t{1} << 18;

void check_growth(const Emitter& emit) {
  int depth = 0;
  for (const Block* block = emit.block(); block->owner(); block = block->owner()->owner()) ++depth;
  if (depth > kMaxDepth) {
    fail(ErrorCode::kUnsupported, "control flow is nested more than %d blocks deep", kMaxDepth);
  }
  if (emit.graph().num_values() > kMaxValues) {
    fail(ErrorCode::kUnsupported,
         "the models that control flow refers to take more than %zu values if they are written out",
         kMaxValues);
  }
}

// ---- the models that are referred to ----

const Operand& outer_input(const Call& call, size_t i) {
  return call.model().operands[call.indices("inputs")[i]];
}

bool dims_fit(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  return a.empty() || b.empty() || std::ranges::equal(a, b, [](uint32_t x, uint32_t y) {
           return x == y || x == 0 || y == 0;
         });
}

void check_fits(const Operand& outer, const Operand& inner, const char* what, size_t i) {
  if (outer.type == inner.type && outer.scale == inner.scale &&
      outer.zero_point == inner.zero_point && dims_fit(outer.dims, inner.dims)) {
    return;
  }
  fail(ErrorCode::kInvalidArgument, "%s %zu of a model that is referred to is of another type",
       what, i);
}

void check_count(const char* what, size_t count, size_t wanted) {
  if (count == wanted) return;
  fail(ErrorCode::kInvalidArgument, "a model that is referred to has %zu %s in place of %zu", count,
       what, wanted);
}

// What is known of the outer operand is known of the inner one.
void refine_dims(Operand& inner, const Operand& outer) {
  if (inner.dims.empty()) inner.dims = outer.dims;
  for (size_t i = 0; i < inner.dims.size() && i < outer.dims.size(); ++i) {
    if (inner.dims[i] == 0) inner.dims[i] = outer.dims[i];
  }
}

// The named model as it is called: scalars and omitted operands, which never change, are constants
// in it. The first `carried` inputs change from round to round.
Model called_model(const Call& call, std::string_view name, size_t carried) {
  const std::shared_ptr<const Model>& referred = call.operand(name).model;
  if (!referred) {
    fail(ErrorCode::kInvalidArgument, "the argument '%s' is no model", std::string(name).c_str());
  }
  const std::span<const uint32_t> inputs = call.indices("inputs");
  check_count("inputs", referred->inputs.size(), inputs.size());
  Model model = *referred;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Operand& outer = outer_input(call, i);
    Operand& inner = model.operands[model.inputs[i]];
    check_fits(outer, inner, "input", i);
    if (i < carried) continue;
    if (outer.lifetime == Lifetime::kOmitted) {
      fix_input(model, i, {}, nullptr);
    } else if (is_scalar(outer.type) && outer.lifetime == Lifetime::kConstant) {
      fix_input(model, i, outer.value, outer.keep_alive);
    }
    refine_dims(inner, outer);
  }
  return model;
}

bool imply(const std::vector<uint32_t>& known, const std::vector<uint32_t>& wanted) {
  return wanted.empty() || std::ranges::equal(known, wanted, [](uint32_t is, uint32_t wants) {
           return wants == 0 || wants == is;
         });
}

// The value with the sizes that `inner` says, which are checked unless they are known.
SsaValue* checked_sizes(Emitter& emit, SsaValue* value, const std::vector<uint32_t>& known,
                        const Operand& inner) {
  if (!is_tensor(inner.type) || inner.lifetime == Lifetime::kOmitted || imply(known, inner.dims)) {
    return value;
  }
  std::vector<Arg> sizes;
  for (const uint32_t size : inner.dims) sizes.emplace_back(int64_t{size});
  return emit.call("nnapi::with_sizes", {value, sizes});
}

std::vector<SsaValue*> input_values(Emitter& emit, const Call& call) {
  std::vector<SsaValue*> values;
  for (const uint32_t index : call.indices("inputs")) values.push_back(emit.value(index));
  return values;
}

// What a model is called with, checked in `block` against its inputs; `outer(i)` is the operand
// that gives value i.
template <typename Outer>
std::vector<SsaValue*> checked_inputs(const Emitter& emit, Block* block, const Model& model,
                                      std::vector<SsaValue*> values, const Outer& outer) {
  Emitter entry(emit.graph(), block, model, values, emit.loop_timeout());
  for (size_t i = 0; i < values.size(); ++i) {
    const Operand& inner = model.operands[model.inputs[i]];
    values[i] = checked_sizes(entry, values[i], outer(i).dims, inner);
  }
  return values;
}

TypePtr type_of(const Operand& operand) {
  switch (operand.type) {
    case ANEURALNETWORKS_INT32:
    case ANEURALNETWORKS_UINT32:
      return types::integer();
    case ANEURALNETWORKS_FLOAT32:
    case ANEURALNETWORKS_FLOAT16:
      return types::floating();
    case ANEURALNETWORKS_BOOL:
      return types::boolean();
    default:
      return types::tensor();
  }
}

void require_outputs(const Call& call) {
  if (call.num_outputs() == 0) fail(ErrorCode::kInvalidArgument, "there are no outputs");
}

// One element that is true or false.
void require_condition(const Operand& operand) {
  if (operand.type == ANEURALNETWORKS_TENSOR_BOOL8 && dims_fit(operand.dims, {1})) return;
  fail(ErrorCode::kInvalidArgument, "the condition is no TENSOR_BOOL8 of one element");
}

// ---- IF ----

void if_operation(Emitter& emit, const Call& call) {
  check_growth(emit);
  require_outputs(call);
  require_condition(call.operand("condition"));
  const std::vector<SsaValue*> inputs = input_values(emit, call);
  SsaValue* condition = emit.call("aten::Bool.Tensor", {emit.value(call, "condition")});
  Node* node = emit.graph().create(prim::kIf, {condition});
  emit.block()->append(node);
  for (const char* name : {"then_model", "else_model"}) {
    const Model model = called_model(call, name, 0);
    check_count("outputs", model.outputs.size(), call.num_outputs());
    Block* block = node->add_block();
    const std::vector<SsaValue*> values =
        checked_inputs(emit, block, model, inputs,
                       [&](size_t i) -> const Operand& { return outer_input(call, i); });
    Emitter branch(emit.graph(), block, model, values, emit.loop_timeout());
    for (SsaValue* output : branch.translate()) block->add_output(output);
    for (size_t i = 0; i < call.num_outputs(); ++i) {
      check_fits(call.output(i), model.operands[model.outputs[i]], "output", i);
    }
  }
  for (size_t i = 0; i < call.num_outputs(); ++i) {
    emit.give(call, node->add_output(type_of(call.output(i))), i);
  }
}

// ---- WHILE ----

struct Loop {
  Model condition, body;
  size_t carried;  // operands, the first of which are the operation's outputs

  const Operand& input(size_t i) const { return body.operands[body.inputs[i]]; }
  const Operand& output(size_t i) const { return body.operands[body.outputs[i]]; }
};

Loop loop_of(const Call& call) {
  require_outputs(call);
  const std::shared_ptr<const Model>& body = call.operand("body_model").model;
  const size_t carried = body ? body->outputs.size() : 0, count = call.indices("inputs").size();
  if (carried > count || call.num_outputs() > carried) {
    fail(ErrorCode::kInvalidArgument,
         "a loop of %zu inputs and %zu outputs has a body with %zu outputs", count,
         call.num_outputs(), carried);
  }
  Loop loop = {called_model(call, "condition_model", carried),
               called_model(call, "body_model", carried), carried};
  check_count("outputs", loop.condition.outputs.size(), 1);
  require_condition(loop.condition.operands[loop.condition.outputs[0]]);
  for (size_t i = 0; i < carried; ++i) {
    check_fits(loop.output(i), loop.input(i), "carried operand", i);
    if (outer_input(call, i).lifetime == Lifetime::kOmitted) {
      fail(ErrorCode::kInvalidArgument, "input %zu changes and so cannot be omitted", i);
    }
  }
  for (size_t i = 0; i < call.num_outputs(); ++i) {
    check_fits(call.output(i), loop.output(i), "output", i);
  }
  return loop;
}

// if condition: again, carried = in time, body; else: again, carried = false, carried
Node* round_of(Emitter& condition, const Loop& loop, std::span<SsaValue* const> values,
               SsaValue* start) {
  Graph& graph = condition.graph();
  SsaValue* holds = condition.call("aten::Bool.Tensor", {condition.translate()[0]});
  SsaValue* no = condition.constant(Value(false));
  Node* node = graph.create(prim::kIf, {holds});
  condition.block()->append(node);

  Block *round = node->add_block(), *end = node->add_block();
  Emitter body(graph, round, loop.body, values, condition.loop_timeout());
  const std::vector<SsaValue*> results = body.translate();
  round->add_output(body.call("nnapi::within_time", {start, body.loop_timeout()}));
  end->add_output(no);
  node->add_output(types::boolean());
  for (size_t i = 0; i < loop.carried; ++i) {
    round->add_output(checked_sizes(body, results[i], {}, loop.input(i)));
    end->add_output(values[i]);
    node->add_output(type_of(loop.output(i)));
  }
  return node;
}

void while_operation(Emitter& emit, const Call& call) {
  check_growth(emit);
  const Loop loop = loop_of(call);
  std::vector<SsaValue*> values =
      checked_inputs(emit, emit.block(), loop.body, input_values(emit, call),
                     [&](size_t i) -> const Operand& { return outer_input(call, i); });
  SsaValue* start = emit.call("nnapi::now", {});

  Node* node = emit.graph().create(prim::kLoop,
                                   {emit.constant(Value(INT64_MAX)), emit.constant(Value(true))});
  emit.block()->append(node);
  Block* block = node->add_block();
  block->add_input(types::integer());
  for (size_t i = 0; i < loop.carried; ++i) {
    const TypePtr type = type_of(loop.output(i));
    node->add_input(values[i]);
    node->add_output(type);
    values[i] = block->add_input(type);
  }
  const std::vector<SsaValue*> judged =
      checked_inputs(emit, block, loop.condition, values,
                     [&](size_t i) -> const Operand& { return loop.input(i); });
  Emitter condition(emit.graph(), block, loop.condition, judged, emit.loop_timeout());
  for (SsaValue* output : round_of(condition, loop, values, start)->outputs()) {
    block->add_output(output);
  }
  for (size_t i = 0; i < call.num_outputs(); ++i) emit.give(call, node->output(i), i);
}

}  // namespace

NNAPI_OPERATION(IF, if_operation,
                "(TENSOR_BOOL8 condition, MODEL then_model, MODEL else_model, ANY?... inputs) -> "
                "(ANY...)");
NNAPI_OPERATION(WHILE, while_operation,
                "(MODEL condition_model, MODEL body_model, ANY?... inputs) -> (ANY...)");

}  // namespace torchlet::nn
