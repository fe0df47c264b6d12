#include "base/error.h"
#include "c_api/handles.h"
#include "tensor/containers.h"

using namespace torchlet;
using namespace torchlet::c_api;

torchlet_value::torchlet_value(Value v)
    : value(std::move(v)),
      items(value.is_dict() ? value.dict_ref().items() : std::vector<std::pair<Value, Value>>()) {}

namespace {

torchlet_kind kind_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNone:
      return TORCHLET_KIND_NONE;
    case ValueKind::kTensor:
      return TORCHLET_KIND_TENSOR;
    case ValueKind::kInt:
      return TORCHLET_KIND_INT;
    case ValueKind::kFloat:
      return TORCHLET_KIND_FLOAT;
    case ValueKind::kComplex:
      return TORCHLET_KIND_COMPLEX;
    case ValueKind::kBool:
      return TORCHLET_KIND_BOOL;
    case ValueKind::kString:
      return TORCHLET_KIND_STRING;
    case ValueKind::kList:
      return TORCHLET_KIND_LIST;
    case ValueKind::kTuple:
      return TORCHLET_KIND_TUPLE;
    case ValueKind::kDict:
      return TORCHLET_KIND_DICT;
    case ValueKind::kObject:
      return TORCHLET_KIND_OBJECT;
    default:
      return TORCHLET_KIND_OTHER;
  }
}

// Of the values of a type; NONE if they may be of several kinds.
torchlet_kind kind_of(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kTensor:
      return TORCHLET_KIND_TENSOR;
    case TypeKind::kInt:
      return TORCHLET_KIND_INT;
    case TypeKind::kFloat:
      return TORCHLET_KIND_FLOAT;
    case TypeKind::kComplex:
      return TORCHLET_KIND_COMPLEX;
    case TypeKind::kBool:
      return TORCHLET_KIND_BOOL;
    case TypeKind::kString:
      return TORCHLET_KIND_STRING;
    case TypeKind::kList:
      return TORCHLET_KIND_LIST;
    case TypeKind::kTuple:
      return TORCHLET_KIND_TUPLE;
    case TypeKind::kDict:
      return TORCHLET_KIND_DICT;
    case TypeKind::kClass:
    case TypeKind::kInterface:
      return TORCHLET_KIND_OBJECT;
    case TypeKind::kDevice:
    case TypeKind::kEnum:
    case TypeKind::kFuture:
    case TypeKind::kGenerator:
      return TORCHLET_KIND_OTHER;
    default:
      return TORCHLET_KIND_NONE;
  }
}

// The type of which all are; null if there is none.
TypePtr common_type(const std::vector<Value>& items) {
  TypePtr common = type_of(items.front());
  for (const Value& item : items) {
    if (common) common = unify(common, type_of(item));
  }
  return common;
}

const std::vector<Value>& sequence(const Value& value) {
  return value.is_tuple() ? value.tuple_ref().items : value.list_ref().items;
}

size_t size_of(const torchlet_value& handle) {
  const Value& value = handle.value;
  if (!value.is_list() && !value.is_tuple() && !value.is_dict()) {
    fail(ErrorCode::kInvalidArgument, "expected a list, a tuple or a dict, got %s",
         value.kind_name());
  }
  return value.is_dict() ? handle.items.size() : sequence(value).size();
}

void check_index(const torchlet_value& handle, size_t index) {
  const size_t size = size_of(handle);
  if (index < size) return;
  fail(ErrorCode::kInvalidArgument, "the index %zu is beyond the end of %s of %zu items", index,
       handle.value.kind_name(), size);
}

// A new handle for what `make` gives.
template <typename Make>
torchlet_status make_value(torchlet_value** value, const Make& make) {
  return guarded([&] {
    torchlet_value*& result = given(value, "value");
    result = new torchlet_value(make());
  });
}

// Writes what `read` makes of the value to *target.
template <typename T, typename Read>
torchlet_status read_value(const torchlet_value* value, T* target, const char* name,
                           const Read& read) {
  return guarded([&] {
    T& result = given(target, name);
    result = read(given(value, "value").value);
  });
}

