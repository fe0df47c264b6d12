#include "ops/core/op.h"

namespace torchlet::ops {
namespace {

const std::vector<Value>& list_items(const Value& v) {
  if (v.is_tuple()) return v.tuple_ref().items;
  if (!v.is_list()) fail(ErrorCode::kInvalidArgument, "expected a list, got %s", v.kind_name());
  return v.list_ref().items;
}

}  // namespace

DType FromValue<DType>::get(const Value& v) {
  const int64_t number = v.to_int();
  TORCHLET_CHECK(number >= 0 && number < kNumDTypes, "%lld is not a dtype",
                 static_cast<long long>(number));
  return static_cast<DType>(number);
}

IntArray FromValue<IntArray>::get(const Value& v) {
  if (v.is_int()) return {v.raw_int()};
  IntArray result;
  for (const Value& item : list_items(v)) result.push_back(FromValue<int64_t>::get(item));
  return result;
}

std::vector<double> FromValue<std::vector<double>>::get(const Value& v) {
  std::vector<double> result;
  for (const Value& item : list_items(v)) result.push_back(FromValue<double>::get(item));
  return result;
}

std::vector<bool> FromValue<std::vector<bool>>::get(const Value& v) {
  std::vector<bool> result;
  for (const Value& item : list_items(v)) result.push_back(FromValue<bool>::get(item));
  return result;
}

Ref<List> FromValue<Ref<List>>::get(const Value& v) {
  if (!v.is_list()) fail(ErrorCode::kInvalidArgument, "expected a list, got %s", v.kind_name());
  return Ref<List>(&v.list_ref());
}

Ref<Dict> FromValue<Ref<Dict>>::get(const Value& v) {
  if (!v.is_dict()) fail(ErrorCode::kInvalidArgument, "expected a dict, got %s", v.kind_name());
  return Ref<Dict>(&v.dict_ref());
}

namespace {

// Where the arguments of one call live while it runs. Each is constructed in a slot of its own,
// except for Values and strings, which are lent by the caller's Values.
class Arguments {
 public:
  explicit Arguments(const uint8_t* kinds) : kinds_(kinds) {}
  ~Arguments() {
    while (count_ > 0) destroy(--count_);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  void add(const Value& value);
  void* const* pointers() const { return pointers_; }

 private:
  static constexpr size_t kSlotBytes = sizeof(std::optional<IntArray>);

  template <typename T>
  void construct(const Value& value, bool optional) {
    static_assert(sizeof(std::optional<T>) <= kSlotBytes);
    if (optional) {
      new (slots_[count_]) std::optional<T>(FromValue<std::optional<T>>::get(value));
    } else {
      new (slots_[count_]) T(FromValue<T>::get(value));
    }
  }
  template <typename T>
  void destroy_as(void* slot, bool optional) {
    if (optional) {
      static_cast<std::optional<T>*>(slot)->~optional();
    } else {
      static_cast<T*>(slot)->~T();
    }
  }
  void destroy(size_t i);

  const uint8_t* kinds_;
  size_t count_ = 0;
  void* pointers_[kMaxTypedArgs];
  alignas(16) std::byte slots_[kMaxTypedArgs][kSlotBytes];
};

constexpr auto kOptionalBit = static_cast<uint8_t>(ArgKind::kOptional);

void Arguments::add(const Value& value) {
  const uint8_t code = kinds_[count_];
  const bool optional = (code & kOptionalBit) != 0;
  pointers_[count_] = slots_[count_];
  switch (static_cast<ArgKind>(code & ~kOptionalBit)) {
    case ArgKind::kTensor:
      construct<Tensor>(value, optional);
      break;
    case ArgKind::kValue:
      pointers_[count_] = const_cast<Value*>(&value);
      break;
    case ArgKind::kInt:
      construct<int64_t>(value, optional);
      break;
    case ArgKind::kFloat:
      construct<double>(value, optional);
      break;
    case ArgKind::kBool:
      construct<bool>(value, optional);
      break;
    case ArgKind::kScalar:
      construct<Scalar>(value, optional);
      break;
    case ArgKind::kString:
      if (optional) {
        construct<std::string>(value, optional);
      } else {
        pointers_[count_] = const_cast<std::string*>(&value.to_string());
      }
      break;
    case ArgKind::kComplex:
      construct<std::complex<double>>(value, optional);
      break;
    case ArgKind::kDType:
      construct<DType>(value, optional);
      break;
    case ArgKind::kMemoryFormat:
      construct<MemoryFormat>(value, optional);
      break;
    case ArgKind::kInts:
      construct<IntArray>(value, optional);
      break;
    case ArgKind::kTensors:
      construct<std::vector<Tensor>>(value, optional);
      break;
    case ArgKind::kFloats:
      construct<std::vector<double>>(value, optional);
      break;
    case ArgKind::kBools:
      construct<std::vector<bool>>(value, optional);
      break;
    case ArgKind::kList:
      construct<Ref<List>>(value, optional);
      break;
    case ArgKind::kDict:
      construct<Ref<Dict>>(value, optional);
      break;
    case ArgKind::kOptional:
      break;
  }
  ++count_;
}

void Arguments::destroy(size_t i) {
  const bool optional = (kinds_[i] & kOptionalBit) != 0;
  void* const slot = slots_[i];
  switch (static_cast<ArgKind>(kinds_[i] & ~kOptionalBit)) {
    case ArgKind::kTensor:
      return destroy_as<Tensor>(slot, optional);
    case ArgKind::kString:
      if (optional) destroy_as<std::string>(slot, optional);
      return;
    case ArgKind::kInts:
      return destroy_as<IntArray>(slot, optional);
    case ArgKind::kTensors:
      return destroy_as<std::vector<Tensor>>(slot, optional);
    case ArgKind::kFloats:
      return destroy_as<std::vector<double>>(slot, optional);
    case ArgKind::kBools:
      return destroy_as<std::vector<bool>>(slot, optional);
    case ArgKind::kList:
      return destroy_as<Ref<List>>(slot, optional);
    case ArgKind::kDict:
      return destroy_as<Ref<Dict>>(slot, optional);
    default:
      return;  // trivial
  }
}

// An undefined Tensor is what stands for None where the schema says Tensor?, and nowhere else.
void require_tensors(const Argument& argument, const Value& value) {
  const auto require = [&](const Value& item) {
    TORCHLET_CHECK(!item.is_none(), "expected a Tensor as argument '%s', got None",
                   argument.name.c_str());
  };
  if (argument.type->is(TypeKind::kTensor)) {
    require(value);
  } else if (value.is_list() && argument.type->is(TypeKind::kList) &&
             argument.type->element(0)->is(TypeKind::kTensor)) {
    for (const Value& item : value.list_ref().items) require(item);
  }
}

}  // namespace

void call_typed(const Operator& op, std::span<Value> args, std::span<Value> results) {
  const Signature& signature = *op.typed->signature;
  alignas(16) std::byte result[kMaxResultBytes];
  Arguments arguments(signature.kinds);
  for (size_t i = 0; i < signature.arity; ++i) {
    if (args[i].is_none() || args[i].is_list()) require_tensors(op.schema.arguments[i], args[i]);
    arguments.add(args[i]);
  }
  signature.invoke(*op.typed, arguments.pointers(), result);
  signature.store(result, results);
}

}  // namespace torchlet::ops
