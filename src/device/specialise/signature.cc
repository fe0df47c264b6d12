#include "device/specialise/signature.h"

#include <algorithm>
#include <bit>

#include "tensor/containers.h"

namespace torchlet::device {
namespace {

bool same_quantizer(const Quantizer* a, const Quantizer* b) {
  if (!a || !b) return a == b;
  return a->per_tensor() && b->per_tensor() && a->scale == b->scale &&
         a->zero_point == b->zero_point;
}

bool is_plain(const Value& value) {
  return value.is_none() || value.is_int() || value.is_float() || value.is_bool() ||
         value.is_string();
}

// Floats by their bits, so that NaN is itself and -0.0 is not 0.0.
bool same_plain(const Value& a, const Value& b) {
  if (a.is_none()) return b.is_none();
  if (a.is_bool()) return b.is_bool() && a.to_bool() == b.to_bool();
  if (a.is_int()) return b.is_int() && a.to_int() == b.to_int();
  if (a.is_string()) return b.is_string() && a.to_string() == b.to_string();
  return b.is_float() &&
         std::bit_cast<int64_t>(a.to_double()) == std::bit_cast<int64_t>(b.to_double());
}

bool same_value(const Value& a, const Value& b) {
  if (!a.is_list()) return is_plain(b) && same_plain(a, b);
  return b.is_list() && std::ranges::equal(a.list_ref().items, b.list_ref().items, same_plain);
}

Value copied(const Value& value) {
  if (!value.is_list()) return value;
  return make_list(value.list_ref().element_type, value.list_ref().items);
}

}  // namespace

bool Signature::can_have(std::span<const Value> inputs) {
  return std::ranges::all_of(inputs, [](const Value& value) {
    if (value.is_tensor()) return !value.tensor_impl()->sparse && !value.tensor_impl()->nested;
    return is_plain(value) ||
           (value.is_list() && std::ranges::all_of(value.list_ref().items, is_plain));
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
      if (!same_value(input.value, inputs[i])) return false;
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
