#include "neuralnetworks/api/burst.h"

#include "neuralnetworks/api/execution.h"

using namespace torchlet::nn;

int ANeuralNetworksBurst_create(ANeuralNetworksCompilation* compilation,
                                ANeuralNetworksBurst** burst) {
  return answer(__func__, [&] {
    require(burst, "burst");
    *burst = nullptr;
    const auto object = find<CompilationObject>(compilation);
    object->compiled();
    *burst = make_handle(std::make_shared<BurstObject>(object->id()));
  });
}

void ANeuralNetworksBurst_free(ANeuralNetworksBurst* burst) {
  free_handle<BurstObject>(__func__, burst);
}

int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksBurst* burst) {
  return answer(__func__, [&] {
    require(execution, "execution");
    require(burst, "burst");
    const auto object = find<ExecutionObject>(execution);
    const auto in = find<BurstObject>(burst);
    if (object->compilation().id() != in->compilation) {
      refuse(ANEURALNETWORKS_BAD_DATA, "the burst is of another compilation");
    }
    if (in->is_busy.test_and_set(std::memory_order_acquire)) {
      refuse(ANEURALNETWORKS_BAD_STATE, "the burst computes another execution");
    }
    struct Release {
      ~Release() { burst.is_busy.clear(std::memory_order_release); }
      BurstObject& burst;
    } release{*in};
    return object->compute("ANeuralNetworksExecution_burstCompute");
  });
}
