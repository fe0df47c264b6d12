// Elementwise operators: activations and arithmetic, as part of the step before where that can be.
#include <algorithm>
#include <array>
#include <limits>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "device/cpu/lower/binary_step.h"
#include "device/cpu/lower/broadcast.h"
#include "device/cpu/lower/lowering.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "ops/core/common.h"

namespace torchlet::cpu {

std::optional<double> known_number(const Call& call, Arg input) {
  const CallArgument& argument = call.argument(input);
  if (!argument.is_known()) return std::nullopt;
  const Value& value = argument.known();
  if (value.is_int() || value.is_float() || value.is_bool()) return call.known_double(input);
  if (value.is_tensor() && value.to_tensor().dim() == 0 && !is_complex(value.to_tensor().dtype())) {
    return call.known_double(input);
  }
  return std::nullopt;
}

using kernels::Activation;

Activation activation_of(const Call& call) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::string_view name = call.kind().name();
  const auto clamp = [](double low, double high) {
    return Activation{kernels::ActivationKind::kClamp, static_cast<float>(low),
                      static_cast<float>(high)};
  };
  const auto bound = [&](const char* input, float none) {
    return call.is_none(input) ? static_cast<double>(none) : call.known_double(input);
  };
  if (name == "relu") return clamp(0, kInfinity);
  if (name == "relu6") return clamp(0, 6);
  if (name == "hardtanh") return clamp(call.known_double("min_val"), call.known_double("max_val"));
  if (name == "clamp") return clamp(bound("min", -kInfinity), bound("max", kInfinity));
  if (name == "clamp_min") return clamp(bound("min", -kInfinity), kInfinity);
  if (name == "clamp_max") return clamp(-kInfinity, bound("max", kInfinity));
  if (name == "leaky_relu") {
    return Activation{kernels::ActivationKind::kLeakyRelu,
                      static_cast<float>(call.known_double("negative_slope")), 0};
  }
  if (name == "hardswish") return Activation{kernels::ActivationKind::kHardswish};
  if (name == "hardsigmoid") return Activation{kernels::ActivationKind::kHardsigmoid};
  if (name == "sigmoid") return Activation{kernels::ActivationKind::kSigmoid};
  if (name == "silu") return Activation{kernels::ActivationKind::kSilu};
  if (name == "tanh") return Activation{kernels::ActivationKind::kTanh};
  if (name == "gelu") {
    return Activation{call.known("approximate").to_string() == "tanh"
                          ? kernels::ActivationKind::kGeluTanh
                          : kernels::ActivationKind::kGelu};
  }
  decline("no activation");
}

namespace {

using kernels::ActivationKind;
using kernels::MatrixBinaryOp;
using kernels::MatrixUnaryOp;
using kernels::Spread;

bool is_dense(const PlanTensor& t) { return is_non_overlapping_and_dense(t.sizes, t.strides); }

Matrix flat_matrix(const PlanTensor& t, TensorId id) {
  return {id, Form::kFixed, 1, t.numel(), t.numel(), t.dtype};
}
Matrix matrix_of(const PlanBuilder& plan, const NhwcImage& image) {
  return {image.id, Form::kImage, image.pixels(), image.c, image.stride, plan.info(image.id).dtype};
}
Matrix matrix_of(const PlanBuilder& plan, const Rows& rows) {
  return {rows.id, Form::kRows, rows.rows, rows.cols, rows.stride, plan.info(rows.id).dtype};
}

Matrix as_matrix(PlanBuilder& plan, TensorId id) {
  const PlanTensor& t = plan.info(id);
  if (t.numel() == 0) decline("an empty tensor");
  if (is_dense(t)) return flat_matrix(t, id);
  if (const auto image = plan.image_view(id)) return matrix_of(plan, *image);
  return matrix_of(plan, plan.as_rows(id));
}

// A tensor for the result of a function of each element, without gaps and in the order of `like`.
Matrix result_like(PlanBuilder& plan, const Matrix& like) {
  const PlanTensor from = plan.info(like.id);
  IntArray strides = from.strides;
  if (like.form == Form::kImage) strides = image_strides(from.sizes);
  if (like.form == Form::kRows) strides = contiguous_strides(from.sizes);
  Matrix result = like;
  result.id = plan.new_tensor(from.dtype, from.sizes, strides);
  result.stride = like.columns;
  return result;
}

// y = function(x) for each element, by a function of kernels/elementwise/elementwise_nhwc.h for
// matrices of float or Float16.
template <typename Function>
class MapStep : public Step {
 public:
  MapStep(const Function& function, const Matrix& x, const Matrix& y)
      : function_(function), x_(x), y_(y) {
    reading(x.operand());
    writing_in_place(y.operand());
  }
  const char* kernel() const override {
    return is_float16(x_.dtype) ? Function::kNameF16 : Function::kNameF32;
  }
  void run(const Memory& m) const override {
    if (is_float16(x_.dtype)) {
      run_in<Float16>(m);
    } else {
      run_in<float>(m);
    }
  }

