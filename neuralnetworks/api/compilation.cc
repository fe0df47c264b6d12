#include "neuralnetworks/api/compilation.h"

#include <sys/stat.h>

#include <atomic>
#include <utility>

#include "base/limits.h"
#include "neuralnetworks/api/model.h"

using namespace torchlet::nn;

namespace torchlet::nn {
namespace {

// Of a cache line and of the widest registers; kernels read and write no byte beyond a value.
constexpr uint32_t kPreferredAlignment = 64;
constexpr uint32_t kPreferredPadding = 1;

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

CompilationObject::CompilationObject(std::shared_ptr<const Model> model, DeviceList devices,
                                     bool devices_were_chosen)
    : id_(next_id()),
      model_(std::move(model)),
      devices_(std::move(devices)),
      devices_were_chosen_(devices_were_chosen) {}

void CompilationObject::require_open() const {
  if (state_ == State::kOpen) return;
  refuse(ANEURALNETWORKS_BAD_STATE, "the compilation %s",
         state_ == State::kFinished ? "is finished" : "failed to finish");
}

void CompilationObject::set_preference(int32_t preference) {
  const std::lock_guard lock(mutex_);
  require_open();
  if (preference < ANEURALNETWORKS_PREFER_LOW_POWER ||
      preference > ANEURALNETWORKS_PREFER_SUSTAINED_SPEED) {
    refuse(ANEURALNETWORKS_BAD_DATA, "there is no preference %d", preference);
  }
}

void CompilationObject::set_caching(std::string folder) {
  const std::lock_guard lock(mutex_);
  require_open();
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    log("the cache of a compilation, '%s', is no folder", folder.c_str());
  }
}

void CompilationObject::set_priority(int priority) {
  const std::lock_guard lock(mutex_);
  require_open();
  if (priority != ANEURALNETWORKS_PRIORITY_LOW && priority != ANEURALNETWORKS_PRIORITY_MEDIUM &&
      priority != ANEURALNETWORKS_PRIORITY_HIGH) {
    refuse(ANEURALNETWORKS_BAD_DATA, "there is no priority %d", priority);
  }
}

void CompilationObject::set_timeout(uint64_t nanoseconds) {
  const std::lock_guard lock(mutex_);
  require_open();
  require_one_device("a time limit");
  timeout_ = nanoseconds;
}

void CompilationObject::finish() {
  const std::lock_guard lock(mutex_);
  require_open();
  state_ = State::kInvalid;
  const LimitScope limits(nullptr, static_cast<double>(timeout_) * 1e-9);
  CompileOptions options;
  options.devices = torchlet_devices(devices_);
  compiled_ = compile(model_, options);
  state_ = State::kFinished;
}

void CompilationObject::require_one_device(const char* what) const {
  if (devices_were_chosen_ && devices_.size() == 1) return;
  refuse(ANEURALNETWORKS_BAD_DATA, "%s needs a compilation for one device", what);
}

std::shared_ptr<const Model> CompilationObject::model_if_finished() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::kFinished ? model_ : nullptr;
}

std::shared_ptr<const CompiledModel> CompilationObject::compiled() const {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kFinished) {
    refuse(ANEURALNETWORKS_BAD_STATE, "the compilation %s",
           state_ == State::kOpen ? "is not finished" : "failed to finish");
  }
  return compiled_;
}

void CompilationObject::require_argument(bool is_input, uint32_t index) const {
  compiled();
  const size_t count = (is_input ? model_->inputs : model_->outputs).size();
  if (index < count) return;
  refuse(ANEURALNETWORKS_BAD_DATA, "there is no %s %u, only %zu", is_input ? "input" : "output",
         index, count);
}

namespace {

int preference(const char* function, const ANeuralNetworksCompilation* compilation, bool is_input,
               uint32_t index, uint32_t preferred, uint32_t* answered) {
  return answer(function, [&] {
    require(answered, "the result");
    find<CompilationObject>(compilation)->require_argument(is_input, index);
    *answered = preferred;
  });
}

}  // namespace
}  // namespace torchlet::nn

int ANeuralNetworksCompilation_create(ANeuralNetworksModel* model,
                                      ANeuralNetworksCompilation** compilation) {
  return answer(__func__, [&] {
    require(compilation, "compilation");
    *compilation = nullptr;
    const FinishedModel finished = find<ModelObject>(model)->finished();
    *compilation =
        make_handle(std::make_shared<CompilationObject>(finished.model, shown_devices(), false));
  });
}

int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel* model,
                                                const ANeuralNetworksDevice* const* devices,
                                                uint32_t numDevices,
                                                ANeuralNetworksCompilation** compilation) {
  return answer(__func__, [&] {
    require(compilation, "compilation");
    *compilation = nullptr;
    require(devices, "devices");
    const auto object = find<ModelObject>(model);
    DeviceList chosen = find_devices(devices, numDevices);
    *compilation = make_handle(
        std::make_shared<CompilationObject>(object->finished().model, std::move(chosen), true));
  });
}

void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation* compilation) {
  free_handle<CompilationObject>(__func__, compilation);
}

int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation* compilation,
                                             int32_t preference) {
  return answer(__func__,
                [&] { find<CompilationObject>(compilation)->set_preference(preference); });
}

int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation* compilation,
                                          const char* cacheDir, const uint8_t* token) {
  return answer(__func__, [&] {
    require(cacheDir, "cacheDir");
    require(token, "token");
    find<CompilationObject>(compilation)->set_caching(cacheDir);
  });
}

int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation* compilation, int priority) {
  return answer(__func__, [&] { find<CompilationObject>(compilation)->set_priority(priority); });
}

int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation* compilation,
                                          uint64_t duration) {
  return answer(__func__, [&] { find<CompilationObject>(compilation)->set_timeout(duration); });
}

int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation* compilation) {
  return answer(__func__, [&] { find<CompilationObject>(compilation)->finish(); });
}

int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment) {
  return preference(__func__, compilation, true, index, kPreferredAlignment, alignment);
}

int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding) {
  return preference(__func__, compilation, true, index, kPreferredPadding, padding);
}

int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment) {
  return preference(__func__, compilation, false, index, kPreferredAlignment, alignment);
}

int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding) {
  return preference(__func__, compilation, false, index, kPreferredPadding, padding);
}
