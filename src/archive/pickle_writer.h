// Writes values as pickles that PyTorch reads: protocol 2, as
// torch/csrc/jit/serialization/pickler.cpp writes it.
#pragma once

#include <torchlet/value.h>

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::archive {

// What __getstate__ gives for an object, of a class that has one or a C++ class. The state of any
// other object is a dict of its attributes.
using StateOf = std::function<Value(const Value& object)>;

// The storages of tensors in the order in which they were first met.
class StorageTable {
 public:
  // Tensors that share memory share a number.
  size_t number_of(const Ref<Storage>& storage);
  const std::vector<Ref<Storage>>& storages() const { return storages_; }

 private:
  std::vector<Ref<Storage>> storages_;
  std::unordered_map<const Storage*, size_t> numbers_;
};

class PickleWriter {
 public:
  // The bytes of `storages` are the records "0", "1", ... that the pickle speaks of; several
  // pickles may share them.
  PickleWriter(StateOf state_of, StorageTable& storages)
      : state_of_(std::move(state_of)), storages_(storages) {}

  // The pickle. Values that are shared in `value` are written once. Error kUnsupported for what no
  // pickle of TorchScript can hold, kRuntime for what is nested too deeply or contains itself.
  std::string write(const Value& value);

 private:
  void op(char code) { out_ += code; }
  void value(const Value& value);
  void integer(int64_t number);
  void real(double number);
  void string(const std::string& text);
  void global(const std::string& module, const std::string& name);
  void qualified(std::string_view name);
  void integers(IntSpan numbers);
  void list(const List& list);
  void dict(const Dict& dict);
  void type_tag(const TypePtr& type);
  void tuple(const std::vector<Value>& items);
  void object(const Value& object);
  void custom_object(const Value& object);
  void enumeration(const EnumValue& value);
  void tensor(const Tensor& tensor);
  void strided_tensor(const TensorImpl& tensor);
  void sparse_tensor(const TensorImpl& tensor);
  void quantizer(const Quantizer& quantizer);
  void storage(const Ref<Storage>& storage, DType dtype);
  void end_of_tensor();
  // Writes what was written before as a reference to it. False if it was not.
  bool recall(const void* identity);
  bool recall(const std::string& text);
  void remember(const void* identity) { memo_.emplace(identity, put()); }
  size_t put();
  void get(size_t index);

  const StateOf state_of_;
  std::string out_;
  StorageTable& storages_;
  size_t next_memo_ = 0;
  std::unordered_map<const void*, size_t> memo_;
  std::unordered_map<std::string, size_t> memo_of_text_;
  std::vector<Value> alive_;  // what was made on the way, so that no address comes twice
};

}  // namespace torchlet::archive
