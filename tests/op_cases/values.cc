#include "values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "ops/core/common.h"
#include "ops/sequence/nested.h"
#include "ops/sparse/sparse.h"

namespace torchlet::op_cases {
namespace {

constexpr std::pair<const char*, DType> kDTypes[] = {
    {"u8", DType::kUInt8},        {"i8", DType::kInt8},       {"i16", DType::kInt16},
    {"i32", DType::kInt32},       {"i64", DType::kInt64},     {"f16", DType::kFloat16},
    {"f32", DType::kFloat32},     {"f64", DType::kFloat64},   {"bf16", DType::kBFloat16},
    {"b", DType::kBool},          {"c32", DType::kComplex32}, {"c64", DType::kComplex64},
    {"c128", DType::kComplex128}, {"qi8", DType::kQInt8},     {"qu8", DType::kQUInt8},
    {"qi32", DType::kQInt32}};

DType integers_of(DType dtype) {
  return dtype == DType::kQInt8    ? DType::kInt8
         : dtype == DType::kQUInt8 ? DType::kUInt8
         : dtype == DType::kQInt32 ? DType::kInt32
                                   : dtype;
}

double real_of(const Json& text) {
  if (text.is_number()) return text.get<double>();
  const auto word = text.get<std::string>();
  const double size = word.ends_with("nan") ? std::numeric_limits<double>::quiet_NaN()
                                            : std::numeric_limits<double>::infinity();
  return word.starts_with('-') ? -size : size;
}

// The numbers of nested lists, in order.
void flatten(const Json& nested, std::vector<const Json*>& numbers) {
  if (!nested.is_array()) {
    numbers.push_back(&nested);
    return;
  }
  for (const Json& item : nested) flatten(item, numbers);
}

IntArray ints_of(const Json& list) {
  IntArray result;
  for (const Json& item : list) result.push_back(item.get<int64_t>());
  return result;
}

Tensor plain_tensor(DType dtype, const Json& elements, const Json& whole) {
  IntArray sizes;
  for (const Json* part = &elements; part->is_array(); part = &part->front()) {
    sizes.push_back(static_cast<int64_t>(part->size()));
    if (part->empty()) break;
  }
  if (is_complex(dtype) && !whole.contains("sizes")) sizes.pop_back();
  if (whole.contains("sizes")) sizes = ints_of(whole["sizes"]);
  const Tensor tensor = empty(sizes, dtype);
  std::vector<const Json*> numbers;
  flatten(elements, numbers);
  const int64_t parts = is_complex(dtype) ? 2 : 1;
  if (static_cast<int64_t>(numbers.size()) != tensor.numel() * parts) {
    fail(ErrorCode::kInvalidArgument, "the elements do not fit the sizes");
  }
  const size_t bytes = element_size(dtype);
  for (size_t i = 0; i < static_cast<size_t>(tensor.numel()); ++i) {
    std::byte* target = static_cast<std::byte*>(tensor.raw_data()) + i * bytes;
    if (is_complex(dtype)) {
      const std::complex<double> number(real_of(*numbers[2 * i]), real_of(*numbers[2 * i + 1]));
      convert_elements(&number, DType::kComplex128, 1, target, dtype, 1, 1);
    } else if (is_integral(dtype, true)) {
      const int64_t number = numbers[i]->get<int64_t>();
      convert_elements(&number, DType::kInt64, 1, target, dtype, 1, 1);
    } else {
      const double number = real_of(*numbers[i]);
      convert_elements(&number, DType::kFloat64, 1, target, dtype, 1, 1);
    }
  }
  return tensor;
}

// Whether results lie as in PyTorch is seen by their strides.
Tensor strided(const Tensor& tensor, const Json& whole) {
  if (!whole.contains("strides")) return tensor;
  const Tensor result = empty_strided(tensor.sizes(), ints_of(whole["strides"]), tensor.dtype());
  result.impl()->quantizer = tensor.impl()->quantizer;
  result.copy_(tensor);
  return result;
}

Tensor tensor_in(const Json& whole, const char* key) {
  return value_of(whole[key], *types::tensor()).to_tensor();
}

Tensor quantized_tensor(DType dtype, const Json& elements, const Json& whole) {
  const Tensor integers = plain_tensor(integers_of(dtype), elements, whole);
  std::shared_ptr<const Quantizer> quantizer;
  if (whole.contains("scale")) {
    quantizer = per_tensor_quantizer(whole["scale"].get<double>(), whole["zero_point"]);
  } else {
    auto per_channel = std::make_shared<Quantizer>();
    per_channel->scales = tensor_in(whole, "scales");
    per_channel->zero_points = tensor_in(whole, "zero_points");
    per_channel->axis = whole["axis"];
    per_channel->qscheme = per_channel->scales.dtype() == DType::kFloat32
                               ? QScheme::kPerChannelAffineFloatQParams
                               : QScheme::kPerChannelAffine;
    quantizer = per_channel;
  }
  const Tensor result = empty_quantized(integers.sizes(), dtype, quantizer);
  if (result.numel() > 0) {
    std::memcpy(result.raw_data(), integers.raw_data(),
                static_cast<size_t>(result.numel()) * element_size(dtype));
  }
  return strided(result, whole);
}

Tensor sparse_tensor(const Json& whole) {
  SparseParts parts;
  parts.indices = tensor_in(whole, "coo");
  parts.values = tensor_in(whole, "values");
  parts.coalesced = whole["coalesced"];
  parts.layout =
      whole["csr"].get<bool>() ? torchlet::Layout::kSparseCsr : torchlet::Layout::kSparse;
  return ops::from_parts(std::move(parts), ints_of(whole["sizes"]));
}

Tensor nested_tensor(const Json& items) {
  std::vector<Tensor> tensors;
  for (const Json& item : items) {
    tensors.push_back(value_of(item, *types::tensor()).to_tensor());
  }
  return ops::make_nested(std::move(tensors));
}

// Stands for packed weights, which are not compared.
class SomeObject : public CustomObject {
 public:
  std::string_view class_name() const override { return "object"; }
};

Value object_of(const Json& object, const Type& type) {
  for (const auto& [name, dtype] : kDTypes) {
    if (!object.contains(name)) continue;
    return is_quantized(dtype) ? quantized_tensor(dtype, object[name], object)
                               : strided(plain_tensor(dtype, object[name], object), object);
  }
  if (object.contains("coo")) return sparse_tensor(object);
  if (object.contains("nested")) return nested_tensor(object["nested"]);
  if (object.contains("op")) {
    const Operator& op = operator_of(object["op"]);
    std::vector<Value> results = call(op, arguments_of(op, object["in"]));
    return results.size() == 1 ? results[0] : Value::tuple(std::move(results));
  }
  if (object.contains("float")) return real_of(object["float"]);
  if (object.contains("complex")) {
    return std::complex<double>(real_of(object["complex"][0]), real_of(object["complex"][1]));
  }
  if (object.contains("object")) return Ref<CustomObject>(make_ref<SomeObject>());
  if (object.contains("device")) return Value::device(object["device"]);
  if (object.contains("generator")) return Value::generator();
  if (object.contains("list")) {
    const bool known = type.is(TypeKind::kList) && !has_free_variables(*type.element(0));
    return make_list(known ? type.element(0) : type_of(value_of(object["list"], *types::any())),
                     {});
  }
  std::vector<Value> items;
  if (object.contains("tuple")) {
    for (const Json& item : object["tuple"]) items.push_back(value_of(item, *types::any()));
    return Value::tuple(std::move(items));
  }
  if (object.contains("dict")) {
    std::vector<std::pair<Value, Value>> pairs;
    for (const Json& pair : object["dict"]) {
      pairs.emplace_back(value_of(pair[0], *types::any()), value_of(pair[1], *types::any()));
    }
    return Value::dict(std::move(pairs));
  }
  fail(ErrorCode::kInvalidArgument, "no value is written as %s (for a %s)", object.dump().c_str(),
       type.str().c_str());
}

}  // namespace

Value value_of(const Json& text, const Type& type) {
  if (text.is_null()) return Value();
  if (type.is(TypeKind::kOptional)) return value_of(text, *type.element(0));
  if (text.is_boolean()) return text.get<bool>();
  if (text.is_number_integer()) return text.get<int64_t>();
  if (text.is_number()) return text.get<double>();
  if (text.is_string()) return text.get<std::string>();
  if (!text.is_array()) return object_of(text, type);
  const bool known = type.is(TypeKind::kList) && !has_free_variables(*type.element(0));
  std::vector<Value> items;
  for (const Json& item : text) {
    items.push_back(value_of(item, known ? *type.element(0) : *types::any()));
  }
  const TypePtr element = known ? type.element(0) : type_of(items.at(0));
  return make_list(element, std::move(items));
}

std::vector<Value> arguments_of(const Operator& op, const Json& texts) {
  std::vector<Value> arguments;
  for (const Argument& argument : op.schema.arguments) {
    const size_t i = arguments.size();
    if (i < texts.size()) {
      arguments.push_back(value_of(texts[i], *argument.type));
    } else if (argument.default_value) {
      arguments.push_back(*argument.default_value);
    } else {
      fail(ErrorCode::kInvalidArgument, "the case lacks '%s'", argument.name.c_str());
    }
  }
  for (size_t i = arguments.size(); op.schema.is_vararg && i < texts.size(); ++i) {
    arguments.push_back(value_of(texts[i], *types::any()));
  }
  return arguments;
}

std::vector<Value> call(const Operator& op, std::vector<Value> arguments) {
  std::vector<Value> results(op.schema.returns.size());
  op.call(arguments, results);
  return results;
}

const Operator& operator_of(const std::string& full_name) {
  const size_t dot = full_name.find('.');
  const Operator* op = find_operator(full_name.substr(0, dot),
                                     dot == std::string::npos ? "" : full_name.substr(dot + 1));
  if (!op) fail(ErrorCode::kNotFound, "no operator %s", full_name.c_str());
  return *op;
}

// --- comparing

namespace {

// How far a float may be off, in units in the last place of the largest element of its tensor: the
// smaller ones may be what was left when larger ones cancelled. The slowest of PyTorch's functions
// (Bessel's, digamma) are off by 50 and sums of a few dozen products in another order by less.
// Short types are rounded from float32, so they differ by a rounding or two.
constexpr double kUnits = 64;
double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kComplex32:
      return 2 * 0x1p-10;
    case DType::kBFloat16:
      return 2 * 0x1p-7;
    case DType::kFloat32:
    case DType::kComplex64:
      return kUnits * 0x1p-23;
    default:
      return kUnits * 0x1p-52;
  }
}

