#include <torchlet/value.h>

#include "base/error.h"
#include "tensor/containers.h"
#include "tensor/scalar.h"
#include "tensor/tensor_impl.h"

namespace torchlet {
namespace {

// Generators carry no state of their own: random operators draw from one source.
struct GeneratorBox : RefCounted {};

}  // namespace

Value::Value(const Tensor& tensor)
    : Value(tensor.defined() ? ValueKind::kTensor : ValueKind::kNone, tensor.impl()) {}
Value::Value(Tensor&& tensor) : Value(static_cast<const Tensor&>(tensor)) {}
Value::Value(std::complex<double> value) : Value(ValueKind::kComplex, new ComplexBox(value)) {}
Value::Value(std::string value) : Value(ValueKind::kString, new StringBox(std::move(value))) {}
Value::Value(const Scalar& scalar) : Value() {
  if (scalar.is_bool()) {
    *this = Value(scalar.to_bool());
  } else if (scalar.is_int()) {
    *this = Value(scalar.to_int());
  } else if (scalar.is_complex()) {
    *this = Value(scalar.to_complex());
  } else {
    *this = Value(scalar.to_double());
  }
}
Value::Value(Ref<List> list) : Value(ValueKind::kList, list.get()) {}
Value::Value(Ref<Tuple> tuple) : Value(ValueKind::kTuple, tuple.get()) {}
Value::Value(Ref<Dict> dict) : Value(ValueKind::kDict, dict.get()) {}
Value::Value(Ref<Object> object) : Value(ValueKind::kObject, object.get()) {}
Value::Value(Ref<CustomObject> custom) : Value(ValueKind::kCustom, custom.get()) {}
Value::Value(Ref<EnumValue> value) : Value(ValueKind::kEnum, value.get()) {}
Value::Value(Ref<Future> future) : Value(ValueKind::kFuture, future.get()) {}

Value Value::device(std::string name) {
  return Value(ValueKind::kDevice, new StringBox(std::move(name)));
}
Value Value::generator() { return Value(ValueKind::kGenerator, new GeneratorBox); }
Value Value::tuple(std::vector<Value> items) { return Value(make_ref<Tuple>(std::move(items))); }
Value Value::list(std::vector<Value> items) {
  TypePtr type = items.empty() ? types::tensor() : type_of(items.front());
  return make_list(std::move(type), std::move(items));
}
Value Value::dict(std::vector<std::pair<Value, Value>> items) {
  TypePtr key = items.empty() ? types::string() : type_of(items.front().first);
  TypePtr value = items.empty() ? types::tensor() : type_of(items.front().second);
  auto dict = make_ref<Dict>(std::move(key), std::move(value));
  for (auto& [k, v] : items) dict->set(k, std::move(v));
  return Value(std::move(dict));
}

const char* Value::kind_name() const {
  switch (kind_) {
    case ValueKind::kNone:
      return "None";
    case ValueKind::kTensor:
      return "a Tensor";
    case ValueKind::kInt:
      return "an int";
    case ValueKind::kFloat:
      return "a float";
    case ValueKind::kComplex:
      return "a complex";
    case ValueKind::kBool:
      return "a bool";
    case ValueKind::kString:
      return "a str";
    case ValueKind::kList:
      return "a list";
    case ValueKind::kTuple:
      return "a tuple";
    case ValueKind::kDict:
      return "a dict";
    case ValueKind::kObject:
      return "an object";
    case ValueKind::kCustom:
      return "a torch.classes object";
    case ValueKind::kEnum:
      return "an enum";
    case ValueKind::kDevice:
      return "a device";
    case ValueKind::kFuture:
      return "a Future";
    case ValueKind::kGenerator:
      return "a Generator";
  }
  return "?";
}

void Value::wrong_kind(const char* expected) const {
  fail(ErrorCode::kInvalidArgument, "expected %s, got %s", expected, kind_name());
}

Tensor Value::to_tensor() const {
  if (!is_tensor()) wrong_kind("a Tensor");
  return Tensor(Ref<TensorImpl>(tensor_impl()));
}
int64_t Value::to_int() const {
  if (!is_int() && !is_bool()) wrong_kind("an int");
  return int_;
}
double Value::to_double() const {
  if (is_float()) return double_;
  if (!is_int() && !is_bool()) wrong_kind("a float");
  return static_cast<double>(int_);
}
std::complex<double> Value::to_complex() const {
  if (is_complex()) return static_cast<ComplexBox*>(ref_)->value;
  return to_double();
}
bool Value::to_bool() const {
  if (!is_bool()) wrong_kind("a bool");
  return int_ != 0;
}
const std::string& Value::to_string() const {
  if (!is_string() && !is_device()) wrong_kind("a str");
  return static_cast<StringBox*>(ref_)->text;
}
Scalar Value::to_scalar() const {
  switch (kind_) {
    case ValueKind::kInt:
      return Scalar(int_);
    case ValueKind::kFloat:
      return Scalar(double_);
    case ValueKind::kBool:
      return Scalar(int_ != 0);
    case ValueKind::kComplex:
      return Scalar(to_complex());
    case ValueKind::kTensor: {
      const Tensor tensor = to_tensor();
      TORCHLET_CHECK(tensor.numel() == 1,
                     "a Tensor with %lld elements cannot be converted to Scalar",
                     static_cast<long long>(tensor.numel()));
      return scalar_of(tensor);
    }
    default:
      wrong_kind("a number");
  }
}
std::vector<Value> Value::to_list() const {
  if (is_tuple()) return tuple_ref().items;
  if (!is_list()) wrong_kind("a list");
  return list_ref().items;
}
std::vector<Value> Value::to_tuple() const {
  if (!is_tuple()) wrong_kind("a tuple");
  return tuple_ref().items;
}
std::vector<std::pair<Value, Value>> Value::to_dict() const {
  if (!is_dict()) wrong_kind("a dict");
  return dict_ref().items();
}
std::vector<Tensor> Value::to_tensor_list() const {
  if (!is_list() && !is_tuple()) wrong_kind("a list of tensors");
  const std::vector<Value>& items = is_list() ? list_ref().items : tuple_ref().items;
  std::vector<Tensor> tensors;
  tensors.reserve(items.size());
  for (const Value& item : items) tensors.push_back(item.is_none() ? Tensor() : item.to_tensor());
  return tensors;
}

List& Value::list_ref() const {
  if (!is_list()) wrong_kind("a list");
  return *static_cast<List*>(ref_);
}
Tuple& Value::tuple_ref() const {
  if (!is_tuple()) wrong_kind("a tuple");
  return *static_cast<Tuple*>(ref_);
}
Dict& Value::dict_ref() const {
  if (!is_dict()) wrong_kind("a dict");
  return *static_cast<Dict*>(ref_);
}
Object& Value::object_ref() const {
  if (!is_object()) wrong_kind("an object");
  return *static_cast<Object*>(ref_);
}
CustomObject& Value::custom_ref() const {
  if (!is_custom()) wrong_kind("a torch.classes object");
  return *static_cast<CustomObject*>(ref_);
}
EnumValue& Value::enum_ref() const {
  if (!is_enum()) wrong_kind("an enum");
  return *static_cast<EnumValue*>(ref_);
}
Future& Value::future_ref() const {
  if (!is_future()) wrong_kind("a Future");
  return *static_cast<Future*>(ref_);
}
TensorImpl* Value::tensor_impl() const {
  if (!is_tensor()) wrong_kind("a Tensor");
  return static_cast<TensorImpl*>(ref_);
}

}  // namespace torchlet
