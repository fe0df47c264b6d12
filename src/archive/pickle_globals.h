// The closed set of functions that a pickle may name, and what stands on the pickle's stack for
// them.
#pragma once

#include <torchlet/value.h>

#include <optional>
#include <string>
#include <string_view>

#include "tensor/containers.h"
#include "tensor/storage.h"

namespace torchlet::archive {

class ObjectFactory;

enum class PickleFunction : uint8_t {
  kRebuildTensor,        // torch._utils._rebuild_tensor, _rebuild_tensor_v2
  kRebuildQTensor,       // torch._utils._rebuild_qtensor
  kRebuildSparseTensor,  // torch._utils._rebuild_sparse_tensor
  kRebuildParameter,     // torch._utils._rebuild_parameter
  kRebuildFromType,      // torch._tensor._rebuild_from_type_v2
  kBuildIntList,         // torch.jit._pickle.build_*
  kBuildFloatList,
  kBuildBoolList,
  kBuildTensorList,
  kRestoreTypeTag,  // torch.jit._pickle.restore_type_tag
  kOrderedDict,     // collections.OrderedDict
  kSize,            // torch.Size
  kDevice,          // torch.device
  kComplex,         // builtins.complex
};

// What a GLOBAL opcode leaves on the stack. Such things may stand in a tuple of arguments but are
// no values of a program: they never leave the pickle.
struct PickleGlobal : CustomObject {
  enum class Kind : uint8_t { kFunction, kStorageType, kQScheme, kClass, kIgnoredClass };
  Kind kind;
  std::string name;
  PickleFunction function = PickleFunction::kOrderedDict;
  DType dtype = DType::kFloat32;                // kStorageType
  QScheme qscheme = QScheme::kPerTensorAffine;  // kQScheme
  TypePtr type;                                 // kClass

  PickleGlobal(Kind k, std::string n) : kind(k), name(std::move(n)) {}
  std::string_view class_name() const override { return name; }
};

// What BINPERSID leaves on the stack.
struct PickleStorage : CustomObject {
  Ref<Storage> storage;
  DType dtype;
  std::string key;

  PickleStorage(Ref<Storage> s, DType d, std::string k)
      : storage(std::move(s)), dtype(d), key(std::move(k)) {}
  std::string_view class_name() const override { return "torch.storage"; }
};

// Null if the name is not in the closed set.
Ref<PickleGlobal> known_global(const std::string& qualified_name);

// The result of calling `function`. `args` is what the pickle gives it, normally a tuple.
Value call_pickle_function(const PickleGlobal& function, const Value& args, ObjectFactory& factory);

// value as a T that lives only inside the pickle, or null.
template <typename T>
T* pickle_internal(const Value& value) {
  return value.is_custom() ? dynamic_cast<T*>(&value.custom_ref()) : nullptr;
}

}  // namespace torchlet::archive
