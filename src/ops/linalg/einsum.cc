// Products that are named by the dimensions they sum over.
#include <algorithm>
#include <cctype>
#include <limits>

#include "ops/engines/matmul.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

// Sums left * right over the dimensions in `summed`, which are dropped. Both have the same rank;
// sizes are equal or 1. One matrix product: dimensions are sorted into batch, rows, columns and
// inner.
Tensor contract(const Tensor& left, const Tensor& right, const std::vector<bool>& summed) {
  IntArray batch, rows, cols, inner, left_sizes(left.sizes()), right_sizes(right.sizes());
  for (size_t d = 0; d < summed.size(); ++d) {
    const int64_t l = left_sizes[d], r = right_sizes[d];
    const int64_t dim = static_cast<int64_t>(d);
    if (summed[d]) {
      inner.push_back(dim);
      left_sizes[d] = right_sizes[d] = l == 1 ? r : l;
    } else if (l != 1 && r != 1) {
      batch.push_back(dim);
    } else if (l != 1) {
      rows.push_back(dim);
    } else {
      cols.push_back(dim);
    }
  }
  auto volume = [](const IntArray& sizes, const IntArray& dims) {
    int64_t product = 1;
    for (int64_t dim : dims) product *= sizes[static_cast<size_t>(dim)];
    return product;
  };
  // The operand as [batch, first, second]; dimensions that it lacks come last, with size 1.
  auto arrange = [&](const Tensor& t, const IntArray& sizes, const IntArray& first,
                     const IntArray& second, const IntArray& lacking) {
    IntArray order(batch);
    for (const IntArray* dims : {&first, &second, &lacking}) {
      for (int64_t dim : *dims) order.push_back(dim);
    }
    return reshape(permute(expand(t, sizes), order),
                   {{volume(sizes, batch), volume(sizes, first), volume(sizes, second)}});
  };
  const Tensor product = bmm(arrange(left, left_sizes, rows, inner, cols),
                             arrange(right, right_sizes, inner, cols, rows));
  IntArray order, sizes;
  for (const auto& [dims, from] : {std::pair{&batch, &left_sizes}, std::pair{&rows, &left_sizes},
                                   std::pair{&cols, &right_sizes}}) {
    for (int64_t dim : *dims) {
      order.push_back(dim);
      sizes.push_back((*from)[static_cast<size_t>(dim)]);
    }
  }
  IntArray back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const auto rank = std::ranges::count_if(order, [&](int64_t dim) { return dim < order[i]; });
    back[static_cast<size_t>(rank)] = static_cast<int64_t>(i);
  }
  return permute(reshape(product, sizes), back);
}

// Labels of the equation: letters are 0 .. 51, the dimensions of "..." follow them.
constexpr int kLetters = 52;
constexpr int kEllipsis = -1;

std::vector<int> parse_labels(std::string_view text, std::string_view equation) {
  std::vector<int> labels;
  bool has_ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      TORCHLET_CHECK(text.substr(i, 3) == "..." && !has_ellipsis,
                     "einsum(): found '.' that is not part of one ellipsis in '%s'",
                     std::string(equation).c_str());
      has_ellipsis = true;
      labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    TORCHLET_CHECK(std::isalpha(static_cast<unsigned char>(c)),
                   "einsum(): invalid subscript '%c', subscripts must be in [a-zA-Z]", c);
    labels.push_back(std::isupper(static_cast<unsigned char>(c)) ? c - 'A' : c - 'a' + 26);
  }
  return labels;
}

struct Equation {
  std::vector<std::vector<int>> operands;
  std::vector<int> output;
  int64_t ellipsis_dims = 0;  // the most that "..." stands for in any operand
};

