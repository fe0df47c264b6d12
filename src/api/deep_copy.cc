#include "api/deep_copy.h"

#include <cstring>
#include <unordered_map>

#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::api {
namespace {

class Copier {
 public:
  explicit Copier(bool detached) : detached_(detached) {}

  Value copy(const Value& value) {
    switch (value.kind()) {
      case ValueKind::kTensor:
      case ValueKind::kList:
      case ValueKind::kTuple:
      case ValueKind::kDict:
      case ValueKind::kObject: {
        const auto found = copies_.find(value.raw_int());
        return found != copies_.end() ? found->second : copy_new(value);
      }
      default:
        return value;
    }
  }

 private:
  // Registered before the items are copied, so that a cycle finds it.
  Value copy_new(const Value& value) {
    const DepthGuard guard;
    Value& result = copies_[value.raw_int()];
    switch (value.kind()) {
      case ValueKind::kTensor:
        return result = Value(copy_tensor(value.to_tensor()));
      case ValueKind::kTuple: {
        std::vector<Value> items;
        for (const Value& item : value.tuple_ref().items) items.push_back(copy(item));
        return copies_[value.raw_int()] =
                   Value(make_ref<Tuple>(std::move(items), value.tuple_ref().type));
      }
      case ValueKind::kList: {
        auto list = make_ref<List>(value.list_ref().element_type, std::vector<Value>());
        result = Value(list);
        for (const Value& item : value.list_ref().items) list->items.push_back(copy(item));
        return Value(list);
      }
      case ValueKind::kDict: {
        auto dict = make_ref<Dict>(value.dict_ref().key_type, value.dict_ref().value_type);
        result = Value(dict);
        for (const auto& [key, item] : value.dict_ref().items()) dict->set(copy(key), copy(item));
        return Value(dict);
      }
      default: {
        auto object = make_ref<Object>(value.object_ref().type);
        result = Value(object);
        const std::vector<Value>& slots = value.object_ref().slots;
        object->slots.resize(slots.size());
        for (size_t i = 0; i < slots.size(); ++i) object->slots[i] = copy(slots[i]);
        return Value(object);
      }
    }
  }

  Tensor copy_tensor(const Tensor& tensor) {
    const TensorImpl& from = *tensor.impl();
    auto made = make_ref<TensorImpl>();
    made->dtype = from.dtype;
    made->requires_grad = from.requires_grad && !detached_;
    made->storage_offset = from.storage_offset;
    made->numel = from.numel;
    made->sizes = from.sizes;
    made->strides = from.strides;
    made->quantizer = from.quantizer;
    if (from.storage) made->storage = copy_storage(from.storage);
    if (from.sparse) {
      made->sparse = std::make_shared<const SparseParts>(
          SparseParts{copy_tensor(from.sparse->indices), copy_tensor(from.sparse->values),
                      from.sparse->coalesced, from.sparse->layout});
    }
    if (from.nested) {
      std::vector<Tensor> parts;
      for (const Tensor& part : *from.nested) parts.push_back(copy_tensor(part));
      made->nested = std::make_shared<const std::vector<Tensor>>(std::move(parts));
    }
    return Tensor(std::move(made));
  }

  Ref<Storage> copy_storage(const Ref<Storage>& storage) {
    if (detached_) return storage;
    Ref<Storage>& made = storages_[storage.get()];
    if (!made) {
      made = make_ref<Storage>(storage->nbytes());
      if (storage->nbytes()) std::memcpy(made->data(), storage->data(), storage->nbytes());
    }
    return made;
  }

  const bool detached_;
  std::unordered_map<int64_t, Value> copies_;  // by address
  std::unordered_map<const Storage*, Ref<Storage>> storages_;
};

}  // namespace

Value deep_copy(const Value& value) { return Copier(false).copy(value); }
Value detached_copy(const Value& value) { return Copier(true).copy(value); }

}  // namespace torchlet::api
