#include "neuralnetworks/api/memory_desc.h"

#include "neuralnetworks/api/compilation.h"
#include "neuralnetworks/model/operand_type.h"

using namespace torchlet::nn;

namespace torchlet::nn {
namespace {

std::vector<uint32_t> combined(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  auto dims = combine_dims(a, b);
  if (!dims) {
    refuse(ANEURALNETWORKS_BAD_DATA, "sizes %s and %s contradict each other", dims_text(a).c_str(),
           dims_text(b).c_str());
  }
  return std::move(*dims);
}

}  // namespace

void MemoryDescObject::require_open() const {
  if (is_finished_) refuse(ANEURALNETWORKS_BAD_STATE, "the description is finished");
}

void MemoryDescObject::add_role(const CompilationObject& compilation, Access access, uint32_t index,
                                float frequency) {
  const std::lock_guard lock(mutex_);
  require_open();
  const std::shared_ptr<const Model> model = compilation.model_if_finished();
  if (!model) refuse(ANEURALNETWORKS_BAD_DATA, "the compilation is not finished");
  const std::vector<uint32_t>& operands = access == Access::kRead ? model->inputs : model->outputs;
  if (index >= operands.size()) {
    refuse(ANEURALNETWORKS_BAD_DATA, "there is no %s %u, only %zu",
           access == Access::kRead ? "input" : "output", index, operands.size());
  }
  if (!(frequency > 0 && frequency <= 1)) {
    refuse(ANEURALNETWORKS_BAD_DATA, "the frequency %g", frequency);
  }
  const Operand& operand = model->operands[operands[index]];
  if (!use_.roles.empty() && !is_same_type(operand, use_.operand)) {
    refuse(ANEURALNETWORKS_BAD_DATA, "the roles are of operands of other types");
  }
  if (is_scalar(operand.type) && !use_.operand.dims.empty()) {
    refuse(ANEURALNETWORKS_BAD_DATA, "a scalar with sizes %s",
           dims_text(use_.operand.dims).c_str());
  }
  std::vector<uint32_t> dims = combined(use_.operand.dims, operand.dims);
  value_size(operand.type, dims);
  if (!use_.roles.insert({compilation.id(), access, index}).second) {
    refuse(ANEURALNETWORKS_BAD_DATA, "the role is there already");
  }
  use_.operand.type = operand.type;
  use_.operand.scale = operand.scale;
  use_.operand.zero_point = operand.zero_point;
  use_.operand.channel_scales = operand.channel_scales;
  use_.operand.dims = std::move(dims);
}

void MemoryDescObject::set_dims(std::span<const uint32_t> dims) {
  const std::lock_guard lock(mutex_);
  require_open();
  if (!use_.roles.empty() && is_scalar(use_.operand.type) && !dims.empty()) {
    refuse(ANEURALNETWORKS_BAD_DATA, "a scalar with sizes %s", dims_text(dims).c_str());
  }
  std::vector<uint32_t> all = combined(use_.operand.dims, dims);
  if (!use_.roles.empty()) value_size(use_.operand.type, all);
  use_.operand.dims = std::move(all);
}

void MemoryDescObject::finish() {
  const std::lock_guard lock(mutex_);
  require_open();
  if (use_.roles.empty()) refuse(ANEURALNETWORKS_BAD_DATA, "the description has no role");
  is_finished_ = true;
}

MemoryUse MemoryDescObject::finished() const {
  const std::lock_guard lock(mutex_);
  if (!is_finished_) refuse(ANEURALNETWORKS_BAD_STATE, "the description is not finished");
  return use_;
}

namespace {

int add_role(const char* function, ANeuralNetworksMemoryDesc* desc,
             const ANeuralNetworksCompilation* compilation, Access access, uint32_t index,
             float frequency) {
  return answer(function, [&] {
    require(compilation, "compilation");
    const auto object = find<MemoryDescObject>(desc);
    object->add_role(*find<CompilationObject>(compilation), access, index, frequency);
  });
}

}  // namespace
}  // namespace torchlet::nn

int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc** desc) {
  return answer(__func__, [&] {
    require(desc, "desc");
    *desc = nullptr;
    *desc = make_handle(std::make_shared<MemoryDescObject>());
  });
}

int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc* desc,
                                           const ANeuralNetworksCompilation* compilation,
                                           uint32_t index, float frequency) {
  return add_role(__func__, desc, compilation, Access::kRead, index, frequency);
}

int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc* desc,
                                            const ANeuralNetworksCompilation* compilation,
                                            uint32_t index, float frequency) {
  return add_role(__func__, desc, compilation, Access::kWrite, index, frequency);
}

int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc* desc, uint32_t rank,
                                            const uint32_t* dimensions) {
  return answer(__func__, [&] {
    if (rank) require(dimensions, "dimensions");
    if (rank > kMaxRank) refuse(ANEURALNETWORKS_BAD_DATA, "%u dimensions", rank);
    find<MemoryDescObject>(desc)->set_dims({dimensions, rank});
  });
}

int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc* desc) {
  return answer(__func__, [&] { find<MemoryDescObject>(desc)->finish(); });
}

void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc* desc) {
  free_handle<MemoryDescObject>(__func__, desc);
}