// Replaces "..." by its labels; an operand with fewer dimensions has the last of them.
std::vector<int> with_ellipsis(const std::vector<int>& labels, int64_t own, int64_t most) {
  std::vector<int> all;
  for (int label : labels) {
    if (label != kEllipsis) {
      all.push_back(label);
      continue;
    }
    for (int64_t i = most - own; i < most; ++i) all.push_back(kLetters + static_cast<int>(i));
  }
  return all;
}

Equation parse_equation(const std::string& equation, const std::vector<Tensor>& operands) {
  const std::string_view text = equation;
  const size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  Equation parsed;
  std::vector<int64_t> ellipsis;
  for (size_t i = 0; i < operands.size(); ++i) {
    const size_t comma = left.find(',');
    TORCHLET_CHECK((comma == std::string_view::npos) == (i + 1 == operands.size()),
                   "einsum(): the equation '%s' does not name %zu operands", equation.c_str(),
                   operands.size());
    parsed.operands.push_back(parse_labels(left.substr(0, comma), text));
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
    const auto& labels = parsed.operands.back();
    const bool has = std::ranges::find(labels, kEllipsis) != labels.end();
    const int64_t named = static_cast<int64_t>(labels.size()) - has;
    const int64_t rest = operands[i].dim() - named;
    TORCHLET_CHECK(has ? rest >= 0 : rest == 0,
                   "einsum(): the number of subscripts in the equation (%lld) does not match the "
                   "number of dimensions (%lld) for operand %zu",
                   static_cast<long long>(named), static_cast<long long>(operands[i].dim()), i);
    ellipsis.push_back(rest);
    if (has) parsed.ellipsis_dims = std::max(parsed.ellipsis_dims, rest);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    parsed.operands[i] = with_ellipsis(parsed.operands[i], ellipsis[i], parsed.ellipsis_dims);
  }
  if (arrow != std::string_view::npos) {
    const auto labels = parse_labels(text.substr(arrow + 2), text);
    parsed.output = with_ellipsis(labels, parsed.ellipsis_dims, parsed.ellipsis_dims);
    return parsed;
  }
  // Without "->": the dimensions of "...", then the letters that occur once, in alphabetical order.
  parsed.output = with_ellipsis({kEllipsis}, parsed.ellipsis_dims, parsed.ellipsis_dims);
  for (int label = 0; label < kLetters; ++label) {
    int64_t count = 0;
    for (const auto& labels : parsed.operands) count += std::ranges::count(labels, label);
    if (count == 1) parsed.output.push_back(label);
  }
  return parsed;
}

