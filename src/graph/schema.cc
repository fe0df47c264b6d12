#include "graph/schema.h"

#include <cctype>
#include <cstdlib>

#include "base/error.h"
#include "base/read_float.h"
#include "tensor/containers.h"

namespace torchlet {
namespace {

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema schema;
    const std::string full = name_until("(");
    const size_t dot = full.find('.', full.find("::") == std::string::npos ? 0 : full.find("::"));
    schema.name = full.substr(0, dot);
    if (dot != std::string::npos) schema.overload = full.substr(dot + 1);
    expect("(");
    bool keyword_only = false;
    while (!accept(")")) {
      if (accept("...")) {
        schema.is_vararg = true;
      } else if (accept("*")) {
        keyword_only = true;
      } else {
        schema.arguments.push_back(argument());
        schema.arguments.back().keyword_only = keyword_only;
      }
      accept(",");
    }
    expect("->");
    if (accept("...")) {
      schema.is_varret = true;
    } else if (accept("(")) {
      while (!accept(")")) {
        if (accept("...")) {
          schema.is_varret = true;
        } else {
          schema.returns.push_back(result());
        }
        accept(",");
      }
    } else {
      schema.returns.push_back(result());
    }
    skip_space();
    if (at_ != text_.size()) error("nothing more");
    return schema;
  }

