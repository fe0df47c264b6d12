// Python's text for plain values.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "tensor/containers.h"
#include "tensor/tensor_text.h"

namespace torchlet {

namespace {

// The fewest significant digits that give `value` back when they are read, and the exponent of the
// first.
std::pair<std::string, int> shortest_digits(double value) {
  char text[32];
  char* end = std::to_chars(text, text + sizeof text - 1, value, std::chars_format::scientific).ptr;
  *end = '\0';
  char* e = std::find(text, end, 'e');
  std::string digits(text, e);
  if (digits.size() > 1) digits.erase(1, 1);  // the point
  return {digits, std::atoi(e + 1)};
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // Python's repr: the shortest digits, in scientific form below 1e-4 and from 1e16.
  auto [digits, exponent] = shortest_digits(std::fabs(value));
  const std::string sign = std::signbit(value) ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    if (digits.size() > 1) digits.insert(1, ".");
    return sign + digits + format("e%+03d", exponent);
  }
  if (exponent < 0) digits.insert(0, static_cast<size_t>(-exponent), '0');
  const auto whole = static_cast<size_t>(std::max(exponent, 0)) + 1;
  if (digits.size() <= whole) digits.append(whole + 1 - digits.size(), '0');
  return sign + digits.insert(whole, ".");
}

std::string quoted(std::string_view text) {
  const char quote =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"'
                                                                                            : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    switch (c) {
      case '\n':
        result += "\\n";
        break;
      case '\t':
        result += "\\t";
        break;
      case '\r':
        result += "\\r";
        break;
      case '\\':
        result += "\\\\";
        break;
      default:
        if (c == quote) result += '\\';
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          constexpr char kHex[] = "0123456789abcdef";
          result += "\\x";
          result += kHex[(c >> 4) & 15];
          result += kHex[c & 15];
        } else {
          result += c;
        }
    }
  }
  return result + quote;
}

namespace {

using TextFn = std::string (*)(const Value&);

std::string joined(const std::vector<Value>& items, const char* open, const char* close,
                   TextFn text_of) {
  std::string text = open;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) text += ", ";
    text += text_of(items[i]);
  }
  return text + close;
}

// Lists, tuples and dicts, whose items are written by text_of.
std::string container_text(const Value& value, TextFn text_of) {
  const DepthGuard guard;
  if (value.is_list()) return joined(value.list_ref().items, "[", "]", text_of);
  if (value.is_tuple()) {
    const std::vector<Value>& items = value.tuple_ref().items;
    return joined(items, "(", items.size() == 1 ? ",)" : ")", text_of);
  }
  std::string text = "{";
  const char* separator = "";
  for (const auto& [key, item] : value.dict_ref().items()) {
    text += separator + text_of(key) + ": " + text_of(item);
    separator = ", ";
  }
  return text + "}";
}

// 17 significant digits and a point after whole numbers (IValue's operator<<).
std::string script_float(double value) {
  if (value == 0) return "0.";
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.17g", value);
  std::string text = buffer;
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".";
  return text;
}

}  // namespace

std::string script_text(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kFloat:
      return script_float(value.raw_double());
    case ValueKind::kComplex: {
      const std::complex<double> z = value.to_complex();
      const std::string imaginary = script_float(z.imag());
      return script_float(z.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
    }
    case ValueKind::kString:
      return value.to_string();
    case ValueKind::kTensor:
      return tensor_text(value.to_tensor());
    case ValueKind::kList:
    case ValueKind::kTuple:
    case ValueKind::kDict:
      return container_text(value, script_text);
    default:
      return to_text(value);
  }
}

std::string to_text(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNone:
      return "None";
    case ValueKind::kInt:
      return std::to_string(value.raw_int());
    case ValueKind::kFloat:
      return float_text(value.raw_double());
    case ValueKind::kBool:
      return value.raw_int() ? "True" : "False";
    case ValueKind::kComplex: {
      const std::complex<double> z = value.to_complex();
      auto part = [](double x) {
        std::string text = float_text(x);
        if (text.ends_with(".0")) text.resize(text.size() - 2);
        return text;
      };
      const std::string imaginary = part(z.imag()) + "j";
      if (z.real() == 0 && !std::signbit(z.real())) return imaginary;
      return "(" + part(z.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary + ")";
    }
    case ValueKind::kString:
      return quoted(value.to_string());
    case ValueKind::kDevice:
      return value.to_string();
    case ValueKind::kList:
    case ValueKind::kTuple:
    case ValueKind::kDict:
      return container_text(value, to_text);
    case ValueKind::kTensor:
      return "Tensor(" + value.to_tensor().describe() + ")";
    case ValueKind::kEnum:
      return value.enum_ref().type->name() + "." + value.enum_ref().name;
    case ValueKind::kObject:
      return "<" + value.object_ref().type->name() + " object>";
    case ValueKind::kCustom:
      return "<" + std::string(value.custom_ref().class_name()) + " object>";
    case ValueKind::kFuture:
      return "Future";
    case ValueKind::kGenerator:
      return "Generator";
  }
  return "?";
}

}  // namespace torchlet
