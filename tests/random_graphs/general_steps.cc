// Functions of elements, arithmetic with broadcasts, joins, reductions, views, writes, integers.
#include <algorithm>

#include "families.h"

namespace torchlet::random_graphs {
namespace {

std::optional<ValueId> any_float(Builder& b) {
  return b.any([&](ValueId id) { return b.is_float(id); });
}

bool broadcasts(const IntArray& a, const IntArray& b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const int64_t p = a[a.size() - i], q = b[b.size() - i];
    if (p != q && p != 1 && q != 1) return false;
  }
  return true;
}

// One that can be added to `x`: what is there, a row or a column of it, a weight.
ValueId other_operand(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  const auto fits = [&](ValueId id) { return b.is_float(id) && broadcasts(b.sizes(id), sizes); };
  if (b.random.chance(0.25)) {
    IntArray some = sizes;
    for (int64_t& size : some) size = b.random.chance(0.5) ? 1 : size;
    while (!some.empty() && b.random.chance(0.3)) some.erase(some.begin());
    return b.weight(some);
  }
  const ValueId other = b.any(fits).value_or(x);
  const IntArray of_other = b.sizes(other);
  if (!of_other.empty() && b.random.chance(0.25)) {
    const int64_t d = b.random.below(static_cast<int64_t>(of_other.size()));
    const std::string dim = std::to_string(d);
    const auto part =
        b.random.chance(0.5)
            ? b.exact("torch.narrow($0, " + dim + ", 0, 1)", {other})
            : b.call("torch.mean($0, [" + dim + "], True)", {other}, Arithmetic::kRounds,
                     static_cast<double>(of_other[static_cast<size_t>(d)]));
    return part.value_or(other);
  }
  return other;
}

}  // namespace

void add_elementwise(Builder& b) {
  const auto x = any_float(b);
  if (!x) return;
  if (b.random.chance(0.03)) {
    b.call(b.random.pick({"torch.gelu($0)", "torch.gelu($0, approximate=\"tanh\")"}), {*x},
           Arithmetic::kRoundsOperand);
    return;
  }
  switch (b.random.below(5)) {
    case 0: {
      const char* call =
          b.random.pick({"torch.relu($0)", "torch.relu6($0)", "torch.hardtanh($0, -0.5, 0.7)",
                         "torch.clamp($0, -0.5, 0.7)", "torch.clamp_min($0, -0.25)",
                         "torch.clamp_max($0, 0.25)", "torch.abs($0)", "torch.neg($0)"});
      b.exact(call, {*x});
      return;
    }
    case 1: {
      const char* call = b.random.pick(
          {"torch.leaky_relu($0, 0.1)", "torch.hardswish($0)", "torch.hardsigmoid($0)",
           "torch.sigmoid($0)", "torch.silu($0)", "torch.tanh($0)", "torch.elu($0)",
           "torch.mish($0)", "torch.square($0)", "torch.exp($0)", "torch.erf($0)", "torch.sin($0)",
           "torch.cos($0)", "torch.reciprocal(torch.add(torch.abs($0), 1))",
           "torch.sqrt(torch.add(torch.abs($0), 1))", "torch.rsqrt(torch.add(torch.square($0), 1))",
           "torch.log(torch.add(torch.abs($0), 1))"});
      b.call(call, {*x});
      return;
    }
    case 2: {
      const char* call =
          b.random.pick({"torch.add($0, 0.5)", "torch.mul($0, 2)", "torch.sub($0, 1, alpha=3)",
                         "torch.rsub($0, 1)", "torch.div($0, 3.)", "torch.pow($0, 2)",
                         "torch.mul($0, -1)", "torch.add(torch.mul($0, 2.), -1.)"});
      b.call(call, {*x});
      return;
    }
    default: {
      const ValueId y = other_operand(b, *x);
      const char* call = b.random.pick(
          {"torch.add($0, $1)", "torch.add($0, $1)", "torch.add($1, $0)", "torch.sub($0, $1)",
           "torch.sub($1, $0)", "torch.mul($0, $1)", "torch.mul($1, $0)",
           "torch.add($0, $1, alpha=0.5)", "torch.relu(torch.add($0, $1))",
           "torch.div($0, torch.add(torch.abs($1), 1))", "torch.rsub($0, $1)"});
      if (b.random.chance(0.1)) {
        b.exact(b.random.pick({"torch.maximum($0, $1)", "torch.minimum($1, $0)"}), {*x, y});
      } else {
        b.call(call, {*x, y});
      }
    }
  }
}

