// Reads the pickles of TorchScript archives: protocol 2 as torch/csrc/jit/serialization/pickler.cpp
// writes it, and the opcodes that Python's own pickler uses for the same data.
//
// A pickle names Python functions and classes. Here the names are a closed set: a few functions
// that rebuild tensors and containers, and classes under `__torch__`, which are the model's own.
// Anything else is refused, and nothing is ever looked up or called outside this folder and the
// ObjectFactory.
#pragma once

#include <torchlet/value.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "tensor/storage.h"
#include "tensor/type.h"

namespace torchlet::archive {

// Gives life to what a pickle can only name. Implemented by whoever has compiled the code of the
// model. Errors that it throws pass through with the place in the pickle added.
class ObjectFactory {
 public:
  virtual ~ObjectFactory() = default;

  // A type in TorchScript's spelling: "List[Tensor]", "Dict[str, __torch__.Point]".
  virtual TypePtr parse_type(std::string_view text);

  // The class, module class, enum or torch.classes class of this qualified name
  // ("__torch__.m.Point"), or null if the model has none of that name. Asked for every name outside
  // the closed set, each time that the pickle spells it.
  virtual TypePtr resolve_class(const std::string& qualified_name);

  // A new instance. `state` is a dict from attribute name to value, or whatever the __getstate__ of
  // the class returned. Its lists and dicts belong to the new object alone unless the pickle shares
  // them. The state is complete when this is called, so it never contains the object itself.
  virtual Value build_object(const TypePtr& type, Value state);

  // The member of an enum class (a type of kind kEnum) that has this value.
  virtual Value build_enum(const TypePtr& type, const Value& value);
};

// The storage behind a persistent id: `key` names the record, `nbytes` is what the pickle says it
// holds. The same key must give the same storage. Error if there are fewer bytes.
using StorageLoader = FunctionRef<Ref<Storage>(std::string_view key, size_t nbytes)>;

// Nested containers and objects deeper than this are refused: everything that walks or destroys a
// value may recurse.
inline constexpr int kMaxPickleDepth = 1000;

// The one value that `bytes` holds. Errors are kFileFormat (or what `factory` and `storages` threw)
// and carry `record` and the byte offset of the opcode as context. `stored_size` is the size of the
// record in its file: memory is bounded by a multiple of it, so that a compressed record cannot ask
// for more.
Value read_pickle(std::span<const std::byte> bytes, size_t stored_size, const std::string& record,
                  ObjectFactory& factory, StorageLoader storages);

}  // namespace torchlet::archive
