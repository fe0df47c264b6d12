// The objects of a file that holds bytecode, made without running any of it: for tests and fuzzers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "archive/pickle.h"
#include "base/error.h"
#include "graph/operator.h"
#include "lite/program.h"
#include "tensor/containers.h"

namespace torchlet::lite {

class BareObjects final : public archive::ObjectFactory {
 public:
  // An object that has no attributes until the __setstate__ of its class has run.
  struct Waiting {
    Ref<Object> object;
    Value state;
  };

  BareObjects() {
    unit_.set_class_finder([this](const std::string& name) { return program_.find_class(name); });
  }

  BytecodeProgram& program() { return program_; }
  const std::vector<Waiting>& waiting() const { return waiting_; }

  TypePtr parse_type(std::string_view text) override {
    return unit_.parse_type("the bytecode", std::string(text));
  }
  TypePtr resolve_class(const std::string& qualified_name) override {
    return unit_.find_type(qualified_name);
  }
  Value build_object(const TypePtr& type, Value state) override {
    if (script::is_custom_class(*type)) return custom_object(type->name(), state);
    if (!type->is(TypeKind::kClass)) fail(ErrorCode::kFileFormat, "this is no class");
    const auto class_type = std::static_pointer_cast<const ClassType>(type);
    if (class_type->find_method("__setstate__")) {
      waiting_.push_back({make_ref<Object>(class_type), std::move(state)});
      return Value(waiting_.back().object);
    }
    program_.learn_attributes(*class_type, state);
    const auto object = make_ref<Object>(class_type);
    size_t slot = 0;
    for (const auto& [name, value] : state.dict_ref().items()) object->slots[slot++] = value;
    return Value(object);
  }

 private:
  static Value custom_object(const std::string& name, const Value& state) {
    const CustomClass* found = find_custom_class(name);
    if (!found) fail(ErrorCode::kUnsupported, "there is no C++ class " + name);
    return found->set_state(state);
  }

  script::CompilationUnit unit_{script::Program{[](const std::string&) { return nullptr; }, {}}};
  BytecodeProgram program_{unit_};
  std::vector<Waiting> waiting_;
};

}  // namespace torchlet::lite
