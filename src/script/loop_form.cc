#include "script/loop_form.h"

#include <limits>

#include "base/error.h"
#include "base/function_ref.h"
#include "graph/prim_kinds.h"
#include "script/builder.h"

namespace torchlet::script {
namespace {

constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();

bool is_constant(const SsaValue* value, int64_t number) {
  const Value* constant = Builder::constant_value(value);
  return constant && (constant->is_int() || constant->is_bool()) && constant->to_int() == number;
}

void for_each_loop(const Block& block, FunctionRef<void(Node&)> visit) {
  for (Node* node : block) {
    for (const Block* inner : node->blocks()) for_each_loop(*inner, visit);
    if (node->kind() == prim::kLoop) visit(*node);
  }
}

SsaValue* constant(Graph& graph, const Value& value, TypePtr type) {
  Node* node = graph.create(prim::kConstant);
  node->set_attribute("value", value);
  node->insert_before(graph.block()->first());
  return node->add_output(std::move(type));
}

SsaValue* call(Graph& graph, const char* name, const char* overload, SsaValue* a, SsaValue* b,
               FunctionRef<void(Node&)> place) {
  const Operator* op = find_operator(name, overload);
  if (!op)
    fail(ErrorCode::kUnsupported,
         "this libtorchlet was built without %s.%s, which loops need (TORCHLET_OPERATORS)", name,
         overload);
  Node* node = graph.create(op->name, {a, b});
  node->set_op(op);
  place(*node);
  return node->add_output(op->schema.returns[0].type);
}

void unmix(Node& loop) {
  Graph& graph = *loop.graph();
  Block& body = *loop.block(0);
  SsaValue *most = loop.input(0), *zero = constant(graph, Value(0), types::integer());
  const auto goes_on = [&](SsaValue* trip, SsaValue* condition, FunctionRef<void(Node&)> place) {
    SsaValue* in_range = call(graph, "aten::lt", "int", trip, most, place);
    if (is_constant(condition, 1)) return in_range;
    return call(graph, "aten::__and__", "bool", in_range, condition, place);
  };
  const auto before = [&](Node& node) { node.insert_before(&loop); };
  const auto at_end = [&](Node& node) { body.append(&node); };

  loop.replace_input(1, goes_on(zero, loop.input(1), before));
  loop.add_input(zero);
  SsaValue* trip = body.add_input(types::integer());
  body.inputs()[0]->replace_all_uses_with(trip);
  SsaValue* one = constant(graph, Value(1), types::integer());
  SsaValue* next = call(graph, "aten::add", "int", trip, one, at_end);
  body.replace_output(0, goes_on(next, body.outputs()[0], at_end));
  body.add_output(next);
  loop.add_output(types::integer());
  loop.replace_input(0, constant(graph, Value(kForEver), types::integer()));
}

}  // namespace

bool is_while_loop(const Node& loop) {
  return is_constant(loop.input(0), kForEver) && loop.block(0)->inputs().at(0)->users().empty();
}

bool is_for_loop(const Node& loop) {
  return !is_while_loop(loop) && is_constant(loop.input(1), 1) &&
         is_constant(loop.block(0)->outputs().at(0), 1);
}

bool has_mixed_loop(const Graph& graph) {
  bool found = false;
  for_each_loop(*graph.block(),
                [&](const Node& loop) { found |= !is_for_loop(loop) && !is_while_loop(loop); });
  return found;
}

void unmix_loops(Graph& graph) {
  for_each_loop(*graph.block(), [](Node& loop) {
    if (!is_for_loop(loop) && !is_while_loop(loop)) unmix(loop);
  });
}

}  // namespace torchlet::script
