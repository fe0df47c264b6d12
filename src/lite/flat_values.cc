#include "lite/flat_values.h"

#include <algorithm>
#include <complex>

#include "archive/stored_value.h"
#include "base/error.h"
#include "lite/flat_schema.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

using archive::kContainerCost;
using archive::kDictEntryCost;
using archive::kObjectCost;
using archive::ObjectFactory;
using flat::ClassKind;

// Good for every element type.
constexpr uintptr_t kAlignment = 16;

[[noreturn]] void refuse(const std::string& why) { fail(ErrorCode::kFileFormat, why); }

void check_depth(int depth) {
  if (depth > archive::kMaxPickleDepth) {
    refuse(format("values are nested more than %d deep", archive::kMaxPickleDepth));
  }
}

// The bytes of the file that are not those of tensors.
size_t size_without(const FlatVector& storages, size_t size) {
  for (size_t i = 0; i < storages.size(); ++i) {
    size -= std::min(size, storages.table(i).vector(flat::storage::kData, 1).size());
  }
  return size;
}

IntArray integers(const FlatVector& vector) {
  if (vector.size() > static_cast<size_t>(kMaxDims)) refuse("a tensor has too many dimensions");
  IntArray result;
  for (size_t i = 0; i < vector.size(); ++i) result.push_back(vector.number<int32_t>(i));
  return result;
}

DType dtype_of(const FlatTable& tensor) {
  const int number = tensor.number<int8_t>(flat::tensor::kDType);
  if (number < 0 || number >= kNumDTypes) {
    fail(ErrorCode::kUnsupported, "a tensor is of the dtype %d, which Torchlet does not have",
         number);
  }
  return static_cast<DType>(number);
}

}  // namespace

FlatValues::FlatValues(std::span<std::byte> file, std::shared_ptr<void> keep_alive,
                       const FlatTable& module)
    : file_(file),
      keep_alive_(std::move(keep_alive)),
      values_(module.vector(flat::module::kValues, sizeof(uint32_t))),
      storages_(module.vector(flat::module::kStorages, sizeof(uint32_t))),
      classes_(module.vector(flat::module::kClasses, sizeof(uint32_t))),
      budget_(size_without(storages_, file.size())) {
  charge(values_.size() * sizeof(Slot));
  slots_.resize(values_.size());
  charge(storages_.size() * sizeof(Ref<Storage>));
  made_storages_.resize(storages_.size());
  charge(classes_.size() * sizeof(ClassEntry));
  made_classes_.resize(classes_.size());
}

std::optional<FlatTable> FlatValues::find_function(size_t index) const {
  const FlatTable table = values_.table(index);
  const auto kind = static_cast<flat::ValueKind>(table.number<uint8_t>(flat::value::kKind));
  if (kind != flat::ValueKind::kFunction) return std::nullopt;
  return table.table(flat::value::kContent);
}

Value FlatValues::value(uint32_t index, size_t end, ObjectFactory& factory) {
  Making outside{end, 0, 1, factory};
  try {
    return part(outside, index);
  } catch (Error& error) {
    error.add_context(format("in value %zu of the flatbuffer", current_));
    throw;
  }
}

TypePtr FlatValues::type(std::string_view text, ObjectFactory& factory) {
  TypePtr& type = types_[text.data()];
  if (!type) {
    charge(kObjectCost + text.size() * sizeof(Type));
    type = factory.parse_type(text);
  }
  return type;
}

const Value& FlatValues::part(Making& whole, uint32_t index) {
  if (index >= whole.index) {
    refuse(format("value %u is used before it is there", static_cast<unsigned>(index)));
  }
  Slot& slot = slots_[index];
  if (slot.depth == 0) {
    Making making{index, whole.level + 1, 1, whole.factory};
    check_depth(making.level);
    current_ = index;
    slot.value = make(making);
    current_ = whole.index;
    check_depth(making.depth);
    slot.depth = making.depth;
  }
  whole.depth = std::max(whole.depth, slot.depth + 1);
  return slot.value;
}

std::vector<Value> FlatValues::parts(Making& whole, const FlatVector& indices) {
  charge(kContainerCost + indices.size() * sizeof(Value));
  std::vector<Value> result;
  result.reserve(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    result.push_back(part(whole, indices.number<uint32_t>(i)));
  }
  return result;
}