template <typename T, typename Read>
torchlet_status read_numbers(const torchlet_value* value, T* numbers, size_t capacity, size_t* size,
                             const Read& read) {
  return guarded([&] {
    size_t& count = given(size, "size");
    const Value& list = given(value, "value").value;
    if (capacity && !numbers) fail_null("numbers");
    std::vector<T> read_ones;
    for (const Value& item : sequence(list)) read_ones.push_back(read(item));
    for (size_t i = 0; i < std::min(capacity, read_ones.size()); ++i) numbers[i] = read_ones[i];
    count = read_ones.size();
  });
}

}  // namespace

namespace torchlet::c_api {

std::vector<Value> values_of(const torchlet_value* const* handles, size_t count, const char* name) {
  if (count && !handles) fail_null(name);
  std::vector<Value> values;
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (!handles[i]) fail(ErrorCode::kInvalidArgument, "%s[%zu] is NULL", name, i);
    values.push_back(handles[i]->value);
  }
  return values;
}

Value list_of(std::vector<Value> items) {
  if (items.empty()) return Value::list({});
  const TypePtr common = common_type(items);
  return make_list(common ? common : types::any(), std::move(items));
}

}  // namespace torchlet::c_api

torchlet_status torchlet_value_none(torchlet_value** value) {
  return make_value(value, [] { return Value(); });
}

torchlet_status torchlet_value_from_tensor(const torchlet_tensor* tensor, torchlet_value** value) {
  return make_value(value, [&] { return Value(given(tensor, "tensor").tensor); });
}

torchlet_status torchlet_value_from_int(int64_t number, torchlet_value** value) {
  return make_value(value, [&] { return Value(number); });
}

torchlet_status torchlet_value_from_float(double number, torchlet_value** value) {
  return make_value(value, [&] { return Value(number); });
}

torchlet_status torchlet_value_from_complex(double real, double imaginary, torchlet_value** value) {
  return make_value(value, [&] { return Value(std::complex<double>(real, imaginary)); });
}

torchlet_status torchlet_value_from_bool(int truth, torchlet_value** value) {
  return make_value(value, [&] { return Value(truth != 0); });
}

torchlet_status torchlet_value_from_string(const char* text, size_t size, torchlet_value** value) {
  return make_value(value, [&] {
    if (size && !text) fail_null("text");
    return Value(size ? std::string(text, size) : std::string());
  });
}

torchlet_status torchlet_value_from_items(torchlet_kind kind, const torchlet_value* const* items,
                                          size_t count, torchlet_value** value) {
  return make_value(value, [&] {
    std::vector<Value> values = values_of(items, count, "items");
    if (kind == TORCHLET_KIND_TUPLE) return Value::tuple(std::move(values));
    if (kind == TORCHLET_KIND_LIST) return list_of(std::move(values));
    fail(ErrorCode::kInvalidArgument, "items make a list or a tuple, not a value of kind %d", kind);
  });
}

torchlet_status torchlet_value_from_dict(const torchlet_value* const* keys,
                                         const torchlet_value* const* values, size_t count,
                                         torchlet_value** value) {
  return make_value(value, [&] {
    const std::vector<Value> key_values = values_of(keys, count, "keys");
    const std::vector<Value> held = values_of(values, count, "values");
    if (held.empty()) return Value::dict({});
    for (const Value& key : key_values) {
      if (!key.is_string() && !key.is_scalar() && !key.is_tensor()) {
        fail(ErrorCode::kInvalidArgument, "%s cannot be a key of a dict", key.kind_name());
      }
      if (key.kind() != key_values.front().kind()) {
        fail(ErrorCode::kInvalidArgument, "the keys of a dict are of one kind, not %s and %s",
             key_values.front().kind_name(), key.kind_name());
      }
    }
    const TypePtr common = common_type(held);
    auto dict = make_ref<Dict>(type_of(key_values.front()), common ? common : types::any());
    for (size_t i = 0; i < count; ++i) dict->set(key_values[i], held[i]);
    return Value(std::move(dict));
  });
}

void torchlet_value_free(torchlet_value* value) { delete value; }

torchlet_kind torchlet_value_kind(const torchlet_value* value) {
  return value ? kind_of(value->value.kind()) : TORCHLET_KIND_NONE;
}