std::string text_of(std::complex<double> number) {
  std::ostringstream text;
  text.precision(17);
  text << number.real();
  if (number.imag() != 0) text << (number.imag() < 0 ? "" : "+") << number.imag() << "j";
  return text.str();
}

bool is_near(double got, double want, double room) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  return got == want || std::abs(got - want) <= room;
}

std::string quantizer_difference(const Quantizer& got, const Quantizer& want) {
  if (got.per_tensor() != want.per_tensor()) return "quantized by tensor, not by channel or so";
  if (got.per_tensor()) {
    if (got.scale == want.scale && got.zero_point == want.zero_point) return "";
    return "scale " + float_text(got.scale) + " and zero point " + std::to_string(got.zero_point) +
           " instead of " + float_text(want.scale) + " and " + std::to_string(want.zero_point);
  }
  if (got.axis != want.axis) return "another axis of channels";
  const std::string scales = difference(got.scales, want.scales, {});
  return scales.empty() ? difference(got.zero_points, want.zero_points, {}) : scales;
}

std::string element_difference(const Tensor& got, const Tensor& want,
                               const Comparison& comparison) {
  const DType dtype = want.dtype();
  const Tensor a = got.contiguous(), b = want.contiguous();
  const size_t count = static_cast<size_t>(b.numel());
  if (is_integral(integers_of(dtype), true)) {
    std::vector<int64_t> x(count), y(count);
    convert_elements(a.raw_data(), integers_of(dtype), 1, x.data(), DType::kInt64, 1, a.numel());
    convert_elements(b.raw_data(), integers_of(dtype), 1, y.data(), DType::kInt64, 1, b.numel());
    for (size_t i = 0; i < count; ++i) {
      if (x[i] == y[i]) continue;
      return "element " + std::to_string(i) + " is " + std::to_string(x[i]) + " instead of " +
             std::to_string(y[i]);
    }
    return "";
  }
  std::vector<std::complex<double>> x(count), y(count);
  convert_elements(a.raw_data(), dtype, 1, x.data(), DType::kComplex128, 1, a.numel());
  convert_elements(b.raw_data(), dtype, 1, y.data(), DType::kComplex128, 1, b.numel());
  if (comparison.looks == Looks::kAtMagnitudes) {
    for (auto* side : {&x, &y})
      std::ranges::transform(*side, side->begin(), [](auto z) { return std::abs(z); });
  }
  double largest = 0;
  for (const auto& z : y) {
    if (std::isfinite(std::abs(z))) largest = std::max(largest, std::abs(z));
  }
  // Results that are nearly subnormal may be flushed, or be what exp() of a plan gives for them.
  const double least = dtype == DType::kFloat64   ? 0x1p-1021
                       : dtype == DType::kFloat16 ? 0x1p-23
                                                  : 0x1p-125;
  const double room = tolerance_of(dtype) * largest + least;
  for (size_t i = 0; i < count; ++i) {
    if (is_near(x[i].real(), y[i].real(), room) && is_near(x[i].imag(), y[i].imag(), room))
      continue;
    return "element " + std::to_string(i) + " is " + text_of(x[i]) + " instead of " + text_of(y[i]);
  }
  return "";
}