 private:
  [[noreturn]] void error(const char* expected) const {
    fail(ErrorCode::kInvalidArgument, "bad operator schema '%s': expected %s at column %zu",
         std::string(text_).c_str(), expected, at_);
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool peek(std::string_view token) {
    skip_space();
    return text_.substr(at_, token.size()) == token;
  }
  bool accept(std::string_view token) {
    if (!peek(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) error(std::string(token).c_str());
  }
  std::string name_until(std::string_view stop) {
    skip_space();
    const size_t end = text_.find_first_of(stop, at_);
    if (end == std::string_view::npos) error("(");
    std::string name(text_.substr(at_, end - at_));
    at_ = end;
    return name;
  }
  std::string identifier() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      ++at_;
    }
    if (begin == at_) error("a name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  // (a), (a!), (a -> *), (a|b)
  void alias_annotation(Argument& argument) {
    if (!peek("(")) return;
    const size_t end = text_.find(')', at_);
    if (end == std::string_view::npos) error(")");
    argument.is_aliased = true;
    if (text_.substr(at_, end - at_).find('!') != std::string_view::npos)
      argument.is_written = true;
    at_ = end + 1;
  }

  TypePtr base_type(Argument& argument) {
    if (accept("(")) {
      std::vector<TypePtr> elements;
      while (!accept(")")) {
        Argument inner;
        elements.push_back(type(inner));
        accept(",");
      }
      return types::tuple(std::move(elements));
    }
    std::string word = identifier();
    while (accept(".")) word += "." + identifier();
    if (word == "Dict") {
      Argument inner;
      expect("(");
      TypePtr key = type(inner);
      expect(",");
      TypePtr value = type(inner);
      expect(")");
      return types::dict(std::move(key), std::move(value));
    }
    if (word == "Future" || word == "RRef" || word == "Await") {
      Argument inner;
      expect("(");
      TypePtr element = type(inner);
      expect(")");
      return types::future(std::move(element));
    }
    if (word == "Tensor") return types::tensor();
    if (word == "int" || word == "SymInt") return types::integer();
    if (word == "float") return types::floating();
    if (word == "complex") return types::complex();
    if (word == "bool") return types::boolean();
    if (word == "str" || word == "Dimname") return types::string();
    if (word == "Scalar" || word == "number") return types::number();
    if (word == "ScalarType" || word == "Layout" || word == "MemoryFormat" || word == "QScheme") {
      argument.alias_of_int = word;
      return types::integer();
    }
    if (word == "Device") return types::device();
    if (word == "Generator") return types::generator();
    if (word == "Any") return types::any();
    if (word == "NoneType" || word == "None") return types::none();
    if (word == "Storage") return types::simple(TypeKind::kStorage);
    if (word == "Stream") return types::simple(TypeKind::kStream);
    if (word == "Capsule") return types::simple(TypeKind::kCapsule);
    if (word == "AnyEnumType") return types::simple(TypeKind::kAnyEnum);
    if (word == "AnyClassType") return types::simple(TypeKind::kAnyClass);
    if (word == "__torch__" || word.starts_with("__torch__.")) {
      return std::make_shared<ClassType>(TypeKind::kClass, word, false);
    }
    if (word == "tVal" || (word.size() <= 3 && std::islower(static_cast<unsigned char>(word[0])))) {
      return types::variable(word);  // t, t1, ...
    }
    error("a type");
  }

  TypePtr type(Argument& argument) {
    TypePtr result = base_type(argument);
    for (;;) {
      alias_annotation(argument);
      if (accept("?")) {
        result = types::optional(std::move(result));
      } else if (peek("[")) {
        ++at_;
        if (!peek("]")) argument.list_size = std::atoll(name_until("]").c_str());
        expect("]");
        result = types::list(std::move(result));
      } else {
        return result;
      }
    }
  }

  Argument argument() {
    Argument result;
    result.type = type(result);
    result.name = identifier();
    if (accept("=")) {
      result.default_value = constant(*result.type);
      // int[2] stride=1 means [1, 1].
      if (result.list_size && result.default_value->is_scalar()) {
        std::vector<Value> items(static_cast<size_t>(*result.list_size), *result.default_value);
        const TypePtr& list =
            result.type->is(TypeKind::kOptional) ? result.type->element(0) : result.type;
        result.default_value = make_list(list->element(0), std::move(items));
      }
    }
    return result;
  }

  Argument result() {
    Argument result;
    result.type = type(result);
    skip_space();
    if (at_ < text_.size() &&
        (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      result.name = identifier();
    }
    return result;
  }

  Value constant(const Type& expected) {
    skip_space();
    const Type& plain = expected.is(TypeKind::kOptional) ? *expected.element(0) : expected;
    if (accept("None")) return Value();
    if (accept("True")) return Value(true);
    if (accept("False")) return Value(false);
    if (accept("Mean")) return Value(int64_t{1});
    if (accept("contiguous_format")) return Value(int64_t{0});
    if (accept("preserve_format")) return Value(int64_t{1});
    if (accept("strided")) return Value(int64_t{0});
    if (accept("long")) return Value(int64_t{4});
    if (accept("float")) return Value(int64_t{6});
    if (peek("\"") || peek("'")) {
      const char quote = text_[at_++];
      const size_t end = text_.find(quote, at_);
      if (end == std::string_view::npos) error("the end of a string");
      std::string value;
      for (; at_ < end; ++at_) {
        if (text_[at_] == '\\' && at_ + 1 < end) {
          ++at_;
          value += text_[at_] == 'n' ? '\n' : text_[at_] == 't' ? '\t' : text_[at_];
        } else {
          value += text_[at_];
        }
      }
      ++at_;
      return Value(std::move(value));
    }
    if (accept("[")) {
      const TypePtr element = plain.is(TypeKind::kList) ? plain.element(0) : types::integer();
      std::vector<Value> items;
      while (!accept("]")) {
        items.push_back(constant(*element));
        accept(",");
      }
      return make_list(element, std::move(items));
    }
    const std::string number = number_text();
    const bool is_float = number.find_first_of(".en") != std::string::npos;
    if (is_float || plain.is(TypeKind::kFloat)) return Value(read_float(number).value_or(0));
    return Value(static_cast<int64_t>(std::strtoll(number.c_str(), nullptr, 10)));
  }

  std::string number_text() {
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  text_[at_] == '.' || text_[at_] == '-' || text_[at_] == '+')) {
      ++at_;
    }
    if (begin == at_) error("a default value");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string Schema::full_name() const { return overload.empty() ? name : name + "." + overload; }

namespace {

std::string type_text(const Argument& argument) {
  if (argument.alias_of_int.empty()) {
    std::string text = argument.type->str();
    if (argument.list_size) text += "[" + std::to_string(*argument.list_size) + "]";
    return text;
  }
  return argument.type->is(TypeKind::kOptional) ? "Optional[" + argument.alias_of_int + "]"
                                                : argument.alias_of_int;
}

}  // namespace

std::string Schema::str() const {
  std::string text = full_name() + "(";
  const char* separator = "";
  bool keyword_only = false;
  for (const Argument& argument : arguments) {
    text += separator;
    separator = ", ";
    if (argument.keyword_only && !keyword_only) text += "*, ";
    keyword_only = argument.keyword_only;
    text += type_text(argument) + " " + argument.name;
    if (argument.default_value) text += "=" + to_text(*argument.default_value);
  }
  if (is_vararg) text += std::string(separator) + "...";
  text += ") -> ";
  if (is_varret) return text + "...";
  if (returns.size() == 1) return text + type_text(returns[0]);
  text += "(";
  separator = "";
  for (const Argument& result : returns) {
    text += separator + type_text(result);
    separator = ", ";
  }
  return text + ")";
}

std::optional<size_t> Schema::find_argument(std::string_view argument_name) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == argument_name) return i;
  }
  return std::nullopt;
}

Schema parse_schema(std::string_view text) { return SchemaParser(text).parse(); }

}  // namespace torchlet