 private:
  template <typename T>
  void run_in(const Memory& m) const {
    function_(x_.rows, x_.columns, m.data<T>(x_.operand()), x_.stride, m.data<T>(y_.operand()),
              y_.stride);
  }

  Function function_;
  Matrix x_, y_;
};

struct UnaryFunction {
  MatrixUnaryOp op;
  float alpha = 0, beta = 0, gamma = 1;

  static constexpr const char *kNameF32 = "unary_rows_f32", *kNameF16 = "unary_rows_f16";
  void operator()(int64_t rows, int64_t columns, const float* x, int64_t x_stride, float* y,
                  int64_t y_stride) const {
    kernels::unary_rows_f32(op, rows, columns, x, x_stride, y, y_stride, alpha, beta, gamma);
  }
  void operator()(int64_t rows, int64_t columns, const Float16* x, int64_t x_stride, Float16* y,
                  int64_t y_stride) const {
    kernels::unary_rows_f16(op, rows, columns, x, x_stride, y, y_stride, alpha, beta, gamma);
  }
};

struct AffineFunction {
  float scale, shift;

  static constexpr const char *kNameF32 = "affine_rows_f32", *kNameF16 = "affine_rows_f16";
  void operator()(int64_t rows, int64_t columns, const float* x, int64_t x_stride, float* y,
                  int64_t y_stride) const {
    kernels::affine_rows_f32(rows, columns, x, x_stride, scale, shift, y, y_stride);
  }
  void operator()(int64_t rows, int64_t columns, const Float16* x, int64_t x_stride, Float16* y,
                  int64_t y_stride) const {
    kernels::affine_rows_f16(rows, columns, x, x_stride, scale, shift, y, y_stride);
  }
};

struct ActivationFunction {
  Activation activation;

