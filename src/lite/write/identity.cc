#include "lite/write/identity.h"

#include <cstring>

#include "base/error.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

template <typename T>
std::string bytes_of(const T& value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

}  // namespace

std::optional<std::string> plain_identity(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNone:
      return "";
    case ValueKind::kBool:
      return bytes_of(value.to_bool());
    case ValueKind::kInt:
      return bytes_of(value.to_int());
    case ValueKind::kFloat:
      return bytes_of(value.to_double());
    case ValueKind::kComplex:
      return bytes_of(value.to_complex());
    case ValueKind::kString:
    case ValueKind::kDevice:
      return value.to_string();
    default:
      return std::nullopt;
  }
}

const void* identity_of(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kTensor:
      return value.to_tensor().impl();
    case ValueKind::kList:
      return &value.list_ref();
    case ValueKind::kDict:
      return &value.dict_ref();
    case ValueKind::kTuple:
      return &value.tuple_ref();
    case ValueKind::kObject:
      return &value.object_ref();
    case ValueKind::kCustom:
      return &value.custom_ref();
    case ValueKind::kEnum:
      return &value.enum_ref();
    default:
      fail(ErrorCode::kUnsupported, "%s cannot be written to a file", value.kind_name());
  }
}

}  // namespace torchlet::lite
