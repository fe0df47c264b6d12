#include "script/program_printer.h"

#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "script/compilation_unit.h"
#include "script/function_printer.h"
#include "tensor/containers.h"

namespace torchlet::script {
namespace {

// What the objects of a model tell of attributes whose types their classes leave open.
using AttributeTypes = std::unordered_map<const ClassType::Attribute*, TypePtr>;

// Of a class, NamedTuple, enum or interface.
class TypePrinter {
 public:
  TypePrinter(PrintContext& context, const AttributeTypes& learned)
      : context_(context), learned_(learned) {}

  // `methods` come last in a class.
  MarkedText print(const Type& type, const std::string& methods) {
    const size_t dot = type.name().rfind('.');
    out_.text = "class " + type.name().substr(dot + 1) + base(type) + ":\n";
    if (const ClassType* class_type = type.as_class()) {
      body(*class_type);
      add_indented(methods);
    } else if (const EnumType* enum_type = type.as_enum()) {
      for (const auto& [name, value] : enum_type->members()) {
        line(name + " = " + context_.literal(value));
      }
    } else {
      for (size_t i = 0; i < type.elements().size(); ++i) {
        line(type.field_names().at(i) + " : " + context_.type(type.element(i)));
      }
    }
    return std::move(out_);
  }

 private:
  static std::string base(const Type& type) {
    const ClassType* class_type = type.as_class();
    if (type.is(TypeKind::kEnum)) return "(Enum)";
    if (!class_type) return "(NamedTuple)";
    if (type.is(TypeKind::kInterface)) {
      return class_type->is_module() ? "(ModuleInterface)" : "(Interface)";
    }
    return class_type->is_module() ? "(Module)" : "";
  }

  void add_indented(const std::string& source) {
    std::istringstream lines(source);
    for (std::string text; std::getline(lines, text);) line(text);
  }

  void line(const std::string& text) { out_.text += "  " + text + "\n"; }

  void names(const char* field, const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += string_literal(name) + ", ";
    line(field + std::string(" = [") + text + "]");
  }

  static std::vector<std::string> names_of(const ClassType& type, ClassType::AttributeKind kind) {
    std::vector<std::string> names;
    for (const ClassType::Attribute& attribute : type.attributes()) {
      if (attribute.kind == kind) names.push_back(attribute.name);
    }
    return names;
  }

  void body(const ClassType& type) {
    if (type.is_module() && type.is(TypeKind::kClass)) {
      names("__parameters__", names_of(type, ClassType::AttributeKind::kParameter));
      names("__buffers__", names_of(type, ClassType::AttributeKind::kBuffer));
      if (!type.forward_pre_hooks.empty()) names("__forward_pre_hooks__", type.forward_pre_hooks);
      if (!type.forward_hooks.empty()) names("__forward_hooks__", type.forward_hooks);
    }
    bool has_annotations = false;
    for (const ClassType::Attribute& attribute : type.attributes()) {
      const std::string attribute_type = context_.type(type_of(attribute));
      if (is_identifier(attribute.name)) {
        line(attribute.name + " : " + attribute_type);
        continue;
      }
      if (!has_annotations) line("__annotations__ = []");
      has_annotations = true;
      line("__annotations__[" + string_literal(attribute.name) + "] = " + attribute_type);
    }
    for (const auto& [name, value] : type.constants()) {
      line(name + " : Final[" + context_.type(torchlet::type_of(value)) +
           "] = " + context_.literal(value));
    }
    for (const auto& [name, method] : type.methods()) {
      out_.append(FunctionPrinter(context_, 1).print(*method, name, type.is(TypeKind::kClass)));
    }
  }

  TypePtr type_of(const ClassType::Attribute& attribute) const {
    const auto learned = learned_.find(&attribute);
    if (learned != learned_.end()) return learned->second;
    const bool is_open = attribute.type->is(TypeKind::kUnknown);
    return is_open ? types::none() : attribute.type;
  }

  PrintContext& context_;
  const AttributeTypes& learned_;
  MarkedText out_;
};

// Prints what is needed, each before what needs it.
class ProgramPrinter {
 public:
  PrintedProgram run(const Value& root, const std::string& methods) {
    root_class_ = root.object_ref().type.get();
    root_methods_ = methods;
    print_types_in(root);
    // Printing the classes of constants may add constants.
    for (size_t i = 0; i < context_.constants().size(); ++i) {
      print_types_in(Value(context_.constants()[i]));
    }
    result_.constants = context_.constants();
    result_.operator_version = context_.version();
    return std::move(result_);
  }

