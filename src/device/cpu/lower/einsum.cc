// Products of two tensors that are named by the dimensions they sum over.
#include <algorithm>
#include <array>
#include <string>

#include "device/cpu/lower/conv_step.h"
#include "device/cpu/lower/lowering.h"
#include "device/cpu/lower/matmul_step.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

using Labels = std::string;  // a letter for each dimension

// "ibnd,jbnd->bnij", of two operands with letters of their own.
struct Equation {
  std::array<Labels, 2> operands;
  Labels output;
};
std::optional<Equation> equation_of(const Call& call) {
  const std::string text = call.known("equation").to_string();
  Equation equation;
  Labels* part = &equation.operands[0];
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == ',' && part == &equation.operands[0]) {
      part = &equation.operands[1];
    } else if (c == '-' && part == &equation.operands[1] && text.compare(i, 2, "->") == 0) {
      part = &equation.output;
      ++i;
    } else if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) &&
               part->find(c) == Labels::npos) {
      part->push_back(c);
    } else {
      return std::nullopt;
    }
  }
  if (part != &equation.output) return std::nullopt;
  return equation;
}

bool has(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

// The places of the labels in `order`; none if they stand there in this order.
IntArray places(const Labels& labels, const Labels& order) {
  IntArray dims;
  if (order == labels) return dims;
  for (const char label : order) dims.push_back(static_cast<int64_t>(labels.find(label)));
  return dims;
}

// Dimensions that a walk of memory takes for one.
struct Run {
  int64_t size = 1, stride = 0;
};
std::optional<Run> run_of(const PlanTensor& t, const Labels& labels, const Labels& dims) {
  Run run;
  for (size_t i = dims.size(); i-- > 0;) {
    const size_t d = labels.find(dims[i]);
    if (t.sizes[d] == 1) continue;
    if (run.size == 1) {
      run.stride = t.strides[d];
    } else if (t.strides[d] != run.stride * run.size) {
      return std::nullopt;
    }
    run.size *= t.sizes[d];
  }
  return run;
}

std::optional<Matrices> matrices_of(const PlanTensor& t, TensorId id, const Labels& labels,
                                    const Labels& batch, const Labels& rows, const Labels& cols) {
  const auto b = run_of(t, labels, batch), r = run_of(t, labels, rows), c = run_of(t, labels, cols);
  if (!b || !r || !c) return std::nullopt;
  return Matrices{id, b->size, b->stride, r->size, c->size, r->stride, c->stride};
}

// A view with the dimensions in that order.
TensorId ordered(PlanBuilder& plan, TensorId id, const Labels& labels, const Labels& order) {
  return permuted(plan, id, places(labels, order));
}

// The tensor as matrices, copied if need be.
Matrices as_matrices(PlanBuilder& plan, TensorId id, const Labels& labels, const Labels& batch,
                     const Labels& rows, const Labels& cols) {
  if (const auto view = matrices_of(plan.info(id), id, labels, batch, rows, cols)) return *view;
  const Labels order = batch + rows + cols;
  const TensorId copy = plan.contiguous(ordered(plan, id, labels, order));
  return *matrices_of(plan.info(copy), copy, order, batch, rows, cols);
}

void lower_einsum(PlanBuilder& plan, const Call& call) {
  if (lower_attention(plan, call)) return;
  const std::optional<Equation> known = equation_of(call);
  if (!known) decline("an unusual equation");
  const Equation& equation = *known;
  const CallArgument& tensors = call.argument("tensors");
  if (!tensors.is_list() || tensors.items().size() != 2) decline("not two tensors");
  // What is known comes second, as weights do.
  const size_t first = tensors.items()[0].is_known() ? 1 : 0;
  const CallArgument &left = tensors.items()[first], &right = tensors.items()[1 - first];
  const Labels &in_a = equation.operands[first], &in_b = equation.operands[1 - first];
  const Labels& out = equation.output;
  const TensorId a = plan.in_float32(plan.real_tensor(left));
  const bool is_layer = right.is_known() && right.known().is_tensor();
  const TensorId b = is_layer ? kNoTensor : plan.in_float32(plan.real_tensor(right));
  const IntArray sizes_a = plan.info(a).sizes;
  const IntArray sizes_b =
      is_layer ? IntArray(right.known().to_tensor().sizes()) : plan.info(b).sizes;
  if (sizes_a.size() != in_a.size() || sizes_b.size() != in_b.size()) {
    decline("labels that do not fit");
  }

  // By who has them, each in the order of the result or, if that lacks them, of the operands.
  Labels batch, rows, cols, inner;
  for (const char label : out) {
    const bool is_in_a = has(in_a, label), is_in_b = has(in_b, label);
    if (!is_in_a && !is_in_b) decline("an unusual equation");
    (is_in_a && is_in_b ? batch : is_in_a ? rows : cols).push_back(label);
  }
  for (const char label : in_a) {
    if (has(out, label)) continue;
    if (!has(in_b, label)) decline("a sum of one operand");
    inner.push_back(label);
  }
  if (in_b.size() != batch.size() + cols.size() + inner.size()) decline("a sum of one operand");
  const auto size_of = [&](char label) {
    return has(in_a, label) ? sizes_a[in_a.find(label)] : sizes_b[in_b.find(label)];
  };
  for (const char label : batch + inner) {
    if (size_of(label) != sizes_b[in_b.find(label)]) decline("a broadcast");
  }
  const auto sizes_of = [&](const Labels& labels) {
    IntArray sizes;
    for (const char label : labels) sizes.push_back(size_of(label));
    return sizes;
  };
  if (std::ranges::count(sizes_a, 0) + std::ranges::count(sizes_b, 0) > 0) {
    decline("an empty tensor");
  }

  if (is_layer) {
    if (!batch.empty()) decline("weights for each of several");
    int64_t depth = 1, count = 1;
    for (const char label : inner) depth *= size_of(label);
    for (const char label : cols) count *= size_of(label);
    IntArray sizes = sizes_of(rows);
    sizes.push_back(depth);
    const IntArray order = places(in_b, cols + inner);
    Tensor weight = right.known().to_tensor();
    if (!order.empty()) weight = ops::permute(weight, order);
    const TensorId product =
        add_linear(plan, plan.reshaped(ordered(plan, a, in_a, rows + inner), sizes),
                   ops::reshape(weight, IntArray{count, depth}), Tensor());
    const TensorId result = plan.reshaped(product, sizes_of(rows + cols));
    return plan.define(call, ordered(plan, result, rows + cols, out));
  }

  const Matrices ma = as_matrices(plan, a, in_a, batch, rows, inner);
  const Matrices mb = as_matrices(plan, b, in_b, batch, inner, cols);
  // In the order of the result, if the columns lie together then.
  const PlanTensor like{DType::kFloat32, sizes_of(out), contiguous_strides(sizes_of(out)), 0, -1,
                        nullptr};
  const auto direct = matrices_of(like, kNoTensor, out, batch, rows, cols);
  const bool is_direct = direct && (direct->cols == 1 || direct->col_stride == 1);
  const Labels order = is_direct ? out : batch + rows + cols;
  const TensorId c = plan.new_contiguous(DType::kFloat32, sizes_of(order));
  plan.add_step<MatmulStep>(ma, mb, *matrices_of(plan.info(c), c, order, batch, rows, cols));
  plan.define(call, ordered(plan, c, order, out));
}

}  // namespace

