// Attribute values against their declared types.
#include <set>

#include "archive/reader.h"
#include "base/error.h"
#include "tensor/containers.h"

namespace torchlet::archive {
namespace {

// Containers may be shared, so a pair that was seen is not walked again: the walk is linear in the
// size of the value, whatever a hostile file shares.
class Conformer {
 public:
  void visit(const Value& value, const TypePtr& type) {
    switch (type->kind()) {
      case TypeKind::kOptional:
        if (!value.is_none()) visit(value, type->element(0));
        return;
      case TypeKind::kList:
        if (!value.is_list()) refuse(value, type);
        return visit_list(value, type);
      case TypeKind::kDict:
        if (!value.is_dict()) refuse(value, type);
        return visit_dict(value, type);
      case TypeKind::kTuple:
        if (!value.is_tuple() || value.tuple_ref().items.size() != type->elements().size()) {
          refuse(value, type);
        }
        return visit_tuple(value, type);
      default:
        if (!is_instance(value, *type)) refuse(value, type);
    }
  }

 private:
  bool first_visit(const Value& value, const TypePtr& type) {
    return seen_.emplace(value.raw_int(), type.get()).second;
  }

  void visit_list(const Value& value, const TypePtr& type) {
    if (!first_visit(value, type)) return;
    List& list = value.list_ref();
    list.element_type = type->element(0);
    for (const Value& item : list.items) visit(item, type->element(0));
  }

  void visit_dict(const Value& value, const TypePtr& type) {
    if (!first_visit(value, type)) return;
    Dict& dict = value.dict_ref();
    dict.key_type = type->element(0);
    dict.value_type = type->element(1);
    for (const auto& [key, item] : dict.items()) {
      visit(key, type->element(0));
      visit(item, type->element(1));
    }
  }

  void visit_tuple(const Value& value, const TypePtr& type) {
    if (!first_visit(value, type)) return;
    Tuple& tuple = value.tuple_ref();
    if (!type->name().empty()) tuple.type = type;
    for (size_t i = 0; i < tuple.items.size(); ++i) visit(tuple.items[i], type->element(i));
  }

  [[noreturn]] static void refuse(const Value& value, const TypePtr& type) {
    fail(ErrorCode::kFileFormat,
         "expected " + type->str().substr(0, 200) + ", got " + std::string(value.kind_name()));
  }

  std::set<std::pair<int64_t, const Type*>> seen_;
};

}  // namespace

void conform(const Value& value, const TypePtr& type) { Conformer().visit(value, type); }

}  // namespace torchlet::archive
