#include "script/function_printer.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "graph/clone.h"
#include "graph/prim_kinds.h"
#include "script/builder.h"
#include "script/loop_form.h"
#include "script/overload.h"

namespace torchlet::script {
namespace {

// What the text of a function itself uses; a variable of that name would hide it.
bool is_reserved(const std::string& name) {
  static const std::unordered_set<std::string> kNames = {"_",
                                                         "annotate",
                                                         "aten",
                                                         "attribute",
                                                         "bool",
                                                         "complex",
                                                         "float",
                                                         "fork",
                                                         "getattr",
                                                         "inf",
                                                         "infj",
                                                         "int",
                                                         "list",
                                                         "nan",
                                                         "nanj",
                                                         "isinstance",
                                                         "ops",
                                                         "print",
                                                         "range",
                                                         "str",
                                                         "torch",
                                                         "unchecked_cast",
                                                         "uninitialized",
                                                         "CONSTANTS",
                                                         "tuple",
                                                         "__torch__"};
  return kNames.contains(name) || !is_identifier(name);
}

}  // namespace

MarkedText FunctionPrinter::print(Function& function, const std::string& name, bool has_body) {
  const Schema& schema = function.schema();
  if (!has_body) {
    signature(schema, name, has_body);
    ++indent_;
    line("pass");
    return std::move(out_);
  }
  try {
    std::unique_ptr<Graph> unmixed;
    if (has_mixed_loop(function.graph())) {
      unmixed = clone_graph(function.graph());
      unmix_loops(*unmixed);
    }
    const Graph& graph = unmixed ? *unmixed : function.graph();
    name_inputs(schema, graph);
    out_.mark({});
    signature(schema, name, has_body);
    ++indent_;
    block(*graph.block());
    line("return " + typed(graph.outputs().at(0)));
  } catch (Error& error) {
    throw error.add_context("in " + function.qualified_name());
  }
  return std::move(out_);
}

void FunctionPrinter::line(const std::string& text) {
  context_.count(text.size() + static_cast<size_t>(indent_) * 2 + 1);
  out_.text.append(static_cast<size_t>(indent_) * 2, ' ');
  out_.text += text;
  out_.text += '\n';
}

void FunctionPrinter::signature(const Schema& schema, const std::string& name, bool has_body) {
  std::string text = "def " + name + "(";
  bool keyword_only = false;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (i > 0) text += ",\n" + std::string(static_cast<size_t>(indent_) * 2 + 2, ' ');
    if (argument.keyword_only && !keyword_only) text += "*, ";
    keyword_only |= argument.keyword_only;
    text += argument.name;
    // An interface says it of all arguments but its object.
    if (has_body || i > 0) text += ": " + context_.type(argument.type);
    if (argument.default_value) {
      text += "=" + context_.literal(*argument.default_value);
    }
  }
  line(text + ") -> " + context_.type(schema.returns.at(0).type) + ":");
}

void FunctionPrinter::name_inputs(const Schema& schema, const Graph& graph) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const std::string& name = schema.arguments.at(i).name;
    if (is_reserved(name)) {
      fail(ErrorCode::kUnsupported, "the argument '" + name + "' has a name of TorchScript's own");
    }
    used_names_.insert(name);
    texts_[graph.inputs()[i]] = name;
  }
}

// Names.

std::string FunctionPrinter::unique_name(const std::string& hint) {
  if (!is_reserved(hint) && used_names_.insert(hint).second) return hint;
  const std::string stem = is_identifier(hint) ? hint : "_";
  size_t& next = next_suffix_[stem];
  while (true) {
    std::string name = stem + std::to_string(next++);
    if (used_names_.insert(name).second) return name;
  }
}

const std::string& FunctionPrinter::name(const SsaValue* value, const std::string& hint) {
  return texts_[value] = unique_name(hint);
}

// Statements.

void FunctionPrinter::block(const Block& block) {
  for (const Node* node : block) this->node(*node);
}

void FunctionPrinter::node(const Node& node) {
  const Symbol kind = node.kind();
  if (kind == prim::kConstant) return;
  out_.mark(node.range().original());
  if (kind == prim::kIf) return branches(node);
  if (kind == prim::kLoop) return loop(node);
  if (kind == prim::kFork) return fork(node);
  if (kind == prim::kTupleUnpack || kind == prim::kListUnpack) return unpack(node);
  if (kind == prim::kListConstruct || kind == prim::kTupleConstruct) return construct(node);
  if (kind == prim::kEnter) return enter(node);
  if (kind == prim::kExit) return leave();
  if (kind == prim::kSetAttr) {
    const std::string& attribute = node.string_attribute("name");
    if (!is_identifier(attribute)) {
      fail(ErrorCode::kUnsupported, "the attribute '" + attribute + "' cannot be assigned to");
    }
    return line(use(node.input(0)) + "." + attribute + " = " + use(node.input(1)));
  }
  if (node.op() && operator_with_number(*node.op(), node.inputs())) keep_tensor(node);
  define(node, expression(node));
  kept_ = {};
}

// Whoever reads the constant itself takes it for a number, here and in PyTorch.
void FunctionPrinter::keep_tensor(const Node& node) {
  const std::string constant = use(node.input(1));
  kept_ = {node.input(1), unique_name("")};
  line(kept_.second + " = torch.detach(" + constant + ")");
  out_.mark(node.range().original());
}