std::optional<Product> product_of_einsum(const Call& call) {
  const std::optional<Equation> equation = equation_of(call);
  const CallArgument& tensors = call.argument("tensors");
  if (!equation || !tensors.is_list() || tensors.items().size() != 2) return std::nullopt;
  const auto& [in_a, in_b] = equation->operands;
  const Labels& out = equation->output;
  Labels batch, row, column, inner;
  for (const char label : out) {
    (!has(in_b, label) ? row : !has(in_a, label) ? column : batch).push_back(label);
  }
  for (const char label : in_a) {
    if (!has(out, label)) inner.push_back(label);
  }
  const Labels all_a = batch + row + inner, all_b = batch + inner + column;
  if (row.size() != 1 || column.size() != 1 || inner.size() != 1 ||
      !std::ranges::is_permutation(in_a, all_a) || !std::ranges::is_permutation(in_b, all_b)) {
    return std::nullopt;
  }
  return Product{&tensors.items()[0], &tensors.items()[1], places(in_a, all_a), places(in_b, all_b),
                 places(batch + row + column, out)};
}

std::span<const Lowering> einsum_lowerings() {
  static constexpr Lowering kTable[] = {{"aten::einsum", lower_einsum}};
  return present<kTable>();
}

}  // namespace torchlet::cpu
