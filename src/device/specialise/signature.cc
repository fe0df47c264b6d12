#include "device/specialise/signature.h"

#include <algorithm>
#include <bit>

#include "tensor/containers.h"

namespace torchlet::device {
namespace {

constexpr size_t kMostInnerItems = 4096;

bool same_quantizer(const Quantizer* a, const Quantizer* b) {
  if (!a || !b) return a == b;
  return a->per_tensor() && b->per_tensor() && a->scale == b->scale &&
         a->zero_point == b->zero_point;
}

// The items of a list or a tuple, else null.
const std::vector<Value>* items_of(const Value& value) {
  if (value.is_list()) return &value.list_ref().items;
  return value.is_tuple() ? &value.tuple_ref().items : nullptr;
}

// `left`: how many items lists within lists may have, since a program holds one list at many
// places.
bool is_plain(const Value& value, size_t& left) {
  if (const auto* items = items_of(value)) {
    return std::ranges::all_of(*items, [&](const Value& item) {
      if (const auto* inner = items_of(item)) {
        if (inner->size() > left) return false;
        left -= inner->size();
      }
      return is_plain(item, left);
    });
  }
  return value.is_none() || value.is_int() || value.is_float() || value.is_bool() ||
         value.is_string();
}

// Floats by their bits, so that NaN is itself and -0.0 is not 0.0.
bool same_plain(const Value& a, const Value& b) {
  if (const auto* items = items_of(a)) {
    const auto* others = items_of(b);
    return others && a.is_list() == b.is_list() && std::ranges::equal(*items, *others, same_plain);
  }
  if (a.is_none()) return b.is_none();
  if (a.is_bool()) return b.is_bool() && a.to_bool() == b.to_bool();
  if (a.is_int()) return b.is_int() && a.to_int() == b.to_int();
  if (a.is_string()) return b.is_string() && a.to_string() == b.to_string();
  return b.is_float() &&
         std::bit_cast<int64_t>(a.to_double()) == std::bit_cast<int64_t>(b.to_double());
}

// Lists may change later.
Value copied(const Value& value) {
  const auto* items = items_of(value);
  if (!items) return value;
  std::vector<Value> copies;
  for (const Value& item : *items) copies.push_back(copied(item));
  return value.is_list() ? make_list(value.list_ref().element_type, std::move(copies))
                         : Value::tuple(std::move(copies));
}

}  // namespace

bool Signature::can_have(std::span<const Value> inputs) {
  return std::ranges::all_of(inputs, [](const Value& value) {
    if (value.is_tensor()) return !value.tensor_impl()->sparse && !value.tensor_impl()->nested;
    size_t left = kMostInnerItems;
    return is_plain(value, left);
  });
}

Signature::Signature(std::span<const Value> inputs) {
  for (const Value& value : inputs) {
    Input& input = inputs_.emplace_back();
    input.is_tensor = value.is_tensor();
    if (!input.is_tensor) {
      input.value = copied(value);
      continue;
    }
    const TensorImpl& impl = *value.tensor_impl();
    input.dtype = impl.dtype;
    input.sizes = impl.sizes;
    input.strides = impl.strides;
    input.quantizer = impl.quantizer;
  }
}

bool Signature::matches(std::span<const Value> inputs) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (input.is_tensor != inputs[i].is_tensor()) return false;
    if (!input.is_tensor) {
      if (!same_plain(input.value, inputs[i])) return false;
      continue;
    }
    const TensorImpl& impl = *inputs[i].tensor_impl();
    if (impl.dtype != input.dtype || impl.sparse || impl.nested || !(impl.sizes == input.sizes) ||
        !(impl.strides == input.strides) ||
        !same_quantizer(impl.quantizer.get(), input.quantizer.get())) {
      return false;
    }
  }
  return true;
}

}  // namespace torchlet::device
