#include "ops/core/schema_text.h"

namespace torchlet::ops {

std::string unpack_schema(const char* packed) {
  std::string text;
  for (; *packed; ++packed) {
    const auto byte = static_cast<unsigned char>(*packed);
    if (byte < 128) {
      text += *packed;
    } else {
      text += kSchemaWords[byte - 128];
    }
  }
  return text;
}

std::string unpack_schema_name(const char* packed) {
  std::string text;
  for (size_t end = std::string::npos; end == std::string::npos; end = text.find_first_of(".(")) {
    const char next[] = {*packed++, '\0'};
    text += unpack_schema(next);
  }
  return text.substr(0, text.find_first_of(".("));
}

}  // namespace torchlet::ops
