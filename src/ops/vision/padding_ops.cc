// Padding: constant, reflect, replicate, circular.
#include "base/counted_vector.h"
#include "ops/vision/padding.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/vision/gather_spatial.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

// Which input element each output element of one dimension shows.
CountedVector<int64_t> border_table(int64_t in, int64_t before, int64_t after, PadMode mode) {
  const int64_t size = in + before + after;
  // Circular padding crops first and wraps around what is left.
  const int64_t cropped = in + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
  require_memory(size, sizeof(int64_t), "places of a padded tensor");
  CountedVector<int64_t> table(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    if (i == before && before >= 0 && after >= 0) {  // what is no border
      std::iota(table.begin() + i, table.begin() + i + in, int64_t{0});
      i += in;
      if (i == size) break;
    }
    int64_t at = i - before;
    switch (mode) {
      case PadMode::kReflect:
        at = at < 0 ? -at : at >= in ? 2 * (in - 1) - at : at;
        break;
      case PadMode::kCircular:
        at = i - std::max<int64_t>(before, 0);
        if (at < 0 || at >= cropped) at = (at % cropped + cropped) % cropped;
        at += std::max<int64_t>(-before, 0);
        break;
      default:
        at = std::clamp<int64_t>(at, 0, in - 1);
    }
    table[static_cast<size_t>(i)] = at;
  }
  return table;
}

void check_border(const Tensor& self, int64_t in, int64_t before, int64_t after, PadMode mode) {
  const int64_t size = checked_add(checked_add(in, before), after);
  if (mode == PadMode::kCircular) {
    TORCHLET_CHECK(before <= in && after <= in,
                   "Padding value causes wrapping around more than once: padding (%lld, %lld) of "
                   "input %s",
                   ll(before), ll(after), self.describe().c_str());
    TORCHLET_CHECK(size == 0 || std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) > -in,
                   "Negative padding value is resulting in an empty dimension.");
    TORCHLET_CHECK(size >= 0, "Negative padding value is resulting in an empty dimension.");
    return;
  }
  TORCHLET_CHECK(mode != PadMode::kReflect || (before < in && after < in),
                 "Padding size should be less than the corresponding input dimension, but got: "
                 "padding (%lld, %lld) of input %s",
                 ll(before), ll(after), self.describe().c_str());
  TORCHLET_CHECK(size > 0, "padding: input %s is too small, calculated output size %lld",
                 self.describe().c_str(), ll(size));
}

// What `tensor` is within a border of these amounts times `sign`, where that is positive.
Tensor within(Tensor tensor, IntSpan pad, int64_t sign) {
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t dim = tensor.dim() - 1 - static_cast<int64_t>(i);
    const int64_t before = std::max<int64_t>(checked_mul(sign, pad[2 * i]), 0);
    const int64_t after = std::max<int64_t>(checked_mul(sign, pad[2 * i + 1]), 0);
    tensor = narrow(tensor, dim, before, tensor.size(dim) - before - after);
  }
  return tensor;
}

// Calls fn(dim, before, size, after) for the dimensions that are padded, the first of them first.
template <typename Fn>
void for_each_border(IntSpan pad, const Tensor& padded, const Fn& fn) {
  for (size_t i = pad.size() / 2; i-- > 0;) {
    const int64_t dim = padded.dim() - 1 - static_cast<int64_t>(i);
    const int64_t before = std::max<int64_t>(pad[2 * i], 0);
    const int64_t after = std::max<int64_t>(pad[2 * i + 1], 0);
    fn(dim, before, padded.size(dim) - before - after, after);
  }
}

// Circular padding by no more than what is cropped has.
Tensor wrap_blocks(const Tensor& self, IntSpan pad, IntSpan shape) {
  const Tensor out = empty(shape, self.dtype(), self.suggest_memory_format());
  within(out, pad, 1).copy_(within(self, pad, -1));
  for_each_border(pad, out, [&](int64_t dim, int64_t before, int64_t size, int64_t after) {
    const int64_t end = before + size;
    if (before > 0) narrow(out, dim, 0, before).copy_(narrow(out, dim, size, before));
    if (after > 0) narrow(out, dim, end, after).copy_(narrow(out, dim, before, after));
  });
  return out;
}

