#include "tensor/type.h"

#include <torchlet/value.h>

#include <algorithm>

#include "base/error.h"

namespace torchlet {
namespace {

// A program can make a type of itself over and over: Tuple[T, T], where T is such a pair. Types are
// walked as trees, so both are bounded, far above those of real programs.
constexpr int kMaxTypeDepth = 64;
constexpr size_t kMaxTypeParts = 4096;

void count_parts(const Type& type, int depth, size_t& parts) {
  if (depth > kMaxTypeDepth || ++parts > kMaxTypeParts) {
    fail(ErrorCode::kUnsupported, "a type is nested over %d deep or has over %zu parts",
         kMaxTypeDepth, kMaxTypeParts);
  }
  for (const TypePtr& element : type.elements()) count_parts(*element, depth + 1, parts);
}

}  // namespace

Type::Type(TypeKind kind, std::vector<TypePtr> elements, std::string name,
           std::vector<std::string> field_names)
    : kind_(kind),
      elements_(std::move(elements)),
      name_(std::move(name)),
      field_names_(std::move(field_names)) {
  size_t parts = 0;
  for (const TypePtr& element : elements_) count_parts(*element, 2, parts);
}

const ClassType* Type::as_class() const {
  return is(TypeKind::kClass) || is(TypeKind::kInterface) ? static_cast<const ClassType*>(this)
                                                          : nullptr;
}
const EnumType* Type::as_enum() const {
  return is(TypeKind::kEnum) ? static_cast<const EnumType*>(this) : nullptr;
}

namespace {

std::string joined(const char* head, const std::vector<TypePtr>& elements) {
  std::string text = std::string(head) + "[";
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i) text += ", ";
    text += elements[i]->str();
  }
  return text + "]";
}

const char* simple_name(TypeKind kind) {
  switch (kind) {
    case TypeKind::kAny:
      return "Any";
    case TypeKind::kNone:
      return "NoneType";
    case TypeKind::kTensor:
      return "Tensor";
    case TypeKind::kInt:
      return "int";
    case TypeKind::kFloat:
      return "float";
    case TypeKind::kComplex:
      return "complex";
    case TypeKind::kBool:
      return "bool";
    case TypeKind::kNumber:
      return "number";
    case TypeKind::kString:
      return "str";
    case TypeKind::kDevice:
      return "Device";
    case TypeKind::kGenerator:
      return "Generator";
    case TypeKind::kStorage:
      return "Storage";
    case TypeKind::kStream:
      return "Stream";
    case TypeKind::kCapsule:
      return "Capsule";
    case TypeKind::kAnyList:
      return "list";
    case TypeKind::kAnyTuple:
      return "tuple";
    case TypeKind::kAnyClass:
      return "AnyClassType";
    case TypeKind::kAnyEnum:
      return "AnyEnumType";
    case TypeKind::kFunction:
      return "Function";
    case TypeKind::kUnknown:
      return "Unknown";
    default:
      return "?";
  }
}

}  // namespace

std::string Type::str() const {
  switch (kind_) {
    case TypeKind::kList:
      return joined("List", elements_);
    case TypeKind::kDict:
      return joined("Dict", elements_);
    case TypeKind::kOptional:
      return joined("Optional", elements_);
    case TypeKind::kUnion:
      return joined("Union", elements_);
    case TypeKind::kFuture:
      return joined("Future", elements_);
    case TypeKind::kRRef:
      return joined("RRef", elements_);
    case TypeKind::kTuple:
      if (!name_.empty()) return name_;
      return elements_.empty() ? "Tuple[()]" : joined("Tuple", elements_);
    case TypeKind::kClass:
    case TypeKind::kInterface:
    case TypeKind::kEnum:
    case TypeKind::kVar:
      return name_;
    default:
      return simple_name(kind_);
  }
}

bool equal(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.kind() != b.kind() || a.name() != b.name()) return false;
  if (a.elements().size() != b.elements().size()) return false;
  if (a.is(TypeKind::kClass) || a.is(TypeKind::kInterface) || a.is(TypeKind::kEnum)) return true;
  if (a.is(TypeKind::kUnion)) {
    return std::ranges::all_of(a.elements(), [&](const TypePtr& x) {
      return std::ranges::any_of(b.elements(), [&](const TypePtr& y) { return equal(x, y); });
    });
  }
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!equal(a.element(i), b.element(i))) return false;
  }
  return true;
}

namespace {

// Elements of lists and dicts must be the same, as far as they are known.
bool equal_as_known(const Type& a, const Type& b) {
  if (a.is(TypeKind::kUnknown) || b.is(TypeKind::kUnknown)) return true;
  if (a.kind() != b.kind() || a.elements().empty() || a.is(TypeKind::kUnion) ||
      a.elements().size() != b.elements().size() || a.name() != b.name()) {
    return equal(a, b);
  }
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!equal_as_known(*a.element(i), *b.element(i))) return false;
  }
  return true;
}

}  // namespace

