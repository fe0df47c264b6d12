// Bytes as calls of the C API of NNAPI: whatever an application does ends in a ResultCode.
#include <android/NeuralNetworks.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "neuralnetworks/operations/operation.h"
#include "tests/fuzz/targets.h"

namespace torchlet::fuzz {
namespace {

class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  // 0 when there are no more.
  uint8_t next() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_ = rest_.subspan(1);
    return byte;
  }
  bool flag() { return next() & 1; }
  // Mostly small, sometimes an extreme.
  uint32_t number() {
    const uint8_t byte = next();
    if (byte < 240) return byte % 12;
    constexpr uint32_t kExtremes[] = {255,      256,      65535,      65536,          1U << 24,
                                      1U << 30, 1U << 31, UINT32_MAX, UINT32_MAX - 1, INT32_MAX,
                                      127,      128};
    return kExtremes[byte % std::size(kExtremes)];
  }
  std::vector<uint32_t> numbers(size_t most) {
    std::vector<uint32_t> all(next() % (most + 1));
    for (uint32_t& one : all) one = number();
    return all;
  }

 private:
  std::span<const std::byte> rest_;
};

// What an application does, one call after the other.
class Application {
 public:
  explicit Application(Bytes bytes) : bytes_(bytes) {
    std::array<uint8_t, 16> pattern;
    for (uint8_t& byte : pattern) byte = bytes_.next();
    for (size_t i = 0; i < kBufferSize; ++i) values_[i] = pattern[i % pattern.size()];
    fence_ = eventfd(1, EFD_CLOEXEC);
    file_ = memfd_create("nnapi", MFD_CLOEXEC);
    expect(ftruncate(file_, kFileSize) == 0, "there is a file");
  }
  ~Application() {
    for (auto* event : events_) ANeuralNetworksEvent_free(event);
    for (auto* execution : executions_) ANeuralNetworksExecution_free(execution);
    for (auto* burst : bursts_) ANeuralNetworksBurst_free(burst);
    for (auto* memory : memories_) ANeuralNetworksMemory_free(memory);
    for (auto* desc : descs_) ANeuralNetworksMemoryDesc_free(desc);
    for (auto* compilation : compilations_) ANeuralNetworksCompilation_free(compilation);
    for (auto* model : models_) ANeuralNetworksModel_free(model);
    close(file_);
    close(fence_);
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  void run() {
    if (bytes_.flag()) build_add();
    for (int calls = 0; calls < 400 && !bytes_.empty(); ++calls) call();
  }

 private:
  static constexpr size_t kFileSize = 8192;
  static constexpr size_t kBufferSize = 4096;

  template <typename T>
  using Slots = std::array<T*, 3>;

  // A handle of the kind, live or freed, or something else.
  template <typename T>
  T* pick(const Slots<T>& slots) {
    const uint8_t byte = bytes_.next();
    if (byte < 250) return slots[byte % slots.size()];
    if (byte == 250) return nullptr;
    if (byte == 251) return reinterpret_cast<T*>(this);
    return reinterpret_cast<T*>(models_[byte % models_.size()]);
  }
  // Where a new handle goes; the one that was there is freed.
  template <typename T>
  T** slot(Slots<T>& slots, void (*free)(T*)) {
    T** chosen = &slots[bytes_.next() % slots.size()];
    free(std::exchange(*chosen, nullptr));
    return chosen;
  }

  // OP_FAILED is for executions; before that it confesses a bug.
  static int check(int code) {
    expect(code != ANEURALNETWORKS_OP_FAILED, "only executions fail");
    return check_computed(code);
  }
  static int check_computed(int code) {
    expect(code >= ANEURALNETWORKS_NO_ERROR && code <= ANEURALNETWORKS_DEAD_OBJECT,
           "the answer is a ResultCode");
    return code;
  }

  ANeuralNetworksOperandType operand_type() {
    dims_ = bytes_.numbers(4);
    static constexpr float kScales[] = {0, 0, 1, 0.5F, 1e-30F, 1e30F, -1};
    const auto type = static_cast<int32_t>(bytes_.number());
    return {type, static_cast<uint32_t>(dims_.size()), dims_.empty() ? nullptr : dims_.data(),
            kScales[bytes_.next() % std::size(kScales)], static_cast<int8_t>(bytes_.next())};
  }
  const ANeuralNetworksOperandType* optional_type() {
    type_ = operand_type();
    return bytes_.flag() ? &type_ : nullptr;
  }
  int32_t index() { return static_cast<int32_t>(bytes_.number()); }
  // Within the buffers, mostly what small tensors take.
  size_t length() {
    const uint32_t number = bytes_.number();
    return number < kBufferSize / 4 ? number * 4 : number % (kBufferSize + 1);
  }

  void build_add();
  void build_operation();
  struct Argument {
    std::vector<uint32_t> dims;
    ANeuralNetworksOperandType type{};  // refers to dims
    size_t nbytes = 0;                  // 0 if not all sizes are known
  };
  Argument add_argument(ANeuralNetworksModel* model, int32_t type,
                        const std::vector<uint32_t>& usual_dims);
  void set_parts(ANeuralNetworksModel* model, int32_t index, const Argument& argument);
  void set_constant(ANeuralNetworksModel* model, int32_t index, const Argument& argument);
  void execute(ANeuralNetworksCompilation* compilation, const std::vector<Argument>& inputs,
               size_t outputs);

  void call();
  void call_model();
  void call_compilation();
  void call_execution();
  void call_computing();
  void call_memory();

  Bytes bytes_;
  Slots<ANeuralNetworksModel> models_{};
  Slots<ANeuralNetworksCompilation> compilations_{};
  Slots<ANeuralNetworksExecution> executions_{};
  Slots<ANeuralNetworksEvent> events_{};
  Slots<ANeuralNetworksBurst> bursts_{};
  Slots<ANeuralNetworksMemory> memories_{};
  Slots<ANeuralNetworksMemoryDesc> descs_{};
  int fence_;  // signalled, so that nothing waits for ever
  int file_;
  // Referred to by models, so they live as long as those.
  alignas(16) uint8_t values_[kBufferSize] = {};
  alignas(16) uint8_t output_[kBufferSize] = {};
  std::vector<uint32_t> dims_;
  ANeuralNetworksOperandType type_{};
};

// A model of one addition, compiled, with all that can be made of it.
void Application::build_add() {
  const uint32_t sizes[] = {bytes_.flag() ? 2U : 0U};
  const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, sizes, 0, 0};
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, nullptr, 0, 0};
  check(ANeuralNetworksModel_create(models_.data()));
  ANeuralNetworksModel* model = models_[0];
  for (const auto* type : {&tensor, &tensor, &scalar, &tensor}) {
    check(ANeuralNetworksModel_addOperand(model, type));
  }
  const int32_t none = 0;
  const uint32_t inputs[] = {0, 1, 2}, outputs[] = {3};
  check(ANeuralNetworksModel_setOperandValue(model, 2, &none, 4));
  check(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs));
  check(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
  check(ANeuralNetworksModel_finish(model));
  check(ANeuralNetworksCompilation_create(model, compilations_.data()));
  check(ANeuralNetworksCompilation_finish(compilations_[0]));
  check(ANeuralNetworksExecution_create(compilations_[0], executions_.data()));
  check(ANeuralNetworksBurst_create(compilations_[0], bursts_.data()));
}