template <PadMode Mode, int64_t Spatial>
Tensor pad_nd(const Tensor& self, const IntArray& padding) {
  const IntArray pad = expand_param(padding, 2 * Spatial, "padding");
  TORCHLET_CHECK(self.dim() == Spatial + 1 || self.dim() == Spatial + 2,
                 "padding: expected a tensor of %lld or %lld (batch mode) dimensions, got %s",
                 ll(Spatial + 1), ll(Spatial + 2), self.describe().c_str());
  return border_pad(self, pad, Mode);
}

// at::native::_pad_enum
Tensor pad_mode(const Tensor& self, const IntArray& pad, PadMode mode,
                std::optional<double> value) {
  TORCHLET_CHECK(pad.size() % 2 == 0, "Padding length must be divisible by 2");
  TORCHLET_CHECK(static_cast<int64_t>(pad.size()) <= self.dim() * 2, "Padding length too large");
  if (mode == PadMode::kConstant) return constant_pad(self, pad, Scalar(value.value_or(0)));
  TORCHLET_CHECK(!value || *value == 0, "This padding mode doesn't take in value argument");
  const int64_t spatial = static_cast<int64_t>(pad.size() / 2);
  const bool batched = self.dim() == spatial + 2;
  TORCHLET_CHECK(spatial >= 1 && spatial <= 3 &&
                     (batched || (mode != PadMode::kCircular && self.dim() == spatial + 1)),
                 "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, got "
                 "%zu padding values for %s",
                 pad.size(), self.describe().c_str());
  return border_pad(self, pad, mode);
}

PadMode parse_mode(const std::string& mode) {
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "replicate") return PadMode::kReplicate;
  TORCHLET_CHECK(mode == "circular", "Unrecognised padding mode %s", mode.c_str());
  return PadMode::kCircular;
}

}  // namespace

Tensor constant_pad(const Tensor& self, IntSpan pad, const Scalar& value) {
  TORCHLET_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals %zu",
                 pad.size());
  const size_t rank = self.sizes().size(), padded = pad.size() / 2;
  TORCHLET_CHECK(padded <= rank,
                 "Length of pad should be no more than twice the number of dimensions of the "
                 "input. Pad length is %zu while the input has %zu dimensions.",
                 pad.size(), rank);
  IntArray shape(self.sizes());
  for (size_t i = 0; i < padded; ++i) {
    const size_t d = rank - 1 - i;
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    TORCHLET_CHECK(!__builtin_add_overflow(shape[d], before, &shape[d]) &&
                       !__builtin_add_overflow(shape[d], after, &shape[d]) && shape[d] >= 0,
                   "The input size %lld, plus negative padding %lld and %lld, resulted in a "
                   "negative output size, which is invalid. Check dimension %zu of your input.",
                   ll(self.sizes()[d]), ll(before), ll(after), d);
  }
  const Tensor out = empty(shape, self.dtype(), self.suggest_memory_format());
  // Of short rows, to write the ends of each takes longer than to write all of memory at once.
  constexpr int64_t kShortRow = 256;  // bytes
  const bool has_ends = padded > 0 && (pad[0] > 0 || pad[1] > 0);
  const bool is_filled =
      has_ends && out.is_contiguous() &&
      out.size(-1) * static_cast<int64_t>(element_size(out.dtype())) <= kShortRow;
  if (is_filled) fill(out, value);
  Tensor rest = out;
  for_each_border(pad, out, [&](int64_t dim, int64_t before, int64_t size, int64_t after) {
    if (before > 0 && !is_filled) fill(narrow(rest, dim, 0, before), value);
    if (after > 0 && !is_filled) fill(narrow(rest, dim, before + size, after), value);
    rest = narrow(rest, dim, before, size);
  });
  rest.copy_(within(self, pad, -1));
  return out;
}

