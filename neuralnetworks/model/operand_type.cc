#include "neuralnetworks/model/operand_type.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace torchlet::nn {
namespace {

struct Range {
  int32_t least, most;
};

Range zero_points(int32_t type) {
  switch (type) {
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
      return {0, 255};
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
      return {-128, 127};
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
      return {0, 65535};
    default:
      return {0, 0};
  }
}

bool is_scale(int32_t type, float scale) {
  switch (type) {
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
    case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
      return scale > 0 && std::isfinite(scale);
    case ANEURALNETWORKS_TENSOR_INT32:  // with a scale where it is a bias
      return scale >= 0 && std::isfinite(scale);
    default:
      return scale == 0;
  }
}

}  // namespace

Operand make_operand(const ANeuralNetworksOperandType& type) {
  if (type.type < 0 || type.type > ANEURALNETWORKS_MODEL) {
    fail(ErrorCode::kInvalidArgument, "there is no operand type %d", type.type);
  }
  if ((type.dimensions == nullptr) != (type.dimensionCount == 0) ||
      type.dimensionCount > kMaxRank) {
    fail(ErrorCode::kInvalidArgument, "%u dimensions%s", type.dimensionCount,
         !type.dimensions           ? ", but no sizes of them"
         : type.dimensionCount == 0 ? ", but sizes of them"
                                    : ", more than any operation takes");
  }
  if (type.dimensionCount && !is_tensor(type.type)) {
    fail(ErrorCode::kInvalidArgument, "a scalar or model with %u dimensions", type.dimensionCount);
  }
  if (!is_scale(type.type, type.scale)) {
    fail(ErrorCode::kInvalidArgument, "operand type %d with the scale %g", type.type, type.scale);
  }
  const Range range = zero_points(type.type);
  if (type.zeroPoint < range.least || type.zeroPoint > range.most) {
    fail(ErrorCode::kInvalidArgument, "operand type %d with the zero point %d", type.type,
         type.zeroPoint);
  }
  Operand made;
  made.type = type.type;
  if (type.dimensionCount) {
    made.dims.assign(type.dimensions, type.dimensions + type.dimensionCount);
  }
  made.scale = type.scale;
  made.zero_point = type.zeroPoint;
  value_size(made.type, made.dims);
  return made;
}

std::optional<size_t> value_size(int32_t type, std::span<const uint32_t> dims) {
  if (is_scalar(type)) return element_size(type);
  if (dims.empty() || std::ranges::find(dims, 0U) != dims.end()) return {};
  uint64_t nbytes = element_size(type);
  for (const uint32_t size : dims) {
    nbytes *= size;
    if (nbytes > UINT32_MAX) {
      fail(ErrorCode::kInvalidArgument, "a tensor of sizes %s has more than 4 GiB",
           dims_text(dims).c_str());
    }
  }
  return nbytes;
}

std::optional<std::vector<uint32_t>> combine_dims(std::span<const uint32_t> a,
                                                  std::span<const uint32_t> b) {
  if (a.empty()) return std::vector(b.begin(), b.end());
  std::vector<uint32_t> all(a.begin(), a.end());
  if (b.empty()) return all;
  if (a.size() != b.size()) return {};
  for (size_t i = 0; i < b.size(); ++i) {
    if (all[i] != 0 && b[i] != 0 && all[i] != b[i]) return {};
    all[i] = std::max(all[i], b[i]);
  }
  return all;
}

bool is_same_type(const Operand& a, const Operand& b) {
  const bool same_scales =
      a.channel_scales.has_value() == b.channel_scales.has_value() &&
      (!a.channel_scales || (a.channel_scales->dim == b.channel_scales->dim &&
                             a.channel_scales->scales == b.channel_scales->scales));
  return a.type == b.type && a.scale == b.scale && a.zero_point == b.zero_point && same_scales;
}

std::string dims_text(std::span<const uint32_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

}  // namespace torchlet::nn