// An operand of a type that has its parameters right; unknown sizes, if it may have any.
Application::Argument Application::add_argument(ANeuralNetworksModel* model, int32_t type,
                                                const std::vector<uint32_t>& usual_dims) {
  Argument made;
  made.type.type = type;
  switch (type) {
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
      made.type.zeroPoint = bytes_.next() % 128;
      [[fallthrough]];
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
    case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
      made.type.scale = 0.25F * static_cast<float>(1 + bytes_.next() % 8);
      break;
    default:
      break;
  }
  if (nn::is_tensor(type)) {
    made.dims = usual_dims;
    if (bytes_.next() % 4 == 0) made.dims = bytes_.numbers(4);
    for (uint32_t& size : made.dims) size %= 8;
  }
  made.type.dimensionCount = static_cast<uint32_t>(made.dims.size());
  made.type.dimensions = made.dims.empty() ? nullptr : made.dims.data();
  check(ANeuralNetworksModel_addOperand(model, &made.type));
  made.nbytes = nn::is_tensor(type) && made.dims.empty() ? 0 : nn::element_size(type);
  for (const uint32_t size : made.dims) made.nbytes *= size;
  return made;
}

void Application::set_parts(ANeuralNetworksModel* model, int32_t index, const Argument& argument) {
  if (argument.type.type == ANEURALNETWORKS_MODEL) {
    check(ANeuralNetworksModel_setOperandValueFromModel(model, index, pick(models_)));
  }
  if (argument.type.type == ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL) {
    constexpr float kScales[8] = {1, 0.5F, 0.25F, 1, 1, 1, 2, 4};
    const uint32_t dim = bytes_.next() % 4;
    const uint32_t count = dim < argument.dims.size() ? argument.dims[dim] : 1;
    const ANeuralNetworksSymmPerChannelQuantParams params = {dim, count, kScales};
    check(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, index, &params));
  }
}