  static constexpr const char *kNameF32 = "activation_rows_f32", *kNameF16 = "activation_rows_f16";
  void operator()(int64_t rows, int64_t columns, const float* x, int64_t x_stride, float* y,
                  int64_t y_stride) const {
    kernels::activation_rows_f32(activation, rows, columns, x, x_stride, y, y_stride);
  }
  void operator()(int64_t rows, int64_t columns, const Float16* x, int64_t x_stride, Float16* y,
                  int64_t y_stride) const {
    kernels::activation_rows_f16(activation, rows, columns, x, x_stride, y, y_stride);
  }
};

// The result of a new step.
template <typename Function>
TensorId add_map(PlanBuilder& plan, TensorId id, const Function& function) {
  const Matrix x = as_matrix(plan, id);
  const Matrix y = result_like(plan, x);
  plan.add_step<MapStep<Function>>(function, x, y);
  return y.id;
}

void lower_activation(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.real_tensor(call, 0);
  const Activation activation = activation_of(call);
  if (plan.fuse(call, 0, activation)) return plan.define(call, id);
  plan.define(call, add_map(plan, id, ActivationFunction{activation}));
}

template <MatrixUnaryOp kOp>
void lower_unary(PlanBuilder& plan, const Call& call) {
  if (call.op->schema.arguments.size() != 1) decline("more arguments");
  const TensorId id = plan.real_tensor(call, 0);
  plan.define(call, add_map(plan, id, UnaryFunction{kOp}));
}

void lower_elu(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.real_tensor(call, 0);
  plan.define(call,
              add_map(plan, id,
                      UnaryFunction{.op = MatrixUnaryOp::kElu,
                                    .alpha = static_cast<float>(call.known_double("alpha")),
                                    .beta = static_cast<float>(call.known_double("input_scale")),
                                    .gamma = static_cast<float>(call.known_double("scale"))}));
}

// ---- arithmetic of two ----

// How `b` is spread over `a`, which has the sizes of the result; nothing if `b` has to be copied.
struct Spreading {
  Matrix a;
  BinaryStep::Second b;
};
std::optional<Spreading> spread(PlanBuilder& plan, TensorId a, TensorId b) {
  const PlanTensor& ta = plan.info(a);
  const PlanTensor& tb = plan.info(b);
  if (tb.numel() == 1) return Spreading{as_matrix(plan, a), {b, Spread::kScalar}};
  const auto image = plan.image_view(a);
  if (ta.sizes == tb.sizes) {
    if (is_dense(ta) && ta.strides == tb.strides) {
      return Spreading{flat_matrix(ta, a), {b, Spread::kNone, ta.numel()}};
    }
    if (const auto other = plan.image_view(b); image && other) {
      return Spreading{matrix_of(plan, *image), {b, Spread::kNone, other->stride}};
    }
    const auto rows_a = plan.rows_view(a), rows_b = plan.rows_view(b);
    if (rows_a && rows_b) {
      return Spreading{matrix_of(plan, *rows_a), {b, Spread::kNone, rows_b->stride}};
    }
    return std::nullopt;
  }
  // The sizes of b as if it had all dimensions.
  IntArray sizes(ta.sizes.size(), 1);
  std::copy(tb.sizes.begin(), tb.sizes.end(), sizes.end() - static_cast<ptrdiff_t>(tb.dim()));
  const auto is_one = [](int64_t size) { return size == 1; };
  if (image && std::all_of(sizes.begin() + 2, sizes.end(), is_one) && sizes[1] == image->c) {
    const auto channel = static_cast<size_t>(tb.dim() + 1 - ta.dim());
    const bool packed = image->c == 1 || tb.strides[channel] == 1;
    const Matrix pixels = matrix_of(plan, *image);
    if (sizes[0] == 1 && packed) return Spreading{pixels, {b, Spread::kColumns}};
    if (sizes[0] == image->n && packed) {
      const int64_t pixels_each = image->d * image->h * image->w;
      return Spreading{pixels, {b, Spread::kBatchColumns, tb.strides[0], pixels_each}};
    }
  }
  if (image && tb.dim() == ta.dim() && sizes[1] == 1 && sizes[0] == image->n &&
      std::equal(sizes.begin() + 2, sizes.end(), ta.sizes.begin() + 2)) {
    if (const auto other = plan.image_view(b)) {
      return Spreading{matrix_of(plan, *image), {b, Spread::kRows, other->stride}};
    }
  }
  if (const auto rows = plan.rows_view(a); rows && tb.numel() == rows->cols &&
                                           sizes.back() == rows->cols &&
                                           (tb.strides.back() == 1 || rows->cols == 1)) {
    return Spreading{matrix_of(plan, *rows), {b, Spread::kColumns}};
  }
  if (is_contiguous_as(ta.sizes, ta.strides, MemoryFormat::kContiguous) &&
      is_contiguous_as(tb.sizes, tb.strides, MemoryFormat::kContiguous)) {
    // One number for all that the last dimensions hold.
    size_t end = sizes.size();
    int64_t inner = 1;
    for (; end > 0 && sizes[end - 1] == 1; --end) inner *= ta.sizes[end - 1];
    if (inner > 0 && tb.numel() > 0 && tb.numel() == ta.numel() / inner) {
      return Spreading{{a, Form::kFixed, tb.numel(), inner, inner, ta.dtype},
                       {b, Spread::kRows, 1}};
    }
  }
  return std::nullopt;
}

// What expand() spread over sizes that the other operand has as well, as it was before.
TensorId unexpanded(PlanBuilder& plan, TensorId id, TensorId other, const IntArray& sizes) {
  const PlanTensor t = plan.info(id);
  IntArray before = t.sizes;
  for (size_t d = 0; d < before.size(); ++d) {
    if (t.strides[d] == 0) before[d] = 1;
  }
  const bool is_needed =
      before == t.sizes || !(ops::broadcast_shapes(before, plan.info(other).sizes) == sizes);
  return is_needed ? id : plan.new_view(id, before, t.strides, t.offset);
}

// Of as many elements as `like`, with as many dimensions.
TensorId with_leading_ones(PlanBuilder& plan, TensorId id, TensorId like) {
  if constexpr (!kHasBroadcasts) return id;
  const PlanTensor t = plan.info(id), all = plan.info(like);
  if (t.numel() != all.numel() || t.dim() == all.dim()) return id;
  IntArray strides = all.strides;
  std::ranges::copy(t.strides, strides.end() - static_cast<ptrdiff_t>(t.strides.size()));
  return plan.new_view(id, all.sizes, strides, t.offset);
}

TensorId add_binary(PlanBuilder& plan, MatrixBinaryOp op, TensorId a, TensorId b) {
  std::array<TensorId, 2> both = {a, b};
  plan.in_same_type(both);
  a = both[0], b = both[1];
  const IntArray sizes = ops::broadcast_shapes(plan.info(a).sizes, plan.info(b).sizes);
  b = unexpanded(plan, b, a, sizes);
  a = unexpanded(plan, a, b, sizes);
  if (!(plan.info(a).sizes == sizes)) {
    if (!(plan.info(b).sizes == sizes)) return add_broadcast(plan, op, a, b);
    std::swap(a, b);
    op = kernels::reversed(op);
  }
  b = with_leading_ones(plan, b, a);
  auto spreading = spread(plan, a, b);
  if (!spreading && !(plan.info(b).sizes == sizes)) return add_broadcast(plan, op, a, b);
  if (!spreading) {
    if constexpr (kHasBroadcasts) {  // walks over parts of tensors, too
      if (!plan.image_view(a) && !plan.image_view(b)) return add_broadcast(plan, op, a, b);
    }
    // One layout for both.
    const int64_t dim = plan.info(a).dim();
    if ((dim == 4 || (dim == 5 && (plan.image_view(a) || plan.image_view(b)))) &&
        plan.info(b).dim() == dim) {
      a = plan.as_image(a, dim).id;
      b = plan.as_image(b, dim).id;
    } else {
      a = plan.contiguous(a);
      b = plan.contiguous(b);
    }
    spreading = spread(plan, a, b);
  }
  if (!spreading) decline("another layout");
  const Matrix y = result_like(plan, spreading->a);
  plan.add_step<BinaryStep>(op, spreading->a, spreading->b, y);
  return y.id;
}

// x + y where one of the two was just computed by a step that can add the other.
bool fuse_addition(PlanBuilder& plan, const Call& call, TensorId a, TensorId b) {
  // The later one, since the earlier one must be there when it is computed.
  const bool a_is_later = plan.written_at(a) > plan.written_at(b);
  const TensorId later = a_is_later ? a : b;
  TensorId earlier = a_is_later ? b : a;
  if (plan.info(later).dtype != plan.info(earlier).dtype) {
    earlier = plan.in_precision_at_hand(earlier);
  }
  Step* step = plan.sole_producer(call, a_is_later ? 0 : 1);
  if (!step || !plan.fuse_residual(later, earlier)) return false;
  step->node = call.node;
  plan.define(call, later);
  return true;
}

// Next to a tensor without dimensions, a number that is itself a tensor has a say in the dtype.
void refuse_other_dtype(PlanBuilder& plan, TensorId id, const CallArgument& number) {
  const Value& value = number.known();
  if (plan.info(id).dim() == 0 && value.is_tensor() &&
      value.to_tensor().dtype() == DType::kFloat64) {
    decline("another dtype");
  }
}

// op(x, number).
TensorId add_with_number(PlanBuilder& plan, MatrixBinaryOp op, TensorId id, double number) {
  const float b = static_cast<float>(number);
  constexpr float kNothing = -0.0f;  // keeps the sign of zero
  switch (op) {
    case MatrixBinaryOp::kAdd:
      return add_map(plan, id, AffineFunction{1, b});
    case MatrixBinaryOp::kSub:
      return add_map(plan, id, AffineFunction{1, -b});
    case MatrixBinaryOp::kMul:
      return add_map(plan, id, AffineFunction{b, kNothing});
    case MatrixBinaryOp::kRsub:
      return add_map(plan, id, AffineFunction{-1, b});
    default:
      return add_binary(plan, op, id,
                        plan.constant(ops::full({}, Scalar(number), DType::kFloat32)));
  }
}

void lower_binary_as(PlanBuilder& plan, const Call& call, MatrixBinaryOp op) {
  if (call.has_argument("rounding_mode")) decline("a rounded division");
  const double alpha = call.has_argument("alpha") ? call.known_double("alpha") : 1;
  if (const auto second = known_number(call, "other")) {
    const TensorId id = plan.real_tensor(call, 0);
    refuse_other_dtype(plan, id, call.argument("other"));
    if (op == MatrixBinaryOp::kRsub && alpha != 1) decline("rsub() with alpha");
    return plan.define(call, add_with_number(plan, op, id, *second * alpha));
  }
  TensorId b = plan.real_tensor(call, "other");
  if (alpha != 1) {
    if (op == MatrixBinaryOp::kRsub) decline("rsub() with alpha");
    b = add_with_number(plan, MatrixBinaryOp::kMul, b, alpha);
  }
  if (const auto first = known_number(call, 0)) {
    refuse_other_dtype(plan, b, call.argument(0));
    return plan.define(call, add_with_number(plan, kernels::reversed(op), b, *first));
  }
  const TensorId a = plan.real_tensor(call, 0);
  if (op == MatrixBinaryOp::kAdd && fuse_addition(plan, call, a, b)) return;
  plan.define(call, add_binary(plan, op, a, b));
}

template <MatrixBinaryOp kOp>
void lower_binary(PlanBuilder& plan, const Call& call) {
  lower_binary_as(plan, call, kOp);
}

// self + value * tensor1 op tensor2.
template <MatrixBinaryOp kOp>
void lower_addition_of(PlanBuilder& plan, const Call& call) {
  constexpr int64_t kLarge = 1 << 17;  // elements that no core has a cache for
  const TensorId self = plan.real_tensor(call, "self");
  if (selection::kHasConversions && plan.info(self).numel() > kLarge) {
    decline("large, and the reference reads it once");
  }
  TensorId added =
      add_binary(plan, kOp, plan.real_tensor(call, "tensor1"), plan.real_tensor(call, "tensor2"));
  const double value = call.known_double("value");
  if (value != 1) added = add_with_number(plan, MatrixBinaryOp::kMul, added, value);
  plan.define(call, add_binary(plan, MatrixBinaryOp::kAdd, self, added));
}

// Between numbers, or between tensors, which have a say in the shape and the dtype of the result.
void lower_clamp(PlanBuilder& plan, const Call& call) {
  if (call.op->schema.overload != "Tensor") return lower_activation(plan, call);
  TensorId id = plan.real_tensor(call, 0);
  const auto apply = [&](const char* bound, MatrixBinaryOp op) {
    if (!call.has_argument(bound) || call.is_none(bound)) return;
    id = add_binary(plan, op, id, plan.real_tensor(call, bound));
  };
  apply("min", MatrixBinaryOp::kMax);
  apply("max", MatrixBinaryOp::kMin);
  plan.define(call, id);
}

void lower_outer(PlanBuilder& plan, const Call& call) {
  const TensorId a = plan.real_tensor(call, 0), b = plan.real_tensor(call, 1);
  if (plan.info(a).dim() != 1 || plan.info(b).dim() != 1) decline("no vectors");
  const TensorId column = plan.viewed(a, ops::unsqueeze(plan.shape_of(a), 1));
  plan.define(call, add_binary(plan, MatrixBinaryOp::kMul, column, b));
}

// The first half of each row times the sigmoid of the second: tiles stay in the cache between both.
class GluStep : public Step {
 public:
  GluStep(int64_t rows, int64_t columns, DType dtype, TensorId x, TensorId y)
      : rows_(rows), columns_(columns), dtype_(dtype) {
    reading(Operand::fixed(x));
    writing(Operand::fixed(y));
  }
  const char* kernel() const override {
    return is_float16(dtype_) ? "glu_rows_f16" : "glu_rows_f32";
  }
  void run(const Memory& m) const override {
    if (is_float16(dtype_)) {
      run_in<Float16>(m, kernels::activation_rows_f16, kernels::binary_rows_f16);
    } else {
      run_in<float>(m, kernels::activation_rows_f32, kernels::binary_rows_f32);
    }
  }

