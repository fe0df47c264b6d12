#include "neuralnetworks/operations/signature.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace torchlet::nn {
namespace {

struct TypeWord {
  std::string_view word;
  std::vector<int32_t> types;
};

#define TYPE(name)                    \
  {                                   \
#name, { ANEURALNETWORKS_##name } \
  }
const std::vector<TypeWord>& type_words() {
  static const std::vector<TypeWord> words = [] {
    std::vector<TypeWord> all = {
        TYPE(FLOAT32),
        TYPE(INT32),
        TYPE(UINT32),
        TYPE(TENSOR_FLOAT32),
        TYPE(TENSOR_INT32),
        TYPE(TENSOR_QUANT8_ASYMM),
        TYPE(BOOL),
        TYPE(TENSOR_QUANT16_SYMM),
        TYPE(TENSOR_FLOAT16),
        TYPE(TENSOR_BOOL8),
        TYPE(FLOAT16),
        TYPE(TENSOR_QUANT8_SYMM_PER_CHANNEL),
        TYPE(TENSOR_QUANT16_ASYMM),
        TYPE(TENSOR_QUANT8_SYMM),
        TYPE(TENSOR_QUANT8_ASYMM_SIGNED),
        TYPE(MODEL),
        {"FLOAT", {ANEURALNETWORKS_TENSOR_FLOAT32, ANEURALNETWORKS_TENSOR_FLOAT16}},
        {"QUANT8",
         {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED}},
    };
    TypeWord any{"ANY", {}};
    for (int32_t type = ANEURALNETWORKS_FLOAT32; type < ANEURALNETWORKS_MODEL; ++type) {
      any.types.push_back(type);
    }
    all.push_back(std::move(any));
    return all;
  }();
  return words;
}
#undef TYPE

bool is_quant8(int32_t type) {
  return type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM ||
         type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Signature parse() {
    while (!peek("(")) variable();
    arguments(signature_.inputs, true);
    expect("->");
    arguments(signature_.outputs, false);
    if (at_ < text_.size()) wrong();
    return std::move(signature_);
  }

 private:
  // "T in FLOAT QUANT8:"
  void variable() {
    Signature::Variable made{std::string(word()), {}};
    expect("in");
    while (!take(":")) append(made.types, types(word()));
    signature_.variables.push_back(std::move(made));
  }

  void arguments(std::vector<Argument>& list, bool named) {
    expect("(");
    if (take(")")) return;
    do {
      Argument made;
      made.type = rule();
      made.may_be_omitted = take("?");
      made.is_variadic = take("...");
      if (named) made.name = word();
      if (take("=")) made.default_value = number();
      list.push_back(std::move(made));
    } while (take(","));
    expect(")");
  }

  TypeRule rule() {
    TypeRule made;
    const std::string_view first = word();
    if ((made.variable = find_variable(first))) return made;
    if (take("(")) {
      made.function = first == "BIAS"     ? TypeRule::Function::kBias
                      : first == "FILTER" ? TypeRule::Function::kFilter
                      : first == "SCALAR" ? TypeRule::Function::kScalar
                                          : (wrong(), TypeRule::Function::kSame);
      made.variable = find_variable(word());
      if (!made.variable) wrong();
      expect(")");
      return made;
    }
    made.types = types(first);
    while (take("|")) append(made.types, types(word()));
    return made;
  }

  std::optional<size_t> find_variable(std::string_view name) const {
    const auto found = std::ranges::find(signature_.variables, name, &Signature::Variable::name);
    if (found == signature_.variables.end()) return {};
    return static_cast<size_t>(found - signature_.variables.begin());
  }

  const std::vector<int32_t>& types(std::string_view word) const {
    const auto found = std::ranges::find(type_words(), word, &TypeWord::word);
    if (found == type_words().end()) wrong();
    return found->types;
  }

  static void append(std::vector<int32_t>& all, const std::vector<int32_t>& more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool peek(std::string_view token) {
    skip_spaces();
    return text_.substr(at_).starts_with(token);
  }
  bool take(std::string_view token) {
    if (!peek(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) wrong();
  }
  std::string_view word() {
    skip_spaces();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    if (at_ == begin) wrong();
    return text_.substr(begin, at_ - begin);
  }
  float number() {
    skip_spaces();
    const std::string rest(text_.substr(at_));
    char* end = nullptr;
    const float value = std::strtof(rest.c_str(), &end);
    if (end == rest.c_str()) wrong();
    at_ += static_cast<size_t>(end - rest.c_str());
    return value;
  }

  [[noreturn]] void wrong() const {
    fail(ErrorCode::kInternal, "the signature '%s' is wrong at '%s'", std::string(text_).c_str(),
         std::string(text_.substr(std::min(at_, text_.size()))).c_str());
  }

  std::string_view text_;
  size_t at_ = 0;
  Signature signature_;
};

// Types of the variables as far as they are known; 0 is FLOAT32, which no variable can be.
using Bound = std::vector<std::optional<int32_t>>;

bool fits_function(TypeRule::Function function, int32_t variable, int32_t type) {
  switch (function) {
    case TypeRule::Function::kSame:
      return type == variable;
    case TypeRule::Function::kBias:
      return type == (is_quant8(variable) ? ANEURALNETWORKS_TENSOR_INT32 : variable);
    case TypeRule::Function::kFilter:
      return type == variable ||
             (is_quant8(variable) && type == ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL);
    case TypeRule::Function::kScalar:
      return type == (variable == ANEURALNETWORKS_TENSOR_FLOAT32   ? ANEURALNETWORKS_FLOAT32
                      : variable == ANEURALNETWORKS_TENSOR_FLOAT16 ? ANEURALNETWORKS_FLOAT16
                                                                   : ANEURALNETWORKS_INT32);
  }
  return false;
}

bool fits_rule(const Signature& signature, const TypeRule& rule, int32_t type, Bound& bound) {
  if (!rule.variable) return std::ranges::find(rule.types, type) != rule.types.end();
  std::optional<int32_t>& variable = bound[*rule.variable];
  if (!variable) {
    const std::vector<int32_t>& types = signature.variables[*rule.variable].types;
    // The first use of a variable is itself in all signatures.
    if (std::ranges::find(types, type) == types.end()) return false;
    variable = type;
  }
  return fits_function(rule.function, *variable, type);
}

// How many operands the arguments may stand for.
bool count_fits(std::span<const Argument> arguments, size_t count) {
  size_t least = 0, most = 0;
  bool is_variadic = false;
  for (const Argument& argument : arguments) {
    is_variadic |= argument.is_variadic;
    if (argument.is_variadic) continue;
    ++most;
    if (!argument.default_value) least = most;
  }
  return count >= least && (is_variadic || count <= most);
}

bool all_fit(const Signature& signature, std::span<const Argument> arguments, const Model& model,
             std::span<const uint32_t> given, Bound& bound) {
  if (!count_fits(arguments, given.size())) return false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (const uint32_t index : operands_of(arguments, i, given)) {
      const Operand& operand = model.operands[index];
      if (!fits_rule(signature, arguments[i].type, operand.type, bound)) return false;
      if (operand.lifetime == Lifetime::kOmitted && !arguments[i].may_be_omitted) return false;
    }
  }
  return true;
}

}  // namespace

Signature parse_signature(std::string_view text) { return Parser(text).parse(); }

std::span<const uint32_t> operands_of(std::span<const Argument> arguments, size_t which,
                                      std::span<const uint32_t> given) {
  size_t at = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    // With a variadic argument there are no defaults, so all others have one operand each.
    const size_t count = !arguments[i].is_variadic ? 1
                         : given.size() < arguments.size() - 1
                             ? 0
                             : given.size() - (arguments.size() - 1);
    if (i == which) {
      const size_t begin = std::min(at, given.size());
      return given.subspan(begin, std::min(count, given.size() - begin));
    }
    at += count;
  }
  return {};
}

bool fits(const Signature& signature, const Model& model, const Operation& operation) {
  Bound bound(signature.variables.size());
  return all_fit(signature, signature.inputs, model, operation.inputs, bound) &&
         all_fit(signature, signature.outputs, model, operation.outputs, bound);
}

}  // namespace torchlet::nn