 private:
  struct Open {
    Definition definition;
    MarkedText source;
    std::vector<Definition> needed;
    size_t next = 0;
  };

  static const std::string& name_of(const Definition& definition) {
    const auto* type = std::get_if<TypePtr>(&definition);
    return type ? (*type)->name() : std::get<Function*>(definition)->qualified_name();
  }

  // A stack of our own: programs may be as long a chain as they like.
  void print_with_needed(const Definition& root) {
    std::vector<Open> open;
    const auto begin = [&](const Definition& definition) {
      const auto* type = std::get_if<TypePtr>(&definition);
      if (type && is_custom_class(**type)) return;
      if (!begun_.insert(name_of(definition)).second) return;
      MarkedText source = type ? TypePrinter(context_, learned_)
                                     .print(**type, type->get() == root_class_ ? root_methods_ : "")
                               : print_function(*std::get<Function*>(definition));
      open.push_back({definition, std::move(source), context_.take_needed()});
    };
    begin(root);
    while (!open.empty()) {
      if (open.back().next < open.back().needed.size()) {
        begin(Definition(open.back().needed[open.back().next++]));
        continue;
      }
      add(name_of(open.back().definition), open.back().source);
      open.pop_back();
    }
  }

  MarkedText print_function(Function& function) {
    const std::string& name = function.qualified_name();
    return FunctionPrinter(context_, 0).print(function, name.substr(name.rfind('.') + 1), true);
  }

  // The classes of all objects that are reachable, and the types of lists and dicts. All objects
  // are looked at first, since they know more of their classes than these say.
  void print_types_in(const Value& root) {
    std::vector<TypePtr> types;
    std::vector<Value> open = {root};
    const auto add = [&](const TypePtr& type, const void* identity, std::vector<Value> items) {
      types.push_back(type);
      if (seen_.insert(identity).second) open.insert(open.end(), items.rbegin(), items.rend());
    };
    while (!open.empty()) {
      const Value value = std::move(open.back());
      open.pop_back();
      if (value.is_object()) {
        const Object& object = value.object_ref();
        learn_attributes(object);
        add(object.type, &object, object.slots);
      } else if (value.is_list()) {
        add(value.list_ref().element_type, &value.list_ref(), value.list_ref().items);
      } else if (value.is_tuple()) {
        const Tuple& tuple = value.tuple_ref();
        add(tuple.type ? tuple.type : types::none(), &tuple, tuple.items);
      } else if (value.is_dict()) {
        const Dict& dict = value.dict_ref();
        std::vector<Value> items;
        for (const auto& [key, item] : dict.items()) items.insert(items.end(), {key, item});
        types.push_back(dict.key_type);
        add(dict.value_type, &dict, std::move(items));
      } else if (value.is_enum()) {
        types.push_back(value.enum_ref().type);
      }
    }
    for (const TypePtr& type : types) print_named_in(type);
  }

  void learn_attributes(const Object& object) {
    for (size_t i = 0; i < object.slots.size(); ++i) {
      const ClassType::Attribute& attribute = object.type->attributes()[i];
      if (!attribute.type->is(TypeKind::kUnknown) || object.slots[i].is_none()) continue;
      learned_[&attribute] = type_of(object.slots[i]);
    }
  }

  void print_named_in(const TypePtr& type) {
    if (!type->name().empty()) return print_with_needed(type);
    for (const TypePtr& element : type->elements()) print_named_in(element);
  }

  void add(const std::string& qualified_name, const MarkedText& source) {
    const std::string package = qualified_name.substr(0, qualified_name.rfind('.'));
    const auto [found, is_new] = file_index_.emplace(package, result_.files.size());
    if (is_new) result_.files.push_back({package, {}});
    result_.files[found->second].source.append(source);
  }

  PrintContext context_;
  const Type* root_class_ = nullptr;
  std::string root_methods_;
  PrintedProgram result_{};
  AttributeTypes learned_;
  std::unordered_set<std::string> begun_;
  std::unordered_set<const void*> seen_;
  std::unordered_map<std::string, size_t> file_index_;
};

}  // namespace

PrintedProgram print_program(const Value& root, const std::string& methods) {
  return ProgramPrinter().run(root, methods);
}

}  // namespace torchlet::script
