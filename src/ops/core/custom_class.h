// How a torch.classes.* class is declared, beside the operators that use it:
//
//   constexpr auto kUnpack = typed(+unpack);
//   constexpr CustomMethodDef kMethods[] = {
//       {"unpack(__torch__.torch.classes.quantized.X self) -> (Tensor, Tensor?)", &kUnpack}};
//   extern const CustomClassDef class_quantized_X;
//   constinit const CustomClassDef class_quantized_X = {"__torch__.torch.classes.quantized.X",
//   set_state, kMethods};
//
// and one line in class_list.inc. The object itself derives from CustomObject.
#pragma once

#include "ops/core/op.h"

namespace torchlet::ops {

struct CustomMethodDef {
  const char* schema;
  const TypedFunction* fn;
};

struct CustomClassDef {
  std::string_view name;
  // Of None: an object as __new__ makes it, for __init__; an error if programs make none.
  Value (*set_state)(const Value& state);
  std::span<const CustomMethodDef> methods;
};

// The C++ object in a Value; Error naming both classes if it is another one.
template <typename T>
T& custom_object(const Value& value) {
  T* object = value.is_custom() ? dynamic_cast<T*>(&value.custom_ref()) : nullptr;
  if (!object) {
    fail(ErrorCode::kInvalidArgument, "expected a %s, got %s", T::kClassName,
         value.is_custom() ? std::string(value.custom_ref().class_name()).c_str()
                           : value.kind_name());
  }
  return *object;
}

}  // namespace torchlet::ops