// One operation with operands that fit one of its signatures, compiled and computed.
void Application::build_operation() {
  const auto operations = nn::all_operations();
  const nn::OperationDef& def = *operations[bytes_.next() % operations.size()];
  const nn::Signature signature =
      nn::parse_signature(def.signatures[bytes_.next() % def.signatures.size()]);
  std::vector<int32_t> bound;
  for (const auto& variable : signature.variables) {
    bound.push_back(variable.types[bytes_.next() % variable.types.size()]);
  }
  const auto type_of = [&](const nn::Argument& argument) {
    const auto& types = argument.type.types;
    if (!argument.type.variable) return types[bytes_.next() % types.size()];
    const int32_t variable = bound[*argument.type.variable];
    const bool is_quantized = variable == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM ||
                              variable == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
    using Function = nn::TypeRule::Function;
    if (argument.type.function == Function::kBias && is_quantized) {
      return int32_t{ANEURALNETWORKS_TENSOR_INT32};
    }
    if (argument.type.function == Function::kScalar) {
      return int32_t{variable == ANEURALNETWORKS_TENSOR_FLOAT32   ? ANEURALNETWORKS_FLOAT32
                     : variable == ANEURALNETWORKS_TENSOR_FLOAT16 ? ANEURALNETWORKS_FLOAT16
                                                                  : ANEURALNETWORKS_INT32};
    }
    return variable;
  };
  std::vector<uint32_t> usual_dims(bytes_.next() % 8 ? 4 : bytes_.next() % 5);
  for (uint32_t& size : usual_dims) size = 1 + bytes_.next() % 4;

  ANeuralNetworksModel** const model = slot(models_, ANeuralNetworksModel_free);
  check(ANeuralNetworksModel_create(model));
  std::vector<uint32_t> inputs, outputs, given;
  std::vector<Argument> arguments;
  uint32_t count = 0;
  for (const auto& argument : signature.inputs) {
    Argument made = add_argument(*model, type_of(argument), usual_dims);
    const auto index = static_cast<int32_t>(count);
    set_parts(*model, index, made);
    inputs.push_back(count++);
    const bool is_constant =
        made.nbytes > 0 && (nn::is_scalar(made.type.type) || (!given.empty() && bytes_.flag()));
    if (argument.may_be_omitted && bytes_.flag()) {
      check(ANeuralNetworksModel_setOperandValue(*model, index, nullptr, 0));
    } else if (is_constant && made.nbytes <= kBufferSize) {
      set_constant(*model, index, made);
    } else if (made.type.type != ANEURALNETWORKS_MODEL) {
      given.push_back(static_cast<uint32_t>(index));
      arguments.push_back(std::move(made));
    }
  }
  for (const auto& argument : signature.outputs) {
    static const std::vector<uint32_t> kUnknown;
    add_argument(*model, type_of(argument), bytes_.flag() ? usual_dims : kUnknown);
    outputs.push_back(count++);
  }
  check(ANeuralNetworksModel_addOperation(*model, def.code, static_cast<uint32_t>(inputs.size()),
                                          inputs.data(), static_cast<uint32_t>(outputs.size()),
                                          outputs.data()));
  check(ANeuralNetworksModel_identifyInputsAndOutputs(
      *model, static_cast<uint32_t>(given.size()), given.data(),
      static_cast<uint32_t>(outputs.size()), outputs.data()));
  if (check(ANeuralNetworksModel_finish(*model)) != ANEURALNETWORKS_NO_ERROR) return;
  ANeuralNetworksCompilation** const compilation =
      slot(compilations_, ANeuralNetworksCompilation_free);
  check(ANeuralNetworksCompilation_create(*model, compilation));
  if (check(ANeuralNetworksCompilation_finish(*compilation)) == ANEURALNETWORKS_NO_ERROR) {
    execute(*compilation, arguments, outputs.size());
  }
}