void add_join(Builder& b) {
  const auto x =
      b.any([&](ValueId id) { return b.tensor(id).dim() > 0 && !b.tensor(id).is_quantized(); });
  if (!x) return;
  const IntArray sizes = b.sizes(*x);
  const DType dtype = b.tensor(*x).dtype();
  const bool stacks = b.random.chance(0.2);
  const auto rank = static_cast<int64_t>(sizes.size());
  const int64_t dim = b.random.below(rank + stacks);
  const auto fits = [&](ValueId id) {
    IntArray other = b.sizes(id);
    if (other.size() != sizes.size() || b.tensor(id).dtype() != dtype) return false;
    if (!stacks) other[static_cast<size_t>(dim)] = sizes[static_cast<size_t>(dim)];
    return other == sizes;
  };
  const std::vector<ValueId> others = b.visible_where(fits);
  std::vector<ValueId> parts(static_cast<size_t>(b.random.between(1, 4)));
  for (ValueId& part : parts) part = b.random.pick(others);
  parts[static_cast<size_t>(b.random.below(static_cast<int64_t>(parts.size())))] = *x;
  std::string text = stacks ? "torch.stack([" : "torch.cat([";
  for (size_t i = 0; i < parts.size(); ++i) text += (i ? ", $" : "$") + std::to_string(i);
  const int64_t written = b.random.chance(0.2) ? dim - rank - stacks : dim;
  b.exact(text + "], " + std::to_string(written) + ")", parts);
}

void add_reduction(Builder& b) {
  const auto x = any_float(b);
  if (!x || b.sizes(*x).empty()) return;
  const IntArray sizes = b.sizes(*x);
  const auto rank = static_cast<int64_t>(sizes.size());
  IntArray dims;
  double terms = 1;
  for (int64_t d = 0; d < rank; ++d) {
    if (!b.random.chance(d == 0 ? 0.2 : 0.5)) continue;
    dims.push_back(b.random.chance(0.2) ? d - rank : d);
    terms *= static_cast<double>(std::max<int64_t>(sizes[static_cast<size_t>(d)], 1));
  }
  if (dims.empty()) {
    dims.push_back(rank - 1);
    terms = static_cast<double>(std::max<int64_t>(sizes.back(), 1));
  }
  const std::string keep = b.random.chance(0.5) ? "True" : "False";
  const std::string one = std::to_string(dims[0]);
  switch (b.random.below(6)) {
    case 0:
    case 1:
      b.call("torch.mean($0, " + text_of(dims) + ", " + keep + ")", {*x}, Arithmetic::kRounds,
             terms);
      return;
    case 2:
      b.call("torch.sum($0, " + text_of(dims) + ", " + keep + ")", {*x}, Arithmetic::kRounds,
             terms);
      return;
    case 3:
      b.exact("torch.am" + std::string(b.random.pick({"ax", "in"})) + "($0, " + text_of(dims) +
                  ", " + keep + ")",
              {*x});
      return;
    case 4:
      b.call("torch.softmax($0, " + one + ")", {*x}, Arithmetic::kRounds, terms);
      return;
    default:
      b.call(b.random.pick({"torch.log_softmax($0, ", "torch.cumsum($0, "}) + one + ")", {*x},
             Arithmetic::kRounds, static_cast<double>(std::max<int64_t>(sizes.back(), 1)));
  }
}

