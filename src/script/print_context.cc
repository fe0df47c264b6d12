#include "script/print_context.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "tensor/containers.h"

namespace torchlet::script {
namespace {

// Longer ones go into the table of constants, so that a program which repeats one stays small.
constexpr size_t kMostOfALiteral = 1000;
constexpr size_t kMostText = size_t{256} << 20;

}  // namespace

bool is_identifier(std::string_view name) {
  static constexpr std::string_view kKeywords[] = {
      "and",  "as",     "assert", "async",  "await",  "break",   "class",    "continue", "def",
      "del",  "elif",   "else",   "except", "False",  "finally", "for",      "from",     "global",
      "if",   "import", "in",     "is",     "lambda", "None",    "nonlocal", "not",      "or",
      "pass", "raise",  "return", "True",   "try",    "while",   "with",     "yield"};
  const auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, is_part) &&
         std::ranges::find(kKeywords, name) == std::end(kKeywords);
}

std::string string_literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      case '"':
      case '\\':
        out += {'\\', c};
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += format("\\%03o", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

void PrintContext::count(size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > kMostText) {
    fail(ErrorCode::kUnsupported, "the program is over %zu MiB as source", kMostText >> 20);
  }
}

// Types are small trees, so this may recurse.
void PrintContext::need_types_in(const TypePtr& type) {
  if (type->is(TypeKind::kUnknown)) {
    fail(ErrorCode::kUnsupported,
         "a type has to be written that is not known: an operator is missing, or the bytecode does "
         "not tell it");
  }
  const bool is_named = !type->name().empty() && !type->is(TypeKind::kVar);
  if (is_named) return static_cast<void>(needed_.emplace_back(type));
  for (const TypePtr& element : type->elements()) need_types_in(element);
}

std::string PrintContext::type(const TypePtr& type) {
  need_types_in(type);
  std::string text = type->str();
  count(text.size());
  return text;
}

std::string PrintContext::function(Function* function) {
  const Schema& schema = function->schema();
  const ClassType* self = schema.arguments.empty() ? nullptr : schema.arguments[0].type->as_class();
  if (self && self->find_method(schema.name) == function) {
    needed_.emplace_back(schema.arguments[0].type);
  } else {
    needed_.emplace_back(function);
  }
  return function->qualified_name();
}

std::string PrintContext::constant(const Value& value) {
  const auto key = std::pair(value.kind(), value.raw_int());
  const auto [found, is_new] = constant_index_.emplace(key, constants_.size());
  if (is_new) constants_.push_back(value);
  return "CONSTANTS.c" + std::to_string(found->second);
}

// Empty if there is none.
std::string PrintContext::short_literal(const Value& value, int depth) {
  switch (value.kind()) {
    case ValueKind::kNone:
      return "None";
    case ValueKind::kBool:
      return value.to_bool() ? "True" : "False";
    case ValueKind::kInt:
      // The sign is an operator, and there is no such positive number.
      if (value.to_int() == std::numeric_limits<int64_t>::min()) return "";
      return std::to_string(value.to_int());
    case ValueKind::kFloat:
      return float_text(value.to_double());
    case ValueKind::kString:
      return value.to_string().size() > kMostOfALiteral ? "" : string_literal(value.to_string());
    case ValueKind::kEnum:
      return type(value.enum_ref().type) + "." + value.enum_ref().name;
    case ValueKind::kList:
    case ValueKind::kTuple: {
      const bool is_list = value.is_list();
      const std::vector<Value>& held = is_list ? value.list_ref().items : value.tuple_ref().items;
      if (depth == kMaxInlineDepth || held.size() > kMostOfALiteral) return "";
      if (!is_list && value.tuple_ref().type) return "";
      if (held.empty() && !is_list) return "()";
      std::vector<std::string> parts;
      for (const Value& item : held) {
        parts.push_back(short_literal(item, depth + 1));
        if (parts.back().empty() || item.is_none()) return "";
        if (is_list && item.kind() != held[0].kind()) return "";
      }
      const std::string text = joined(parts);
      if (text.size() > kMostOfALiteral) return "";
      if (is_list) {
        const TypePtr& element = value.list_ref().element_type;
        if (element->is(TypeKind::kUnknown)) return "";
        if (!held.empty() && equal(element, type_of(held[0]))) return "[" + text + "]";
        return "annotate(" + type(types::list(element)) + ", [" + text + "])";
      }
      return "(" + text + (parts.size() == 1 ? ",)" : ")");
    }
    default:
      return "";
  }
}

std::string PrintContext::literal(const Value& value, const TypePtr& as) {
  if (value.is_none() && as && !as->is(TypeKind::kNone) && !as->is(TypeKind::kUnknown)) {
    return "annotate(" + type(as) + ", None)";
  }
  std::string text = short_literal(value, 0);
  if (text.empty()) text = constant(value);
  count(text.size());
  return text;
}

}  // namespace torchlet::script