// Small numbers, as most scalars and lists of numbers are.
void Application::set_constant(ANeuralNetworksModel* model, int32_t index,
                               const Argument& argument) {
  uint8_t bytes[ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES] = {};
  if (argument.nbytes > sizeof(bytes)) {
    check(ANeuralNetworksModel_setOperandValue(model, index, values_, argument.nbytes));
    return;
  }
  const size_t size = nn::element_size(argument.type.type);
  const bool is_float = argument.type.type == ANEURALNETWORKS_FLOAT32 ||
                        argument.type.type == ANEURALNETWORKS_TENSOR_FLOAT32;
  for (size_t at = 0; at < argument.nbytes; at += size) {
    const auto number = static_cast<int32_t>(bytes_.number() - (bytes_.next() % 16 ? 0 : 3));
    const auto real = static_cast<float>(number);
    std::memcpy(bytes + at, is_float ? static_cast<const void*>(&real) : &number, size);
  }
  check(ANeuralNetworksModel_setOperandValue(model, index, bytes, argument.nbytes));
}

void Application::execute(ANeuralNetworksCompilation* compilation,
                          const std::vector<Argument>& inputs, size_t outputs) {
  ANeuralNetworksExecution* execution = nullptr;
  if (check(ANeuralNetworksExecution_create(compilation, &execution))) return;
  check(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true));
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<uint32_t> dims = inputs[i].dims;
    for (uint32_t& size : dims) size = std::max(size, 1U);
    if (dims.empty() && nn::is_tensor(inputs[i].type.type)) dims = {1, 2, 2, 1};
    ANeuralNetworksOperandType type = inputs[i].type;
    type.dimensionCount = static_cast<uint32_t>(dims.size());
    type.dimensions = dims.empty() ? nullptr : dims.data();
    check(ANeuralNetworksExecution_setInput(execution, static_cast<int32_t>(i), &type, values_,
                                            kBufferSize));
  }
  for (size_t i = 0; i < outputs; ++i) {
    check(ANeuralNetworksExecution_setOutput(execution, static_cast<int32_t>(i), nullptr, output_,
                                             kBufferSize));
  }
  check_computed(ANeuralNetworksExecution_compute(execution));
  ANeuralNetworksExecution_free(execution);
}

void Application::call() {
  switch (bytes_.next() % 8) {
    case 0:
    case 1:
      return call_model();
    case 2:
      return call_compilation();
    case 3:
      return call_execution();
    case 4:
      return call_computing();
    case 5:
      return call_memory();
    default:
      return build_operation();
  }
}