std::string strides_text(const Tensor& tensor) { return shape_text(tensor.impl()->strides); }

// Of what can be told apart: the stride of a dimension of size 1 cannot.
bool same_strides(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0) return true;
  for (size_t d = 0; d < a.sizes().size(); ++d) {
    if (a.sizes()[d] > 1 && a.impl()->strides[d] != b.impl()->strides[d]) return false;
  }
  return true;
}

std::string items_difference(const std::vector<Value>& got, const std::vector<Value>& want,
                             const Comparison& comparison) {
  if (got.size() != want.size()) {
    return std::to_string(got.size()) + " items instead of " + std::to_string(want.size());
  }
  for (size_t i = 0; i < want.size(); ++i) {
    auto text = difference(got[i], want[i], comparison);
    if (!text.empty()) return "item " + std::to_string(i) + ": " + text;
  }
  return "";
}

std::string tensor_difference(const Tensor& got, const Tensor& want, const Comparison& comparison) {
  if (got.dtype() != want.dtype()) {
    return std::string(dtype_name(got.dtype())) + " instead of " +
           std::string(dtype_name(want.dtype()));
  }
  if (IntArray(got.sizes()) != IntArray(want.sizes())) {
    return "sizes " + shape_text(got.sizes()) + " instead of " + shape_text(want.sizes());
  }
  if (!got.impl()->sparse != !want.impl()->sparse) return "one is sparse and the other is not";
  if (want.impl()->sparse) {
    const SparseParts &x = *got.impl()->sparse, &y = *want.impl()->sparse;
    if (x.layout != y.layout) return "another sparse layout";
    if (x.coalesced != y.coalesced) return "one is coalesced and the other is not";
    const std::string indices = difference(x.indices, y.indices, comparison);
    return indices.empty() ? difference(x.values, y.values, comparison) : indices;
  }
  if (!got.impl()->nested != !want.impl()->nested) return "one is nested and the other is not";
  if (want.impl()->nested) {
    std::vector<Value> sides[2];
    for (const Tensor& item : *got.impl()->nested) sides[0].emplace_back(item);
    for (const Tensor& item : *want.impl()->nested) sides[1].emplace_back(item);
    return items_difference(sides[0], sides[1], comparison);
  }
  if (comparison.strides && !same_strides(got, want)) {
    return "strides " + strides_text(got) + " instead of " + strides_text(want);
  }
  if (want.is_quantized()) {
    auto text = quantizer_difference(*got.impl()->quantizer, *want.impl()->quantizer);
    if (!text.empty()) return text;
  }
  if (comparison.looks == Looks::kAtShape || want.numel() == 0) return "";
  return element_difference(got, want, comparison);
}

}  // namespace