bool is_subtype(const Type& sub, const Type& super) {
  if (&sub == &super) return true;
  if (super.is(TypeKind::kAny) || super.is(TypeKind::kUnknown) || sub.is(TypeKind::kUnknown)) {
    return true;
  }
  if (sub.is(TypeKind::kUnion) || sub.is(TypeKind::kOptional)) {
    if (sub.is(TypeKind::kOptional)) {
      return is_subtype(*types::none(), super) && is_subtype(*sub.element(0), super);
    }
    return std::ranges::all_of(sub.elements(),
                               [&](const TypePtr& member) { return is_subtype(*member, super); });
  }
  switch (super.kind()) {
    case TypeKind::kOptional:
      return sub.is(TypeKind::kNone) || is_subtype(sub, *super.element(0));
    case TypeKind::kUnion:
      return std::ranges::any_of(super.elements(),
                                 [&](const TypePtr& member) { return is_subtype(sub, *member); });
    case TypeKind::kNumber:
      return sub.is(TypeKind::kInt) || sub.is(TypeKind::kFloat) || sub.is(TypeKind::kComplex) ||
             sub.is(TypeKind::kNumber);
    case TypeKind::kAnyList:
      return sub.is(TypeKind::kList);
    case TypeKind::kAnyTuple:
      return sub.is(TypeKind::kTuple);
    case TypeKind::kAnyEnum:
      return sub.is(TypeKind::kEnum);
    case TypeKind::kAnyClass:
      return sub.is(TypeKind::kClass);
    case TypeKind::kTuple:
      // A named tuple may be used as the plain tuple of its fields, not the other way round.
      if (!sub.is(TypeKind::kTuple) || sub.elements().size() != super.elements().size())
        return false;
      if (!super.name().empty() && super.name() != sub.name()) return false;
      for (size_t i = 0; i < sub.elements().size(); ++i) {
        if (!is_subtype(*sub.element(i), *super.element(i))) return false;
      }
      return true;
    case TypeKind::kInterface: {
      if (equal(sub, super)) return true;
      const ClassType* object = sub.as_class();
      if (!object) return false;
      return std::ranges::all_of(super.as_class()->methods(),
                                 [&](const auto& m) { return object->find_method(m.first); });
    }
    case TypeKind::kFuture:
    case TypeKind::kRRef:
      return sub.kind() == super.kind() && is_subtype(*sub.element(0), *super.element(0));
    default:
      return equal_as_known(sub, super);
  }
}

TypePtr unify(const TypePtr& a, const TypePtr& b) {
  if (is_subtype(a, b)) return a->is(TypeKind::kUnknown) || !b->is(TypeKind::kUnknown) ? b : a;
  if (is_subtype(b, a)) return a;
  if (a->is(TypeKind::kNone)) return types::optional(b);
  if (b->is(TypeKind::kNone)) return types::optional(a);
  if (a->is(TypeKind::kOptional) || b->is(TypeKind::kOptional)) {
    const TypePtr& x = a->is(TypeKind::kOptional) ? a->element(0) : a;
    const TypePtr& y = b->is(TypeKind::kOptional) ? b->element(0) : b;
    const TypePtr inner = unify(x, y);
    return inner ? types::optional(inner) : nullptr;
  }
  if (a->is(TypeKind::kTuple) && b->is(TypeKind::kTuple) &&
      a->elements().size() == b->elements().size()) {
    std::vector<TypePtr> elements;
    for (size_t i = 0; i < a->elements().size(); ++i) {
      elements.push_back(unify(a->element(i), b->element(i)));
      if (!elements.back()) return nullptr;
    }
    return types::tuple(std::move(elements));
  }
  if (a->is(TypeKind::kFuture) && b->is(TypeKind::kFuture)) {
    const TypePtr inner = unify(a->element(0), b->element(0));
    return inner ? types::future(inner) : nullptr;
  }
  return nullptr;
}

bool has_free_variables(const Type& type) {
  if (type.is(TypeKind::kVar)) return true;
  return std::ranges::any_of(type.elements(),
                             [](const TypePtr& element) { return has_free_variables(*element); });
}

