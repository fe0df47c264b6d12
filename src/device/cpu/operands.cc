// How lowerings get their operands: tensors, images and rows.
#include <algorithm>

#include "base/thread_pool.h"
#include "device/cpu/builder.h"
#include "device/cpu/copy_step.h"
#include "kernels/elementwise/convert.h"
#include "kernels/half/float16.h"
#include "ops/core/common.h"
#include "tensor/containers.h"
#include "tensor/meta.h"

namespace torchlet::cpu {

TensorId PlanBuilder::tensor(const CallArgument& argument) {
  if (argument.is_tensor()) {
    const TensorId id = tensors_[static_cast<size_t>(argument.id())];
    if (id >= 0) return id;
  } else if (argument.is_known() && argument.known().is_tensor()) {
    return constant(argument.known().to_tensor());
  }
  decline("not a tensor");
}

std::vector<TensorId> PlanBuilder::tensors(const Call& call, Arg arg) {
  const CallArgument& list = call.argument(arg);
  std::vector<TensorId> ids;
  if (list.is_known() && list.known().is_list()) {
    for (const Value& item : list.known().list_ref().items)
      ids.push_back(tensor(CallArgument(item)));
    return ids;
  }
  if (!list.is_list()) decline("not a list of tensors");
  for (const CallArgument& item : list.items()) ids.push_back(tensor(item));
  return ids;
}

CallArgument PlanBuilder::argument_of(TensorId id) {
  tensors_.push_back(id);
  return CallArgument::tensor(static_cast<ValueId>(tensors_.size() - 1));
}

TensorId PlanBuilder::tensor_of(const Call& call, Arg arg, DType dtype) {
  TensorId id = tensor(call, arg);
  if (dtype == DType::kFloat32) id = in_float32(id);
  if (info(id).dtype != dtype) decline("another dtype");
  return id;
}

TensorId PlanBuilder::real_tensor(const CallArgument& argument) {
  const TensorId id = tensor(argument);
  if (program_dtype(id) != DType::kFloat32) decline("another dtype");
  return id;
}

TensorId PlanBuilder::layer_tensor(const CallArgument& argument, DType weights) {
  if (weights == DType::kFloat32) return real_tensor(argument);
  const TensorId id = tensor(argument);
  if (!is_layer_dtype(weights) || info(id).dtype != weights) decline("another dtype");
  return converted(id, DType::kFloat32);
}

void PlanBuilder::define_layer(const Call& call, TensorId result, DType weights) {
  define(call, weights == DType::kBFloat16 ? converted(result, weights) : result);
}

TensorId PlanBuilder::in_dtype(TensorId id, DType dtype) {
  const DType from = info(id).dtype;
  if (from == dtype) return id;
  const bool converts = precision_ == Precision::kFloat32 && kernels::has_float16() &&
                        (from == DType::kFloat32 || from == DType::kFloat16) &&
                        (dtype == DType::kFloat32 || dtype == DType::kFloat16);
  if (!converts) decline("another dtype");
  return converted(id, dtype);
}

TensorId PlanBuilder::in_float32(TensorId id) {
  return program_dtype(id) != info(id).dtype ? converted(id, DType::kFloat32) : id;
}

TensorId PlanBuilder::in_precision(TensorId id) {
  const bool is_exact = precision_ == Precision::kFloat16 && info(id).dtype == DType::kFloat32;
  return is_exact ? converted(id, DType::kFloat16) : id;
}

TensorId PlanBuilder::in_precision_at_hand(TensorId id) const {
  if (info(id).dtype != DType::kFloat32) return id;
  const auto known = conversions_.find(id);
  return known == conversions_.end() ? id : known->second;
}

void PlanBuilder::in_same_type(std::span<TensorId> ids) {
  const auto is_rounded = [&](TensorId id) { return info(id).dtype == DType::kFloat16; };
  if (std::ranges::none_of(ids, is_rounded)) return;
  for (TensorId& id : ids) id = in_precision(id);
}

namespace {

// Writes the elements of one matrix into another of the same form, rounded to 16 bits or widened.
class ConvertStep : public Step {
 public:
  // Of images, or of one row without gaps.
  ConvertStep(const MatrixLayout& layout, Operand from, Operand to)
      : layout_(layout), from_(reading(from)), to_(writing(to)) {}
  const char* kernel() const override { return "convert"; }
  void run(const Memory& m) const override {
    const bool is_row = layout_.rows == 1;
    const int64_t from_stride = is_row ? layout_.columns : m.stride(from_);
    const int64_t to_stride = is_row ? layout_.columns : m.stride(to_);
    const DType from = m.tensor(from_).dtype;
    if (from == DType::kBFloat16 || m.tensor(to_).dtype == DType::kBFloat16) {
      convert_bfloat16(m, from == DType::kBFloat16, from_stride, to_stride);
    } else if (from == DType::kFloat32) {
      kernels::to_float16_rows(layout_.rows, layout_.columns, m.data<float>(from_), from_stride,
                               m.data<Float16>(to_), to_stride);
    } else {
      kernels::to_float32_rows(layout_.rows, layout_.columns, m.data<Float16>(from_), from_stride,
                               m.data<float>(to_), to_stride);
    }
  }

