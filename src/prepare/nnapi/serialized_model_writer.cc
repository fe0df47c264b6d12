#include "prepare/nnapi/serialized_model_writer.h"

#include <bit>
#include <cstring>
#include <map>

#include "base/error.h"
#include "tensor/storage.h"
#include "tensor/tensor_impl.h"

namespace torchlet::prepare {
namespace {

using nnapi::Operand;

constexpr int32_t kVersion = 1, kImmediate = 0, kNumberedBuffer = 2;

// What a quantized tensor holds, without its quantizer: the operand tells that.
Tensor integers_of(const Tensor& tensor) {
  if (!tensor.is_quantized()) return tensor;
  const DType dtype = element_size(tensor.dtype()) == 1 ? DType::kUInt8 : DType::kInt32;
  return make_tensor(tensor.impl()->storage, dtype, tensor.sizes(), tensor.strides(),
                     tensor.impl()->storage_offset);
}

int32_t word(size_t value) { return static_cast<int32_t>(value); }

class Writer {
 public:
  explicit Writer(const nnapi::Model& model) : model_(model) {}

  WrittenNnapiModel write() {
    std::vector<int32_t> values, value_bytes;
    written_.weight_of.resize(model_.operands.size());
    for (size_t i = 0; i < model_.operands.size(); ++i) add_value(i, values, value_bytes);
    put({kVersion, word(model_.operands.size()), word(values.size() / 3),
         word(model_.operations.size()), word(model_.inputs.size()), word(model_.outputs.size())});
    for (const Operand& operand : model_.operands) {
      put({operand.code, word(operand.sizes.size()), std::bit_cast<int32_t>(operand.scale),
           operand.zero_point});
    }
    put(values);
    for (const nnapi::Operation& operation : model_.operations) {
      put({operation.code, word(operation.inputs.size()), word(operation.outputs.size())});
    }
    for (const Operand& operand : model_.operands) {
      written_.sizes_of.push_back(words_.size());
      put(operand.sizes);
    }
    put(value_bytes);
    for (const nnapi::Operation& operation : model_.operations) {
      put(operation.inputs);
      put(operation.outputs);
    }
    put(model_.inputs);
    put(model_.outputs);
    written_.words = empty(IntArray{static_cast<int64_t>(words_.size())}, DType::kInt32);
    std::ranges::copy(words_, written_.words.data_ptr<int32_t>());
    return std::move(written_);
  }

 private:
  void put(std::initializer_list<int32_t> words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }
  template <typename Word>
  void put(const std::vector<Word>& words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }

  void add_value(size_t id, std::vector<int32_t>& values, std::vector<int32_t>& bytes) {
    const Operand& operand = model_.operands[id];
    if (operand.code == ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL) {
      fail(ErrorCode::kUnsupported,
           "operand %zu of the NNAPI model has a scale per channel, which PyTorch's files cannot "
           "tell",
           id);
    }
    if (!operand.is_constant()) return;
    if (operand.tensor.defined()) {
      values.insert(values.end(), {word(id), kNumberedBuffer, 3 * sizeof(int32_t)});
      const size_t weight = buffer(operand.tensor);
      written_.weight_of[id] = weight;
      bytes.insert(bytes.end(), {word(weight), 0, word(nnapi::byte_size(operand))});
    } else {
      values.insert(values.end(), {word(id), kImmediate, word(operand.bytes.size())});
      const size_t begin = bytes.size();
      bytes.resize(begin + (operand.bytes.size() + 3) / 4);
      std::memcpy(bytes.data() + begin, operand.bytes.data(), operand.bytes.size());
    }
  }

  size_t buffer(const Tensor& tensor) {
    const size_t nbytes = static_cast<size_t>(tensor.numel()) * element_size(tensor.dtype());
    const auto [known, is_new] =
        buffers_.try_emplace({tensor.impl()->data(), nbytes}, written_.weights.size());
    if (is_new) {
      const bool is_whole = tensor.impl()->storage->nbytes() == nbytes;
      const Tensor own = is_whole ? tensor : tensor.clone();
      written_.weights.push_back(integers_of(own));
    }
    return known->second;
  }

  const nnapi::Model& model_;
  WrittenNnapiModel written_;
  std::vector<int32_t> words_;
  std::map<std::pair<const std::byte*, size_t>, size_t> buffers_;
};

}  // namespace

WrittenNnapiModel write_serialized_model(const nnapi::Model& model) {
  return Writer(model).write();
}

}  // namespace torchlet::prepare