namespace types {

TypePtr simple(TypeKind kind) {
  static const std::vector<TypePtr> all = [] {
    std::vector<TypePtr> made;
    for (int k = 0; k <= static_cast<int>(TypeKind::kUnknown); ++k) {
      made.push_back(std::make_shared<Type>(static_cast<TypeKind>(k), std::vector<TypePtr>{}));
    }
    return made;
  }();
  return all[static_cast<size_t>(kind)];
}

#define TORCHLET_SIMPLE_TYPE(function, kind)            \
  const TypePtr& function() {                           \
    static const TypePtr type = simple(TypeKind::kind); \
    return type;                                        \
  }
TORCHLET_SIMPLE_TYPE(any, kAny)
TORCHLET_SIMPLE_TYPE(none, kNone)
TORCHLET_SIMPLE_TYPE(tensor, kTensor)
TORCHLET_SIMPLE_TYPE(integer, kInt)
TORCHLET_SIMPLE_TYPE(floating, kFloat)
TORCHLET_SIMPLE_TYPE(complex, kComplex)
TORCHLET_SIMPLE_TYPE(boolean, kBool)
TORCHLET_SIMPLE_TYPE(number, kNumber)
TORCHLET_SIMPLE_TYPE(string, kString)
TORCHLET_SIMPLE_TYPE(device, kDevice)
TORCHLET_SIMPLE_TYPE(generator, kGenerator)
TORCHLET_SIMPLE_TYPE(unknown, kUnknown)
#undef TORCHLET_SIMPLE_TYPE

namespace {
TypePtr with(TypeKind kind, std::vector<TypePtr> elements) {
  return std::make_shared<Type>(kind, std::move(elements));
}
}  // namespace

TypePtr list(TypePtr element) { return with(TypeKind::kList, {std::move(element)}); }
TypePtr dict(TypePtr key, TypePtr value) {
  return with(TypeKind::kDict, {std::move(key), std::move(value)});
}
TypePtr tuple(std::vector<TypePtr> elements) { return with(TypeKind::kTuple, std::move(elements)); }
TypePtr named_tuple(std::string name, std::vector<std::string> field_names,
                    std::vector<TypePtr> elements) {
  return std::make_shared<Type>(TypeKind::kTuple, std::move(elements), std::move(name),
                                std::move(field_names));
}
TypePtr optional(TypePtr element) {
  const TypeKind kind = element->kind();
  if (kind == TypeKind::kOptional || kind == TypeKind::kNone || kind == TypeKind::kAny)
    return element;
  if (kind == TypeKind::kUnion) return union_of({std::move(element), none()});
  return with(TypeKind::kOptional, {std::move(element)});
}
TypePtr future(TypePtr element) { return with(TypeKind::kFuture, {std::move(element)}); }
TypePtr variable(std::string name) {
  return std::make_shared<Type>(TypeKind::kVar, std::vector<TypePtr>{}, std::move(name));
}

TypePtr union_of(std::vector<TypePtr> members) {
  std::vector<TypePtr> flat;
  bool none = false;
  auto add = [&](const TypePtr& type, auto&& self) -> void {
    if (type->is(TypeKind::kNone)) {
      none = true;
    } else if (type->is(TypeKind::kUnion)) {
      for (const TypePtr& member : type->elements()) self(member, self);
    } else if (type->is(TypeKind::kOptional)) {
      none = true;
      self(type->element(0), self);
    } else if (std::ranges::none_of(flat, [&](const TypePtr& t) { return equal(t, type); })) {
      flat.push_back(type);
    }
  };
  for (const TypePtr& member : members) add(member, add);
  if (flat.empty()) return types::none();
  if (flat.size() == 1) return none ? optional(flat[0]) : flat[0];
  if (none) flat.push_back(types::none());
  return with(TypeKind::kUnion, std::move(flat));
}

}  // namespace types

ClassType::ClassType(TypeKind kind, std::string name, bool is_module)
    : Type(kind, {}, std::move(name)), is_module_(is_module) {}
ClassType::~ClassType() = default;

std::optional<size_t> ClassType::find_attribute(std::string_view name) const {
  const auto found = attribute_index_.find(std::string(name));
  return found == attribute_index_.end() ? std::nullopt : std::optional(found->second);
}
size_t ClassType::add_attribute(Attribute attribute) {
  const auto [place, fresh] = attribute_index_.try_emplace(attribute.name, attributes_.size());
  if (fresh) attributes_.push_back(std::move(attribute));
  return place->second;
}
const Value* ClassType::find_constant(std::string_view name) const {
  const auto found = constant_index_.find(std::string(name));
  return found == constant_index_.end() ? nullptr : &constants_[found->second].second;
}
void ClassType::add_constant(std::string name, Value value) {
  const auto [place, is_new] = constant_index_.emplace(name, constants_.size());
  if (is_new) constants_.emplace_back(std::move(name), Value());
  constants_[place->second].second = std::move(value);
}
Function* ClassType::find_method(std::string_view name) const {
  for (const auto& [own, method] : methods_) {
    if (own == name) return method;
  }
  return nullptr;
}
void ClassType::add_method(std::string name, Function* method) {
  methods_.emplace_back(std::move(name), method);
}

struct EnumType::Members {
  std::vector<std::pair<std::string, Value>> list;
};
EnumType::EnumType(std::string name, TypePtr value_type)
    : Type(TypeKind::kEnum, {std::move(value_type)}, std::move(name)),
      members_(std::make_unique<Members>()) {}
EnumType::~EnumType() = default;
const std::vector<std::pair<std::string, Value>>& EnumType::members() const {
  return members_->list;
}
void EnumType::add_member(std::string name, Value value) {
  members_->list.emplace_back(std::move(name), std::move(value));
}

}  // namespace torchlet
