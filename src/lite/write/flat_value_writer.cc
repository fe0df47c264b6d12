#include "lite/write/flat_value_writer.h"

#include <limits>

#include "base/error.h"
#include "lite/write/code_tables.h"
#include "lite/write/identity.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::lite {
namespace {

using flat::ValueKind;
using Offset = FlatBuilder::Offset;
using Table = FlatBuilder::Table;
using Kind = torchlet::ValueKind;

template <typename T>
Offset structure(FlatBuilder& builder, const T& value, size_t alignment = sizeof(T)) {
  return builder.structure(std::as_bytes(std::span(&value, 1)), alignment);
}

int32_t narrow(int64_t number) {
  if (number < 0 || number > std::numeric_limits<int32_t>::max()) {
    fail(ErrorCode::kUnsupported,
         "a flatbuffer cannot hold a tensor with a size, stride or offset of %lld; write a .ptl "
         "instead",
         static_cast<long long>(number));
  }
  return static_cast<int32_t>(number);
}

std::vector<int32_t> narrow(IntSpan numbers) {
  std::vector<int32_t> result;
  for (const int64_t number : numbers) result.push_back(narrow(number));
  return result;
}

}  // namespace

FlatValueWriter::FlatValueWriter(FlatBuilder& builder, archive::StateOf state_of)
    : builder_(builder), state_of_(std::move(state_of)) {
  value(Value());  // number 0, which stands for "none" everywhere
}

uint32_t FlatValueWriter::add(ValueKind kind, Offset content) {
  values_.push_back(builder_.table(Table()
                                       .number(flat::value::kKind, static_cast<uint8_t>(kind))
                                       .offset(flat::value::kContent, content)));
  return count() - 1;
}

uint32_t FlatValueWriter::value(const Value& value) {
  const DepthGuard guard;
  if (const std::optional<std::string> content = plain_identity(value)) {
    const auto known = plain_.find({value.kind(), *content});
    if (known != plain_.end()) return known->second;
    const auto [kind, offset] = plain(value);
    return plain_[{value.kind(), *content}] = add(kind, offset);
  }
  const void* identity = identity_of(value);
  const auto known = shared_.find(identity);
  if (known != shared_.end()) return known->second;
  alive_.push_back(value);
  const auto [kind, offset] = shared(value);
  return shared_[identity] = add(kind, offset);
}

FlatValueWriter::Content FlatValueWriter::plain(const Value& value) {
  switch (value.kind()) {
    case Kind::kBool:
      return {ValueKind::kBool, structure(builder_, static_cast<uint8_t>(value.to_bool()))};
    case Kind::kInt:
      return {ValueKind::kInt, structure(builder_, value.to_int())};
    case Kind::kFloat:
      return {ValueKind::kFloat, structure(builder_, value.to_double())};
    case Kind::kComplex:
      return {ValueKind::kComplex, structure(builder_, value.to_complex(), sizeof(double))};
    case Kind::kString:
    case Kind::kDevice: {
      const Offset text = builder_.text(value.to_string());
      return {value.kind() == Kind::kString ? ValueKind::kString : ValueKind::kDevice,
              builder_.table(Table().offset(flat::kText, text))};
    }
    default:
      return {ValueKind::kNone, {}};
  }
}

FlatValueWriter::Content FlatValueWriter::shared(const Value& value) {
  switch (value.kind()) {
    case Kind::kTensor:
      return {ValueKind::kTensor, tensor(*value.to_tensor().impl())};
    case Kind::kList:
      return list(value.list_ref());
    case Kind::kDict:
      return dict(value.dict_ref());
    case Kind::kTuple: {
      const Offset items = builder_.numbers(numbers_of(value.tuple_ref().items));
      return {ValueKind::kTuple, builder_.table(Table().offset(flat::kItems, items))};
    }
    case Kind::kObject:
      return object(value);
    case Kind::kCustom:
      return custom_object(value);
    default:
      fail(ErrorCode::kUnsupported, "%s cannot be written to a flatbuffer", value.kind_name());
  }
}

std::vector<uint32_t> FlatValueWriter::numbers_of(const std::vector<Value>& values) {
  std::vector<uint32_t> numbers;
  for (const Value& each : values) numbers.push_back(value(each));
  return numbers;
}

// ---- containers ----

FlatValueWriter::Content FlatValueWriter::list(const List& list) {
  const auto numbers = [&]<typename T>(ValueKind kind, T (Value::*number)() const) -> Content {
    std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>> items;
    for (const Value& item : list.items) items.push_back((item.*number)());
    const Offset vector = builder_.numbers(items);
    return {kind, builder_.table(Table().offset(flat::kItems, vector))};
  };
  switch (list.element_type->kind()) {
    case TypeKind::kInt:
      return numbers(ValueKind::kIntList, &Value::to_int);
    case TypeKind::kFloat:
      return numbers(ValueKind::kFloatList, &Value::to_double);
    case TypeKind::kBool:
      return numbers(ValueKind::kBoolList, &Value::to_bool);
    default:
      break;
  }
  const Offset items = builder_.numbers(numbers_of(list.items));
  const Offset type = builder_.text(type_text(*types::list(list.element_type)));
  return {ValueKind::kList,
          builder_.table(
              Table().offset(flat::list::kListItems, items).offset(flat::list::kType, type))};
}

