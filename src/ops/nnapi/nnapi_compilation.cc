// torch.classes._nnapi.Compilation: what runs the models that convert_model_to_nnapi wrote
// (aten/src/ATen/nnapi/nnapi_bind.cpp). They run on whatever libneuralnetworks.so there is.
#include <cstring>
#include <memory>

#include "nnapi/library.h"
#include "nnapi/serialized_model.h"
#include "ops/core/common.h"
#include "ops/core/custom_class.h"

namespace torchlet::ops {
namespace {

using nnapi::check;

template <typename T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

// Calls `create`, which gives a T through its last argument.
template <typename T, typename Create, typename... Args>
Handle<T> make_handle(void (*free)(T*), const char* what, Create create, Args... args) {
  T* made = nullptr;
  check(create(args..., &made), what);
  return Handle<T>(made, free);
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.impl()->data(),
          static_cast<size_t>(tensor.numel()) * element_size(tensor.dtype())};
}

// What PyTorch says of a tensor that goes into a model or comes out of it.
class OperandType {
 public:
  explicit OperandType(const Tensor& tensor) : dims_(tensor.sizes().begin(), tensor.sizes().end()) {
    type_.dimensionCount = static_cast<uint32_t>(dims_.size());
    type_.dimensions = dims_.empty() ? nullptr : dims_.data();
    type_.scale = 0;
    type_.zeroPoint = 0;
    switch (tensor.dtype()) {
      case DType::kFloat32:
        type_.type = ANEURALNETWORKS_TENSOR_FLOAT32;
        break;
      case DType::kInt32:
        type_.type = ANEURALNETWORKS_TENSOR_INT32;
        break;
      case DType::kQUInt8:
        type_.type = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
        type_.scale = static_cast<float>(tensor.impl()->quantizer->scale);
        type_.zeroPoint = static_cast<int32_t>(tensor.impl()->quantizer->zero_point);
        break;
      case DType::kInt16:  // as PyTorch has it, for tests of drivers
        type_.type = ANEURALNETWORKS_TENSOR_QUANT16_ASYMM;
        type_.scale = 0.125f;
        break;
      default:
        fail(ErrorCode::kUnsupported, "a tensor of %s cannot go into an NNAPI model",
             std::string(dtype_name(tensor.dtype())).c_str());
    }
  }
  const ANeuralNetworksOperandType* get() const { return &type_; }

 private:
  std::vector<uint32_t> dims_;
  ANeuralNetworksOperandType type_;
};

class NnapiCompilation : public CustomObject {
 public:
  static constexpr char kClassName[] = "__torch__.torch.classes._nnapi.Compilation";
  std::string_view class_name() const override { return kClassName; }

  void init(const Tensor& serialized, const std::vector<Tensor>& weights, int64_t preference,
            bool relax_float32) {
    TORCHLET_CHECK(!compilation_, "this NNAPI model is compiled already");
    const auto& api = nnapi::library();
    auto model = make_handle(api.Model_free, "make a model", api.Model_create);
    std::vector<Tensor> kept = weights;
    for (Tensor& weight : kept) weight = weight.contiguous();
    fill(*model, serialized, kept);
    if (relax_float32 && api.Model_relaxComputationFloat32toFloat16) {
      check(api.Model_relaxComputationFloat32toFloat16(model.get(), true), "relax the precision");
    }
    check(api.Model_finish(model.get()), "finish the model");
    auto compilation =
        make_handle(api.Compilation_free, "compile the model", api.Compilation_create, model.get());
    check(api.Compilation_setPreference(compilation.get(), static_cast<int32_t>(preference)),
          "set the preference");
    check(api.Compilation_finish(compilation.get()), "compile the model");
    weights_ = std::move(kept);
    model_ = std::move(model);
    compilation_ = std::move(compilation);
  }

  // Any number of threads may run it at once.
  void run(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) const {
    TORCHLET_CHECK(compilation_, "this NNAPI model was not compiled: call init() first");
    TORCHLET_CHECK(
        inputs.size() == num_inputs_ && outputs.size() == num_outputs_,
        "the NNAPI model takes %zu tensors and gives %zu; it was called with %zu and %zu",
        num_inputs_, num_outputs_, inputs.size(), outputs.size());
    nnapi::share_threads();
    const auto& api = nnapi::library();
    const auto execution = make_handle(api.Execution_free, "make an execution",
                                       api.Execution_create, compilation_.get());
    std::vector<Tensor> dense;
    for (size_t i = 0; i < inputs.size(); ++i) {
      dense.push_back(inputs[i].contiguous());
      const auto bytes = bytes_of(dense[i]);
      check(api.Execution_setInput(execution.get(), static_cast<int32_t>(i),
                                   OperandType(dense[i]).get(), bytes.data(), bytes.size()),
            "set an input");
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      TORCHLET_CHECK(outputs[i].is_contiguous(), "output %zu of an NNAPI model is not contiguous",
                     i);
      const auto bytes = bytes_of(outputs[i]);
      check(api.Execution_setOutput(execution.get(), static_cast<int32_t>(i), nullptr,
                                    const_cast<std::byte*>(bytes.data()), bytes.size()),
            "set an output");
    }
    compute(*execution);
    for (size_t i = 0; i < outputs.size(); ++i) set_sizes(*execution, i, outputs[i]);
  }

