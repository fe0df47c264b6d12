// A segment on a device: compiled for each signature of its inputs when that first appears.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/placement.h"
#include "device/specialise/signature_cache.h"
#include "graph/segment.h"

namespace torchlet::device {

class DeviceSegment : public Segment {
 public:
  // The first device takes every operator of `node`, which outlives the segment; the others may get
  // those that it refuses when it knows the inputs.
  DeviceSegment(const Node& node, std::span<const std::shared_ptr<Device>> devices,
                std::shared_ptr<PlacementLog> log, std::string key)
      : node_(node),
        device_(devices[0]),
        next_(devices.begin() + 1, devices.end()),
        log_(std::move(log)),
        key_(std::move(key)) {}

  bool run(std::span<const Value> inputs, std::span<Value> outputs) override;

  const char* device_name() const { return device_->name(); }
  // By which a choice names it (device/partition.h).
  const std::string& key() const { return key_; }

 private:
  void run(const CompiledSegment& compiled, std::span<const Value> inputs,
           std::span<Value> outputs) const;
  std::shared_ptr<const CompiledSegment> compile(std::span<const Value> inputs);

  const Node& node_;
  std::shared_ptr<Device> device_;
  std::vector<std::shared_ptr<Device>> next_;
  std::shared_ptr<PlacementLog> log_;
  const std::string key_;
  std::atomic<bool> has_failed_ = false;  // while it ran
  SignatureCache<CompiledSegment> compiled_;
};

}  // namespace torchlet::device
