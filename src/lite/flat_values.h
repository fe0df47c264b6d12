// The values of a flatbuffer's module, which lie in one list and name each other by their indices.
#pragma once

#include <torchlet/value.h>

#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "archive/file_budget.h"
#include "archive/pickle.h"
#include "lite/flat_table.h"
#include "tensor/storage.h"

namespace torchlet::lite {

// A value is made when it is first asked for, and once: who asks again shares it. Errors are
// kFileFormat or what the factory throws, and tell the index of the value.
class FlatValues {
 public:
  // Tensors use the bytes of `file` in place, which `keep_alive` keeps there.
  FlatValues(std::span<std::byte> file, std::shared_ptr<void> keep_alive, const FlatTable& module);

  size_t size() const { return slots_.size(); }
  // The value of an index below `end`: what is held comes before what holds it, so there are no
  // cycles.
  Value value(uint32_t index, size_t end, archive::ObjectFactory& factory);
  // The function of an index, which is no value; nothing if it is a value.
  std::optional<FlatTable> find_function(size_t index) const;
  TypePtr type(std::string_view text, archive::ObjectFactory& factory);
  // What is made of the file besides counts, too.
  void charge(size_t cost) { budget_.charge(cost); }

 private:
  struct Slot {
    Value value;
    int depth = 0;  // of what it nests; 0 until it is made
  };
  // A value that is being made.
  struct Making {
    size_t index;
    int level;      // values that are being made for each other
    int depth = 1;  // so far
    archive::ObjectFactory& factory;
  };
  struct ClassEntry {
    TypePtr type;  // null until it is asked for
    bool has_fields = false;
    std::vector<Value> field_names;
  };

  const Value& part(Making& whole, uint32_t index);
  std::vector<Value> parts(Making& whole, const FlatVector& indices);
  Value make(Making& making);
  Value make_list(Making& making, const FlatTable& list);
  template <typename T>
  Value make_numbers(const FlatTable& list, const TypePtr& type);
  Value make_dict(Making& making, const FlatTable& dict);
  Value make_object(Making& making, const FlatTable& object);
  Value make_enum(Making& making, const FlatTable& member);
  const ClassEntry& class_entry(uint32_t index, archive::ObjectFactory& factory);
  Tensor plain_tensor(const FlatTable& table);
  Tensor tensor(const FlatTable& table);
  const Ref<Storage>& storage(uint32_t index);

  std::span<std::byte> file_;
  std::shared_ptr<void> keep_alive_;
  FlatVector values_, storages_, classes_;
  archive::FileBudget budget_;
  std::vector<Slot> slots_;
  std::vector<Ref<Storage>> made_storages_;
  std::vector<ClassEntry> made_classes_;
  std::unordered_map<const char*, TypePtr> types_;  // by where the text lies
  size_t current_ = 0;                              // the value that is being made
};

}  // namespace torchlet::lite
