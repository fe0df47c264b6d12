#include "archive/pickle_writer.h"

#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "tensor/containers.h"
#include "tensor/tensor_text.h"

namespace torchlet::archive {
namespace {

// The opcodes of CPython's Lib/pickle.py.
namespace code {
constexpr char kProto = '\x80', kStop = '.', kMark = '(', kNone = 'N', kTrue = '\x88',
               kFalse = '\x89', kInt1 = 'K', kInt2 = 'M', kInt4 = 'J', kLong1 = '\x8a',
               kFloat = 'G', kUnicode = 'X', kGlobal = 'c', kReduce = 'R', kNewObject = '\x81',
               kBuild = 'b', kPersistentId = 'Q', kTuple = 't', kEmptyTuple = ')', kTuple1 = '\x85',
               kTuple2 = '\x86', kTuple3 = '\x87', kEmptyList = ']', kAppends = 'e',
               kEmptyDict = '}', kSetItems = 'u', kPut1 = 'q', kPut4 = 'r', kGet1 = 'h',
               kGet4 = 'j';
}  // namespace code

template <typename T>
void put_little_endian(std::string& out, T number) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out += static_cast<char>(static_cast<uint64_t>(number) >> (8 * i));
  }
}

// The function that builds a list of them; null for lists that carry their type in another way.
const char* list_builder(const Type& element) {
  switch (element.kind()) {
    case TypeKind::kInt:
      return "build_intlist";
    case TypeKind::kFloat:
      return "build_doublelist";
    case TypeKind::kBool:
      return "build_boollist";
    case TypeKind::kTensor:
      return "build_tensorlist";
    default:
      return nullptr;
  }
}

}  // namespace

size_t StorageTable::number_of(const Ref<Storage>& storage) {
  const auto [known, is_new] = numbers_.emplace(storage.get(), storages_.size());
  if (is_new) storages_.push_back(storage);
  return known->second;
}

std::string PickleWriter::write(const Value& value) {
  op(code::kProto);
  op(2);
  this->value(value);
  op(code::kStop);
  return std::move(out_);
}

void PickleWriter::value(const Value& value) {
  const DepthGuard guard;
  switch (value.kind()) {
    case ValueKind::kNone:
      return op(code::kNone);
    case ValueKind::kBool:
      return op(value.to_bool() ? code::kTrue : code::kFalse);
    case ValueKind::kInt:
      return integer(value.to_int());
    case ValueKind::kFloat:
      return real(value.to_double());
    case ValueKind::kString:
      return string(value.to_string());
    case ValueKind::kComplex: {
      global("builtins", "complex");
      real(value.to_complex().real());
      real(value.to_complex().imag());
      op(code::kTuple2);
      return op(code::kReduce);
    }
    case ValueKind::kDevice:
      global("torch", "device");
      string(value.to_string());
      op(code::kTuple1);
      return op(code::kReduce);
    case ValueKind::kTensor:
      return tensor(value.to_tensor());
    case ValueKind::kList:
      return list(value.list_ref());
    case ValueKind::kDict:
      return dict(value.dict_ref());
    case ValueKind::kTuple: {
      const Tuple& held = value.tuple_ref();
      if (recall(&held)) return;
      tuple(held.items);
      return remember(&held);
    }
    case ValueKind::kObject:
      return object(value);
    case ValueKind::kCustom:
      return custom_object(value);
    case ValueKind::kEnum:
      return enumeration(value.enum_ref());
    case ValueKind::kFuture:
    case ValueKind::kGenerator:
      break;
  }
  fail(ErrorCode::kUnsupported, "%s cannot be written to a file", value.kind_name());
}

// Plain values.

void PickleWriter::integer(int64_t number) {
  if (number >= 0 && number <= std::numeric_limits<uint8_t>::max()) {
    op(code::kInt1);
    put_little_endian(out_, static_cast<uint8_t>(number));
  } else if (number >= 0 && number <= std::numeric_limits<uint16_t>::max()) {
    op(code::kInt2);
    put_little_endian(out_, static_cast<uint16_t>(number));
  } else if (number >= std::numeric_limits<int32_t>::min() &&
             number <= std::numeric_limits<int32_t>::max()) {
    op(code::kInt4);
    put_little_endian(out_, static_cast<int32_t>(number));
  } else {
    op(code::kLong1);
    op(sizeof(number));
    put_little_endian(out_, number);
  }
}

void PickleWriter::real(double number) {
  op(code::kFloat);
  const auto bits = std::bit_cast<uint64_t>(number);
  for (int shift = 56; shift >= 0; shift -= 8) out_ += static_cast<char>(bits >> shift);
}

