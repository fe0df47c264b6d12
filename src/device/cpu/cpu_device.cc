#include "device/cpu/cpu_device.h"

#include "device/cpu/cpu_segment.h"
#include "device/cpu/lowering.h"

namespace torchlet::cpu {
namespace {

class CpuDevice : public device::Device {
 public:
  explicit CpuDevice(Precision precision) : precision_(precision) {}
  const char* name() const override { return "cpu"; }

  std::string refusal(const Node& node) const override {
    if (node.op()->schema.is_vararg) return "it takes any number of arguments";
    const Lowering* lowering = find_lowering(node.kind(), false);
    if (!lowering) return "there is no kernel for it";
    if (lowering->refusal) {
      if (std::string why = lowering->refusal(node); !why.empty()) return why;
    }
    return "";
  }

  std::shared_ptr<Segment> prepare(const Node& node) const override {
    return std::make_shared<CpuSegment>(node, arenas_, precision_);
  }

 private:
  Precision precision_;
  std::shared_ptr<ArenaPool> arenas_ = std::make_shared<ArenaPool>();
};

}  // namespace

std::unique_ptr<device::Device> make_cpu_device(Precision precision) {
  if (!kernels::has_float16()) precision = Precision::kFloat32;
  return std::make_unique<CpuDevice>(precision);
}

}  // namespace torchlet::cpu
