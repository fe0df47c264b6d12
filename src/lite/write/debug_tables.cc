#include "lite/write/debug_tables.h"

#include <algorithm>

#include "graph/function.h"
#include "lite/debug_info.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

std::string head_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}
std::string tail_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }

bool is_method(Function& function) {
  const std::vector<Argument>& arguments = function.schema().arguments;
  return !arguments.empty() && arguments[0].name == "self";
}

}  // namespace

int64_t DebugTables::handle_of(const Node& node, const std::string& function) {
  const int64_t place = tag_of(node.range().original());
  const auto [number, calls] = calls_of(node, function);
  const auto [found, is_new] = handles_.try_emplace({place, node.kind().str(), number},
                                                    static_cast<int64_t>(entries_.size()));
  if (is_new) {
    entries_.push_back(Value::tuple({found->second, place, Value(node.kind().str()), calls}));
  }
  return found->second;
}

int64_t DebugTables::tag_of(const SourceRange& place) {
  if (place.empty()) return 0;
  knows_places_ = true;
  const auto [found, is_new] = tags_.try_emplace({number_of(*place.source), place.begin, place.end},
                                                 static_cast<int64_t>(places_.size()));
  if (is_new) places_.push_back(place);
  return found->second;
}

// Sources of the same content are one.
size_t DebugTables::number_of(const Source& source) {
  const auto [known, is_new] = sources_.try_emplace(&source);
  if (is_new) {
    known->second =
        sources_by_content_
            .try_emplace({source.name, source.first_line, source.text}, sources_by_content_.size())
            .first->second;
  }
  return known->second;
}

DebugTables::Calls DebugTables::calls_of(const Node& node, const std::string& function) {
  std::vector<const InlinedCall*> calls;  // the innermost first
  for (const InlinedCall* at = node.inlined_call().get(); at; at = at->caller.get()) {
    calls.push_back(at);
  }
  std::string content;
  Calls inner = {0, Value()};
  for (size_t i = 0; i < calls.size(); ++i) {
    const InlinedCall& call = *calls[i];
    const std::string& callee = call.callee->qualified_name();
    const std::string& caller =
        i + 1 < calls.size() ? calls[i + 1]->callee->qualified_name() : function;
    Value instance;
    std::string type, name;
    if (is_method(*call.callee)) {
      type = head_of(callee);
      name = !call.module_path.empty() ? tail_of(call.module_path)
             : type == head_of(caller) ? kOwnInstance
                                       : kUnknownInstance;
      instance = Value::tuple({Value(type), Value(name)});
    }
    const int64_t place = tag_of(call.range.original());
    content += std::to_string(place) + " " + type + " " + name + " " + tail_of(callee) + "\n";
    const auto [known, is_new] = calls_.try_emplace(content);
    if (is_new) {
      known->second = {calls_.size(), Value::tuple({std::move(instance), place, inner.second,
                                                    Value(tail_of(callee))})};
    }
    inner = known->second;
  }
  return inner;
}

Value pickled_debug_handles(const Bytecode& bytecode) {
  std::vector<Value> items = {Value(bytecode.version)};
  for (const BytecodeFunction& function : bytecode.functions) {
    std::vector<Value> handles(function.debug_handles.begin(), function.debug_handles.end());
    const auto list = make_ref<List>(types::integer(), std::move(handles));
    const Value field =
        Value::tuple({Value("function_debug_handles"), Value::tuple({Value(list)})});
    items.push_back(Value::tuple({Value(function.name), Value::tuple({field})}));
  }
  return Value::tuple(std::move(items));
}

}  // namespace torchlet::lite
