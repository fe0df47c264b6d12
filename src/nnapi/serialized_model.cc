#include "nnapi/serialized_model.h"

#include <bit>

#include "base/error.h"

namespace torchlet::nnapi {
namespace {

constexpr uint32_t kVersion = 1;
constexpr uint32_t kImmediate = 0, kNumberedBuffer = 2;
// PyTorch's own loader takes no more of anything.
constexpr uint32_t kMaxCount = 1u << 24;

class Reader {
 public:
  explicit Reader(std::span<const uint32_t> words) : words_(words) {}

  std::span<const uint32_t> take(size_t count) {
    if (count > words_.size()) {
      fail(ErrorCode::kFileFormat, "the serialized NNAPI model ends %zu words too early",
           count - words_.size());
    }
    const auto taken = words_.first(count);
    words_ = words_.subspan(count);
    return taken;
  }
  uint32_t word() { return take(1)[0]; }
  uint32_t count(const char* what) {
    const uint32_t value = word();
    if (value >= kMaxCount) {
      fail(ErrorCode::kFileFormat, "the serialized NNAPI model has %u %s", value, what);
    }
    return value;
  }
  size_t left() const { return words_.size(); }

 private:
  std::span<const uint32_t> words_;
};

std::span<const std::byte> value_bytes(std::span<const uint32_t> data, uint32_t source,
                                       uint32_t nbytes,
                                       std::span<const std::span<const std::byte>> buffers) {
  if (source == kImmediate) return std::as_bytes(data).first(nbytes);
  if (source != kNumberedBuffer || nbytes != 12) {
    fail(ErrorCode::kFileFormat,
         "the serialized NNAPI model has a value of %u bytes from source %u", nbytes, source);
  }
  const uint32_t buffer = data[0], offset = data[1], length = data[2];
  if (buffer >= buffers.size() || offset > buffers[buffer].size() ||
      length > buffers[buffer].size() - offset) {
    fail(ErrorCode::kFileFormat,
         "the serialized NNAPI model reads %u bytes at %u of its weight %u, which is not there",
         length, offset, buffer);
  }
  return buffers[buffer].subspan(offset, length);
}

}  // namespace

SerializedModel parse_serialized_model(std::span<const uint32_t> words,
                                       std::span<const std::span<const std::byte>> buffers) {
  Reader reader(words);
  const uint32_t version = reader.word();
  if (version != kVersion) {
    fail(ErrorCode::kFileFormat, "the serialized NNAPI model has version %u; %u is known", version,
         kVersion);
  }
  const uint32_t num_operands = reader.count("operands"), num_values = reader.count("values"),
                 num_operations = reader.count("operations"), num_inputs = reader.count("inputs"),
                 num_outputs = reader.count("outputs");
  const auto operands = reader.take(size_t{num_operands} * 4);
  const auto values = reader.take(size_t{num_values} * 3);
  const auto operations = reader.take(size_t{num_operations} * 3);

  SerializedModel model;
  for (size_t i = 0; i < operands.size(); i += 4) {
    model.operands.push_back({static_cast<int32_t>(operands[i]), reader.take(operands[i + 1]),
                              std::bit_cast<float>(operands[i + 2]),
                              static_cast<int32_t>(operands[i + 3])});
  }
  for (size_t i = 0; i < values.size(); i += 3) {
    const uint32_t nbytes = values[i + 2];
    const auto data = reader.take(nbytes / 4 + (nbytes % 4 != 0));
    model.values.push_back({values[i], value_bytes(data, values[i + 1], nbytes, buffers)});
  }
  for (size_t i = 0; i < operations.size(); i += 3) {
    const auto inputs = reader.take(operations[i + 1]);
    model.operations.push_back(
        {static_cast<int32_t>(operations[i]), inputs, reader.take(operations[i + 2])});
  }
  model.inputs = reader.take(num_inputs);
  model.outputs = reader.take(num_outputs);
  if (reader.left() != 0) {
    fail(ErrorCode::kFileFormat, "%zu words are left over behind the serialized NNAPI model",
         reader.left());
  }
  return model;
}

}  // namespace torchlet::nnapi
