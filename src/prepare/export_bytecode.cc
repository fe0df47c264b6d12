#include "prepare/export_bytecode.h"

#include <set>
#include <unordered_set>

#include "base/error.h"
#include "graph/clone.h"
#include "lite/write/code_emitter.h"
#include "passes/inline.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

// Of one method. Real models have some thousands of nodes.
constexpr size_t kMostNodes = 500'000;

// The classes of the objects that are reachable from `root`, whose own is the first.
std::vector<const ClassType*> classes_in(const Value& root) {
  std::vector<const ClassType*> classes;
  std::unordered_set<const void*> seen;
  std::vector<Value> open = {root};
  const auto add = [&](const void* identity, const std::vector<Value>& items) {
    if (seen.insert(identity).second) open.insert(open.end(), items.rbegin(), items.rend());
  };
  while (!open.empty()) {
    const Value value = std::move(open.back());
    open.pop_back();
    if (value.is_object()) {
      const Object& object = value.object_ref();
      if (seen.insert(object.type.get()).second) classes.push_back(object.type.get());
      add(&object, object.slots);
    } else if (value.is_list()) {
      add(&value.list_ref(), value.list_ref().items);
    } else if (value.is_tuple()) {
      add(&value.tuple_ref(), value.tuple_ref().items);
    } else if (value.is_enum()) {
      fail(ErrorCode::kUnsupported, "Lite Interpreter files have no form for a " +
                                        value.enum_ref().type->str() +
                                        ", which the model holds; write it as .pt");
    } else if (value.is_dict()) {
      std::vector<Value> items;
      for (const auto& [key, item] : value.dict_ref().items()) items.push_back(item);
      add(&value.dict_ref(), items);
    }
  }
  return classes;
}

class Exporter {
 public:
  Exporter(const Value& root, script::CompilationUnit* unit, int version, lite::DebugTables* debug)
      : classes_(classes_in(root)), form_(version), debug_(debug) {
    bytecode_.version = version;
    if (!unit) return;
    for (const ClassType*& type : classes_) {
      const TypePtr found = unit->find_type(type->name());
      TORCHLET_ASSERT(found && found->as_class());
      type = found->as_class();
    }
  }

  // PyTorch looks methods up from the beginning, so those of the root come first.
  lite::Bytecode run() {
    for (const auto& [name, method] : classes_[0]->methods()) add(*classes_[0], name, *method);
    for (const ClassType* type : classes_) {
      if (!type->find_method("__setstate__") || !type->find_method("__getstate__")) continue;
      add_method(*type, "__setstate__");
      add_method(*type, "__getstate__");
    }
    for (size_t i = 0; i < bytecode_.functions.size(); ++i) add_looked_up(bytecode_.functions[i]);
    return std::move(bytecode_);
  }

 private:
  void add_method(const ClassType& type, const std::string& name) {
    if (Function* method = type.find_method(name)) add(type, name, *method);
  }

  void add(const ClassType& type, const std::string& name, Function& method) {
    lite::BytecodeFunction function;
    function.name = type.name() + "." + name;
    if (!added_.insert(function.name).second) return;
    function.schema = method.schema();
    try {
      const std::unique_ptr<Graph> graph = clone_graph(method.graph());
      while (passes::inline_calls(*graph, method, kMostNodes)) {
      }
      lite::emit_code(*graph, form_, function, debug_);
    } catch (Error& error) {
      error.add_context("in " + function.name);
      throw;
    }
    bytecode_.functions.push_back(std::move(function));
  }

  // The methods of all objects that a call by name may mean.
  void add_looked_up(const lite::BytecodeFunction& caller) {
    std::set<std::string> names;
    for (const lite::Instruction& in : caller.instructions) {
      if (in.opcode != lite::Opcode::kInterfaceCall) continue;
      names.insert(caller.constants[static_cast<size_t>(in.x)].to_string());
    }
    for (const std::string& name : names) {
      for (const ClassType* type : classes_) add_method(*type, name);
    }
  }

  std::vector<const ClassType*> classes_;
  const lite::CodeForm form_;
  lite::DebugTables* const debug_;
  lite::Bytecode bytecode_;
  std::set<std::string> added_;
};

}  // namespace

lite::Bytecode export_bytecode(const Value& root, script::CompilationUnit* unit, int version,
                               lite::DebugTables* debug) {
  if (version < lite::kMinWrittenVersion || version > lite::kMaxWrittenVersion) {
    fail(ErrorCode::kInvalidArgument,
         "there is no bytecode version %d to write; there are %d to %d", version,
         lite::kMinWrittenVersion, lite::kMaxWrittenVersion);
  }
  return Exporter(root, unit, version, debug).run();
}

}  // namespace torchlet::prepare
