// Quantized layers and arithmetic, on quint8 tensors of exact numbers.
#include <cmath>

#include "families.h"

namespace torchlet::random_graphs {
namespace {

constexpr char kConvParams[] = "__torch__.torch.classes.quantized.Conv2dPackedParamsBase";
constexpr char kLinearParams[] = "__torch__.torch.classes.quantized.LinearPackedParamsBase";

// "scale, zero point)" of a result whose numbers are about `size` steps of 1 / 128 wide.
std::string qparams(Builder& b, double size) {
  const double scale = size * b.random.real(0.5, 1.5);
  return format("%.6g, %d)", scale, static_cast<int>(b.random.pick({0, 17, 99, 128, 128, 200})));
}

double scale_of(Builder& b, ValueId id) { return b.tensor(id).q_scale(); }

// A float weight as qint8, per tensor or per channel of the first dimension.
std::optional<ValueId> quantized_weight(Builder& b, ValueId weight) {
  if (b.random.chance(0.5)) {
    return b.exact(format("torch.quantize_per_tensor($0, 0.009, %d, 12)",
                          static_cast<int>(b.random.pick({0, 0, 3}))),
                   {weight});
  }
  const IntArray channels = {b.sizes(weight)[0]};
  const ValueId scales = b.add_weight(random_tensor(b.random, channels, 0.004f, 0.02f));
  const ValueId zeros = b.add_weight(random_tensor(b.random, channels, -1.4f, 1.4f));
  return b.exact("torch.quantize_per_channel($0, $1, torch.to($2, 4), 0, 12)",
                 {weight, scales, zeros});
}

std::optional<ValueId> any_quantized(Builder& b, int64_t dim) {
  return b.any([&](ValueId id) {
    const Tensor t = b.tensor(id);
    return t.dtype() == DType::kQUInt8 && t.numel() > 0 && (dim == 0 || t.dim() == dim);
  });
}

// Packed weights of a layer for so many channels: those of another layer, its weight packed with
// another bias, or new ones. `pack` makes them of a weight, which is to be made if there is none.
template <typename Pack>
std::optional<Builder::Packed> packed_for(Builder& b, int64_t channels, bool is_linear,
                                          const Pack& pack) {
  std::vector<Builder::Packed> known = b.packed;
  std::erase_if(known, [&](const Builder::Packed& packed) {
    return packed.is_linear != is_linear || packed.channels != channels;
  });
  std::optional<ValueId> weight;
  if (!known.empty() && b.random.chance(0.5)) {
    const Builder::Packed packed = b.random.pick(known);
    if (b.random.chance(0.5)) return packed;
    weight = packed.weight;
  }
  const std::optional<Builder::Packed> packed = pack(weight);
  // What a block makes stays in it.
  if (packed && b.depth() == 0) b.packed.push_back(*packed);
  return packed;
}

// "call($0, bias" with a bias or None.
std::string with_bias(Builder& b, const std::string& call, int64_t channels,
                      std::vector<ValueId>& reads) {
  if (b.random.chance(0.3)) return call + "($0, None";
  reads.push_back(b.weight({channels}));
  return call + "($0, $1";
}

std::optional<Builder::Packed> pack_conv(Builder& b, int64_t c, std::optional<ValueId> weight) {
  const bool is_depthwise = b.random.chance(0.3);
  const int64_t g = is_depthwise ? c : c % 2 == 0 ? b.random.pick<int64_t>({1, 1, 2}) : 1;
  const int64_t out = is_depthwise ? c : g * b.random.pick<int64_t>({1, 2, 4, 8});
  const int64_t k = b.random.pick<int64_t>({1, 3, 3, 2});
  if (!weight) weight = quantized_weight(b, b.weight({out, c / g, k, k}));
  if (!weight) return std::nullopt;
  const IntArray sizes = b.sizes(*weight);
  std::vector<ValueId> reads = {*weight};
  const auto id = b.call_typed(kConvParams,
                               with_bias(b, "ops.quantized.conv2d_prepack", sizes[0], reads) +
                                   b.random.pick({", [1, 1], ", ", [2, 1], ", ", [1, 1], "}) +
                                   text_of({sizes[2] / 2, sizes[3] / 2}) +
                                   b.random.pick({", [1, 1], ", ", [1, 1], ", ", [2, 2], "}) +
                                   std::to_string(c / sizes[1]) + ")",
                               reads, Arithmetic::kExact);
  if (!id) return std::nullopt;
  return Builder::Packed{*id, *weight, c, sizes[1] * sizes[2] * sizes[3], false};
}

std::optional<Builder::Packed> pack_linear(Builder& b, int64_t in, std::optional<ValueId> weight) {
  const int64_t out = b.random.pick<int64_t>({1, 3, 8, in});
  if (!weight) weight = quantized_weight(b, b.weight({out, in}));
  if (!weight) return std::nullopt;
  std::vector<ValueId> reads = {*weight};
  const auto id = b.call_typed(
      kLinearParams, with_bias(b, "ops.quantized.linear_prepack", b.sizes(*weight)[0], reads) + ")",
      reads, Arithmetic::kExact);
  if (!id) return std::nullopt;
  return Builder::Packed{*id, *weight, in, in, true};
}

void add_conv(Builder& b, ValueId x) {
  const int64_t c = b.sizes(x)[1];
  const auto packed = packed_for(
      b, c, false, [&](std::optional<ValueId> weight) { return pack_conv(b, c, weight); });
  if (!packed) return;
  const double size = scale_of(b, x) * std::sqrt(static_cast<double>(packed->terms));
  if (b.random.chance(0.2)) {
    // Which the convolution may take for its own padding.
    x = b.exact(b.random.pick({"torch.constant_pad_nd($0, [0, 1, 0, 1], 0)",
                               "torch.constant_pad_nd($0, [2, 0, 1, 3], 0)",
                               "torch.constant_pad_nd($0, [1, 1, 0, 2], 0.7)"}),
                {x})
            .value_or(x);
  }
  b.exact(b.random.pick({"ops.quantized.conv2d($0, $1, ", "ops.quantized.conv2d_relu($0, $1, "}) +
              qparams(b, size),
          {x, packed->id});
}

void add_linear(Builder& b, ValueId x, bool is_dynamic) {
  if (b.sizes(x).empty()) return;
  const int64_t in = b.sizes(x).back();
  const auto packed = packed_for(
      b, in, true, [&](std::optional<ValueId> weight) { return pack_linear(b, in, weight); });
  if (!packed) return;
  if (is_dynamic) {
    b.exact(b.random.pick({"ops.quantized.linear_dynamic($0, $1, False)",
                           "ops.quantized.linear_relu_dynamic($0, $1, False)"}),
            {x, packed->id});
    return;
  }
  const double size = scale_of(b, x) * std::sqrt(static_cast<double>(packed->terms));
  b.exact(b.random.pick({"ops.quantized.linear($0, $1, ", "ops.quantized.linear_relu($0, $1, "}) +
              qparams(b, size),
          {x, packed->id});
}

void add_arithmetic(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  const auto is_like = [&](ValueId id) {
    return b.tensor(id).dtype() == DType::kQUInt8 && b.sizes(id) == sizes;
  };
  const ValueId y = b.any(is_like).value_or(x);
  const double size = scale_of(b, x) + scale_of(b, y);
  const double product = scale_of(b, x) * scale_of(b, y) * 64;
  switch (b.random.below(5)) {
    case 0:
    case 1:
      b.exact(b.random.pick({"ops.quantized.add($0, $1, ", "ops.quantized.add_relu($0, $1, "}) +
                  qparams(b, size),
              {x, y});
      return;
    case 2:
      b.exact(b.random.pick({"ops.quantized.mul($0, $1, ", "ops.quantized.mul_relu($0, $1, "}) +
                  qparams(b, product),
              {x, y});
      return;
    case 3:
      b.exact(
          b.random.pick({"ops.quantized.mul_scalar($0, -0.7)", "ops.quantized.add_scalar($0, 0.7)",
                         "ops.quantized.mul_scalar($0, 2.)"}),
          {x});
      return;
    default: {
      // Of the pictures, a factor for each channel.
      if (sizes.size() != 4) return;
      const auto gate =
          b.exact("torch.sigmoid(torch.slice(torch.slice($0, 2, 0, 1, 1), 3, 0, 1, 1))", {x});
      if (gate) b.exact("ops.quantized.mul($0, $1, " + qparams(b, scale_of(b, x)), {*gate, x});
    }
  }
}

void add_join(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  if (sizes.empty()) return;
  const int64_t d = b.random.below(static_cast<int64_t>(sizes.size()));
  const std::vector<ValueId> others = b.visible_where([&](ValueId id) {
    IntArray other = b.sizes(id);
    if (b.tensor(id).dtype() != DType::kQUInt8 || other.size() != sizes.size()) return false;
    other[static_cast<size_t>(d)] = sizes[static_cast<size_t>(d)];
    return other == sizes;
  });
  const std::vector<ValueId> parts = {x, b.random.pick(others), b.random.pick(others)};
  const std::string dim = std::to_string(d);
  if (b.random.chance(0.3)) {
    b.exact("ops.quantized.cat([$1, $0], " + dim + ", None, None)", parts);
  } else if (b.random.chance(0.2)) {
    b.exact("torch.cat([$0, $1, $0], " + dim + ")", parts);
  } else {
    b.exact(
        b.random.pick({"ops.quantized.cat([$0, $1, $2], ", "ops.quantized.cat_relu([$2, $0], "}) +
            dim + ", " + qparams(b, scale_of(b, x)),
        parts);
  }
}

void add_function(Builder& b, ValueId x) {
  const bool is_image = b.sizes(x).size() == 4;
  if (is_image && b.random.chance(0.6)) {
    b.exact(b.random.pick(
                {"torch.max_pool2d($0, [3, 3], [2, 2], [1, 1], [1, 1], True)",
                 "torch.max_pool2d($0, [2, 2], [1, 1], [0, 0], [1, 1], False)",
                 "torch.adaptive_avg_pool2d($0, [1, 1])", "torch.adaptive_avg_pool2d($0, [3, 2])",
                 "torch.avg_pool2d($0, [3, 3], [2, 1], [1, 0], False, False)",
                 "torch.avg_pool2d($0, [2, 2], [], [0, 0], False, True)", "torch.mean($0, [2, 3])",
                 "torch.mean($0, [-1, 2], True)", "torch.upsample_nearest2d($0, [7, 5])"}),
            {x});
    return;
  }
  b.exact(
      b.random.pick({"torch.relu($0)", "torch.clamp($0, -0.5, 1.0)", "torch.hardtanh($0, -1., 1.5)",
                     "torch.sigmoid($0)", "torch.tanh($0)", "torch.hardsigmoid($0)",
                     "torch.leaky_relu($0, 0.1)", "ops.quantized.hardswish($0, 0.03, 20)",
                     "torch.elu($0)", "ops.quantized.leaky_relu($0, 0.1, False, 0.03, 9)"}),
      {x});
}

}  // namespace

void add_quantized(Builder& b) {
  const auto exact_float = [&](ValueId id) {
    return b.is_float(id) && b.is_exact(id) && b.tensor(id).numel() > 0;
  };
  if (b.random.chance(0.15)) {
    if (const auto x = b.any(exact_float)) {
      if (b.random.chance(0.4)) return add_linear(b, *x, true);
      const double size = largest(b.tensor(*x)) / 128;
      if (size == 0) return;
      b.exact("torch.quantize_per_tensor($0, " + format("%.6g, %d, 13)", size, 128), {*x});
      return;
    }
  }
  const auto image = any_quantized(b, 4), any = any_quantized(b, 0);
  if (!any) {
    if (const auto x = b.any(exact_float)) {
      b.exact("torch.quantize_per_tensor($0, 0.02, 120, 13)", {*x});
    }
    return;
  }
  switch (b.random.below(8)) {
    case 0:
    case 1:
      if (image) return add_conv(b, *image);
      return add_linear(b, *any, false);
    case 2:
      return add_linear(b, *any, false);
    case 3:
    case 4:
      return add_arithmetic(b, *any);
    case 5:
      return add_join(b, *any);
    case 6:
      return add_function(b, *any);
    default:
      b.exact("torch.dequantize($0)", {*any});
  }
}

}  // namespace torchlet::random_graphs
