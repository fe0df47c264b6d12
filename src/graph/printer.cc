#include <unordered_map>

#include "base/error.h"
#include "graph/function.h"
#include "graph/graph.h"
#include "tensor/containers.h"

namespace torchlet {
namespace {

class Printer {
 public:
  std::string print(const Graph& graph) {
    text_ = "graph(";
    params(*graph.block());
    text_ += "):\n";
    body(*graph.block(), 1);
    text_ += "  return (";
    uses(graph.outputs());
    return text_ + ")\n";
  }

 private:
  // "%name.3": the hint keeps graphs readable, the number keeps names unique.
  const std::string& name(const SsaValue* value) {
    std::string& known = names_[value];
    if (known.empty()) {
      known = "%" + (value->name().empty() ? std::to_string(value->id())
                                           : value->name() + "." + std::to_string(value->id()));
    }
    return known;
  }
  void uses(const std::vector<SsaValue*>& values) {
    const char* separator = "";
    for (const SsaValue* value : values) {
      text_ += separator + name(value);
      separator = ", ";
    }
  }
  void definitions(const std::vector<SsaValue*>& values) {
    const char* separator = "";
    for (const SsaValue* value : values) {
      text_ += separator + name(value) + " : " + value->type()->str();
      separator = ", ";
    }
  }
  void params(const Block& block) { definitions(block.inputs()); }

  static std::string attribute_text(const Attribute& attribute) {
    if (const auto* value = std::get_if<Value>(&attribute)) return to_text(*value);
    if (const auto* type = std::get_if<TypePtr>(&attribute)) return (*type)->str();
    if (const auto* function = std::get_if<Function*>(&attribute)) {
      return "@" + (*function)->qualified_name();
    }
    return quoted(std::get<std::string>(attribute));
  }

  void body(const Block& block, int depth) {
    const std::string indent(static_cast<size_t>(depth) * 2, ' ');
    for (const Node* node : block) {
      text_ += indent;
      definitions(node->outputs());
      if (!node->outputs().empty()) text_ += " = ";
      text_ += node->kind().str();
      if (!node->attributes().empty()) {
        text_ += "[";
        const char* separator = "";
        for (const auto& [key, value] : node->attributes()) {
          text_ += separator + key + "=" + attribute_text(value);
          separator = ", ";
        }
        text_ += "]";
      }
      text_ += "(";
      uses(node->inputs());
      text_ += ")";
      if (!node->range().empty()) text_ += "  # " + node->range().where();
      text_ += "\n";
      for (size_t i = 0; i < node->blocks().size(); ++i) {
        const Block& inner = *node->block(i);
        text_ += indent + "  block" + std::to_string(i) + "(";
        params(inner);
        text_ += "):\n";
        body(inner, depth + 2);
        text_ += indent + "    -> (";
        uses(inner.outputs());
        text_ += ")\n";
      }
    }
  }

  std::string text_;
  std::unordered_map<const SsaValue*, std::string> names_;
};

}  // namespace

std::string Graph::str() const { return Printer().print(*this); }

}  // namespace torchlet
