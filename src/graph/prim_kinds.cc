#define TORCHLET_KIND(kind, ...) \
  extern const Symbol kind;      \
  const Symbol kind = declare({__VA_ARGS__})
#include "graph/prim_kinds.h"

#include <mutex>
#include <string>
#include <unordered_map>

#include "base/error.h"

namespace torchlet::prim {
namespace {

struct Entry {
  Contract contract;
  std::once_flag parsed;
  Schema schema;
};

// Filled while the program starts, and complete from then on.
std::unordered_map<std::string, Entry>& entries() {
  static auto* const all = new std::unordered_map<std::string, Entry>;
  return *all;
}

Entry* find(Symbol kind) {
  const auto found = entries().find(kind.str());
  return found == entries().end() ? nullptr : &found->second;
}

}  // namespace

Symbol declare(Contract contract) {
  const Symbol kind(contract.schema.substr(0, contract.schema.find('(')));
  entries()[kind.str()].contract = std::move(contract);
  return kind;
}

const Contract* contract_of(Symbol kind) {
  const Entry* entry = find(kind);
  return entry ? &entry->contract : nullptr;
}

const Schema& schema_of(Symbol kind) {
  Entry* entry = find(kind);
  TORCHLET_ASSERT(entry);
  std::call_once(entry->parsed, [&] { entry->schema = parse_schema(entry->contract.schema); });
  return entry->schema;
}

bool fits(const Type& type, const Type& declared) {
  if (declared.is(TypeKind::kFuture)) return type.is(TypeKind::kFuture);
  return has_free_variables(declared) || is_subtype(type, declared);
}

}  // namespace torchlet::prim