std::string difference(const Value& got, const Value& want, const Comparison& comparison) {
  if (got.kind() != want.kind()) {
    return std::string(got.kind_name()) + " instead of " + want.kind_name();
  }
  const auto said = [&](bool same) {
    return same ? "" : to_text(got) + " instead of " + to_text(want);
  };
  switch (want.kind()) {
    case ValueKind::kTensor:
      return tensor_difference(got.to_tensor(), want.to_tensor(), comparison);
    case ValueKind::kFloat:
      if (comparison.looks == Looks::kAtShape) return "";
      return said(is_near(got.to_double(), want.to_double(),
                          kUnits * 0x1p-52 * std::abs(want.to_double())));
    case ValueKind::kComplex: {
      const auto a = got.to_complex(), b = want.to_complex();
      const double room = kUnits * 0x1p-52 * (std::isfinite(std::abs(b)) ? std::abs(b) : 0);
      return said(is_near(a.real(), b.real(), room) && is_near(a.imag(), b.imag(), room));
    }
    case ValueKind::kList:
    case ValueKind::kTuple:
      return items_difference(got.to_list(), want.to_list(), comparison);
    case ValueKind::kDict: {
      std::vector<Value> sides[2];
      for (const auto& [key, item] : got.to_dict()) sides[0].insert(sides[0].end(), {key, item});
      for (const auto& [key, item] : want.to_dict()) sides[1].insert(sides[1].end(), {key, item});
      return items_difference(sides[0], sides[1], comparison);
    }
    case ValueKind::kCustom:
    case ValueKind::kGenerator:
      return "";
    case ValueKind::kInt:
      if (comparison.looks == Looks::kAtShape) return "";
      return said(values_equal(got, want));
    default:
      return said(values_equal(got, want));
  }
}

