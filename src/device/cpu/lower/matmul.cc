// Linear layers and matrix products.
#include "device/cpu/lower/conv_step.h"
#include "device/cpu/lower/lowering.h"
#include "device/cpu/lower/matmul_step.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
TensorId add_linear(PlanBuilder& plan, TensorId input, const Tensor& weight, const Tensor& bias,
                    bool may_pad) {
  if (!plan.is_layer_dtype(weight.dtype()) || weight.dim() != 2) decline("unusual weights");
  const Rows rows = plan.as_rows(plan.in_precision(input));
  const int64_t in = weight.size(1), out = weight.size(0);
  if (rows.cols != in || in == 0 || out == 0 || plan.info(input).dim() == 0) {
    decline("weights that do not fit");
  }
  IntArray sizes = plan.info(input).sizes;
  sizes.back() = out;
  const DType dtype = plan.real_dtype();
  // Rows a multiple of 4 KB apart share their cache sets.
  const int64_t size = static_cast<int64_t>(element_size(dtype));
  const bool pads = may_pad && out * size % 4096 == 0 && rows.rows > 8;
  const int64_t stride = pads ? out + 64 / size : out;
  IntArray strides(sizes.size(), 1);
  for (size_t d = sizes.size() - 1; d-- > 0;) {
    strides[d] = d + 2 == sizes.size() ? stride : strides[d + 1] * sizes[d + 1];
  }
  const Rows result = *plan.rows_view(plan.new_tensor(dtype, sizes, strides));
  const kernels::ConvNhwcShape shape{.in_channels = in,
                                     .out_channels = out,
                                     .window = {1, rows.rows, 1, rows.rows, 1, 1},
                                     .lean = plan.is_lean(),
                                     .strassen = true,
                                     .weights = plan.weight_format(weight.dtype())};
  plan.add_step<ConvStep>(dtype, shape, rows, result, pack_conv(plan, dtype, shape, weight),
                          keep_bias(plan, bias, weight, out));
  return result.id;
}

namespace {

// Does nobody read the result but another linear layer, perhaps after an activation?
bool feeds_linear(const PlanBuilder& plan, const Call& call) {
  ValueId id = call.outputs[0].id();
  for (int hops = 0; hops < 2; ++hops) {
    const Call* user = plan.only_user(id);
    if (!user || !user->arguments[0].is_tensor() || user->arguments[0].id() != id) return false;
    if (user->kind().str() == "aten::linear") return true;
    if (user->kind().str() != "aten::gelu" && user->kind().str() != "aten::relu") return false;
    id = user->outputs[0].id();
  }
  return false;
}

void lower_linear(PlanBuilder& plan, const Call& call) {
  const Tensor weight = call.known_tensor("weight");
  const TensorId input = plan.layer_tensor(call.argument(0), weight.dtype());
  plan.define_layer(
      call, add_linear(plan, input, weight, call.known_tensor("bias"), feeds_linear(plan, call)),
      weight.dtype());
}

// beta self + alpha mat1 mat2 with a known matrix and bias: a linear layer of before PyTorch 1.7.
void lower_addmm(PlanBuilder& plan, const Call& call) {
  if (call.known_double("beta") != 1 || call.known_double("alpha") != 1) decline("alpha or beta");
  const Tensor weight = call.known_tensor("mat2");
  const TensorId input = plan.layer_tensor(call.argument("mat1"), weight.dtype());
  const Tensor bias = call.known_tensor("self");
  if (weight.dim() != 2 || bias.dim() != 1 || plan.info(input).dim() != 2) decline("ranks");
  plan.define_layer(call, add_linear(plan, input, ops::transpose(weight, 0, 1), bias),
                    weight.dtype());
}

std::optional<Matrices> matrices_view(const PlanBuilder& plan, TensorId id) {
  const PlanTensor& t = plan.info(id);
  const size_t rank = t.sizes.size();
  Matrices m{
      id, 1, 0, t.sizes[rank - 2], t.sizes[rank - 1], t.strides[rank - 2], t.strides[rank - 1]};
  for (size_t d = rank - 2; d-- > 0;) {
    if (t.sizes[d] == 1) continue;
    if (m.batch == 1) {
      m.batch_stride = t.strides[d];
    } else if (t.strides[d] != m.batch_stride * m.batch) {
      return std::nullopt;
    }
    m.batch *= t.sizes[d];
  }
  return m;
}

Matrices as_matrices(PlanBuilder& plan, TensorId id) {
  if (const auto view = matrices_view(plan, id)) return *view;
  return *matrices_view(plan, plan.contiguous(id));
}

void lower_matmul(PlanBuilder& plan, const Call& call) {
  if (lower_attention(plan, call)) return;
  TensorId a = plan.real_tensor(call, 0), b = plan.real_tensor(call, 1);
  const int64_t rank_a = plan.info(a).dim(), rank_b = plan.info(b).dim();
  if (rank_a < 2 || rank_b < 2) decline("a product with a vector");
  const std::string_view name = call.kind().name();
  if (name != "matmul" && (rank_a != rank_b || rank_a != (name == "mm" ? 2 : 3))) decline("ranks");
  if (name == "bmm" && plan.info(a).sizes[0] != plan.info(b).sizes[0]) decline("batches");
  if (plan.info(a).numel() == 0 || plan.info(b).numel() == 0) decline("an empty matrix");
  if (call.argument(1).is_known() && plan.info(b).dim() == 2) {
    const Tensor weight = call.known_tensor(1);
    return plan.define(call, add_linear(plan, a, ops::transpose(weight, 0, 1), Tensor()));
  }
  a = plan.in_float32(a);
  b = plan.in_float32(b);
  Matrices ma = as_matrices(plan, a), mb = as_matrices(plan, b);
  const IntArray outer_a(plan.info(a).sizes.begin(), plan.info(a).sizes.end() - 2);
  const IntArray outer_b(plan.info(b).sizes.begin(), plan.info(b).sizes.end() - 2);
  if (ma.cols != mb.rows) decline("sizes that do not fit");
  IntArray sizes = outer_a;
  if (!(outer_a == outer_b)) {
    // One matrix for all of the others.
    if (ma.batch != 1 && mb.batch != 1) decline("a broadcast of matrices");
    if (ma.batch == 1) sizes = outer_b;
    if (outer_a.size() > sizes.size() || outer_b.size() > sizes.size()) decline("ranks");
  }
  sizes.push_back(ma.rows);
  sizes.push_back(mb.cols);
  const TensorId result = plan.new_contiguous(DType::kFloat32, sizes);
  const Matrices mc = *matrices_view(plan, result);
  plan.add_step<MatmulStep>(ma, mb, mc);
  plan.define(call, result);
}

// With a factor and a term that are known it is a plain product by now (plain_products.h).
void lower_baddbmm(PlanBuilder&, const Call&) { decline("a factor or type that has no kernel"); }

}  // namespace

std::span<const Lowering> matmul_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::linear", lower_linear}, {"aten::addmm", lower_addmm},
      {"aten::matmul", lower_matmul}, {"aten::mm", lower_matmul},
      {"aten::bmm", lower_matmul},    {"aten::baddbmm", lower_baddbmm},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
