#include "interp/values.h"

#include "base/error.h"
#include "tensor/scalar.h"
#include "tensor/tensor_impl.h"

namespace torchlet::interp {
namespace {

const std::vector<Value>& items_of(const Value& sequence) {
  if (sequence.is_list()) return sequence.list_ref().items;
  if (sequence.is_tuple()) return sequence.tuple_ref().items;
  fail(ErrorCode::kRuntime, "expected a tuple, got %s", sequence.kind_name());
}

}  // namespace

std::span<const Value> unpacked(const Value& sequence, size_t count) {
  const std::vector<Value>& items = items_of(sequence);
  TORCHLET_CHECK(items.size() == count, "Expected %zu elements in a %s but found %zu", count,
                 sequence.is_list() ? "list" : "tuple", items.size());
  return items;
}

Value tuple_item(const Value& tuple, int64_t index) {
  const std::vector<Value>& items = items_of(tuple);
  const auto size = static_cast<int64_t>(items.size());
  TORCHLET_CHECK(index >= -size && index < size, "tuple index out of range");
  return items[static_cast<size_t>(index < 0 ? index + size : index)];
}

Value contained_module(const Value& container, const Value& key) {
  TORCHLET_CHECK(container.is_object(), "expected a module, got %s", container.kind_name());
  const std::string name = key.is_string() ? key.to_string() : std::to_string(key.to_int());
  const Object& object = container.object_ref();
  const auto index = object.type->find_attribute(name);
  TORCHLET_CHECK(index && object.slots.at(*index).is_object(), "'%s' has no module '%s'",
                 object.type->name().c_str(), name.c_str());
  return object.slots[*index];
}

Value make_tuple(const TypePtr& type, std::span<Value> items) {
  std::vector<Value> held(std::make_move_iterator(items.begin()),
                          std::make_move_iterator(items.end()));
  return Value(make_ref<Tuple>(std::move(held), type->name().empty() ? nullptr : type));
}

Value make_dict(const TypePtr& type, std::span<Value> keys_and_values) {
  const bool known = type->is(TypeKind::kDict);
  auto dict = make_ref<Dict>(known ? type->element(0) : types::any(),
                             known ? type->element(1) : types::any());
  for (size_t i = 0; i + 1 < keys_and_values.size(); i += 2) {
    dict->set(keys_and_values[i], std::move(keys_and_values[i + 1]));
  }
  return Value(std::move(dict));
}

namespace {

Value number_as(const Tensor& element, const Type& type) {
  const Scalar scalar = scalar_of(element);
  switch (type.kind()) {
    case TypeKind::kInt:
      return Value(scalar.to_int());
    case TypeKind::kBool:
      return Value(scalar.to_bool());
    case TypeKind::kComplex:
      return Value(scalar.to_complex());
    case TypeKind::kFloat:
      return Value(scalar.to_double());
    default:
      return Value(scalar);
  }
}

// `base` viewed at the elements that follow `offset` from dimension `dim` on.
Value nested_list(const Tensor& base, int64_t dim, int64_t offset, const TypePtr& type) {
  if (dim == base.dim()) return number_as(make_view(base, {}, {}, offset), *type);
  std::vector<Value> items;
  for (int64_t i = 0; i < base.size(dim); ++i) {
    items.push_back(nested_list(base, dim + 1, offset + i * base.stride(dim), type->element(0)));
  }
  return make_list(type->element(0), std::move(items));
}

}  // namespace

Value tensor_to_list(const Tensor& tensor, const TypePtr& type) {
  int64_t depth = 0;
  const Type* element = type.get();
  for (; element->is(TypeKind::kList); element = element->element(0).get()) ++depth;
  TORCHLET_CHECK(depth == tensor.dim(),
                 "Output annotation list dimension and runtime tensor dimension must match for "
                 "tolist()");
  const DType dtype = tensor.dtype();
  const bool fits = element->is(TypeKind::kInt)       ? is_integral(dtype, false)
                    : element->is(TypeKind::kBool)    ? dtype == DType::kBool
                    : element->is(TypeKind::kFloat)   ? is_floating_point(dtype)
                    : element->is(TypeKind::kComplex) ? is_complex(dtype)
                                                      : true;
  TORCHLET_CHECK(fits,
                 "Output annotation element type and runtime tensor element type must match for "
                 "tolist(): expected %s, got %s",
                 element->str().c_str(), dtype_name(dtype).data());
  return nested_list(tensor, 0, tensor.storage_offset(), type);
}

std::string printed(std::span<const Value> values) {
  std::string line;
  for (const Value& value : values) {
    if (&value != values.data()) line += " ";
    line += script_text(value);
  }
  return line;
}

void raise(const Value& message, const Value& python_class) {
  Error error(ErrorCode::kRuntime, message.is_string() ? message.to_string() : to_text(message));
  if (python_class.is_string()) error.set_python_class(python_class.to_string());
  throw error;
}

}  // namespace torchlet::interp
