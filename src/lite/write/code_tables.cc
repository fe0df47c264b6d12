#include "lite/write/code_tables.h"

#include "lite/write/identity.h"

namespace torchlet::lite {
namespace {

std::string joined(const std::vector<TypePtr>& types) {
  std::string text;
  for (const TypePtr& type : types) text += (text.empty() ? "" : ", ") + type_text(*type);
  return text;
}

std::string fields_text(const Type& tuple) {
  std::string text;
  for (size_t i = 0; i < tuple.elements().size(); ++i) {
    text += (i ? "," : "") + ("[" + tuple.field_names().at(i)) + ", " +
            type_text(*tuple.element(i)) + "]";
  }
  return text;
}

// `table[key]`, or a new entry at the end of `entries`.
template <typename Map, typename Entry>
int64_t find_or_add(Map& table, typename Map::key_type key, std::vector<Entry>& entries,
                    const Entry& entry) {
  const auto [found, is_new] =
      table.try_emplace(std::move(key), static_cast<int64_t>(entries.size()));
  if (is_new) entries.push_back(entry);
  return found->second;
}

}  // namespace

int64_t CodeTables::constant(const Value& value) {
  if (std::optional<std::string> content = plain_identity(value)) {
    return find_or_add(plain_constants_, {value.kind(), std::move(*content)}, function_.constants,
                       value);
  }
  return find_or_add(shared_constants_, identity_of(value), function_.constants, value);
}

int64_t CodeTables::type(const TypePtr& type) {
  return find_or_add(types_, type_text(*type), function_.types, type);
}

int64_t CodeTables::types(const std::vector<TypePtr>& types) {
  if (types.size() == 1) return type(types[0]);
  const auto first = static_cast<int64_t>(function_.types.size());
  function_.types.insert(function_.types.end(), types.begin(), types.end());
  return first;
}

int64_t CodeTables::operation(const OperatorName& name) {
  return find_or_add(operators_, {name.name, name.overload}, function_.operators, name);
}

std::string type_text(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kUnion:
    case TypeKind::kUnknown:
      return "Any";
    case TypeKind::kFuture:
      return type_text(*type.element(0));
    case TypeKind::kTuple:
      if (!type.name().empty()) return type.name() + "[NamedTuple, [" + fields_text(type) + "]]";
      return type.elements().empty() ? type.str() : "Tuple[" + joined(type.elements()) + "]";
    case TypeKind::kList:
      return "List[" + joined(type.elements()) + "]";
    case TypeKind::kOptional:
      return "Optional[" + joined(type.elements()) + "]";
    case TypeKind::kDict:
      return "Dict[" + joined(type.elements()) + "]";
    default:
      return type.str();
  }
}

std::string schema_type_text(const Type& type) {
  return type.name().empty() ? type_text(type) : type.name();
}

}  // namespace torchlet::lite
