// A segment and the devices that may run it, compiled for each signature of its inputs when that
// first appears.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "device/device.h"
#include "device/placement.h"
#include "device/specialise/signature_cache.h"
#include "graph/segment.h"

namespace torchlet::device {

class DeviceSegment : public Segment {
 public:
  // `devices` in the order in which they are asked; all of them take every operator of `node`,
  // which outlives the segment.
  DeviceSegment(const Node& node, std::vector<std::shared_ptr<Device>> devices,
                std::shared_ptr<PlacementLog> log)
      : node_(node), devices_(std::move(devices)), log_(std::move(log)), failed_(devices_.size()) {}

  bool run(std::span<const Value> inputs, std::span<Value> outputs) override;

 private:
  struct Placed {
    std::shared_ptr<const CompiledSegment> compiled;
    size_t device;
  };
  std::shared_ptr<const Placed> compile(std::span<const Value> inputs);

  const Node& node_;
  std::vector<std::shared_ptr<Device>> devices_;
  std::shared_ptr<PlacementLog> log_;
  std::vector<std::atomic<bool>> failed_;  // while they ran it, by device
  SignatureCache<Placed> placed_;
};

}  // namespace torchlet::device
