// The classes and functions of one program: found by name in its sources, compiled when asked for.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/function.h"
#include "script/ast.h"
#include "tensor/type.h"

namespace torchlet::script {

class CompilationUnit;

// Is this a C++ class (torch.classes.*)?
bool is_custom_class(const Type& type);

// The operators' version that today's PyTorch writes (kProducedFileFormatVersion,
// caffe2/serialize/versions.h).
inline constexpr int kCurrentOperatorVersion = 10;

// What an archive gives to its compiler.
struct Program {
  // The record "code/__torch__/torch/nn.py" for "__torch__.torch.nn"; null if there is none.
  std::function<std::shared_ptr<const Source>(const std::string& package)> find_source;
  // CONSTANTS.c0, CONSTANTS.c1, ...
  std::vector<Value> constants;
  // Of the file: decides how the operators that changed their meaning are read
  // (script/upgraders.h).
  int operator_version = kCurrentOperatorVersion;
  // A class that no source declares, or null. May be empty.
  std::function<TypePtr(const std::string& qualified_name)> find_class = {};
};

// A function of TorchScript source.
class ScriptFunction final : public Function {
 public:
  // `self_type` is the class for a method, else null. `bodiless` for the methods of interfaces.
  ScriptFunction(CompilationUnit& unit, std::string qualified_name,
                 std::shared_ptr<const Source> source, FunctionDef def, TypePtr self_type,
                 bool bodiless);
  ~ScriptFunction() override;

  const std::string& qualified_name() const override { return qualified_name_; }
  const Schema& schema() override;
  const Graph& graph() override;
  std::shared_ptr<const Graph> body() override;

 private:
  Schema make_schema();
  std::shared_ptr<const Graph> compile();

  CompilationUnit& unit_;
  const std::string qualified_name_;
  const std::shared_ptr<const Source> source_;
  FunctionDef def_;              // what is read once is dropped when it has been compiled
  const Type* const self_type_;  // borrowed: class types own no functions, and functions no classes
  const bool bodiless_;
  bool compiling_ = false, was_compiled_ = false;
  std::unique_ptr<Schema> own_schema_;
  std::shared_ptr<const Graph> own_graph_;  // once graph() was asked for
  std::weak_ptr<const Graph> held_graph_;
  std::atomic<const Schema*> schema_ = nullptr;  // own_schema_, when it is complete
  std::atomic<const Graph*> graph_ = nullptr;
};

// Thread-safe. Functions, and the methods of class types, live as long as the unit.
class CompilationUnit {
 public:
  explicit CompilationUnit(Program program) : program_(std::move(program)) {}
  CompilationUnit(const CompilationUnit&) = delete;
  CompilationUnit& operator=(const CompilationUnit&) = delete;

  // The class, NamedTuple, enum or interface "__torch__.m.Net"; null if there is none. Throws
  // kFileFormat if its source is wrong. Every name below __torch__.torch.classes is a C++ class.
  TypePtr find_type(const std::string& qualified_name);
  // The function "__torch__.m.helper"; null if there is none.
  Function* find_function(const std::string& qualified_name);
  // "List[__torch__.m.Point]", as pickles and bytecode write types. `where` names the record.
  TypePtr parse_type(const std::string& where, const std::string& text);

  // The constants may be of classes that only this unit knows, so they can come after it. Before
  // anything is compiled.
  void set_constants(std::vector<Value> constants) { program_.constants = std::move(constants); }
  // Likewise.
  void set_class_finder(std::function<TypePtr(const std::string&)> find_class) {
    program_.find_class = std::move(find_class);
  }
  const Program& program() const { return program_; }
  std::recursive_mutex& mutex() { return mutex_; }

  // Called for what is added to graphs; an error when the whole program has grown too large. The
  // caller holds the mutex.
  void count_parts(const Source& source, Span span, size_t count);

  // While one lives, parts are not counted: what is compiled again was counted. The caller holds
  // the mutex.
  class Uncounted {
   public:
    explicit Uncounted(CompilationUnit& unit)
        : unit_(unit), parts_left_(std::exchange(unit.parts_left_, kMostParts)) {}
    ~Uncounted() { unit_.parts_left_ = parts_left_; }
    Uncounted(const Uncounted&) = delete;
    Uncounted& operator=(const Uncounted&) = delete;

   private:
    CompilationUnit& unit_;
    const size_t parts_left_;
  };

  // A level of the recursion by which a program is compiled: of its statements and expressions, and
  // of the functions and classes that they ask for, and so on. While one lives it takes `levels` of
  // kMaxNesting; more is an error at `span`. The caller holds the mutex.
  static constexpr int kMaxNesting = 600;
  class Nested {
   public:
    Nested(CompilationUnit& unit, const Source& source, Span span, int levels = 1);
    ~Nested() { unit_.nesting_ -= levels_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    CompilationUnit& unit_;
    const int levels_;
  };

 private:
  friend class ClassImporter;
  struct PendingClass {
    std::shared_ptr<const Source> source;
    ClassDef def;
  };

  void load_package(const std::string& package);
  ScriptFunction* add_function(std::unique_ptr<ScriptFunction> function);

  Program program_;
  std::recursive_mutex mutex_;
  std::unordered_set<std::string> loaded_packages_;
  std::unordered_map<std::string, PendingClass> pending_classes_;
  std::unordered_map<std::string, TypePtr> types_;
  std::unordered_map<std::string, Function*> free_functions_;
  // By their base, so that a build without the compiler has no need of the class
  // (base/selection.h).
  std::vector<std::unique_ptr<Function>> functions_;
  int nesting_ = 0;
  // Of the whole program. The largest real ones take about a hundredth.
  static constexpr size_t kMostTokens = 2'000'000;  // 100 bytes each, until they are compiled
  static constexpr size_t kMostParts = 600'000;     // nodes and values of graphs; 250 bytes each
  size_t tokens_left_ = kMostTokens;
  size_t parts_left_ = kMostParts;
};

}  // namespace torchlet::script