// The operand with one dimension for each of `order`, size 1 where it lacks the label; a label that
// occurs twice becomes the diagonal.
Tensor align(const Tensor& operand, const std::vector<int>& labels, const std::vector<int>& order) {
  IntArray sizes(order.size(), 1), strides(order.size(), 0);
  std::vector<bool> seen(order.size());
  for (size_t d = 0; d < labels.size(); ++d) {
    const size_t at = static_cast<size_t>(std::ranges::find(order, labels[d]) - order.begin());
    const int64_t size = operand.sizes()[d];
    TORCHLET_CHECK(!seen[at] || sizes[at] == size,
                   "einsum(): subscript is repeated for an operand but the sizes don't match, %lld "
                   "!= %lld",
                   static_cast<long long>(size), static_cast<long long>(sizes[at]));
    seen[at] = true;
    sizes[at] = size;
    strides[at] += operand.strides()[d];
  }
  return make_view(operand, sizes, strides, operand.storage_offset());
}

}  // namespace

Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands) {
  TORCHLET_CHECK(!operands.empty(), "einsum(): must provide at least one operand");
  const Equation parsed = parse_equation(equation, operands);
  // Output labels first, then those that are summed away.
  std::vector<int> order = parsed.output;
  for (size_t i = 0; i < order.size(); ++i) {
    TORCHLET_CHECK(std::ranges::count(order, order[i]) == 1,
                   "einsum(): an output subscript appears more than once in the output of '%s'",
                   equation.c_str());
    const bool known = order[i] >= kLetters || std::ranges::any_of(parsed.operands, [&](auto& l) {
                         return std::ranges::find(l, order[i]) != l.end();
                       });
    TORCHLET_CHECK(known,
                   "einsum(): an output subscript of '%s' does not appear in the equation for any "
                   "input operand",
                   equation.c_str());
  }
  const size_t outputs = order.size();
  for (const auto& labels : parsed.operands) {
    for (int label : labels) {
      if (std::ranges::find(order, label) == order.end()) order.push_back(label);
    }
  }
  std::vector<Tensor> aligned;
  std::vector<size_t> last_use(order.size(), 0);
  IntArray sizes(order.size(), 1);
  for (size_t i = 0; i < operands.size(); ++i) {
    aligned.push_back(align(operands[i], parsed.operands[i], order));
    sizes = broadcast_shapes(sizes, aligned[i].sizes());
    for (size_t d = 0; d < order.size(); ++d) {
      if (aligned[i].sizes()[d] != 1) last_use[d] = i;
    }
  }
  // Contract from left to right; a dimension is summed as soon as no later operand has it.
  auto summed_at = [&](size_t i) {
    std::vector<bool> summed(order.size());
    for (size_t d = outputs; d < order.size(); ++d) summed[d] = last_use[d] == i;
    return summed;
  };
  auto restore = [&](Tensor t, const std::vector<bool>& summed) {
    for (size_t d = 0; d < summed.size(); ++d) {
      if (summed[d]) t = unsqueeze(t, static_cast<int64_t>(d));
    }
    return t;
  };
  if (aligned.size() == 1 && outputs < order.size()) {
    IntArray dims;
    for (size_t d = outputs; d < order.size(); ++d) dims.push_back(static_cast<int64_t>(d));
    return sum(aligned[0], dims);
  }
  Tensor result = aligned[0];
  // Dimensions that only one factor has are summed before the product, which makes int64 of the
  // smaller integers.
  const auto sum_alone = [](Tensor t, const Tensor& other, const std::vector<bool>& summed) {
    for (size_t d = 0; d < summed.size(); ++d) {
      const bool alone = summed[d] && t.sizes()[d] != 1 && other.sizes()[d] == 1;
      if (alone) t = sum(t, {{static_cast<int64_t>(d)}}, true);
    }
    return t;
  };
  result =
      sum_alone(result, full(IntArray(order.size(), 1), Scalar(0), result.dtype()), summed_at(0));
  for (size_t i = 1; i < aligned.size(); ++i) {
    const std::vector<bool> summed = summed_at(i);
    const Tensor left = sum_alone(result, aligned[i], summed);
    const Tensor right = sum_alone(aligned[i], result, summed);
    const DType dtype = promote_types(left.dtype(), right.dtype());
    result = restore(contract(left.to(dtype), right.to(dtype), summed), summed);
  }
  return view(result, result.sizes().first(outputs));
}

