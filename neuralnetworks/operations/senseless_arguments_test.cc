// Operations that move elements, called with whatever fits their signatures: they compute something
// or refuse, and that is all.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "base/limits.h"
#include "neuralnetworks/operations/operation.h"
#include "neuralnetworks/runtime/testing.h"

namespace torchlet::nn {
namespace {

using Dims = std::vector<uint32_t>;

// Models of one operation, with arguments by chance.
class Senseless {
 public:
  explicit Senseless(uint32_t seed) : random_(seed) {}

  // Does the operation run through?
  bool run_once(const OperationDef& def) {
    TestModel model;
    values_.clear();
    const Signature signature = parse_signature(def.signatures[below(def.signatures.size())]);
    bound_.assign(signature.variables.size(), 0);
    quantization_ = {0.5f, static_cast<int>(below(3))};
    const size_t rank = below(5);
    like_ = dims(rank);
    std::vector<uint32_t> inputs, outputs;
    for (const Argument& argument : signature.inputs) add(model, signature, argument, inputs);
    for (const Argument& argument : signature.outputs) {
      for (size_t i = argument.is_variadic ? 1 + below(3) : 1; i > 0; --i) {
        const int32_t type = type_of(signature, argument.type);
        outputs.push_back(is_quantized(type) ? model.output(type, {}, scale(), zero_point())
                                             : model.output(type, {}));
      }
    }
    model.operation(def.code, inputs, outputs);
    return runs(model);
  }

 private:
  size_t below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }
  bool rarely() { return below(8) == 0; }
  static bool is_quantized(int32_t type) {
    return type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM ||
           type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
  }
  float scale() { return rarely() ? 0.25f : quantization_.first; }
  int zero_point() { return quantization_.second; }

  int32_t number() {
    static constexpr int32_t kNumbers[] = {0, 1, 1, 2, 2, 3, 4, -1, -2, 7, INT32_MAX, INT32_MIN};
    return kNumbers[below(std::size(kNumbers))];
  }
  Dims dims(size_t rank) {
    Dims made;
    for (size_t i = 0; i < rank; ++i) made.push_back(rarely() ? 0 : 1 + below(4));
    return made;
  }

  int32_t type_of(const Signature& signature, const TypeRule& rule) {
    if (!rule.variable) return rule.types[below(rule.types.size())];
    int32_t& variable = bound_[*rule.variable];
    const std::vector<int32_t>& types = signature.variables[*rule.variable].types;
    if (variable == 0) variable = types[below(types.size())];
    if (rule.function == TypeRule::Function::kSame) return variable;
    return variable == ANEURALNETWORKS_TENSOR_FLOAT32   ? ANEURALNETWORKS_FLOAT32
           : variable == ANEURALNETWORKS_TENSOR_FLOAT16 ? ANEURALNETWORKS_FLOAT16
                                                        : ANEURALNETWORKS_INT32;
  }

  // Bytes of small numbers, in int32 of any.
  std::vector<std::byte> value(int32_t type, size_t count) {
    std::vector<std::byte> bytes(count * element_size(type));
    const bool is_int = element_size(type) == 4 && type != ANEURALNETWORKS_TENSOR_FLOAT32 &&
                        type != ANEURALNETWORKS_FLOAT32;
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(below(2));
    for (size_t i = 0; is_int && i < count; ++i) {
      const int32_t n = number();
      std::memcpy(bytes.data() + 4 * i, &n, 4);
    }
    return bytes;
  }

  void add(TestModel& model, const Signature& signature, const Argument& argument,
           std::vector<uint32_t>& inputs) {
    if (argument.default_value && rarely()) return;
    const bool is_variadic = argument.is_variadic;
    for (size_t i = is_variadic ? 1 + below(3) : 1; i > 0; --i) {
      const int32_t type = type_of(signature, argument.type);
      if (argument.may_be_omitted && rarely()) {
        inputs.push_back(model.omitted(type));
      } else if (is_scalar(type)) {
        const std::vector<std::byte> bytes = value(type, 1);
        inputs.push_back(model.constant<std::byte>(type, {}, bytes));
      } else {
        inputs.push_back(tensor(model, type, argument.type.variable.has_value()));
      }
    }
  }