 private:
  void fill(ANeuralNetworksModel& model, const Tensor& serialized,
            const std::vector<Tensor>& weights) {
    const Tensor words = serialized.contiguous();
    const auto bytes = bytes_of(words);
    // Of bytes in old files, which need not be aligned.
    std::vector<uint32_t> aligned(bytes.size() / 4);
    if (!aligned.empty()) std::memcpy(aligned.data(), bytes.data(), aligned.size() * 4);
    std::vector<std::span<const std::byte>> buffers;
    for (const Tensor& weight : weights) buffers.push_back(bytes_of(weight));
    const nnapi::SerializedModel read = nnapi::parse_serialized_model(aligned, buffers);

    const auto& api = nnapi::library();
    for (const auto& operand : read.operands) {
      const ANeuralNetworksOperandType type = {
          .type = operand.type,
          .dimensionCount = static_cast<uint32_t>(operand.dims.size()),
          .dimensions = operand.dims.empty() ? nullptr : operand.dims.data(),
          .scale = operand.scale,
          .zeroPoint = operand.zero_point};
      check(api.Model_addOperand(&model, &type), "add an operand");
    }
    for (const auto& value : read.values) {
      check(api.Model_setOperandValue(&model, static_cast<int32_t>(value.operand),
                                      value.bytes.data(), value.bytes.size()),
            "set the value of an operand");
    }
    const auto size = [](auto span) { return static_cast<uint32_t>(span.size()); };
    for (const auto& operation : read.operations) {
      check(api.Model_addOperation(&model, operation.code, size(operation.inputs),
                                   operation.inputs.data(), size(operation.outputs),
                                   operation.outputs.data()),
            "add an operation");
    }
    check(api.Model_identifyInputsAndOutputs(&model, size(read.inputs), read.inputs.data(),
                                             size(read.outputs), read.outputs.data()),
          "take the model's inputs and outputs");
    // Small values are copied from `aligned`; an immediate one of more than that is not.
    words_ = std::move(aligned);
    num_inputs_ = read.inputs.size();
    num_outputs_ = read.outputs.size();
  }

  static void compute(ANeuralNetworksExecution& execution) {
    const auto& api = nnapi::library();
    if (api.Execution_compute) return check(api.Execution_compute(&execution), "run the model");
    const auto event =
        make_handle(api.Event_free, "start the model", api.Execution_startCompute, &execution);
    check(api.Event_wait(event.get()), "run the model");
  }

  static void set_sizes(ANeuralNetworksExecution& execution, size_t i, const Tensor& output) {
    const auto& api = nnapi::library();
    if (!api.Execution_getOutputOperandRank || !api.Execution_getOutputOperandDimensions) return;
    const auto index = static_cast<int32_t>(i);
    uint32_t rank = 0;
    check(api.Execution_getOutputOperandRank(&execution, index, &rank), "tell an output's rank");
    std::vector<uint32_t> dims(rank);
    if (rank > 0) {
      check(api.Execution_getOutputOperandDimensions(&execution, index, dims.data()),
            "tell an output's sizes");
    }
    resize_output(output, IntArray(dims.begin(), dims.end()));
  }

  // NNAPI reads these as long as the model lives, so they go last.
  std::vector<Tensor> weights_;
  std::vector<uint32_t> words_;
  Handle<ANeuralNetworksModel> model_{nullptr, nullptr};
  Handle<ANeuralNetworksCompilation> compilation_{nullptr, nullptr};
  size_t num_inputs_ = 0, num_outputs_ = 0;
};

NnapiCompilation& compilation(const Value& self) { return custom_object<NnapiCompilation>(self); }

// PyTorch saves none: a model compiles itself when it first runs.
Value set_state(const Value& state) {
  TORCHLET_CHECK(state.is_none(), "a compiled NNAPI model cannot be in a file");
  return Value(Ref<CustomObject>(make_ref<NnapiCompilation>()));
}

constexpr auto kNew = typed(+[](const Value& self) { compilation(self); });
constexpr auto kInit =
    typed(+[](const Value& self, const Tensor& serialized, const std::vector<Tensor>& weights) {
      compilation(self).init(serialized, weights, ANEURALNETWORKS_PREFER_SUSTAINED_SPEED, false);
    });
constexpr auto kInit2 =
    typed(+[](const Value& self, const Tensor& serialized, const std::vector<Tensor>& weights,
              int64_t preference, bool relax_float32) {
      compilation(self).init(serialized, weights, preference, relax_float32);
    });
constexpr auto kRun =
    typed(+[](const Value& self, const std::vector<Tensor>& inputs,
              const std::vector<Tensor>& outputs) { compilation(self).run(inputs, outputs); });
#define SELF "__torch__.torch.classes._nnapi.Compilation self"
constexpr CustomMethodDef kMethods[] = {
    {"__init__(" SELF ") -> ()", &kNew},
    {"init(" SELF ", Tensor serialized_model_tensor, Tensor[] parameter_buffers) -> ()", &kInit},
    {"init2(" SELF
     ", Tensor serialized_model_tensor, Tensor[] parameter_buffers, int compilation_preference, "
     "bool relax_f32_to_f16) -> ()",
     &kInit2},
    {"run(" SELF ", Tensor[] inputs, Tensor[] outputs) -> ()", &kRun}};
#undef SELF

}  // namespace

extern const CustomClassDef class_nnapi_compilation;
constinit const CustomClassDef class_nnapi_compilation = {NnapiCompilation::kClassName, set_state,
                                                          kMethods};

}  // namespace torchlet::ops
