// A Value is anything a TorchScript program can hold: PyTorch's IValue. 16 bytes; containers and
// objects are shared by reference as in Python, so a copied Value sees later changes to its list.
//
// Thread safety: as Tensor.
#pragma once

#include <torchlet/export.h>
#include <torchlet/ref.h>
#include <torchlet/tensor.h>

#include <complex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torchlet {

class Value;
class Scalar;
struct StringBox;
struct ComplexBox;
struct List;
struct Tuple;
struct Dict;
struct Object;
struct EnumValue;
struct Future;
class CustomObject;

enum class ValueKind : uint8_t {
  kNone,
  kTensor,
  kInt,
  kFloat,
  kComplex,
  kBool,
  kString,
  kList,
  kTuple,
  kDict,
  kObject,  // an instance of a script class or module
  kCustom,  // an instance of a C++ class (torch.classes.*)
  kEnum,
  kDevice,  // a string such as "cpu" or "cuda:0"
  kFuture,
  kGenerator,
};

class TORCHLET_API Value {
 public:
  Value() : kind_(ValueKind::kNone), int_(0) {}
  Value(const Tensor& tensor);  // an undefined tensor becomes None
  Value(Tensor&& tensor);
  Value(int64_t value) : kind_(ValueKind::kInt), int_(value) {}
  Value(int value) : Value(static_cast<int64_t>(value)) {}
  Value(double value) : kind_(ValueKind::kFloat), double_(value) {}
  Value(bool value) : kind_(ValueKind::kBool), int_(value) {}
  Value(std::complex<double> value);
  Value(std::string value);
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char* value) : Value(std::string(value)) {}
  Value(const Scalar& scalar);

  Value(Ref<List> list);
  Value(Ref<Tuple> tuple);
  Value(Ref<Dict> dict);
  Value(Ref<Object> object);
  Value(Ref<CustomObject> custom);
  Value(Ref<EnumValue> value);
  Value(Ref<Future> future);

  static Value device(std::string name);
  static Value generator();
  static Value tuple(std::vector<Value> items);
  // The element type of the list is taken from the first item (Tensor if empty).
  static Value list(std::vector<Value> items);
  static Value dict(std::vector<std::pair<Value, Value>> items);

  Value(const Value& other) : kind_(other.kind_), int_(other.int_) {
    if (is_ref() && ref_) ref_->retain();
  }
  Value(Value&& other) noexcept : kind_(other.kind_), int_(other.int_) {
    other.kind_ = ValueKind::kNone;
  }
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(int_, other.int_);
    return *this;
  }
  ~Value() {
    if (is_ref() && ref_) ref_->release();
  }

  ValueKind kind() const { return kind_; }
  bool is_none() const { return kind_ == ValueKind::kNone; }
  bool is_tensor() const { return kind_ == ValueKind::kTensor; }
  bool is_int() const { return kind_ == ValueKind::kInt; }
  bool is_float() const { return kind_ == ValueKind::kFloat; }
  bool is_complex() const { return kind_ == ValueKind::kComplex; }
  bool is_bool() const { return kind_ == ValueKind::kBool; }
  bool is_string() const { return kind_ == ValueKind::kString; }
  bool is_device() const { return kind_ == ValueKind::kDevice; }
  bool is_list() const { return kind_ == ValueKind::kList; }
  bool is_tuple() const { return kind_ == ValueKind::kTuple; }
  bool is_dict() const { return kind_ == ValueKind::kDict; }
  bool is_object() const { return kind_ == ValueKind::kObject; }
  bool is_custom() const { return kind_ == ValueKind::kCustom; }
  bool is_enum() const { return kind_ == ValueKind::kEnum; }
  bool is_future() const { return kind_ == ValueKind::kFuture; }
  bool is_scalar() const { return is_int() || is_float() || is_complex() || is_bool(); }

  // Each throws Error kInvalidArgument ("expected an int, got a Tensor") on another kind.
  Tensor to_tensor() const;
  int64_t to_int() const;    // int, bool
  double to_double() const;  // float, int, bool
  std::complex<double> to_complex() const;
  bool to_bool() const;
  const std::string& to_string() const;  // also of a device
  Scalar to_scalar() const;
  std::vector<Value> to_list() const;   // items, of a list or a tuple
  std::vector<Value> to_tuple() const;  // items
  std::vector<std::pair<Value, Value>> to_dict() const;
  std::vector<Tensor> to_tensor_list() const;

  // "a Tensor", "an int", "a list": for messages.
  const char* kind_name() const;

  // For the inside of the house (tensor/containers.h): the shared thing; throws on another kind.
  List& list_ref() const;
  Tuple& tuple_ref() const;
  Dict& dict_ref() const;
  Object& object_ref() const;
  CustomObject& custom_ref() const;
  EnumValue& enum_ref() const;
  Future& future_ref() const;
  // As these, and the bits whatever the kind.
  TensorImpl* tensor_impl() const;
  int64_t raw_int() const { return int_; }
  double raw_double() const { return double_; }
  // Same object (Python's `is`): same kind and same bits.
  bool is_same(const Value& other) const { return kind_ == other.kind_ && int_ == other.int_; }

 private:
  Value(ValueKind kind, RefCounted* ref) : kind_(kind), int_(0) {
    ref_ = ref;
    if (ref_) ref_->retain();
  }
  bool is_ref() const {
    return kind_ != ValueKind::kNone && kind_ != ValueKind::kInt && kind_ != ValueKind::kFloat &&
           kind_ != ValueKind::kBool;
  }
  [[noreturn]] void wrong_kind(const char* expected) const;

  ValueKind kind_;
  union {
    int64_t int_;
    double double_;
    RefCounted* ref_;
  };
};

}  // namespace torchlet
