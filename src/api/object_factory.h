// Objects for the names in a model's pickles.
#pragma once

#include "archive/pickle.h"
#include "interp/interpreter.h"
#include "lite/program.h"
#include "script/compilation_unit.h"

namespace torchlet::api {

// Classes come from the code of the model, or from `bytecode` if that is all there is; their
// __setstate__ runs if they have one.
class ModelObjectFactory final : public archive::ObjectFactory {
 public:
  ModelObjectFactory(script::CompilationUnit& unit, const interp::Interpreter& interpreter,
                     std::string record, lite::BytecodeProgram* bytecode = nullptr)
      : unit_(unit), interpreter_(interpreter), record_(std::move(record)), bytecode_(bytecode) {}

  TypePtr parse_type(std::string_view text) override;
  TypePtr resolve_class(const std::string& qualified_name) override;
  Value build_object(const TypePtr& type, Value state) override;
  Value build_enum(const TypePtr& type, const Value& value) override;

 private:
  script::CompilationUnit& unit_;
  const interp::Interpreter& interpreter_;
  std::string record_;
  lite::BytecodeProgram* bytecode_;
};

}  // namespace torchlet::api
