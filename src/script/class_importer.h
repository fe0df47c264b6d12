// A `class` of the source -> its type (torch/csrc/jit/serialization/import_source.cpp).
#pragma once

#include <memory>
#include <string>

#include "script/compilation_unit.h"

namespace torchlet::script {

class ClassImporter {
 public:
  ClassImporter(CompilationUnit& unit, std::string qualified_name,
                std::shared_ptr<const Source> source, ClassDef def)
      : unit_(unit),
        name_(std::move(qualified_name)),
        source_(std::move(source)),
        def_(std::move(def)) {}

  // Makes the type and registers it. Throws kFileFormat if the class is wrong. Attributes are of
  // types that are complete already; methods may speak of the class itself.
  void run();

 private:
  void import_class(TypeKind kind, bool is_module);
  void import_named_tuple();
  void import_enum();
  void import_field(const Stmt& field, ClassType& type);
  void add_attribute(ClassType& type, const std::string& name, TypePtr attribute_type);
  TypePtr type_of(const Expr& expr);
  const std::string& name_of(const Stmt& field) const;
  std::vector<std::string> strings_of(const Stmt& field) const;
  [[noreturn]] void fail(Span span, const std::string& message) const;

  CompilationUnit& unit_;
  const std::string name_;
  const std::shared_ptr<const Source> source_;
  ClassDef def_;
  std::vector<std::string> parameters_, buffers_;
};

}  // namespace torchlet::script
