// The static types of TorchScript: immutable (but a ClassType while its class is compiled), shared,
// compared with equal(). Small trees: making one past kMaxTypeDepth or kMaxTypeParts is an error.
#pragma once

#include <torchlet/value.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace torchlet {

class Function;  // graph/function.h
class Value;     // <torchlet/value.h>
class ClassType;
class EnumType;

enum class TypeKind : uint8_t {
  kAny,
  kNone,
  kTensor,
  kInt,  // also ScalarType, Layout, MemoryFormat, QScheme: TorchScript has no type of their own
  kFloat,
  kComplex,
  kBool,
  kNumber,  // "Scalar" in schemas: int, float, complex (and bool, as a value)
  kString,
  kDevice,
  kGenerator,
  kStorage,
  kStream,
  kCapsule,
  kAnyList,
  kAnyTuple,
  kAnyClass,
  kAnyEnum,
  kList,       // element(0)
  kDict,       // element(0) key, element(1) value
  kTuple,      // elements; a NamedTuple has name() and field_names()
  kOptional,   // element(0)
  kUnion,      // elements
  kFuture,     // element(0)
  kRRef,       // element(0)
  kClass,      // ClassType: script classes, modules, and C++ classes (torch.classes)
  kInterface,  // name(), methods as a ClassType
  kEnum,       // EnumType
  kFunction,   // a function used as a value
  kVar,        // name(): a type variable in a schema ("t")
  kUnknown,    // the result of an operator that Torchlet does not have
};

class Type;
using TypePtr = std::shared_ptr<const Type>;

class Type {
 public:
  Type(TypeKind kind, std::vector<TypePtr> elements, std::string name = {},
       std::vector<std::string> field_names = {});
  virtual ~Type() = default;

  TypeKind kind() const { return kind_; }
  bool is(TypeKind kind) const { return kind_ == kind; }
  const std::vector<TypePtr>& elements() const { return elements_; }
  const TypePtr& element(size_t i) const { return elements_[i]; }
  // Qualified name of a class, interface, enum or NamedTuple ("__torch__.m.Point"); a variable's
  // name.
  const std::string& name() const { return name_; }
  const std::vector<std::string>& field_names() const { return field_names_; }

  // TorchScript's spelling: "Tensor", "Optional[int]", "Dict[str, List[Tensor]]", "__torch__.M".
  std::string str() const;

  const ClassType* as_class() const;  // kClass and kInterface, else null
  const EnumType* as_enum() const;    // kEnum, else null

 private:
  TypeKind kind_;
  std::vector<TypePtr> elements_;
  std::string name_;
  std::vector<std::string> field_names_;
};

// Structural equality; classes, interfaces, enums and named tuples are equal by name.
bool equal(const Type& a, const Type& b);
inline bool equal(const TypePtr& a, const TypePtr& b) { return a == b || equal(*a, *b); }
// Can a value of `sub` be used where `super` is wanted (PyTorch's isSubtypeOf)? int is not a
// subtype of float. kUnknown is a subtype of everything and everything of it.
bool is_subtype(const Type& sub, const Type& super);
inline bool is_subtype(const TypePtr& sub, const TypePtr& super) {
  return is_subtype(*sub, *super);
}
// The smallest type that holds both, or null (PyTorch's unifyTypes): T and None -> Optional[T], ...
TypePtr unify(const TypePtr& a, const TypePtr& b);
bool has_free_variables(const Type& type);

namespace types {
const TypePtr& any();
const TypePtr& none();
const TypePtr& tensor();
const TypePtr& integer();
const TypePtr& floating();
const TypePtr& complex();
const TypePtr& boolean();
const TypePtr& number();
const TypePtr& string();
const TypePtr& device();
const TypePtr& generator();
const TypePtr& unknown();
TypePtr simple(TypeKind kind);  // any kind without elements and name
TypePtr list(TypePtr element);
TypePtr dict(TypePtr key, TypePtr value);
TypePtr tuple(std::vector<TypePtr> elements);
TypePtr named_tuple(std::string name, std::vector<std::string> field_names,
                    std::vector<TypePtr> elements);
// Optional[Optional[T]] is Optional[T], Optional[None] is None, Optional[Union[A, B]] is
// Union[A, B, None].
TypePtr optional(TypePtr element);
TypePtr union_of(
    std::vector<TypePtr> members);  // flattened, without doubles; T|None is Optional[T]
TypePtr future(TypePtr element);
TypePtr variable(std::string name);
}  // namespace types

// A script class, a module or an interface. Slots of an Object are in the order of `attributes`.
class ClassType : public Type {
 public:
  enum class AttributeKind : uint8_t { kRegular, kParameter, kBuffer };
  struct Attribute {
    std::string name;
    TypePtr type;
    AttributeKind kind = AttributeKind::kRegular;
  };

  ClassType(TypeKind kind, std::string name, bool is_module);
  ~ClassType() override;

  bool is_module() const { return is_module_; }
  const std::vector<Attribute>& attributes() const { return attributes_; }
  std::optional<size_t> find_attribute(std::string_view name) const;
  size_t add_attribute(Attribute attribute);
  void set_attribute_type(size_t slot, TypePtr type) { attributes_[slot].type = std::move(type); }

  // Constants of the class body (`x : Final[int] = 3`); null if there is none of that name.
  const Value* find_constant(std::string_view name) const;
  const std::vector<std::pair<std::string, Value>>& constants() const { return constants_; }
  void add_constant(std::string name, Value value);

  // Methods belong to the compilation unit; they are compiled on first use. Null if there is none.
  Function* find_method(std::string_view name) const;
  const std::vector<std::pair<std::string, Function*>>& methods() const { return methods_; }
  void add_method(std::string name, Function* method);

  // Hooks that run around forward, in order (names of methods).
  std::vector<std::string> forward_pre_hooks, forward_hooks;

 private:
  bool is_module_;
  std::vector<Attribute> attributes_;
  std::unordered_map<std::string, size_t> attribute_index_;
  std::vector<std::pair<std::string, Function*>> methods_;
  std::vector<std::pair<std::string, Value>> constants_;
  std::unordered_map<std::string, size_t> constant_index_;
};

class EnumType : public Type {
 public:
  EnumType(std::string name, TypePtr value_type);
  const TypePtr& value_type() const { return element(0); }
  // (name, value) in the order of the class body.
  const std::vector<std::pair<std::string, Value>>& members() const;
  void add_member(std::string name, Value value);
  ~EnumType() override;

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

}  // namespace torchlet