  uint32_t tensor(TestModel& model, int32_t type, bool is_first) {
    Dims sizes = is_first && !rarely() ? like_ : dims(below(3));
    // Lists of as many numbers as there are dimensions, and tables of twice as many.
    if (!is_first && below(4) != 0) {
      sizes = {static_cast<uint32_t>(below(3) == 0 ? 2 : like_.size())};
      if (below(3) == 0) sizes.push_back(2);
    }
    size_t count = 1;
    for (const uint32_t size : sizes) count *= size;
    const float scale_of = is_quantized(type) ? scale() : 0;
    const int zero = is_quantized(type) ? zero_point() : 0;
    std::vector<std::byte> bytes = value(type, count);
    if (count > 0 && !sizes.empty() && below(2) == 0) {
      return model.constant<std::byte>(type, sizes, bytes, scale_of, zero);
    }
    const size_t known = below(3);
    const Dims declared = known == 0 ? sizes : known == 1 ? Dims(sizes.size(), 0) : Dims();
    values_.push_back({sizes, std::move(bytes)});
    return model.input(type, declared, scale_of, zero);
  }

  bool runs(const TestModel& model) {
    struct Sink : OutputSink {
      std::byte* receive(size_t, const Dims&, size_t) override { return nullptr; }
    } sink;
    const MemoryBudget budget(size_t{16} << 20);
    const LimitScope scope(&budget);
    std::vector<Input> inputs;
    static constexpr std::byte kNothing{};
    for (const auto& [sizes, bytes] : values_) {
      inputs.push_back({sizes, bytes.empty() ? &kNothing : bytes.data(), bytes.size()});
    }
    try {
      model.compiled({below(2) == 0 ? "cpu" : "reference"})->run(inputs, sink, {});
      return true;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      return false;
    }
  }

  std::mt19937 random_;
  std::vector<int32_t> bound_;  // types of the signature's variables; 0 is none yet
  std::pair<float, int> quantization_;
  Dims like_;  // sizes of most tensors
  std::vector<std::pair<Dims, std::vector<std::byte>>> values_;
};

TEST(SenselessArguments, AreComputedOrRefused) {
  constexpr int32_t kMoving[] = {ANEURALNETWORKS_RESHAPE,
                                 ANEURALNETWORKS_TRANSPOSE,
                                 ANEURALNETWORKS_SQUEEZE,
                                 ANEURALNETWORKS_EXPAND_DIMS,
                                 ANEURALNETWORKS_CONCATENATION,
                                 ANEURALNETWORKS_SPLIT,
                                 ANEURALNETWORKS_SLICE,
                                 ANEURALNETWORKS_STRIDED_SLICE,
                                 ANEURALNETWORKS_PAD,
                                 ANEURALNETWORKS_PAD_V2,
                                 ANEURALNETWORKS_MIRROR_PAD,
                                 ANEURALNETWORKS_GATHER,
                                 ANEURALNETWORKS_TILE,
                                 ANEURALNETWORKS_TOPK_V2,
                                 ANEURALNETWORKS_ARGMAX,
                                 ANEURALNETWORKS_ARGMIN,
                                 ANEURALNETWORKS_FILL,
                                 ANEURALNETWORKS_PACK,
                                 ANEURALNETWORKS_REVERSE,
                                 ANEURALNETWORKS_CHANNEL_SHUFFLE,
                                 ANEURALNETWORKS_DEPTH_TO_SPACE,
                                 ANEURALNETWORKS_SPACE_TO_DEPTH,
                                 ANEURALNETWORKS_BATCH_TO_SPACE_ND,
                                 ANEURALNETWORKS_SPACE_TO_BATCH_ND,
                                 ANEURALNETWORKS_EMBEDDING_LOOKUP,
                                 ANEURALNETWORKS_HASHTABLE_LOOKUP,
                                 ANEURALNETWORKS_RESIZE_BILINEAR,
                                 ANEURALNETWORKS_RESIZE_NEAREST_NEIGHBOR};
  int computed = 0;
  for (const int32_t code : kMoving) {
    const OperationDef& def = *find_operation(code);
    SCOPED_TRACE(def.name);
    Senseless senseless(static_cast<uint32_t>(code));
    for (int i = 0; i < 300; ++i) computed += senseless.run_once(def);
  }
  // Some make sense.
  EXPECT_GT(computed, 500);
}

}  // namespace
}  // namespace torchlet::nn