void Application::call_model() {
  ANeuralNetworksModel* model = pick(models_);
  switch (bytes_.next() % 11) {
    case 0:
      check(ANeuralNetworksModel_create(slot(models_, ANeuralNetworksModel_free)));
      return;
    case 1:
      ANeuralNetworksModel_free(model);
      return;
    case 2:
    case 3: {
      const auto type = operand_type();
      check(ANeuralNetworksModel_addOperand(model, &type));
      return;
    }
    case 4: {
      const int32_t operand = index();
      check(ANeuralNetworksModel_setOperandValue(model, operand, bytes_.flag() ? values_ : nullptr,
                                                 length()));
      return;
    }
    case 5: {
      const int32_t operand = index();
      const size_t offset = bytes_.number();
      check(ANeuralNetworksModel_setOperandValueFromMemory(model, operand, pick(memories_), offset,
                                                           length()));
      return;
    }
    case 6: {
      const float scales[] = {1, 0.5F, static_cast<float>(bytes_.next())};
      const ANeuralNetworksSymmPerChannelQuantParams params = {bytes_.number(), bytes_.next() % 4U,
                                                               scales};
      check(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, index(), &params));
      return;
    }
    case 7: {
      const auto code = index();
      const auto inputs = bytes_.numbers(6), outputs = bytes_.numbers(3);
      check(ANeuralNetworksModel_addOperation(model, code, static_cast<uint32_t>(inputs.size()),
                                              inputs.data(), static_cast<uint32_t>(outputs.size()),
                                              outputs.data()));
      return;
    }
    case 8: {
      const auto inputs = bytes_.numbers(4), outputs = bytes_.numbers(3);
      check(ANeuralNetworksModel_identifyInputsAndOutputs(
          model, static_cast<uint32_t>(inputs.size()), inputs.data(),
          static_cast<uint32_t>(outputs.size()), outputs.data()));
      return;
    }
    case 9:
      check(ANeuralNetworksModel_finish(model));
      return;
    default: {
      const int32_t operand = index();
      check(ANeuralNetworksModel_setOperandValueFromModel(model, operand, pick(models_)));
      return;
    }
  }
}

void Application::call_compilation() {
  ANeuralNetworksCompilation* compilation = pick(compilations_);
  ANeuralNetworksDevice* devices[2] = {};
  check(ANeuralNetworks_getDevice(bytes_.next() % 3, &devices[0]));
  check(ANeuralNetworks_getDevice(bytes_.next() % 2, &devices[1]));
  uint32_t number = 0;
  switch (bytes_.next() % 8) {
    case 0:
      check(ANeuralNetworksCompilation_create(
          pick(models_), slot(compilations_, ANeuralNetworksCompilation_free)));
      return;
    case 1:
      check(ANeuralNetworksCompilation_createForDevices(
          pick(models_), devices, bytes_.next() % 3,
          slot(compilations_, ANeuralNetworksCompilation_free)));
      return;
    case 2:
      check(ANeuralNetworksCompilation_setTimeout(compilation, bytes_.next() * 1000U));
      return;
    case 3:
      check(ANeuralNetworksCompilation_setPreference(compilation, index()));
      return;
    case 4:
    case 5:
      check(ANeuralNetworksCompilation_finish(compilation));
      return;
    case 6:
      ANeuralNetworksCompilation_free(compilation);
      return;
    default:
      check(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
          compilation, bytes_.number(), &number));
      return;
  }
}

void Application::call_execution() {
  ANeuralNetworksExecution* execution = pick(executions_);
  const int32_t which = index();
  const ANeuralNetworksOperandType* type = optional_type();
  uint32_t dims[64] = {};
  uint64_t duration = 0;
  switch (bytes_.next() % 11) {
    case 0:
    case 1:
      check(ANeuralNetworksExecution_create(pick(compilations_),
                                            slot(executions_, ANeuralNetworksExecution_free)));
      return;
    case 2:
    case 3:
      check(ANeuralNetworksExecution_setInput(execution, which, type,
                                              bytes_.flag() ? values_ : nullptr, length()));
      return;
    case 4:
    case 5:
      check(ANeuralNetworksExecution_setOutput(execution, which, type,
                                               bytes_.flag() ? output_ : nullptr, length()));
      return;
    case 6:
      check(ANeuralNetworksExecution_setInputFromMemory(execution, which, type, pick(memories_),
                                                        bytes_.number(), length()));
      return;
    case 7:
      check(ANeuralNetworksExecution_setOutputFromMemory(execution, which, type, pick(memories_),
                                                         bytes_.number(), length()));
      return;
    case 8:
      check(bytes_.flag() ? ANeuralNetworksExecution_setReusable(execution, bytes_.flag())
                          : ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true));
      return;
    case 9:
      check(ANeuralNetworksExecution_getOutputOperandRank(execution, which, dims));
      check(ANeuralNetworksExecution_getOutputOperandDimensions(execution, which, dims));
      check(ANeuralNetworksExecution_getDuration(execution, which, &duration));
      return;
    default:
      check(bytes_.flag() ? ANeuralNetworksExecution_setMeasureTiming(execution, true)
                          : ANeuralNetworksExecution_setTimeout(execution, bytes_.next()));
      return;
  }
}