 private:
  template <typename T, typename Activate, typename Multiply>
  void run_in(const Memory& m, const Activate& activate, const Multiply& multiply) const {
    constexpr int64_t kTile = 4096, kTilesPerTask = 4;
    const T* const x = m.data<T>(reads()[0]);
    T* const y = m.data<T>(writes());
    const int64_t tall = std::max<int64_t>(1, kTile / columns_);
    const int64_t across = (columns_ + kTile - 1) / kTile, down = (rows_ + tall - 1) / tall;
    parallel_for(across * down, kTilesPerTask, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / across * tall, column = i % across * kTile;
        const int64_t rows = std::min(tall, rows_ - row);
        const int64_t columns = std::min(kTile, columns_ - column);
        const T* const values = x + 2 * row * columns_ + column;
        T* const to = y + row * columns_ + column;
        if constexpr (selection::kIsWhole && std::is_same_v<T, float>) {
          if (columns_ < kShort) {
            gate_short_rows(rows, values, to);
            continue;
          }
        }
        activate({ActivationKind::kSigmoid}, rows, columns, values + columns_, 2 * columns_, to,
                 columns_);
        multiply(MatrixBinaryOp::kMul, rows, columns, values, 2 * columns_,
                 {to, Spread::kNone, columns_}, {}, to, columns_);
      }
    });
  }

  // Rows that fill no vector: the sigmoid goes over all of them as one.
  static constexpr int64_t kShort = 16;
  void gate_short_rows(int64_t rows, const float* x, float* y) const {
    const auto each = [&](const auto& f) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t k = 0; k < columns_; ++k) f(y[i * columns_ + k], x + 2 * i * columns_ + k);
      }
    };
    each([&](float& to, const float* value) { to = value[columns_]; });
    const int64_t count = rows * columns_;
    kernels::activation_rows_f32({ActivationKind::kSigmoid}, 1, count, y, count, y, count);
    each([](float& to, const float* value) { to *= *value; });
  }

  int64_t rows_, columns_;
  DType dtype_;
};

