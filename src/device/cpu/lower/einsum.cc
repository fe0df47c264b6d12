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

// "ibnd,jbnd->bnij", of two operands with letters of their own. The dimensions of "..." are digits,
// the last one the same for both.
struct Equation {
  std::array<Labels, 2> operands;
  Labels output;
};

// Puts the digits of that many dimensions of `most` in the place of '.'.
void write_out(Labels& labels, size_t count, size_t most) {
  const size_t place = labels.find('.');
  if (place == Labels::npos) return;
  Labels digits;
  for (size_t i = most - count; i < most; ++i) digits.push_back(static_cast<char>('0' + i));
  labels.replace(place, 1, digits);
}

std::optional<Equation> equation_of(PlanBuilder& plan, const Call& call) {
  const CallArgument& tensors = call.argument("tensors");
  if (!tensors.is_list() || tensors.items().size() != 2) return std::nullopt;
  const std::string text = call.known("equation").to_string();
  Equation equation;
  Labels* part = &equation.operands[0];
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool are_others = c == '.' && text.compare(i, 3, "...") == 0;
    if (c == ',' && part == &equation.operands[0]) {
      part = &equation.operands[1];
    } else if (c == '-' && part == &equation.operands[1] && text.compare(i, 2, "->") == 0) {
      part = &equation.output;
      ++i;
    } else if ((is_letter || are_others) && part->find(c) == Labels::npos) {
      part->push_back(c);
      if (are_others) i += 2;
    } else {
      return std::nullopt;
    }
  }
  if (part != &equation.output) return std::nullopt;
  std::array<size_t, 2> others = {};  // dimensions of "..."
  for (size_t k = 0; k < 2; ++k) {
    const Labels& labels = equation.operands[k];
    const auto rank = static_cast<size_t>(plan.info(plan.tensor(tensors.items()[k])).dim());
    const size_t letters = labels.size() - static_cast<size_t>(std::ranges::count(labels, '.'));
    if (rank < letters || (rank > letters && letters == labels.size())) return std::nullopt;
    others[k] = rank - letters;
  }
  const size_t most = std::max(others[0], others[1]);
  if (most > 9) return std::nullopt;
  write_out(equation.operands[0], others[0], most);
  write_out(equation.operands[1], others[1], most);
  write_out(equation.output, most, most);
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
  const std::optional<Equation> known = equation_of(plan, call);
  if (!known) decline("an unusual equation");
  const Equation& equation = *known;
  const Labels& out = equation.output;
  const std::vector<CallArgument>& tensors = call.argument("tensors").items();
  // What is known comes second, as weights do; else what has the last dimension of the result.
  size_t first = tensors[0].is_known() ? 1 : 0;
  const bool is_layer =
      tensors[1 - first].is_known() && std::ranges::none_of(out, [&](char label) {
        return has(equation.operands[0], label) && has(equation.operands[1], label);
      });
  if (!is_layer) first = out.empty() || has(equation.operands[1], out.back()) ? 0 : 1;
  const CallArgument &left = tensors[first], &right = tensors[1 - first];
  const Labels &in_a = equation.operands[first], &in_b = equation.operands[1 - first];
  const TensorId a = plan.in_float32(plan.real_tensor(left));
  const TensorId b = is_layer ? kNoTensor : plan.in_float32(plan.real_tensor(right));
  const IntArray sizes_a = plan.info(a).sizes;
  const IntArray sizes_b =
      is_layer ? IntArray(right.known().to_tensor().sizes()) : plan.info(b).sizes;

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

std::optional<Product> product_of_einsum(PlanBuilder& plan, const Call& call) {
  const std::optional<Equation> equation = equation_of(plan, call);
  if (!equation) return std::nullopt;
  const CallArgument& tensors = call.argument("tensors");
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