void PickleWriter::string(const std::string& text) {
  if (recall("s" + text)) return;
  if (text.size() > std::numeric_limits<uint32_t>::max()) {
    fail(ErrorCode::kUnsupported, "a string of over 4 GiB cannot be written to a file");
  }
  op(code::kUnicode);
  put_little_endian(out_, static_cast<uint32_t>(text.size()));
  out_ += text;
  memo_of_text_.emplace("s" + text, put());
}

void PickleWriter::global(const std::string& module, const std::string& name) {
  const std::string text = module + "\n" + name + "\n";
  if (recall("g" + text)) return;
  op(code::kGlobal);
  out_ += text;
  memo_of_text_.emplace("g" + text, put());
}

void PickleWriter::qualified(std::string_view name) {
  const size_t dot = name.rfind('.');
  global(std::string(name.substr(0, dot)), std::string(name.substr(dot + 1)));
}

size_t PickleWriter::put() {
  const size_t index = next_memo_++;
  if (index <= std::numeric_limits<uint8_t>::max()) {
    op(code::kPut1);
    put_little_endian(out_, static_cast<uint8_t>(index));
  } else {
    op(code::kPut4);
    put_little_endian(out_, static_cast<uint32_t>(index));
  }
  return index;
}

void PickleWriter::get(size_t index) {
  if (index <= std::numeric_limits<uint8_t>::max()) {
    op(code::kGet1);
    put_little_endian(out_, static_cast<uint8_t>(index));
  } else {
    op(code::kGet4);
    put_little_endian(out_, static_cast<uint32_t>(index));
  }
}

bool PickleWriter::recall(const void* identity) {
  const auto found = memo_.find(identity);
  if (found != memo_.end()) get(found->second);
  return found != memo_.end();
}

bool PickleWriter::recall(const std::string& text) {
  const auto found = memo_of_text_.find(text);
  if (found != memo_of_text_.end()) get(found->second);
  return found != memo_of_text_.end();
}

// Containers.

void PickleWriter::tuple(const std::vector<Value>& items) {
  if (items.empty()) return op(code::kEmptyTuple);
  if (items.size() > 3) op(code::kMark);
  for (const Value& item : items) value(item);
  constexpr char kBySize[] = {code::kTuple1, code::kTuple2, code::kTuple3};
  op(items.size() > 3 ? code::kTuple : kBySize[items.size() - 1]);
}

void PickleWriter::integers(IntSpan numbers) {
  op(code::kMark);
  for (const int64_t number : numbers) integer(number);
  op(code::kTuple);
}

void PickleWriter::type_tag(const TypePtr& type) {
  string(type->str());
  op(code::kTuple2);
  op(code::kReduce);
}

void PickleWriter::list(const List& list) {
  if (recall(&list)) return;
  const char* builder = list_builder(*list.element_type);
  global("torch.jit._pickle", builder ? builder : "restore_type_tag");
  op(code::kEmptyList);
  op(code::kMark);
  for (const Value& item : list.items) value(item);
  op(code::kAppends);
  if (builder) {
    op(code::kTuple1);
    op(code::kReduce);
  } else {
    type_tag(types::list(list.element_type));
  }
  remember(&list);
}

void PickleWriter::dict(const Dict& dict) {
  if (recall(&dict)) return;
  global("torch.jit._pickle", "restore_type_tag");
  op(code::kEmptyDict);
  op(code::kMark);
  for (const auto& [key, item] : dict.items()) {
    value(key);
    value(item);
  }
  op(code::kSetItems);
  type_tag(types::dict(dict.key_type, dict.value_type));
  remember(&dict);
}

// Objects.

void PickleWriter::object(const Value& object) {
  const Object& held = object.object_ref();
  if (recall(&held)) return;
  qualified(held.type->name());
  op(code::kEmptyTuple);
  op(code::kNewObject);
  if (held.type->find_method("__getstate__")) {
    alive_.push_back(state_of_(object));
    value(Value(alive_.back()));
  } else {
    op(code::kEmptyDict);
    op(code::kMark);
    for (size_t i = 0; i < held.slots.size(); ++i) {
      string(held.type->attributes()[i].name);
      value(held.slots[i]);
    }
    op(code::kSetItems);
  }
  op(code::kBuild);
  remember(&held);
}

void PickleWriter::custom_object(const Value& object) {
  const CustomObject& held = object.custom_ref();
  if (recall(&held)) return;
  qualified(held.class_name());
  op(code::kEmptyTuple);
  op(code::kNewObject);
  alive_.push_back(state_of_(object));
  value(Value(alive_.back()));
  op(code::kBuild);
  remember(&held);
}

void PickleWriter::enumeration(const EnumValue& held) {
  if (recall(&held)) return;
  qualified(held.type->name());
  value(held.value);
  op(code::kReduce);
  remember(&held);
}