void lower_glu(PlanBuilder& plan, const Call& call) {
  TensorId id = plan.real_tensor(call, 0);
  if (plan.info(id).numel() == 0) decline("an empty tensor");
  if (!is_dense(plan.info(id))) id = plan.contiguous(id);
  const PlanTensor x = plan.info(id);
  if (x.dim() == 0) decline("a number");
  const auto dim = static_cast<size_t>(wrap_dim(call.known_int("dim"), x.dim()));
  if (x.sizes[dim] % 2 != 0) decline("no halves");
  // The result lies in the order of x, whose outer dimensions come closer by half.
  const int64_t columns = x.sizes[dim] / 2 * x.strides[dim];
  IntArray sizes = x.sizes, strides = x.strides;
  sizes[dim] /= 2;
  for (size_t d = 0; d < strides.size(); ++d) {
    if (d != dim && strides[d] >= 2 * columns) strides[d] /= 2;
  }
  const TensorId y = plan.new_tensor(x.dtype, sizes, strides);
  plan.add_step<GluStep>(x.numel() / (2 * columns), columns, x.dtype, id, y);
  plan.define(call, y);
}

void lower_prelu(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.real_tensor(call, 0);
  const Tensor slopes = call.known_tensor("weight").to(DType::kFloat32);
  if (slopes.numel() == 1) {
    const Activation leaky{ActivationKind::kLeakyRelu, slopes.item<float>()};
    if (plan.fuse(call, 0, leaky)) return plan.define(call, id);
    return plan.define(call, add_map(plan, id, ActivationFunction{leaky}));
  }
  IntArray sizes(static_cast<size_t>(plan.info(id).dim()), 1);
  if (sizes.size() < 2) decline("no channels");
  sizes[1] = slopes.numel();
  Tensor all = ops::reshape(slopes, sizes);
  if (sizes.size() > 2 && !plan.image_view(id) && plan.info(id).sizes[1] == slopes.numel()) {
    sizes[0] = plan.info(id).sizes[0];  // so that there is one for each plane
    all = ops::expand(all, sizes).contiguous();
  }
  plan.define(call, add_binary(plan, MatrixBinaryOp::kPrelu, id, plan.constant(all)));
}

