// What the tests of the passes share: programs from source, objects of their classes, and a short
// form of graphs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/function.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/pipeline.h"
#include "script/compilation_unit.h"
#include "tensor/containers.h"

namespace torchlet::passes {

class Program {
 public:
  explicit Program(const std::string& text)
      : unit_(script::Program{
            [text](const std::string& package) -> std::shared_ptr<const Source> {
              if (package != "__torch__") return nullptr;
              return std::make_shared<Source>(Source{"code/__torch__.py", text, 1, nullptr});
            },
            {},
            script::kCurrentOperatorVersion}) {}

  // An object of class __torch__.<name>.
  Value object(const std::string& name, std::vector<std::pair<std::string, Value>> attributes) {
    const TypePtr type = unit_.find_type("__torch__." + name);
    auto object = make_ref<Object>(std::static_pointer_cast<const ClassType>(type));
    for (auto& [attribute, value] : attributes) object->set_attribute(attribute, std::move(value));
    return Value(object);
  }

  static Function& method(const Value& object, std::string_view name = "forward") {
    return *object.object_ref().type->find_method(name);
  }

  static Optimized optimized(const Value& object, std::string_view name = "forward",
                             const WriteSet& others = {}) {
    Optimized result = optimize(method(object, name), object, others);
    result.graph->verify();
    return result;
  }

 private:
  script::CompilationUnit unit_;
};

// The source of a module class: `attributes` such as "w : Tensor" and methods, indented by two.
inline std::string module_class(const std::string& name, const std::vector<std::string>& attributes,
                                const std::string& methods) {
  std::string text = "class " + name + "(Module):\n  __parameters__ = []\n  __buffers__ = []\n";
  for (const std::string& attribute : attributes) text += "  " + attribute + "\n";
  return text + methods;
}

// The nodes in order, without constants: "conv2d If(RaiseException|) GetAttr.weight relu".
inline std::string outline(const Block& block) {
  std::string text;
  for (const Node* node : block) {
    if (node->kind().str() == "prim::Constant") continue;
    if (!text.empty()) text += " ";
    text += node->kind().name();
    if (node->has_attribute("name")) text += "." + node->string_attribute("name");
    for (size_t i = 0; i < node->blocks().size(); ++i) {
      text += (i ? "|" : "(") + outline(*node->block(i));
    }
    if (!node->blocks().empty()) text += ")";
  }
  return text;
}
inline std::string outline(const Graph& graph) { return outline(*graph.block()); }

// What a graph of operators on constants and x alone gives.
inline Tensor run_graph(const Graph& graph, const Tensor& x) {
  std::map<const SsaValue*, Value> values = {{graph.inputs()[1], Value(x)}};
  for (const Node* node : *graph.block()) {
    if (!node->op() && node->kind() != prim::kListConstruct) continue;
    std::vector<Value> arguments;
    for (const SsaValue* input : node->inputs()) {
      const Value* known = constant_of(input);
      arguments.push_back(known ? *known : values.at(input));
    }
    if (node->op()) {
      node->op()->call(arguments, {&values[node->output()], 1});
    } else {
      values[node->output()] = Value::list(std::move(arguments));
    }
  }
  return values.at(graph.outputs()[0]).to_tensor();
}

}  // namespace torchlet::passes