Tensor border_pad(const Tensor& self, IntSpan pad, PadMode mode) {
  const size_t spatial = pad.size() / 2, rank = self.sizes().size();
  // PyTorch takes an empty batch, and what it cannot tell from one: no channels of a line or a
  // picture by itself, if they are reflected. Circular padding only copies, so it takes anything.
  const bool may_begin_empty = rank == spatial + 2 || (mode == PadMode::kReflect && spatial < 3);
  if (mode != PadMode::kCircular) {
    for (size_t d = may_begin_empty ? 1 : 0; d < rank; ++d) {
      TORCHLET_CHECK(self.sizes()[d] > 0,
                     "padding: expected non-zero dimensions but for the batch, got %s",
                     self.describe().c_str());
    }
  }
  // What does not lie in order is copied once, to its place, if that is all that wrapping needs.
  bool by_blocks = mode == PadMode::kCircular && !self.is_contiguous() && !is_meta(self) &&
                   !self.impl()->quantizer;
  IntArray shape(self.sizes());
  IndexTables tables;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t in = self.sizes()[rank - spatial + i];
    const int64_t before = pad[pad.size() - 2 - 2 * i], after = pad[pad.size() - 1 - 2 * i];
    check_border(self, in, before, after, mode);
    tables.push_back(border_table(in, before, after, mode));
    shape[rank - spatial + i] = static_cast<int64_t>(tables[i].size());
    by_blocks &=
        std::max(before, after) <= in + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
  }
  if (by_blocks) return wrap_blocks(self, pad, shape);
  return gather_spatial(self, std::move(tables));
}

TORCHLET_OP_WITH(constant_pad_nd,
                 on_meta() | out("out") | keeps_rank() | keeps_dtype() | may_alias() |
                     quantized_as_input(),
                 "aten::constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
                 [](const Tensor& self, const IntArray& pad, const Scalar& value) {
                   return constant_pad(self, pad, value);
                 });
TORCHLET_OP_WITH(
    pad, on_meta() | keeps_rank() | keeps_dtype() | may_alias() | quantized_as_input(),
    "aten::pad(Tensor self, int[] pad, str mode=\"constant\", float? value=None) -> Tensor",
    [](const Tensor& self, const IntArray& pad, const std::string& mode,
       std::optional<double> value) { return pad_mode(self, pad, parse_mode(mode), value); });
TORCHLET_OP(_pad_enum,
            "aten::_pad_enum(Tensor self, int[] pad, int mode, float? value=None) -> Tensor",
            [](const Tensor& self, const IntArray& pad, int64_t mode, std::optional<double> value) {
              TORCHLET_CHECK(mode >= 0 && mode <= 3, "Unrecognised padding mode %lld", ll(mode));
              static constexpr PadMode kModes[] = {PadMode::kReflect, PadMode::kReplicate,
                                                   PadMode::kCircular, PadMode::kConstant};
              return pad_mode(self, pad, kModes[mode], value);
            });
TORCHLET_OP(_pad_circular, "aten::_pad_circular(Tensor self, int[] pad) -> Tensor",
            [](const Tensor& self, const IntArray& pad) {
              return pad_mode(self, pad, PadMode::kCircular, std::nullopt);
            });
TORCHLET_OP_WITH(reflection_pad1d,
                 on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::reflection_pad1d(Tensor self, int[2] padding) -> Tensor",
                 pad_nd<PadMode::kReflect, 1>);
TORCHLET_OP_WITH(reflection_pad2d,
                 on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::reflection_pad2d(Tensor self, int[4] padding) -> Tensor",
                 pad_nd<PadMode::kReflect, 2>);
TORCHLET_OP_WITH(reflection_pad3d, on_meta() | out("out") | keeps_rank() | keeps_dtype(),
                 "aten::reflection_pad3d(Tensor self, int[6] padding) -> Tensor",
                 pad_nd<PadMode::kReflect, 3>);
TORCHLET_OP_WITH(replication_pad1d, on_meta() | out("out") | keeps_rank() | keeps_dtype(),
                 "aten::replication_pad1d(Tensor self, int[2] padding) -> Tensor",
                 pad_nd<PadMode::kReplicate, 1>);
TORCHLET_OP_WITH(replication_pad2d, on_meta() | out("out") | keeps_rank() | keeps_dtype(),
                 "aten::replication_pad2d(Tensor self, int[4] padding) -> Tensor",
                 pad_nd<PadMode::kReplicate, 2>);
TORCHLET_OP_WITH(replication_pad3d, on_meta() | out("out") | keeps_rank() | keeps_dtype(),
                 "aten::replication_pad3d(Tensor self, int[6] padding) -> Tensor",
                 pad_nd<PadMode::kReplicate, 3>);

}  // namespace torchlet::ops
