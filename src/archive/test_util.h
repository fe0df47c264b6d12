// What the tests of this folder build their archives and pickles from.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "archive/pickle.h"
#include "base/error.h"
#include "tensor/containers.h"

namespace torchlet::archive {

inline std::string little_endian(uint64_t number, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

inline std::string float_bytes(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float)};
}

// Opcodes as text.
namespace op {
inline std::string str(std::string_view text) {
  return "X" + little_endian(text.size(), 4) + std::string(text);
}
inline std::string byte(int value) { return "K" + little_endian(static_cast<uint64_t>(value), 1); }
inline std::string put(int index) { return "q" + little_endian(static_cast<uint64_t>(index), 1); }
inline std::string get(int index) { return "h" + little_endian(static_cast<uint64_t>(index), 1); }
inline std::string real(double value) {
  std::string bytes = little_endian(std::bit_cast<uint64_t>(value), 8);
  std::reverse(bytes.begin(), bytes.end());
  return "G" + bytes;
}
inline std::string integer(int32_t value) {
  return "J" + little_endian(static_cast<uint32_t>(value), 4);
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string ints(std::initializer_list<int32_t> values) {
  std::string text = "(";
  for (int32_t value : values) text += integer(value);
  return text + "t";
}
inline std::string storage(const std::string& type, const std::string& key, int32_t numel) {
  return "(" + str("storage") + global("torch", type) + str(key) + str("cpu") + integer(numel) +
         "tQ";
}
inline std::string hooks() { return global("collections", "OrderedDict") + ")R"; }
inline std::string tensor(const std::string& storage, int32_t offset,
                          std::initializer_list<int32_t> sizes,
                          std::initializer_list<int32_t> strides) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage + integer(offset) +
         ints(sizes) + ints(strides) + "\x89" + hooks() + "tR";
}
inline std::string pickle(const std::string& body) { return "\x80\x02" + body + "."; }
}  // namespace op

// Knows List[...] and Dict[str, ...] of a few types, and any class under __torch__; its objects
// have the attributes that their state has.
class TestFactory : public ObjectFactory {
 public:
  TypePtr parse_type(std::string_view text) override {
    if (text == "List[str]") return types::list(types::string());
    if (text == "List[List[int]]") return types::list(types::list(types::integer()));
    if (text == "Dict[str, float]") return types::dict(types::string(), types::floating());
    fail(ErrorCode::kFileFormat, "unknown type " + std::string(text));
  }
  TypePtr resolve_class(const std::string& name) override {
    if (!name.starts_with("__torch__.")) return nullptr;
    if (name == "__torch__.Color") return std::make_shared<EnumType>(name, types::integer());
    return std::make_shared<ClassType>(TypeKind::kClass, name, true);
  }
  Value build_object(const TypePtr& type, Value state) override {
    auto made = std::make_shared<ClassType>(TypeKind::kClass, type->name(), true);
    if (!state.is_dict()) {
      made->add_attribute({"state", type_of(state)});
      auto object = make_ref<Object>(made);
      object->set_attribute("state", std::move(state));
      return Value(object);
    }
    for (const auto& [key, value] : state.dict_ref().items()) {
      made->add_attribute({key.to_string(), type_of(value)});
    }
    auto object = make_ref<Object>(made);
    for (const auto& [key, value] : state.dict_ref().items()) {
      object->set_attribute(key.to_string(), value);
    }
    return Value(object);
  }
  Value build_enum(const TypePtr& type, const Value& value) override {
    return Value(make_ref<EnumValue>(type, "MEMBER", value));
  }
};

// Writes zip archives, also wrong ones.
class ZipBuilder {
 public:
  struct Options {
    bool deflate = false;
    bool zip64 = false;  // sizes in a zip64 extra field
    size_t align = 64;   // of the data, as PyTorch pads it
    int method = -1;     // instead of the true one
    int flags = 0;
    int64_t size_lie = 0;  // added to the uncompressed size, in both headers
    uint32_t crc_lie = 0;  // xor-ed into the CRC-32
  };

  ZipBuilder& add(const std::string& name, const std::string& content) {
    return add(name, content, Options());
  }

  ZipBuilder& add(const std::string& name, const std::string& content, const Options& options) {
    const std::string data = options.deflate ? deflated(content) : content;
    const uint32_t crc =
        static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(content.data()),
                                    static_cast<uInt>(content.size()))) ^
        options.crc_lie;
    const uint64_t size = content.size() + static_cast<uint64_t>(options.size_lie);
    const int method = options.method >= 0 ? options.method : (options.deflate ? 8 : 0);
    const uint64_t stored32 = options.zip64 ? 0xffffffff : data.size();
    const uint64_t size32 = options.zip64 ? 0xffffffff : size;
    const std::string extra64 = options.zip64
                                    ? little_endian(1, 2) + little_endian(16, 2) +
                                          little_endian(size, 8) + little_endian(data.size(), 8)
                                    : "";
    const size_t header = bytes_.size();
    std::string extra = extra64;
    const size_t unpadded = header + 30 + name.size() + extra.size() + 4;
    const size_t padding = (options.align - unpadded % options.align) % options.align;
    extra += "FB" + little_endian(padding, 2) + std::string(padding, 'Z');

    const std::string common = little_endian(static_cast<uint64_t>(options.flags), 2) +
                               little_endian(static_cast<uint64_t>(method), 2) +
                               little_endian(0, 4) + little_endian(crc, 4) +
                               little_endian(stored32, 4) + little_endian(size32, 4) +
                               little_endian(name.size(), 2);
    bytes_ += "PK\x03\x04" + little_endian(45, 2) + common + little_endian(extra.size(), 2) + name +
              extra + data;
    directory_ += "PK\x01\x02" + little_endian(45, 2) + little_endian(45, 2) + common +
                  little_endian(extra64.size(), 2) + little_endian(0, 2) + little_endian(0, 2) +
                  little_endian(0, 2) + little_endian(0, 4) + little_endian(header, 4) + name +
                  extra64;
    ++count_;
    return *this;
  }

  std::string finish(const std::string& comment = "") const {
    return bytes_ + directory_ + "PK\x05\x06" + little_endian(0, 4) + little_endian(count_, 2) +
           little_endian(count_, 2) + little_endian(directory_.size(), 4) +
           little_endian(bytes_.size(), 4) + little_endian(comment.size(), 2) + comment;
  }

  static std::string deflated(const std::string& content) {
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }

 private:
  std::string bytes_, directory_;
  uint64_t count_ = 0;
};

// A 64-byte aligned copy of `text`, as a mapped file would be, and its owner.
struct AlignedBytes {
  explicit AlignedBytes(const std::string& text) : owner(new Storage(text.size())) {
    std::copy(text.begin(), text.end(), reinterpret_cast<char*>(owner->data()));
    bytes = {owner->data(), text.size()};
  }
  std::shared_ptr<Storage> owner;
  std::span<std::byte> bytes;
};

// The whole text of the Error that `body` throws; empty if it throws none.
template <typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace torchlet::archive