void Application::call_computing() {
  ANeuralNetworksExecution* execution = pick(executions_);
  int fd = -1;
  switch (bytes_.next() % 10) {
    case 0:
    case 1:
      check_computed(ANeuralNetworksExecution_compute(execution));
      return;
    case 2:
      check(ANeuralNetworksExecution_startCompute(execution,
                                                  slot(events_, ANeuralNetworksEvent_free)));
      return;
    case 3: {
      const ANeuralNetworksEvent* list[] = {pick(events_), pick(events_)};
      ANeuralNetworksEvent* made = nullptr;
      check(ANeuralNetworksExecution_startComputeWithDependencies(
          execution, list, bytes_.next() % 3, bytes_.next(), &made));
      ANeuralNetworksEvent_free(made);
      return;
    }
    case 4:
      check(ANeuralNetworksEvent_createFromSyncFenceFd(bytes_.flag() ? fence_ : -1,
                                                       slot(events_, ANeuralNetworksEvent_free)));
      return;
    case 5:
      check(ANeuralNetworksEvent_getSyncFenceFd(pick(events_), &fd));
      if (fd >= 0) close(fd);
      return;
    case 6:
      check(ANeuralNetworksBurst_create(pick(compilations_),
                                        slot(bursts_, ANeuralNetworksBurst_free)));
      return;
    case 7:
      check_computed(ANeuralNetworksExecution_burstCompute(execution, pick(bursts_)));
      return;
    case 8:
      ANeuralNetworksExecution_free(execution);
      return;
    default:
      ANeuralNetworksEvent_free(pick(events_));
      return;
  }
}

void Application::call_memory() {
  ANeuralNetworksMemoryDesc* desc = pick(descs_);
  switch (bytes_.next() % 9) {
    case 0:
      check(ANeuralNetworksMemory_createFromFd(
          bytes_.flag() ? 64 : bytes_.number(), bytes_.flag() ? PROT_READ | PROT_WRITE : index(),
          file_, bytes_.flag() ? 4096 : 0, slot(memories_, ANeuralNetworksMemory_free)));
      return;
    case 1:
      check(ANeuralNetworksMemory_copy(pick(memories_), pick(memories_)));
      return;
    case 2:
      ANeuralNetworksMemory_free(pick(memories_));
      return;
    case 3:
      check(ANeuralNetworksMemoryDesc_create(slot(descs_, ANeuralNetworksMemoryDesc_free)));
      return;
    case 4:
      check(ANeuralNetworksMemoryDesc_addInputRole(desc, pick(compilations_), bytes_.number(), 1));
      return;
    case 5:
      check(ANeuralNetworksMemoryDesc_addOutputRole(desc, pick(compilations_), bytes_.number(), 1));
      return;
    case 6: {
      const auto dims = bytes_.numbers(3);
      check(ANeuralNetworksMemoryDesc_setDimensions(desc, static_cast<uint32_t>(dims.size()),
                                                    dims.data()));
      return;
    }
    case 7:
      check(ANeuralNetworksMemoryDesc_finish(desc));
      return;
    default:
      check(
          ANeuralNetworksMemory_createFromDesc(desc, slot(memories_, ANeuralNetworksMemory_free)));
      return;
  }
}

}  // namespace

int fuzz_nnapi(std::span<const std::byte> input) {
  const MemoryBudget memory(kMemoryLimit);
  const LimitScope limits(&memory, kTimeLimit);
  Application(Bytes(input)).run();
  return 0;
}

}  // namespace torchlet::fuzz
