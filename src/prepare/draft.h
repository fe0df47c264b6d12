// A model that is about to be written with other methods and attributes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/loaded_model.h"
#include "graph/function.h"
#include "tensor/type.h"

namespace torchlet::prepare {

// Begins as the module that it is made from, which never changes: what is given here concerns a
// class and an object of the draft's own. Objects below the root are shared, not copied.
// Not thread-safe; the module must not change meanwhile.
//
// Only the class of the root changes, so finish() refuses a model with another object of that
// class.
class Draft {
 public:
  explicit Draft(const Module& module);
  ~Draft();

  // Has the method run this graph, whose inputs are those of the old one, self first. A new method
  // takes its argument names and types from the graph's inputs and outputs.
  void set_method(const std::string& name, std::unique_ptr<Graph> graph);
  // Adds methods: TorchScript, not indented, with classes by their qualified names. They are
  // compiled by finish(), which throws their errors (as PyTorch's Module::define).
  void define(const std::string& methods) { source_ += methods; }
  // Adds an attribute, or gives the one of that name another value and type.
  void set_attribute(const std::string& name, TypePtr type, Value value);
  // These do nothing if there is none of the name.
  void remove_attribute(const std::string& name);
  void remove_method(const std::string& name);
  // Is some object that the attributes hold of a class of that name?
  bool holds_class(std::string_view name) const;

  // Writes the draft and reads it again with the options of the original: what runs then is what a
  // file of it holds. Errors as of save() and load().
  Module finish() const;

 private:
  class GivenMethod;

  const LoadedProgram& program() const { return *model_->program; }
  Value root() const;

  std::shared_ptr<LoadedModel> model_;
  std::shared_ptr<const ClassType> original_;
  std::vector<ClassType::Attribute> attributes_;
  std::vector<Value> values_;  // of the attributes
  std::vector<std::pair<std::string, Function*>> methods_;
  std::vector<std::unique_ptr<GivenMethod>> given_;
  std::string source_;  // of more methods
};

}  // namespace torchlet::prepare