torchlet_kind torchlet_value_item_kind(const torchlet_value* value) {
  if (value && value->value.is_list()) return kind_of(*value->value.list_ref().element_type);
  if (value && value->value.is_dict()) return kind_of(*value->value.dict_ref().value_type);
  return TORCHLET_KIND_NONE;
}

torchlet_kind torchlet_value_key_kind(const torchlet_value* value) {
  if (value && value->value.is_dict()) return kind_of(*value->value.dict_ref().key_type);
  return TORCHLET_KIND_NONE;
}

torchlet_status torchlet_value_to_tensor(const torchlet_value* value, torchlet_tensor** tensor) {
  return read_value(value, tensor, "tensor",
                    [](const Value& v) { return new torchlet_tensor{v.to_tensor()}; });
}

torchlet_status torchlet_value_to_int(const torchlet_value* value, int64_t* number) {
  return read_value(value, number, "number", [](const Value& v) { return v.to_int(); });
}

torchlet_status torchlet_value_to_float(const torchlet_value* value, double* number) {
  return read_value(value, number, "number", [](const Value& v) { return v.to_double(); });
}

torchlet_status torchlet_value_to_complex(const torchlet_value* value, double* real,
                                          double* imaginary) {
  return guarded([&] {
    double& x = given(real, "real");
    double& y = given(imaginary, "imaginary");
    const std::complex<double> number = given(value, "value").value.to_complex();
    x = number.real();
    y = number.imag();
  });
}

torchlet_status torchlet_value_to_bool(const torchlet_value* value, int* truth) {
  return read_value(value, truth, "truth", [](const Value& v) { return v.to_bool() ? 1 : 0; });
}

torchlet_status torchlet_value_to_string(const torchlet_value* value, const char** text,
                                         size_t* size) {
  return guarded([&] {
    const char*& start = given(text, "text");
    size_t& length = given(size, "size");
    const std::string& whole = given(value, "value").value.to_string();
    start = whole.c_str();
    length = whole.size();
  });
}

torchlet_status torchlet_value_size(const torchlet_value* value, size_t* size) {
  return guarded([&] {
    size_t& result = given(size, "size");
    result = size_of(given(value, "value"));
  });
}

torchlet_status torchlet_value_item(const torchlet_value* value, size_t index,
                                    torchlet_value** item) {
  return guarded([&] {
    torchlet_value*& result = given(item, "item");
    const torchlet_value& handle = given(value, "value");
    check_index(handle, index);
    result = new torchlet_value(handle.value.is_dict() ? handle.items[index].second
                                                       : sequence(handle.value)[index]);
  });
}

torchlet_status torchlet_value_key(const torchlet_value* value, size_t index,
                                   torchlet_value** key) {
  return guarded([&] {
    torchlet_value*& result = given(key, "key");
    const torchlet_value& handle = given(value, "value");
    (void)handle.value.dict_ref();
    check_index(handle, index);
    result = new torchlet_value(handle.items[index].first);
  });
}

torchlet_status torchlet_value_lookup(const torchlet_value* value, const char* key,
                                      torchlet_value** item) {
  return guarded([&] {
    torchlet_value*& result = given(item, "item");
    const std::string name = given_text(key, "key");
    const torchlet_value& handle = given(value, "value");
    (void)handle.value.dict_ref();
    for (const auto& [held, found] : handle.items) {
      if (!held.is_string() || held.to_string() != name) continue;
      result = new torchlet_value(found);
      return;
    }
    fail(ErrorCode::kNotFound, "the dict has no key '" + name + "'");
  });
}

torchlet_status torchlet_value_to_ints(const torchlet_value* value, int64_t* numbers,
                                       size_t capacity, size_t* size) {
  return read_numbers(value, numbers, capacity, size, [](const Value& v) { return v.to_int(); });
}

torchlet_status torchlet_value_to_floats(const torchlet_value* value, double* numbers,
                                         size_t capacity, size_t* size) {
  return read_numbers(value, numbers, capacity, size, [](const Value& v) { return v.to_double(); });
}

torchlet_status torchlet_value_describe(const torchlet_value* value, char** text) {
  return guarded([&] {
    char*& result = given(text, "text");
    const Value& described = given(value, "value").value;
    result =
        new_text(described.is_tensor() ? described.to_tensor().describe() : to_text(described));
  });
}