 private:
  void convert_bfloat16(const Memory& m, bool widens, int64_t from_stride,
                        int64_t to_stride) const {
    using enum kernels::NumberType;
    constexpr int64_t kElementsPerTask = 32768;
    const auto* const from = m.data<std::byte>(from_);
    auto* const to = m.data<std::byte>(to_);
    const int64_t from_size = widens ? 2 : 4, to_size = widens ? 4 : 2;
    const auto convert = [&](int64_t from_at, int64_t to_at, int64_t count) {
      kernels::convert(widens ? kBF16 : kF32, from + from_at * from_size, widens ? kF32 : kBF16,
                       to + to_at * to_size, count);
    };
    const int64_t rows = layout_.rows, columns = layout_.columns;
    if (from_stride == columns && to_stride == columns) {
      return parallel_for(rows * columns, kElementsPerTask,
                          [&](int64_t begin, int64_t end) { convert(begin, begin, end - begin); });
    }
    const int64_t grain = std::max<int64_t>(1, kElementsPerTask / columns);
    parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) convert(r * from_stride, r * to_stride, columns);
    });
  }

  MatrixLayout layout_;
  Operand from_, to_;
};

}  // namespace

// The same part of what a step wrote, if that fills its buffer without gaps and lies converted as
// it does itself.
TensorId PlanBuilder::part_of_converted(TensorId id, DType dtype) {
  if (written_at(id) < 0) return kNoTensor;
  const TensorId whole = step_that_wrote(id)->writes().id();
  const PlanTensor t = info(whole);  // a copy: tensors are added
  const int64_t nbytes = t.numel() * static_cast<int64_t>(element_size(t.dtype));
  const Buffer& buffer = buffer_of(whole);
  if (whole == id || !is_non_overlapping_and_dense(t.sizes, t.strides) || t.offset != 0 ||
      nbytes != buffer.nbytes) {
    return kNoTensor;
  }
  const TensorId to = converted(whole, dtype);
  // It may have been moved into a concatenation.
  if (!(info(to).strides == t.strides) || info(to).offset != 0) return kNoTensor;
  const PlanTensor part = info(id);
  return new_view(to, part.sizes, part.strides, part.offset);
}