// Of the exponents for which PyTorch calls no pow() either.
void lower_pow(PlanBuilder& plan, const Call& call) {
  const TensorId x = plan.real_tensor(call, 0);
  if (call.known("exponent").is_tensor()) decline("an exponent for each element");
  const double exponent = call.known_double("exponent");
  const auto unary = [&](MatrixUnaryOp op) { return add_map(plan, x, UnaryFunction{op}); };
  if (exponent == 2) return plan.define(call, unary(MatrixUnaryOp::kSquare));
  if (exponent == 3) return plan.define(call, unary(MatrixUnaryOp::kCube));
  if (exponent == 0.5) return plan.define(call, unary(MatrixUnaryOp::kSqrt));
  if (exponent == -0.5) return plan.define(call, unary(MatrixUnaryOp::kRsqrt));
  if (exponent == -1) return plan.define(call, unary(MatrixUnaryOp::kReciprocal));
  decline("another exponent");
}

// What masks scores is part of attention.
void lower_masking(PlanBuilder&, const Call&) { decline("alone, the reference is as fast"); }

// max(input, other) is one of two tensors; max(input) and max(input, dim) are not.
std::string refuse_unless_binary(const Node& node) {
  return node.op()->schema.overload == "other" ? "" : "there is no kernel for this overload";
}
// where(condition) has as many results as the condition has truths.
std::string refuse_places(const Node& node) {
  return node.inputs().size() == 3 ? "" : "there is no kernel for this overload";
}

}  // namespace

