#include "device/cpu/cpu_device.h"

#include "device/cpu/builder.h"
#include "device/cpu/lower/lowering.h"
#include "device/specialise/rewrites.h"
#include "tensor/derived_storage.h"

namespace torchlet::cpu {
namespace {

class CompiledPlan : public device::CompiledSegment {
 public:
  CompiledPlan(std::unique_ptr<const Plan> plan, std::shared_ptr<ArenaPool> arenas)
      : plan_(std::move(plan)), arenas_(std::move(arenas)) {}
  void run(std::span<const Value> inputs, std::span<Value> outputs) const override {
    plan_->run(inputs, outputs, *arenas_);
  }

 private:
  std::unique_ptr<const Plan> plan_;
  std::shared_ptr<ArenaPool> arenas_;
};

class CpuDevice : public device::Device {
 public:
  CpuDevice(Precision precision, Footprint footprint, std::shared_ptr<device::WeightCache> cache)
      : precision_(precision), footprint_(footprint), cache_(std::move(cache)) {}
  const char* name() const override { return kCpuDevice.name; }

  std::string refusal(const Node& node) const override {
    if (node.op()->schema.is_vararg) return "it takes any number of arguments";
    const Lowering* lowering = find_lowering(node.kind(), false);
    if (!lowering) return "there is no kernel for it";
    return lowering->refusal ? lowering->refusal(node) : "";
  }

  device::Compilation compile(device::SpecialisedSegment& segment) override {
    const PassingScope weights;
    device::rewrite(segment);
    if (precision_ != Precision::kFloat32) {
      try {
        return compiled(PlanBuilder(segment, packed_, precision_, footprint_));
      } catch (const device::Declined&) {
        // The program has float16 tensors of its own.
      }
    }
    return compiled(PlanBuilder(segment, packed_, Precision::kFloat32, footprint_));
  }

 private:
  device::Compilation compiled(PlanBuilder&& builder) const {
    std::unique_ptr<Plan> plan = builder.build();
    if constexpr (selection::kIsWhole) {
      if (cache_) cache_->write();
    }
    if (builder.only_copies()) {
      return {.compiled = nullptr,
              .refusal = builder.by_reference()[0].why,
              .refused = builder.by_reference(),
              .by_reference = {}};
    }
    return {.compiled = std::make_shared<CompiledPlan>(std::move(plan), arenas_),
            .refusal = "",
            .by_reference = builder.by_reference()};
  }

  Precision precision_;
  Footprint footprint_;
  std::shared_ptr<ArenaPool> arenas_ = std::make_shared<ArenaPool>();
  std::shared_ptr<device::WeightCache> cache_;
  PackedWeights packed_{cache_};
};

}  // namespace

std::shared_ptr<device::Device> make_cpu_device(Precision precision, Footprint footprint,
                                                std::shared_ptr<device::WeightCache> cache) {
  if (!selection::kHasFloat16) precision = Precision::kFloat32;
  return std::make_shared<CpuDevice>(precision, footprint, std::move(cache));
}

}  // namespace torchlet::cpu
