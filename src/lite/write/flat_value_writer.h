// The values of a flatbuffer's module, written one by one: what FlatValues reads.
#pragma once

#include <torchlet/value.h>

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "archive/pickle_writer.h"
#include "lite/flat_schema.h"
#include "lite/write/flat_builder.h"

namespace torchlet::lite {

class FlatValueWriter {
 public:
  FlatValueWriter(FlatBuilder& builder, archive::StateOf state_of);

  // The number of the value in the list of all. Equal plain values share one, and so do others
  // that are the same. Error kUnsupported for what a flatbuffer cannot hold, kRuntime for what is
  // nested too deeply or contains itself.
  uint32_t value(const Value& value);
  // A function takes a number, too. Objects whose class has it as __setstate__ come after it.
  uint32_t function(const std::string& qualified_name, FlatBuilder::Offset content);
  // The number of a class.
  uint32_t class_number(const ClassType& type);

  uint32_t count() const { return static_cast<uint32_t>(values_.size()); }
  const std::vector<FlatBuilder::Offset>& values() const { return values_; }
  const std::vector<FlatBuilder::Offset>& classes() const { return classes_; }
  const std::vector<Ref<Storage>>& storages() const { return storages_.storages(); }

 private:
  using Offset = FlatBuilder::Offset;
  using Content = std::pair<flat::ValueKind, Offset>;

  uint32_t add(flat::ValueKind kind, Offset content);
  std::vector<uint32_t> numbers_of(const std::vector<Value>& values);
  Content plain(const Value& value);
  Content shared(const Value& value);
  Content list(const List& list);
  Content dict(const Dict& dict);
  Content object(const Value& value);
  Content custom_object(const Value& value);
  Offset tensor(const TensorImpl& tensor);
  Offset quantizer(const Quantizer& quantizer);
  uint32_t add_class(const std::string& name, flat::ClassKind kind,
                     const std::vector<std::string>& attributes);
  // The number of Class.__setstate__; 0 if it is no function of the file.
  uint32_t set_state_of(const std::string& class_name) const;

  FlatBuilder& builder_;
  const archive::StateOf state_of_;
  archive::StorageTable storages_;
  std::vector<Offset> values_, classes_;
  std::map<std::pair<ValueKind, std::string>, uint32_t> plain_;
  std::unordered_map<const void*, uint32_t> shared_;
  std::unordered_map<std::string, uint32_t> functions_, class_numbers_;
  std::vector<Value> alive_;  // what was made on the way, so that no address comes twice
};

}  // namespace torchlet::lite