void FunctionPrinter::define(const Node& node, const std::string& expression) {
  if (node.outputs().empty()) return line(expression);
  std::vector<std::string> names;
  for (const SsaValue* output : node.outputs()) {
    const bool is_attribute = node.kind() == prim::kGetAttr && output->name().empty();
    names.push_back(name(output, is_attribute ? node.string_attribute("name") : output->name()));
  }
  line(joined(names) + " = " + expression);
}

void FunctionPrinter::assign(const std::vector<std::string>& names,
                             const std::vector<std::string>& values) {
  if (!names.empty()) line(joined(names) + " = " + joined(values));
}

void FunctionPrinter::branches(const Node& node) {
  std::vector<std::string> names;
  for (const size_t which : {0, 1}) {
    const Block& side = *node.block(which);
    line(which == 0 ? "if " + use(node.input(0)) + ":" : "else:");
    ++indent_;
    const size_t before = out_.text.size();
    block(side);
    if (which == 0) {
      for (const SsaValue* output : node.outputs()) names.push_back(unique_name(output->name()));
    }
    std::vector<std::string> values;
    for (size_t i = 0; i < side.outputs().size(); ++i) {
      values.push_back(typed(side.outputs()[i], node.output(i)->type()));
    }
    assign(names, values);
    if (out_.text.size() == before) line("pass");
    --indent_;
  }
  for (size_t i = 0; i < names.size(); ++i) texts_[node.output(i)] = names[i];
}

namespace {

// Reading a `while` makes its condition one of the loop's variables. The one that is already, as a
// parameter of the block.
std::optional<size_t> carried_condition(const Node& loop) {
  const Block& body = *loop.block(0);
  for (size_t i = 1; i < body.inputs().size(); ++i) {
    if (loop.input(i + 1) == loop.input(1) && body.outputs()[i] == body.outputs()[0]) return i;
  }
  return std::nullopt;
}

}  // namespace

// A loop's variables are one Python variable from its start to its end: the value that goes in, the
// block's parameter and the node's output.
void FunctionPrinter::loop(const Node& node) {
  const Block& body = *node.block(0);
  const SsaValue* trip = body.inputs().at(0);
  const std::optional<size_t> condition = carried_condition(node);
  std::vector<std::string> names, first, next;
  std::string head = "while ";
  if (!condition && !is_for_loop(node)) {
    names.push_back(unique_name(""));
    first.push_back(use(node.input(1)));
    next.push_back("");
    head += names[0];
  }
  for (size_t i = 1; i < body.inputs().size(); ++i) {
    names.push_back(name(body.inputs()[i], body.inputs()[i]->name()));
    texts_[node.output(i - 1)] = names.back();
    first.push_back(typed(node.input(i + 1), body.inputs()[i]->type()));
  }
  assign(names, first);
  if (is_for_loop(node)) {
    const std::string most = use(node.input(0));
    head = "for " + name(trip, trip->name()) + " in range(" + most + ")";
  } else if (condition) {
    head += texts_.at(body.inputs()[*condition]);
  }
  line(head + ":");
  ++indent_;
  const size_t before = out_.text.size();
  block(body);
  if (!next.empty()) next[0] = use(body.outputs()[0]);
  for (size_t i = 1; i < body.outputs().size(); ++i) {
    next.push_back(typed(body.outputs()[i], body.inputs()[i]->type()));
  }
  assign(names, next);
  if (out_.text.size() == before) line("pass");
  --indent_;
}

void FunctionPrinter::fork(const Node& node) {
  const std::string function = unique_name("__forked_function");
  line("def " + function + "():");
  ++indent_;
  block(*node.block(0));
  line("return " + typed(node.block(0)->outputs().at(0)));
  --indent_;
  define(node, "fork(" + function + ")");
}

void FunctionPrinter::unpack(const Node& node) {
  const Node* maker = node.input(0)->node();
  // Reading it would find the items themselves.
  if (maker->kind() == prim::kTupleConstruct && maker->inputs().size() == node.outputs().size()) {
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      texts_[node.output(i)] = typed(maker->input(i));
    }
    return;
  }
  if (node.outputs().empty()) return;
  std::vector<std::string> names;
  for (const SsaValue* output : node.outputs()) names.push_back(name(output, output->name()));
  line(joined(names) + ", = " + use(node.input(0)));
}

void FunctionPrinter::construct(const Node& node) {
  int depth = 1;
  for (const SsaValue* input : node.inputs()) {
    if (const auto found = depths_.find(input); found != depths_.end()) {
      depth = std::max(depth, 1 + found->second);
    }
  }
  const std::vector<Node*>& users = node.output()->users();
  const bool is_for_one_place = users.size() == 1 && (users[0]->owner() == node.owner() ||
                                                      users[0] == node.owner()->return_node());
  if (!is_for_one_place || depth > kMaxInlineDepth) return define(node, display(node));
  texts_[node.output()] = display(node);
  depths_[node.output()] = depth;
}

void FunctionPrinter::enter(const Node& node) {
  const std::string object = use(node.input(0));
  line("with " + object + " as " + name(node.output(), node.output()->name()) + ":");
  ++indent_;
  entered_.push_back(out_.text.size());
}

void FunctionPrinter::leave() {
  if (entered_.back() == out_.text.size()) line("pass");
  entered_.pop_back();
  --indent_;
}

}  // namespace torchlet::script