namespace {

// Other sizes of as many elements.
std::string random_reshape(Builder& b, const IntArray& sizes) {
  IntArray result = sizes;
  for (int64_t changes = b.random.between(1, 2); changes > 0; --changes) {
    const auto rank = static_cast<int64_t>(result.size());
    const int64_t choice = b.random.below(3);
    if (choice == 0 && rank >= 2) {
      const auto d = static_cast<size_t>(b.random.below(rank - 1));
      result[d] *= result[d + 1];
      result.erase(result.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    } else if (choice == 1 && rank > 0) {
      const auto d = static_cast<size_t>(b.random.below(rank));
      for (const int64_t factor : {4, 3, 2}) {
        if (result[d] % factor != 0 || result[d] == 0) continue;
        result[d] /= factor;
        result.insert(result.begin() + static_cast<std::ptrdiff_t>(d), factor);
        break;
      }
    } else {
      result.insert(result.begin() + b.random.below(rank + 1), 1);
    }
  }
  std::string text = "[";
  const int64_t unknown =
      b.random.chance(0.5) ? b.random.below(static_cast<int64_t>(result.size())) : -1;
  for (size_t i = 0; i < result.size(); ++i) {
    text += i ? ", " : "";
    if (static_cast<int64_t>(i) == unknown) {
      text += "-1";
    } else if (i == 0 && !sizes.empty() && result[0] == sizes[0] && b.random.chance(0.5)) {
      text += "torch.size($0, 0)";
    } else {
      text += std::to_string(result[i]);
    }
  }
  return text + "]";
}

}  // namespace

void add_view(Builder& b) {
  const auto x = b.any([&](ValueId) { return true; });
  if (!x) return;
  const IntArray sizes = b.sizes(*x);
  const auto rank = static_cast<int64_t>(sizes.size());
  if (rank == 0 || b.random.chance(0.15)) {
    b.exact("torch.unsqueeze($0, " + std::to_string(b.random.between(-rank - 1, rank)) + ")", {*x});
    return;
  }
  const int64_t d = b.random.below(rank);
  const int64_t size = sizes[static_cast<size_t>(d)];
  const std::string dim = std::to_string(b.random.chance(0.2) ? d - rank : d);
  switch (b.random.below(12)) {
    case 0: {
      const int64_t start = size > 0 ? b.random.below(size) : 0;
      const int64_t end = b.random.chance(0.3) ? -1 : b.random.between(start, size);
      b.exact("torch.slice($0, " + dim + ", " + std::to_string(start) + ", " +
                  (b.random.chance(0.3) ? "9223372036854775807" : std::to_string(end)) + ", " +
                  std::to_string(b.random.pick({1, 1, 1, 2})) + ")",
              {*x});
      return;
    }
    case 1:
      if (size > 0) {
        b.exact("torch.select($0, " + dim + ", " + std::to_string(b.random.below(size)) + ")",
                {*x});
      }
      return;
    case 2:
      b.exact("torch.transpose($0, " + dim + ", " + std::to_string(b.random.below(rank)) + ")",
              {*x});
      return;
    case 3: {
      IntArray order;
      for (int64_t i = 0; i < rank; ++i) order.insert(order.begin() + b.random.below(i + 1), i);
      b.exact("torch.permute($0, " + text_of(order) + ")", {*x});
      return;
    }
    case 4:
    case 5:
      b.exact(b.random.pick({"torch.reshape($0, ", "torch.reshape($0, ", "torch.view($0, "}) +
                  random_reshape(b, sizes) + ")",
              {*x});
      return;
    case 6:
      b.exact("torch.flatten($0, " + std::to_string(b.random.below(rank)) + ")", {*x});
      return;
    case 7:
      b.exact(b.random.chance(0.5) ? "torch.squeeze($0)" : "torch.squeeze($0, " + dim + ")", {*x});
      return;
    case 8: {
      IntArray wide = sizes;
      for (int64_t& s : wide) {
        if (s == 1 && b.random.chance(0.6)) s = b.random.between(2, 4);
      }
      if (b.random.chance(0.3)) wide.insert(wide.begin(), 2);
      b.exact("torch.expand($0, " + text_of(wide) + ")", {*x});
      return;
    }
    case 9: {
      const int64_t parts = b.random.between(2, 3);
      const int64_t length = (size + parts - 1) / parts;
      const int64_t count = length > 0 ? (size + length - 1) / length : 0;
      if (count < 2) return;
      const auto results = static_cast<size_t>(count);
      if (b.random.chance(0.5)) {
        b.call_many(results, "torch.chunk($0, " + std::to_string(parts) + ", " + dim + ")", {*x});
      } else {
        b.call_many(results, "torch.split($0, " + std::to_string(length) + ", " + dim + ")", {*x});
      }
      return;
    }
    case 10:
      if (size >= 2 && size <= 5) {
        b.call_many(static_cast<size_t>(size), "torch.unbind($0, " + dim + ")", {*x});
      }
      return;
    default:
      b.exact(b.random.pick({"torch.contiguous($0)", "torch.clone($0)", "torch.detach($0)"}), {*x});
  }
}

void add_write(Builder& b) {
  const auto target = any_float(b);
  if (!target) return;
  ValueId x = *target;
  const IntArray sizes = b.sizes(x);
  if (!sizes.empty() && b.random.chance(0.4)) {
    const int64_t d = b.random.below(static_cast<int64_t>(sizes.size()));
    if (sizes[static_cast<size_t>(d)] == 0) return;
    const std::string dim = std::to_string(d);
    const auto part = b.random.chance(0.5) ? b.exact("torch.slice($0, " + dim + ", 0, 1, 1)", {x})
                                           : b.exact("torch.select($0, " + dim + ", 0)", {x});
    if (!part) return;
    x = *part;
  }
  const IntArray target_sizes = b.sizes(x);
  const auto y = b.any([&](ValueId id) {
    return b.is_float(id) && b.sizes(id).size() <= target_sizes.size() &&
           broadcasts(b.sizes(id), target_sizes);
  });
  switch (b.random.below(5)) {
    case 0:
      b.call_in_place(
          b.random.pick({"torch.relu_($0)", "torch.clamp_($0, -0.5, 0.7)",
                         "torch.hardtanh_($0, -1., 1.)", "torch.fill_($0, 0.5)", "torch.neg_($0)"}),
          {x}, Arithmetic::kExact);
      return;
    case 1:
      b.call_in_place(b.random.pick({"torch.sigmoid_($0)", "torch.mul_($0, 0.5)",
                                     "torch.add_($0, 1)", "torch.silu_($0)", "torch.div_($0, 3)"}),
                      {x});
      return;
    case 2:
      if (y) b.call_in_place("torch.copy_($0, $1)", {x, *y}, Arithmetic::kExact);
      return;
    default:
      if (y) {
        b.call_in_place(b.random.pick({"torch.add_($0, $1)", "torch.mul_($0, $1)",
                                       "torch.sub_($0, $1)", "torch.add_($0, $1, alpha=2)"}),
                        {x, *y});
      }
  }
}

void add_integers(Builder& b) {
  const auto is_integer = [&](ValueId id) {
    const DType dtype = b.tensor(id).dtype();
    return dtype == DType::kInt64 || dtype == DType::kBool;
  };
  const auto whole = b.any(is_integer);
  if (!whole || b.random.chance(0.4)) {
    const auto x = b.any([&](ValueId id) { return b.is_float(id) && b.is_exact(id); });
    if (!x) return;
    const char* call =
        b.random.pick({"torch.to(torch.mul($0, 4), 4)", "torch.gt($0, 0.1)", "torch.le($0, 0.)",
                       "torch.argmax($0, -1)", "torch.floor(torch.mul($0, 3))", "torch.round($0)"});
    b.exact(call, {*x});
    return;
  }
  const ValueId i = *whole;
  const IntArray sizes = b.sizes(i);
  switch (b.random.below(6)) {
    case 0: {
      const auto y = b.any([&](ValueId id) {
        return b.tensor(id).dtype() == b.tensor(i).dtype() && broadcasts(b.sizes(id), sizes);
      });
      if (b.tensor(i).dtype() == DType::kBool) {
        b.exact(b.random.pick({"torch.logical_and($0, $1)", "torch.logical_or($0, $1)",
                               "torch.__xor__($0, $1)"}),
                {i, *y});
      } else {
        b.exact(b.random.pick({"torch.add($0, $1)", "torch.mul(torch.remainder($0, 7), $1)",
                               "torch.sub($1, $0)", "torch.maximum($0, $1)", "torch.eq($0, $1)"}),
                {i, *y});
      }
      return;
    }
    case 1:
      b.exact(b.random.pick({"torch.sum($0)", "torch.to($0, 6)", "torch.logical_not($0)",
                             "torch.to(torch.remainder(torch.to($0, 4), 5), 4)"}),
              {i});
      return;
    case 2: {
      const auto x =
          b.any([&](ValueId id) { return b.is_float(id) && broadcasts(b.sizes(id), sizes); });
      if (!x) return;
      b.exact(b.random.pick({"torch.where(torch.to($0, 11), $1, torch.neg($1))",
                             "torch.masked_fill($1, torch.to($0, 11), 0.5)"}),
              {i, *x});
      return;
    }
    case 3: {
      const auto x =
          b.any([&](ValueId id) { return b.is_float(id) && broadcasts(b.sizes(id), sizes); });
      if (x) b.call("torch.mul($1, $0)", {i, *x});
      return;
    }
    case 4: {
      const ValueId table = b.weight({5, b.random.pick<int64_t>({1, 4, 8})});
      b.exact("torch.embedding($1, torch.remainder(torch.to($0, 4), 5))", {i, table});
      return;
    }
    default: {
      const auto x = b.any([&](ValueId id) { return b.is_float(id) && b.tensor(id).dim() > 0; });
      if (!x || b.sizes(*x)[0] == 0 || b.tensor(i).numel() > 8) return;
      b.exact("torch.index_select($1, 0, torch.remainder(torch.flatten(torch.to($0, 4)), " +
                  std::to_string(b.sizes(*x)[0]) + "))",
              {i, *x});
    }
  }
}

}  // namespace torchlet::random_graphs