TensorId PlanBuilder::converted(TensorId id, DType dtype) {
  if constexpr (!selection::kHasFloat16) decline("another dtype");
  if (const auto known = conversions_.find(id); known != conversions_.end()) return known->second;
  const PlanTensor from = info(id);  // a copy: tensors are added
  if (from.numel() == 0) decline("an empty tensor");
  const Buffer& buffer = buffer_of(id);
  TensorId to;
  if (buffer.kind == Buffer::Kind::kConstant) {
    const Tensor& all = buffer.constant;
    const Tensor part = make_tensor(all.impl()->storage, from.dtype, from.sizes, from.strides,
                                    all.storage_offset() + from.offset);
    to = add_constant(part.to(dtype));
  } else if (const auto image = image_view(id)) {
    const NhwcImage result = new_image(dtype, from.sizes);
    add_step<ConvertStep>(MatrixLayout{image->pixels(), image->c, image->stride}, *image, result);
    to = result.id;
  } else if (is_non_overlapping_and_dense(from.sizes, from.strides)) {
    to = new_tensor(dtype, from.sizes, from.strides);
    add_step<ConvertStep>(MatrixLayout{1, from.numel(), from.numel()}, Operand::fixed(id),
                          Operand::fixed(to));
  } else if (const TensorId part = part_of_converted(id, dtype); part != kNoTensor) {
    to = part;
  } else {
    to = converted(contiguous(id), dtype);
  }
  conversions_.emplace(id, to);
  return to;
}

// ---- forms ----

NhwcImage PlanBuilder::as_image(TensorId id, int64_t dim) {
  const PlanTensor from = info(id);
  if (from.dim() != dim || from.numel() == 0) decline("not an image");
  if (const auto image = image_at_hand(id)) return *image;
  const NhwcImage to = new_image(from.dtype, from.sizes, from.quantizer);
  copy(id, to.id);
  image_copies_.emplace(id, to.id);
  return to;
}

std::optional<NhwcImage> PlanBuilder::image_at_hand(TensorId id) const {
  const auto copied = image_copies_.find(id);
  return image_view(copied == image_copies_.end() ? id : copied->second);
}

Rows PlanBuilder::as_rows(TensorId id) {
  if (const auto rows = rows_view(id)) return *rows;
  if (info(id).numel() == 0) decline("an empty tensor");
  return *rows_view(contiguous(id));
}

TensorId PlanBuilder::contiguous(TensorId id) {
  const PlanTensor from = info(id);
  if (is_contiguous_as(from.sizes, from.strides, MemoryFormat::kContiguous)) return id;
  const TensorId to = new_contiguous(from.dtype, from.sizes, from.quantizer);
  copy(id, to);
  return to;
}

Tensor PlanBuilder::shape_of(TensorId id) const {
  const PlanTensor& t = info(id);
  return make_meta(t.dtype, t.sizes, t.strides, t.offset, t.quantizer);
}

TensorId PlanBuilder::viewed(TensorId base, const Tensor& shape) {
  return new_view(base, shape.sizes(), shape.strides(), shape.storage_offset());
}

TensorId PlanBuilder::requantized(TensorId id, std::shared_ptr<const Quantizer> quantizer) {
  const TensorId view = viewed(id, shape_of(id));
  tensor_at(view).quantizer = std::move(quantizer);
  return view;
}

// Whether dimension `d` of these sizes stays one of its own in a tensor of the other sizes, and
// which.
static std::optional<size_t> same_dimension(IntSpan from, size_t d, IntSpan to) {
  int64_t before = 1, count = 1;
  for (size_t i = 0; i < d; ++i) before *= from[i];
  for (size_t i = 0; i < to.size() && count <= before; ++i) {
    if (count == before && to[i] == from[d]) return i;
    count *= to[i];
  }
  return std::nullopt;
}

TensorId PlanBuilder::reshaped(TensorId id, IntSpan sizes) {
  try {
    return viewed(id, ops::view(shape_of(id), sizes));
  } catch (const Error&) {
    // A dimension that only repeats the others, and stays, is left out of the copy.
    const PlanTensor from = info(id);
    const Tensor whole = make_meta(from.dtype, from.sizes, contiguous_strides(from.sizes), 0, {});
    const IntArray all = ops::view(whole, sizes).sizes();
    IntArray once = from.sizes, result = all;
    for (size_t d = 0; d < once.size(); ++d) {
      if (from.strides[d] != 0 || from.sizes[d] < 2) continue;
      const auto place = same_dimension(from.sizes, d, all);
      if (place) once[d] = result[*place] = 1;
    }
    const TensorId copied = contiguous(new_view(id, once, from.strides, from.offset));
    return viewed(copied, ops::expand(ops::view(shape_of(copied), result), all));
  }
}

}  // namespace torchlet::cpu