// --- layouts

namespace {

// Calls f(offset in the one, offset in the other) for each element, in elements.
template <typename F>
void for_each_element(IntSpan sizes, IntSpan a, IntSpan b, const F& f, size_t d = 0, int64_t i = 0,
                      int64_t j = 0) {
  if (d == sizes.size()) return f(i, j);
  for (int64_t n = 0; n < sizes[d]; ++n) {
    for_each_element(sizes, a, b, f, d + 1, i + n * a[d], j + n * b[d]);
  }
}

Tensor relaid(const Tensor& tensor, const IntArray& strides, int64_t offset) {
  const DType dtype = tensor.dtype();
  const int64_t extent = offset + checked_extent(tensor.sizes(), strides);
  const Tensor memory = zeros(IntArray{extent}, integers_of(dtype));
  const Tensor result = make_tensor(memory.impl()->storage, dtype, tensor.sizes(), strides, offset);
  result.impl()->quantizer = tensor.impl()->quantizer;
  const size_t bytes = element_size(dtype);
  if (tensor.numel() == 0) return result;
  const std::byte* source = tensor.impl()->data();
  std::byte* target = result.impl()->data();
  for_each_element(tensor.sizes(), tensor.impl()->strides, strides, [&](int64_t from, int64_t to) {
    std::memcpy(target + static_cast<size_t>(to) * bytes,
                source + static_cast<size_t>(from) * bytes, bytes);
  });
  return result;
}

IntArray transposed_strides(IntSpan sizes) {
  IntArray strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

// Stride 0 where all along a dimension is the same.
IntArray expanded_strides(const Tensor& tensor) {
  IntArray strides = contiguous_strides(tensor.sizes());
  for (size_t d = 0; d < strides.size(); ++d) {
    if (tensor.sizes()[d] < 2) continue;
    IntArray first(tensor.impl()->strides);
    first[d] = 0;
    const size_t bytes = element_size(tensor.dtype());
    bool same = true;
    for_each_element(tensor.sizes(), tensor.impl()->strides, first, [&](int64_t i, int64_t j) {
      const std::byte* data = tensor.impl()->data();
      same &= std::memcmp(data + static_cast<size_t>(i) * bytes,
                          data + static_cast<size_t>(j) * bytes, bytes) == 0;
    });
    if (same) strides[d] = 0;
  }
  return strides;
}

bool lay_out(Tensor& tensor, Layout layout) {
  if (!tensor.defined() || tensor.impl()->sparse || tensor.impl()->nested) return false;
  IntArray strides(tensor.impl()->strides);
  int64_t offset = 0;
  switch (layout) {
    case Layout::kTransposed:
      strides = transposed_strides(tensor.sizes());
      break;
    case Layout::kChannelsLast:
      if (tensor.dim() != 4 && tensor.dim() != 5) return false;
      strides = strides_for(tensor.sizes(), tensor.dim() == 4 ? MemoryFormat::kChannelsLast
                                                              : MemoryFormat::kChannelsLast3d);
      break;
    case Layout::kOffset:
      offset = 3;
      for (int64_t& stride : strides) stride *= 2;
      break;
    case Layout::kExpanded:
      if (tensor.numel() == 0) return false;
      strides = expanded_strides(tensor);
      break;
  }
  if (offset == 0 && strides == IntArray(tensor.impl()->strides)) return false;
  tensor = relaid(tensor, strides, offset);
  return true;
}

}  // namespace

bool lay_out(std::vector<Value>& values, Layout layout) {
  bool changed = false;
  const auto change = [&](Value& value) {
    if (!value.is_tensor()) return;
    Tensor tensor = value.to_tensor();
    if (!lay_out(tensor, layout)) return;
    value = tensor;
    changed = true;
  };
  for (Value& value : values) {
    change(value);
    if (value.is_list()) std::ranges::for_each(value.list_ref().items, change);
  }
  return changed;
}

}  // namespace torchlet::op_cases
