// The graph of a function -> TorchScript source that is compiled to the same graph
// (torch/csrc/jit/serialization/python_print.cpp): one statement a node, but for constants, and for
// the lists and tuples that are made for one place only.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/function.h"
#include "script/marked_text.h"
#include "script/print_context.h"

namespace torchlet::script {

class FunctionPrinter {
 public:
  FunctionPrinter(PrintContext& context, int indent) : context_(context), indent_(indent) {}

  // The whole `def`; its statements are marked with the places of their nodes. The methods of
  // interfaces have no body.
  MarkedText print(Function& function, const std::string& name, bool has_body);

 private:
  // function_printer.cc
  void line(const std::string& text);
  void signature(const Schema& schema, const std::string& name, bool has_body);
  void name_inputs(const Schema& schema, const Graph& graph);
  void block(const Block& block);
  void node(const Node& node);
  void keep_tensor(const Node& node);
  void define(const Node& node, const std::string& expression);
  void branches(const Node& node);
  void loop(const Node& node);
  void assign(const std::vector<std::string>& names, const std::vector<std::string>& values);
  void fork(const Node& node);
  void unpack(const Node& node);
  void construct(const Node& node);
  void enter(const Node& node);
  void leave();
  std::string unique_name(const std::string& hint);
  const std::string& name(const SsaValue* value, const std::string& hint);

  // print_expressions.cc
  std::string use(const SsaValue* value);
  // The same where nothing else says of which type a None is.
  std::string typed(const SsaValue* value);
  // The same for a variable that takes values of more types.
  std::string typed(const SsaValue* value, const TypePtr& variable);
  std::vector<std::string> uses(const Node& node, size_t from = 0);
  std::string expression(const Node& node);
  std::string operator_call(const Node& node);
  std::string unsupported_call(const Node& node);
  std::string arguments_as_written(const Node& node, size_t from);
  std::string function_call(const Node& node);
  std::string method_call(const Node& node);
  std::string display(const Node& node);
  std::string arguments(const Schema& schema, const Node& node, size_t from);
  std::string attribute(const Node& node);
  std::string is_instance(const Node& node);

  PrintContext& context_;
  int indent_;
  MarkedText out_;
  std::vector<size_t> entered_;  // where the bodies of open `with` statements begin in the text
  // The name of a value, or the expression that stands for it.
  std::unordered_map<const SsaValue*, std::string> texts_;
  // The constant of the node that is printed which stands there by another name.
  std::pair<const SsaValue*, std::string> kept_;
  std::unordered_map<const SsaValue*, int> depths_;  // of the expressions among these
  std::unordered_set<std::string> used_names_;
  std::unordered_map<std::string, size_t> next_suffix_;
};

}  // namespace torchlet::script