Value FlatValues::make(Making& making) {
  using flat::ValueKind;
  const FlatTable table = values_.table(making.index);
  const auto structure = [&](size_t size) { return table.structure(flat::value::kContent, size); };
  const auto content = [&] { return table.table(flat::value::kContent); };
  switch (static_cast<ValueKind>(table.number<uint8_t>(flat::value::kKind))) {
    case ValueKind::kNone:
      return Value();
    case ValueKind::kInt:
      return flat_number<int64_t>(structure(8));
    case ValueKind::kBool:
      return flat_number<uint8_t>(structure(1)) != 0;
    case ValueKind::kFloat:
      return flat_number<double>(structure(8));
    case ValueKind::kComplex: {
      charge(kContainerCost);
      const FlatBytes parts = structure(16);
      return std::complex<double>(flat_number<double>(parts),
                                  flat_number<double>(parts.subspan(8)));
    }
    case ValueKind::kTensor:
      return tensor(content());
    case ValueKind::kString: {
      const std::string_view text = content().text(flat::kText);
      charge(kContainerCost + text.size());
      return text;
    }
    case ValueKind::kDevice:
      charge(kContainerCost);
      return archive::stored_device(std::string(content().text(flat::kText).substr(0, 100)));
    case ValueKind::kTuple:
      return Value::tuple(parts(making, content().vector(flat::kItems, sizeof(uint32_t))));
    case ValueKind::kList:
      return make_list(making, content());
    case ValueKind::kIntList:
      return make_numbers<int64_t>(content(), types::integer());
    case ValueKind::kFloatList:
      return make_numbers<double>(content(), types::floating());
    case ValueKind::kBoolList:
      return make_numbers<uint8_t>(content(), types::boolean());
    case ValueKind::kDict:
      return make_dict(making, content());
    case ValueKind::kObject:
      return make_object(making, content());
    case ValueKind::kEnum:
      return make_enum(making, content());
    case ValueKind::kFunction:
      refuse("a function stands where a value is expected");
  }
  refuse("it is of a kind that Torchlet does not know");
}

Value FlatValues::make_list(Making& making, const FlatTable& list) {
  const TypePtr declared = type(list.text(flat::list::kType), making.factory);
  if (!declared->is(TypeKind::kList)) refuse("a list is of the type " + declared->str());
  return torchlet::make_list(declared->element(0),
                             parts(making, list.vector(flat::kItems, sizeof(uint32_t))));
}

template <typename T>
Value FlatValues::make_numbers(const FlatTable& list, const TypePtr& type) {
  const FlatVector numbers = list.vector(flat::kItems, sizeof(T));
  charge(kContainerCost + numbers.size() * sizeof(Value));
  std::vector<Value> items;
  items.reserve(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const T number = numbers.number<T>(i);
    items.push_back(type->is(TypeKind::kBool) ? Value(number != 0) : Value(number));
  }
  return torchlet::make_list(type, std::move(items));
}

Value FlatValues::make_dict(Making& making, const FlatTable& dict) {
  const TypePtr declared = type(dict.text(flat::dict::kType), making.factory);
  if (!declared->is(TypeKind::kDict)) refuse("a dict is of the type " + declared->str());
  const std::vector<Value> keys = parts(making, dict.vector(flat::dict::kKeys, sizeof(uint32_t)));
  const std::vector<Value> values =
      parts(making, dict.vector(flat::dict::kValues, sizeof(uint32_t)));
  if (keys.size() != values.size()) refuse("a dict has a key without a value");
  const auto result = make_ref<Dict>(declared->element(0), declared->element(1));
  for (size_t i = 0; i < keys.size(); ++i) {
    const Value& key = keys[i];
    if (!key.is_scalar() && !key.is_string() && !key.is_tensor() && !key.is_device()) {
      refuse(std::string(key.kind_name()) + " is the key of a dict");
    }
    charge(kDictEntryCost);
    result->set(key, values[i]);
  }
  return Value(result);
}

// The factory knows classes with a __setstate__ by themselves, as it does for pickles: it gets what
// __getstate__ returned for one of them, and for others a dict of their attributes.
Value FlatValues::make_object(Making& making, const FlatTable& object) {
  charge(kObjectCost);
  const ClassEntry& entry =
      class_entry(object.number<uint32_t>(flat::object::kClass), making.factory);
  if (!entry.has_fields) {
    return making.factory.build_object(entry.type,
                                       part(making, object.number<uint32_t>(flat::object::kState)));
  }
  const std::vector<Value> values =
      parts(making, object.vector(flat::object::kAttributes, sizeof(uint32_t)));
  if (values.size() != entry.field_names.size()) {
    refuse(format("an object of %s has %zu attributes instead of %zu", entry.type->name().c_str(),
                  values.size(), entry.field_names.size()));
  }
  const auto state = make_ref<Dict>(types::string(), types::any());
  for (size_t i = 0; i < values.size(); ++i) {
    charge(kDictEntryCost);
    state->set(entry.field_names[i], values[i]);
  }
  if (state->size() != values.size()) refuse(entry.type->name() + " has an attribute twice");
  return making.factory.build_object(entry.type, Value(state));
}

