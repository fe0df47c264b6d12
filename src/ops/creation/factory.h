// The arguments that every factory and conversion shares: dtype, layout, device, pin_memory.
#pragma once

#include <optional>

#include "ops/core/common.h"
#include "tensor/containers.h"

// The tail of a factory's schema.
#define TORCHLET_FACTORY_ARGS \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

namespace torchlet::ops {

// Error unless the value is None or names the CPU.
void check_device(const Value& device);
// Error unless the value is None or the strided layout.
void check_layout(const Value& layout);

// dtype (or `fallback`) after the other three are checked; pin_memory has no meaning here.
DType factory_dtype(std::optional<DType> dtype, const Value& layout, const Value& device,
                    DType fallback = default_dtype());

}  // namespace torchlet::ops
