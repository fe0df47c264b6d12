// Finds operators by name. Schemas are parsed when a name is first asked for, so that starting up
// costs nothing for the operators that a model does not use.
#include <algorithm>
#include <array>
#include <forward_list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/selection.h"
#include "ops/core/custom_class.h"
#include "ops/core/derived.h"
#include "ops/core/op.h"
#include "ops/sparse/sparse.h"

namespace torchlet {
namespace ops {

#define TORCHLET_OP_ENTRY(id) extern const OpDef op_##id;
#include "ops/op_list.inc"
#undef TORCHLET_OP_ENTRY
#define TORCHLET_CLASS_ENTRY(id) extern const CustomClassDef class_##id;
#include "ops/class_list.inc"
#undef TORCHLET_CLASS_ENTRY

namespace {

// GCC's sanitizers take no comparison of an address with null in constants, hence the flag.
template <typename Definition>
struct Listed {
  bool is_there;  // this build does not leave it out
  const Definition* definition;
};

constexpr Listed<OpDef> kListedOps[] = {
#define TORCHLET_OP_ENTRY(id) \
  {selection::has_declaration(#id), selection::has_declaration(#id) ? &op_##id : nullptr},
#include "ops/op_list.inc"
#undef TORCHLET_OP_ENTRY
};

constexpr Listed<CustomClassDef> kListedClasses[] = {
#define TORCHLET_CLASS_ENTRY(id) \
  {selection::has_class(#id), selection::has_class(#id) ? &class_##id : nullptr},
#include "ops/class_list.inc"
#undef TORCHLET_CLASS_ENTRY
};

// The definitions that are there.
template <const auto& kListed>
consteval auto compact() {
  constexpr auto kCount = std::ranges::count_if(kListed, [](const auto& l) { return l.is_there; });
  std::array<decltype(kListed[0].definition), static_cast<size_t>(kCount)> kept = {};
  size_t count = 0;
  for (const auto& listed : kListed) {
    if (listed.is_there) kept[count++] = listed.definition;
  }
  return kept;
}
constexpr auto kOps = compact<kListedOps>();
constexpr auto kClasses = compact<kListedClasses>();

// "int_float" into "aten::mul.$($1 a, $2 b) -> $r".
std::string instantiate(std::string_view schema, std::string_view word) {
  const size_t bar = word.find('_');
  const std::string_view first = word.substr(0, bar);
  const std::string_view second = bar == std::string_view::npos ? word : word.substr(bar + 1);
  auto width = [](std::string_view type) {
    return type == "complex" ? 3 : type == "float" ? 2 : type == "int" ? 1 : 0;
  };
  std::string text;
  for (size_t i = 0; i < schema.size(); ++i) {
    if (schema[i] != '$') {
      text += schema[i];
      continue;
    }
    const char part = i + 1 < schema.size() ? schema[i + 1] : '\0';
    if (part == '1' || part == '2' || part == 'r') ++i;
    text += part == '1'   ? first
            : part == '2' ? second
            : part == 'r' ? (width(first) > width(second) ? first : second)
                          : word;
  }
  return text;
}

std::vector<std::string> schemas_of(const OpDef& def) {
  const std::string schema = unpack_schema(def.schema);
  if (!def.traits->types) return {schema};
  std::vector<std::string> schemas;
  std::string_view rest = def.traits->types;
  while (!rest.empty()) {
    const size_t space = std::min(rest.find(' '), rest.size());
    schemas.push_back(instantiate(schema, rest.substr(0, space)));
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return schemas;
}

struct Alias {
  const char *name, *target;
};
constexpr Alias kAliases[] = {
#define TORCHLET_OP_ALIAS(name, target) {#name, #target},
#include "ops/alias_list.inc"
#undef TORCHLET_OP_ALIAS
};

class Registry {
 public:
  Registry() {
    for (const OpDef* def : kOps) {
      const std::string name = unpack_schema_name(def->schema);
      groups_[name].defs.push_back(def);
      if (def->traits->has_inplace || def->traits->has_inplace_view) {
        groups_[name + "_"].inplace_of.push_back(def);
      }
      if (def->traits->has_copied) groups_[name + "_copy"].copied_of.push_back(def);
      if (def->traits->has_functional) {
        groups_[name.substr(0, name.size() - 1)].functional_of.push_back(def);
      }
    }
    for (const auto& [name, target] : kAliases) {
      for (const char* suffix : {"", "_"}) {
        const std::string full = std::string("aten::") + target + suffix;
        if (groups_.contains(full)) {
          groups_[std::string("aten::") + name + suffix].alias_of.push_back(full);
        }
      }
    }
  }

  std::span<const Operator* const> find(const std::string& name) {
    const auto found = groups_.find(name);
    if (found == groups_.end()) return {};
    Group& group = found->second;
    std::call_once(group.once, [&] { resolve(name, group); });
    return group.operators;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, group] : groups_) all.push_back(name);
    return all;
  }

 private:
  struct Group {
    std::once_flag once;
    std::vector<const OpDef*> defs;
    std::vector<const OpDef*> inplace_of;
    std::vector<std::string> alias_of;
    std::vector<const OpDef*> copied_of;
    std::vector<const OpDef*> functional_of;
    std::forward_list<Operator> storage;  // nothing while it is empty: most groups stay so
    std::vector<const Operator*> operators, outs;
  };

  static const Operator* add(Group& group, Operator op) {
    group.storage.push_front(std::move(op));
    group.operators.push_back(&group.storage.front());
    return group.operators.back();
  }

  static void add_out(Group& group, const Operator& base, const char* overload) {
    group.storage.push_front(out_variant(base, overload));
    group.outs.push_back(&group.storage.front());
  }

  static void resolve(const std::string& name, const OpDef& def, const std::string& schema,
                      Group& group) {
    const Signature* signature = def.function->signature;
    const OperatorFn fn =
        signature ? call_typed : static_cast<const BoxedFunction*>(def.function)->fn;
    Operator op{Symbol(name), parse_schema(schema), fn, nullptr, def.function, &def.traits->facts};
    if (signature && op.schema.arguments.size() != signature->arity) {
      fail(ErrorCode::kInternal, "the C++ function of '%s' takes %d arguments", schema.c_str(),
           signature->arity);
    }
    const auto wrap = [&](Operator (*variant)(const Operator&)) {
      group.storage.push_front(std::move(op));
      op = variant(group.storage.front());
    };
    if (selection::kHasQuantized && op.facts->quantized != QuantizedOutput::kNone) {
      wrap(quantized_variant);
    }
    if (selection::kHasSparse && sparse_form(name)) wrap(sparse_variant);
    const Operator* base = add(group, std::move(op));
    if (def.traits->out_overloads && !def.traits->has_functional) {
      add_out(group, *base, def.traits->out_overloads);
    }
  }

  void resolve(const std::string& name, Group& group) {
    for (const OpDef* def : group.defs) {
      for (const std::string& schema : schemas_of(*def)) resolve(name, *def, schema, group);
    }
    for (const OpDef* def : group.inplace_of) {
      const Operator& base = base_of(*def, name.substr(0, name.size() - 1));
      Operator op = def->traits->has_inplace ? inplace_variant(base) : inplace_view_variant(base);
      if (def->traits->inplace_overload) op.schema.overload = def->traits->inplace_overload;
      add(group, std::move(op));
    }
    for (const OpDef* def : group.functional_of) {
      const Operator* made = add(group, functional_variant(base_of(*def, name + "_")));
      if (def->traits->out_overloads) add_out(group, *made, def->traits->out_overloads);
    }
    for (const OpDef* def : group.copied_of) {
      const std::string base_name = name.substr(0, name.size() - std::string_view("_copy").size());
      add(group, copied_variant(base_of(*def, base_name)));
    }
    for (const std::string& target : group.alias_of) {
      for (const Operator* op : find(target)) {
        Operator copy = *op;
        copy.name = Symbol(name);
        copy.schema.name = name;
        add(group, std::move(copy));
      }
    }
    // The out overloads come last, as PyTorch tries them.
    group.operators.insert(group.operators.end(), group.outs.begin(), group.outs.end());
  }

  // The operator that a derived variant of `def` calls.
  const Operator& base_of(const OpDef& def, const std::string& name) {
    const std::string schema = unpack_schema(def.schema);
    const std::string overload = parse_schema(schema).overload;
    for (const Operator* base : find(name)) {
      if (base->schema.overload == overload) return *base;
    }
    fail(ErrorCode::kInternal, "'%s' is not in the list of operators", schema.c_str());
  }

  std::unordered_map<std::string, Group> groups_;
};

Registry& registry() {
  static auto* const registry = new Registry;  // operators live as long as the process
  return *registry;
}

}  // namespace
}  // namespace ops

std::span<const Operator* const> find_operators(Symbol name) {
  return ops::registry().find(name.str());
}

const Operator* find_operator(std::string_view name, std::string_view overload) {
  for (const Operator* op : ops::registry().find(std::string(name))) {
    if (op->schema.overload == overload) return op;
  }
  return nullptr;
}

// Makes two strings; sorting would have a dozen copies of it.
[[gnu::noinline]] static bool is_named_before(const Operator* a, const Operator* b) {
  return a->schema.full_name() < b->schema.full_name();
}

std::vector<const Operator*> all_operators() {
  std::vector<const Operator*> all;
  for (const std::string& name : ops::registry().names()) {
    const auto found = ops::registry().find(name);
    all.insert(all.end(), found.begin(), found.end());
  }
  std::ranges::sort(all, is_named_before);
  return all;
}

const CustomClass* find_custom_class(std::string_view name) {
  static auto* const classes = [] {
    auto* all = new std::unordered_map<std::string_view, CustomClass>;
    for (const ops::CustomClassDef* def : ops::kClasses) {
      CustomClass made{def->name, def->set_state, {}};
      for (const ops::CustomMethodDef& method : def->methods) {
        made.methods.push_back({parse_schema(method.schema), ops::call_typed, method.fn});
      }
      all->emplace(def->name, std::move(made));
    }
    return all;
  }();
  const auto found = classes->find(name);
  return found == classes->end() ? nullptr : &found->second;
}

}  // namespace torchlet