// Tensors.

void PickleWriter::tensor(const Tensor& tensor) {
  const TensorImpl& held = *tensor.impl();
  if (recall(&held)) return;
  if (held.nested) fail(ErrorCode::kUnsupported, "a nested tensor cannot be written to a file");
  alive_.emplace_back(tensor);
  if (held.sparse) {
    sparse_tensor(held);
  } else {
    strided_tensor(held);
  }
  remember(&held);
}

void PickleWriter::strided_tensor(const TensorImpl& tensor) {
  global("torch._utils", tensor.quantizer ? "_rebuild_qtensor" : "_rebuild_tensor_v2");
  op(code::kMark);
  storage(tensor.storage, tensor.dtype);
  integer(tensor.storage_offset);
  integers(tensor.sizes);
  integers(tensor.strides);
  if (tensor.quantizer) quantizer(*tensor.quantizer);
  op(tensor.requires_grad ? code::kTrue : code::kFalse);
  end_of_tensor();
}

namespace {

const char* name_of(QScheme scheme) {
  switch (scheme) {
    case QScheme::kPerTensorAffine:
      return "per_tensor_affine";
    case QScheme::kPerChannelAffine:
      return "per_channel_affine";
    case QScheme::kPerTensorSymmetric:
      return "per_tensor_symmetric";
    case QScheme::kPerChannelSymmetric:
      return "per_channel_symmetric";
    case QScheme::kPerChannelAffineFloatQParams:
      return "per_channel_affine_float_qparams";
  }
  fail(ErrorCode::kInternal, "there is no such scheme of quantization");
}

}  // namespace

void PickleWriter::quantizer(const Quantizer& quantizer) {
  op(code::kMark);
  global("torch", name_of(quantizer.qscheme));
  if (quantizer.per_tensor()) {
    real(quantizer.scale);
    integer(quantizer.zero_point);
  } else {
    tensor(quantizer.scales);
    tensor(quantizer.zero_points);
    integer(quantizer.axis);
  }
  op(code::kTuple);
}

namespace {

// From the row of each value to where each row begins.
Tensor row_pointers(const Tensor& indices, int64_t rows) {
  const Tensor pointers = zeros(IntArray{rows + 1}, DType::kInt64);
  auto* begin = pointers.data_ptr<int64_t>();
  const auto* row = indices.data_ptr<int64_t>();
  for (int64_t i = 0; i < indices.size(1); ++i) ++begin[row[i] + 1];
  for (int64_t r = 0; r < rows; ++r) begin[r + 1] += begin[r];
  return pointers;
}

Tensor columns(const Tensor& indices) {
  const Tensor result = empty(IntArray{indices.size(1)}, DType::kInt64);
  std::memcpy(result.data_ptr<int64_t>(), indices.data_ptr<int64_t>() + indices.size(1),
              static_cast<size_t>(indices.size(1)) * sizeof(int64_t));
  return result;
}

}  // namespace

void PickleWriter::sparse_tensor(const TensorImpl& tensor) {
  const SparseParts& parts = *tensor.sparse;
  global("torch._utils", "_rebuild_sparse_tensor");
  op(code::kMark);
  integer(static_cast<int64_t>(parts.layout));
  integers(tensor.sizes);
  op(tensor.requires_grad ? code::kTrue : code::kFalse);
  if (parts.layout == Layout::kSparseCsr) {
    this->tensor(row_pointers(parts.indices, tensor.sizes[0]));
    this->tensor(columns(parts.indices));
  } else {
    this->tensor(parts.indices);
  }
  this->tensor(parts.values);
  end_of_tensor();
}

// No hooks.
void PickleWriter::end_of_tensor() {
  global("collections", "OrderedDict");
  op(code::kEmptyTuple);
  op(code::kReduce);
  op(code::kTuple);
  op(code::kReduce);
}

void PickleWriter::storage(const Ref<Storage>& storage, DType dtype) {
  if (storage->is_meta()) {
    fail(ErrorCode::kUnsupported, "a tensor without memory cannot be written to a file");
  }
  // A persistent id says of what type the elements are, so a storage that is seen as two has two.
  const std::string type = scalar_type_name(dtype) + std::string("Storage");
  const std::string key = std::to_string(storages_.number_of(storage));
  if (recall("p" + type + key)) return;
  op(code::kMark);
  string("storage");
  global("torch", type);
  string(key);
  string("cpu");
  integer(static_cast<int64_t>(storage->nbytes() / element_size(dtype)));
  op(code::kTuple);
  op(code::kPersistentId);
  memo_of_text_.emplace("p" + type + key, put());
}

}  // namespace torchlet::archive