FlatValueWriter::Content FlatValueWriter::dict(const Dict& dict) {
  std::vector<uint32_t> keys, values;
  for (const auto& [key, item] : dict.items()) {
    keys.push_back(value(key));
    values.push_back(value(item));
  }
  const Offset key_offset = builder_.numbers(keys), value_offset = builder_.numbers(values);
  const Offset type = builder_.text(type_text(*types::dict(dict.key_type, dict.value_type)));
  return {ValueKind::kDict, builder_.table(Table()
                                               .offset(flat::dict::kKeys, key_offset)
                                               .offset(flat::dict::kValues, value_offset)
                                               .offset(flat::dict::kType, type))};
}

// ---- objects ----

uint32_t FlatValueWriter::function(const std::string& qualified_name, Offset content) {
  return functions_[qualified_name] = add(ValueKind::kFunction, content);
}

uint32_t FlatValueWriter::set_state_of(const std::string& class_name) const {
  const auto found = functions_.find(class_name + ".__setstate__");
  return found == functions_.end() ? 0 : found->second;
}

uint32_t FlatValueWriter::add_class(const std::string& name, flat::ClassKind kind,
                                    const std::vector<std::string>& attributes) {
  const auto [found, is_new] =
      class_numbers_.try_emplace(name, static_cast<uint32_t>(classes_.size()));
  if (!is_new) return found->second;
  std::vector<Offset> names;
  for (const std::string& attribute : attributes) names.push_back(builder_.text(attribute));
  const Offset attribute_names = builder_.offsets(names), class_name = builder_.text(name);
  classes_.push_back(
      builder_.table(Table()
                         .offset(flat::class_type::kName, class_name)
                         .number(flat::class_type::kKind, static_cast<uint8_t>(kind))
                         .offset(flat::class_type::kAttributeNames, attribute_names)));
  return found->second;
}

uint32_t FlatValueWriter::class_number(const ClassType& type) {
  if (type.find_method("__getstate__")) {
    return add_class(type.name(), flat::ClassKind::kWithSetState, {});
  }
  std::vector<std::string> names;
  for (const ClassType::Attribute& attribute : type.attributes()) names.push_back(attribute.name);
  return add_class(type.name(), flat::ClassKind::kWithFields, names);
}

FlatValueWriter::Content FlatValueWriter::object(const Value& value) {
  const Object& object = value.object_ref();
  Table table;
  if (object.type->find_method("__getstate__")) {
    alive_.push_back(state_of_(value));
    table.number(flat::object::kState, this->value(Value(alive_.back())));
    table.number(flat::object::kSetState, set_state_of(object.type->name()));
  } else {
    table.offset(flat::object::kAttributes, builder_.numbers(numbers_of(object.slots)));
  }
  table.number(flat::object::kClass, class_number(*object.type));
  return {ValueKind::kObject, builder_.table(std::move(table))};
}

FlatValueWriter::Content FlatValueWriter::custom_object(const Value& value) {
  alive_.push_back(state_of_(value));
  const uint32_t state = this->value(Value(alive_.back()));
  const std::string name(value.custom_ref().class_name());
  const uint32_t number = add_class(name, flat::ClassKind::kCustom, {});
  return {ValueKind::kObject,
          builder_.table(
              Table().number(flat::object::kClass, number).number(flat::object::kState, state))};
}

// ---- tensors ----

Offset FlatValueWriter::tensor(const TensorImpl& tensor) {
  if (tensor.sparse || tensor.nested || tensor.storage->is_meta()) {
    fail(ErrorCode::kUnsupported,
         "a flatbuffer holds no sparse or nested tensors and none without memory");
  }
  const Offset quantizer = tensor.quantizer ? this->quantizer(*tensor.quantizer) : Offset();
  const Offset sizes = builder_.numbers(narrow(tensor.sizes));
  const Offset strides = builder_.numbers(narrow(tensor.strides));
  const auto storage = static_cast<uint32_t>(storages_.number_of(tensor.storage));
  namespace fields = flat::tensor;
  return builder_.table(Table()
                            .number(fields::kStorage, storage)
                            .number(fields::kDType, static_cast<int8_t>(tensor.dtype))
                            .number(fields::kOffset, narrow(tensor.storage_offset))
                            .offset(fields::kSizes, sizes)
                            .offset(fields::kStrides, strides)
                            .number(fields::kRequiresGrad, tensor.requires_grad)
                            .offset(fields::kQuantizer, quantizer));
}

Offset FlatValueWriter::quantizer(const Quantizer& quantizer) {
  namespace fields = flat::quantizer;
  Table table;
  table.number(fields::kScheme, static_cast<int8_t>(quantizer.qscheme));
  if (quantizer.per_tensor()) {
    table.number(fields::kScale, quantizer.scale);
    table.number(fields::kZeroPoint, static_cast<int32_t>(quantizer.zero_point));
  } else {
    table.offset(fields::kScales, tensor(*quantizer.scales.impl()));
    table.offset(fields::kZeroPoints, tensor(*quantizer.zero_points.impl()));
    table.number(fields::kAxis, narrow(quantizer.axis));
  }
  return builder_.table(std::move(table));
}

}  // namespace torchlet::lite