Tensor tensordot(const Tensor& self, const Tensor& other, IntSpan dims_self, IntSpan dims_other) {
  TORCHLET_CHECK(dims_self.size() == dims_other.size(),
                 "both dimension lists should have same length");
  auto split = [](const Tensor& t, IntSpan dims, IntArray* kept, IntArray* summed) {
    for (int64_t dim : dims) summed->push_back(wrap_dim(dim, t.dim()));
    for (int64_t d = 0; d < t.dim(); ++d) {
      if (std::ranges::find(*summed, d) == summed->end()) kept->push_back(d);
    }
  };
  IntArray kept_a, kept_b, summed_a, summed_b, shape;
  split(self, dims_self, &kept_a, &summed_a);
  split(other, dims_other, &kept_b, &summed_b);
  Tensor a = self, b = other;
  for (size_t i = 0; i < summed_a.size(); ++i) {
    const int64_t size_a = self.size(summed_a[i]), size_b = other.size(summed_b[i]);
    TORCHLET_CHECK(size_a == size_b || size_a == 1 || size_b == 1,
                   "contracted dimensions need to match, but first has size %lld in dim %lld and "
                   "second has size %lld in dim %lld",
                   static_cast<long long>(size_a), static_cast<long long>(summed_a[i]),
                   static_cast<long long>(size_b), static_cast<long long>(summed_b[i]));
    auto widen = [](const Tensor& t, int64_t dim, int64_t size) {
      IntArray sizes(t.sizes());
      sizes[static_cast<size_t>(dim)] = size;
      return expand(t, sizes);
    };
    a = widen(a, summed_a[i], std::max(size_a, size_b));
    b = widen(b, summed_b[i], std::max(size_a, size_b));
  }
  IntArray order_a(kept_a), order_b(summed_b);
  int64_t rows = 1, cols = 1, depth = 1;
  for (int64_t dim : kept_a) shape.push_back(self.size(dim)), rows *= self.size(dim);
  for (int64_t dim : kept_b) {
    order_b.push_back(dim);
    shape.push_back(other.size(dim));
    cols *= other.size(dim);
  }
  for (int64_t dim : summed_a) order_a.push_back(dim), depth *= a.size(dim);
  return reshape(mm(reshape(permute(a, order_a), {{rows, depth}}),
                    reshape(permute(b, order_b), {{depth, cols}})),
                 shape);
}

Tensor multi_dot(const std::vector<Tensor>& tensors) {
  TORCHLET_CHECK(!tensors.empty(), "multi_dot(): expected at least one tensor");
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> chain = tensors;
  const bool from_vector = chain.front().dim() == 1, to_vector = chain.back().dim() == 1;
  if (from_vector) chain.front() = unsqueeze(chain.front(), 0);
  if (to_vector) chain.back() = unsqueeze(chain.back(), 1);
  const size_t n = chain.size();
  for (size_t i = 0; i < n; ++i) {
    TORCHLET_CHECK(chain[i].dim() == 2, "multi_dot(): tensor %zu must be 2D, got %s", i,
                   tensors[i].describe().c_str());
  }
  // Cormen et al., "Introduction to Algorithms", matrix-chain multiplication: cost[i][j] is that of
  // the product of matrices i .. j, split after best[i][j].
  std::vector<std::vector<double>> cost(n, std::vector<double>(n));
  std::vector<std::vector<size_t>> best(n, std::vector<size_t>(n));
  for (size_t length = 1; length < n; ++length) {
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t split = i; split < j; ++split) {
        const double c = cost[i][split] + cost[split + 1][j] +
                         static_cast<double>(chain[i].size(0)) *
                             static_cast<double>(chain[split].size(1)) *
                             static_cast<double>(chain[j].size(1));
        if (c < cost[i][j]) {
          cost[i][j] = c;
          best[i][j] = split;
        }
      }
    }
  }
  // Multiplies out bottom-up: ranges are pushed before the ranges they are made of.
  struct Range {
    size_t first, last;
  };
  std::vector<Range> ranges{{0, n - 1}};
  for (size_t at = 0; at < ranges.size(); ++at) {
    const auto [first, last] = ranges[at];
    if (first == last) continue;
    ranges.push_back({first, best[first][last]});
    ranges.push_back({best[first][last] + 1, last});
  }
  std::vector<std::vector<Tensor>> product(n, std::vector<Tensor>(n));
  for (size_t at = ranges.size(); at-- > 0;) {
    const auto [first, last] = ranges[at];
    const size_t split = best[first][last];
    product[first][last] =
        first == last ? chain[first] : mm(product[first][split], product[split + 1][last]);
  }
  Tensor result = product[0][n - 1];
  if (from_vector) result = squeeze(result, 0);
  if (to_vector) result = squeeze(result, -1);
  return result;
}

}  // namespace torchlet::ops