TensorId add_activation(PlanBuilder& plan, TensorId id, const Activation& activation) {
  Step* step = plan.step_that_wrote(id);
  if (step && step->writes().id() == id && step->fuse(activation)) return id;
  return add_map(plan, id, ActivationFunction{activation});
}

std::span<const Lowering> elementwise_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::relu", lower_activation},
      {"aten::relu6", lower_activation},
      {"aten::hardtanh", lower_activation},
      {"aten::clamp", lower_clamp},
      {"aten::clamp_min", lower_clamp},
      {"aten::clamp_max", lower_clamp},
      {"aten::leaky_relu", lower_activation},
      {"aten::hardswish", lower_activation},
      {"aten::hardsigmoid", lower_activation},
      {"aten::sigmoid", lower_activation},
      {"aten::silu", lower_activation},
      {"aten::tanh", lower_activation},
      {"aten::gelu", lower_activation},
      {"aten::abs", lower_unary<MatrixUnaryOp::kAbs>},
      {"aten::neg", lower_unary<MatrixUnaryOp::kNeg>},
      {"aten::square", lower_unary<MatrixUnaryOp::kSquare>},
      {"aten::reciprocal", lower_unary<MatrixUnaryOp::kReciprocal>},
      {"aten::sqrt", lower_unary<MatrixUnaryOp::kSqrt>},
      {"aten::rsqrt", lower_unary<MatrixUnaryOp::kRsqrt>},
      {"aten::exp", lower_unary<MatrixUnaryOp::kExp>},
      {"aten::log", lower_unary<MatrixUnaryOp::kLog>},
      {"aten::erf", lower_unary<MatrixUnaryOp::kErf>},
      {"aten::sin", lower_unary<MatrixUnaryOp::kSin>},
      {"aten::cos", lower_unary<MatrixUnaryOp::kCos>},
      {"aten::floor", lower_unary<MatrixUnaryOp::kFloor>},
      {"aten::ceil", lower_unary<MatrixUnaryOp::kCeil>},
      {"aten::trunc", lower_unary<MatrixUnaryOp::kTrunc>},
      {"aten::mish", lower_unary<MatrixUnaryOp::kMish>},
      {"aten::elu", lower_elu},
      {"aten::pow", lower_pow},
      {"aten::add", lower_binary<MatrixBinaryOp::kAdd>},
      {"aten::sub", lower_binary<MatrixBinaryOp::kSub>},
      {"aten::mul", lower_binary<MatrixBinaryOp::kMul>},
      {"aten::div", lower_binary<MatrixBinaryOp::kDiv>},
      {"aten::maximum", lower_binary<MatrixBinaryOp::kMax>},
      {"aten::minimum", lower_binary<MatrixBinaryOp::kMin>},
      {"aten::max", lower_binary<MatrixBinaryOp::kMax>, refuse_unless_binary},
      {"aten::min", lower_binary<MatrixBinaryOp::kMin>, refuse_unless_binary},
      {"aten::rsub", lower_binary<MatrixBinaryOp::kRsub>},
      {"aten::addcmul", lower_addition_of<MatrixBinaryOp::kMul>},
      {"aten::addcdiv", lower_addition_of<MatrixBinaryOp::kDiv>},
      {"aten::outer", lower_outer},
      {"aten::ger", lower_outer},
      {"aten::glu", lower_glu},
      {"aten::masked_fill", lower_masking},
      {"aten::where", lower_masking, refuse_places},
      {"aten::prelu", lower_prelu},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
