// The classes and functions of an archive that holds bytecode and no source.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/function.h"
#include "lite/bytecode.h"
#include "lite/debug_info.h"
#include "script/compilation_unit.h"

namespace torchlet::lite {

// No class is declared in such a file. One is made when it is first named; its attributes are those
// of its objects in data.pkl, in order, as bytecode names attributes by number; one that only code
// sets is called by its number ("attribute_3"). Types are those of the values that are there.
//
// Not thread-safe until finish() has been called, and does not change any more then.
class BytecodeProgram {
 public:
  explicit BytecodeProgram(script::CompilationUnit& unit);
  ~BytecodeProgram();
  BytecodeProgram(const BytecodeProgram&) = delete;
  BytecodeProgram& operator=(const BytecodeProgram&) = delete;

  script::CompilationUnit& unit() { return unit_; }

  // The class "__torch__.Net"; null for other names.
  TypePtr find_class(const std::string& qualified_name);
  // The methods of the classes. Before data.pkl is read, which may run some.
  void add_functions(Bytecode bytecode);
  // The attributes of a class, from the state of one of its objects: a dict. Error kFileFormat if
  // another object of the class has others.
  void learn_attributes(const ClassType& type, const Value& state);
  // Translates all that was not run yet.
  void finish();

  // What the file tells of its instructions; may be null, as it is after finish().
  const DebugTable* debug() const { return debug_.get(); }
  // What stands for a function that calls were inlined from: it has a name, and `self` if it is a
  // method, and no graph.
  Function* inlined_function(const std::string& qualified_name, bool is_method);
  // Counts calls that were inlined; false when there are more than a file may have.
  bool count_inlined_call() { return ++num_inlined_calls_ <= kMostInlinedCalls; }

  // Error kFileFormat if the number is absurd.
  const ClassType::Attribute& attribute(const ClassType& type, int64_t slot);
  // A value of that type is kept in the attribute.
  void widen_attribute(const ClassType& type, int64_t slot, const TypePtr& value);

 private:
  class Method;
  class InlinedFunction;
  // Torchvision's detectors have some hundreds.
  static constexpr size_t kMostInlinedCalls = 100'000;

  ClassType& class_of(const ClassType& type);

  script::CompilationUnit& unit_;
  std::unordered_map<std::string, std::shared_ptr<ClassType>> classes_;
  std::vector<std::unique_ptr<Method>> methods_;
  std::shared_ptr<const DebugTable> debug_;
  std::map<std::pair<std::string, bool>, std::unique_ptr<Function>> inlined_functions_;
  size_t num_inlined_calls_ = 0;
};

}  // namespace torchlet::lite
