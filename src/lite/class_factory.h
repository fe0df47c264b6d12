// Objects of a file that holds bytecode without the source of its classes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "archive/pickle.h"
#include "lite/bytecode.h"
#include "tensor/containers.h"

namespace torchlet::lite {

// An object of a C++ class of this qualified name, made from its pickled state. Error kUnsupported
// if Torchlet does not have the class.
Value make_custom_object(const std::string& class_name, const Value& state);
bool is_custom_class_name(std::string_view qualified_name);

// A class is what its objects show: the names of its attributes, in the order of the slots that
// bytecode uses, and what they hold. Each class gets its attributes in finish(), after the last
// object: those in which all objects agree have a type, the others are Unknown.
class ClassFactory final : public archive::ObjectFactory {
 public:
  // An object that has no attributes until the function __setstate__ of its class has run.
  struct Waiting {
    Ref<Object> object;
    Value state;
  };

  // The functions tell which classes have a __setstate__; before the first object is made.
  void set_functions(const Bytecode& bytecode);
  void finish();
  // In the order in which they have to be completed.
  const std::vector<Waiting>& waiting() const { return waiting_; }

  // Any name below __torch__ is that of a class.
  TypePtr parse_type(std::string_view text) override;
  TypePtr resolve_class(const std::string& qualified_name) override;
  Value build_object(const TypePtr& type, Value state) override;

 private:
  struct Field {
    std::string name;
    TypePtr type;  // null while only None was seen
    bool may_be_none = false;
  };
  struct Class {
    std::shared_ptr<ClassType> type;
    std::vector<Field> fields;
    size_t order = 0;  // among the classes, by their first objects; 0 if it has none
  };

  void set_fields(Class& made, Object& object, const Value& state);
  void see(Field& field, const Value& value);
  TypePtr type_of_value(const Value& value);
  bool may_hold(const Class& holder, const Type& type) const;

  std::unordered_map<std::string, Class> classes_;
  size_t num_ordered_ = 0;
  std::unordered_set<std::string> with_set_state_;
  std::vector<Waiting> waiting_;
  // By address: a type is as large as its tuple, which many objects may share.
  std::unordered_map<int64_t, TypePtr> tuple_types_;
};

}  // namespace torchlet::lite