const FlatValues::ClassEntry& FlatValues::class_entry(uint32_t index, ObjectFactory& factory) {
  if (index >= made_classes_.size()) refuse(format("there is no class %u", unsigned{index}));
  ClassEntry& entry = made_classes_[index];
  if (entry.type) return entry;
  const FlatTable table = classes_.table(index);
  const auto kind = static_cast<ClassKind>(table.number<uint8_t>(flat::class_type::kKind));
  if (kind == ClassKind::kUnset || kind >= ClassKind::kNoClass) {
    refuse(format("an object is of class %u, which is none", unsigned{index}));
  }
  const FlatVector names = table.vector(flat::class_type::kAttributeNames, sizeof(uint32_t));
  std::vector<Value> field_names;
  for (size_t i = 0; i < names.size(); ++i) {
    charge(kContainerCost + names.text(i).size());
    field_names.emplace_back(names.text(i));
  }
  const std::string name(table.text(flat::class_type::kName));
  charge(kObjectCost + name.size());
  TypePtr type = factory.resolve_class(name);
  if (!type) refuse("there is no class " + name.substr(0, 200) + " in the model");
  entry = {std::move(type), kind == ClassKind::kWithFields, std::move(field_names)};
  return entry;
}

Value FlatValues::make_enum(Making& making, const FlatTable& member) {
  charge(kObjectCost);
  const std::string_view name = member.text(flat::enum_value::kClass);
  const TypePtr declared = type(name, making.factory);
  if (!declared->is(TypeKind::kEnum)) {
    fail(ErrorCode::kUnsupported, "the file does not tell the members of the enum " +
                                      std::string(name.substr(0, 200)) +
                                      "; save the model with torch.jit.save");
  }
  return making.factory.build_enum(declared,
                                   part(making, member.number<uint32_t>(flat::enum_value::kValue)));
}

Tensor FlatValues::plain_tensor(const FlatTable& table) {
  charge(kObjectCost);
  const auto index = table.number<uint32_t>(flat::tensor::kStorage);
  Tensor result = archive::stored_tensor(storage(index), std::to_string(index), dtype_of(table),
                                         integers(table.vector(flat::tensor::kSizes, 4)),
                                         integers(table.vector(flat::tensor::kStrides, 4)),
                                         table.number<int32_t>(flat::tensor::kOffset));
  result.impl()->requires_grad = table.number<uint8_t>(flat::tensor::kRequiresGrad) != 0;
  return result;
}

Tensor FlatValues::tensor(const FlatTable& table) {
  Tensor result = plain_tensor(table);
  const std::optional<FlatTable> quantizer = table.find_table(flat::tensor::kQuantizer);
  if (result.is_quantized() != quantizer.has_value()) {
    refuse("a tensor has a quantized type without a quantizer, or a quantizer without such a type");
  }
  if (!quantizer) return result;
  const int number = quantizer->number<int8_t>(flat::quantizer::kScheme);
  const auto scheme = static_cast<QScheme>(number);
  if (number < 0 || scheme > QScheme::kPerChannelAffineFloatQParams) {
    refuse(format("there is no quantization scheme %d", number));
  }
  if (scheme == QScheme::kPerTensorAffine || scheme == QScheme::kPerTensorSymmetric) {
    result.impl()->quantizer = archive::stored_quantizer(
        result, scheme, quantizer->number<double>(flat::quantizer::kScale),
        quantizer->number<int32_t>(flat::quantizer::kZeroPoint));
    return result;
  }
  const Tensor scales = plain_tensor(quantizer->table(flat::quantizer::kScales));
  const Tensor zero_points = plain_tensor(quantizer->table(flat::quantizer::kZeroPoints));
  if (scales.is_quantized() || zero_points.is_quantized()) refuse("a quantizer is quantized");
  charge(static_cast<size_t>(scales.numel()) * 2 * sizeof(double));
  result.impl()->quantizer = archive::stored_quantizer(
      result, scheme, scales, zero_points, quantizer->number<int32_t>(flat::quantizer::kAxis));
  return result;
}

const Ref<Storage>& FlatValues::storage(uint32_t index) {
  if (index >= made_storages_.size()) refuse(format("there is no storage %u", unsigned{index}));
  Ref<Storage>& made = made_storages_[index];
  if (made) return made;
  const FlatBytes data = storages_.table(index).vector(flat::storage::kData, 1).bytes();
  charge(kObjectCost);
  if (data.empty()) {
    made = make_ref<Storage>(0);
  } else if (reinterpret_cast<uintptr_t>(data.data()) % kAlignment == 0) {
    std::byte* const begin = file_.data() + (data.data() - file_.data());
    made = make_ref<Storage>(begin, data.size(), keep_alive_);
  } else {
    charge(data.size());
    made = make_ref<Storage>(data.size());
    std::memcpy(made->data(), data.data(), data.size());
  }
  return made;
}

}  // namespace torchlet::lite
