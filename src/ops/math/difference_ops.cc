// Finite differences along a dimension (diff, gradient) and the cross product.
#include <algorithm>

#include "base/counted_vector.h"
#include "ops/core/dense_order.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/integer_math.h"
#include "ops/engines/kernel_map.h"
#include "ops/engines/neighbours.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

template <typename T>
Tensor dense_differences(const Tensor& self, int64_t dim, const IntArray& order) {
  const Tensor x = self.to(DTypeOf<T>::value);
  return map_neighbours<T>(x, x, dim, order, [](T a, T b, T, T) { return wrap_sub(b, a); })
      .to(self.dtype());
}

Tensor diff(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend,
            const Tensor& append) {
  TORCHLET_CHECK(self.dim() >= 1, "diff expects input to be at least one-dimensional");
  if (n == 0) return clone(self, std::nullopt);
  std::vector<Tensor> parts;
  for (const Tensor& part : {prepend, self, append}) {
    if (!part.defined()) continue;
    TORCHLET_CHECK(part.dim() == self.dim(),
                   "diff expects prepend or append to be the same dimension as input");
    parts.push_back(part);
  }
  Tensor result = parts.size() > 1 ? cat(parts, dim) : self;
  for (int64_t round = 0; round < n && result.size(dim) > 0; ++round) {
    const int64_t length = result.size(dim);
    const auto order = dense_order(result);
    if (order && has_kernel(result.dtype())) {
      result = dense_differences<float>(result, dim, *order);
      continue;
    }
    if constexpr (selection::kHasConversions) {
      if (order && is_integral(result.dtype(), false)) {
        result = dense_differences<int64_t>(result, dim, *order);
        continue;
      }
    }
    const Tensor later = narrow(result, dim, 1, length - 1);
    const Tensor earlier = narrow(result, dim, 0, length - 1);
    result = result.dtype() == DType::kBool
                 ? map_bool<kMapInt | kMapSteps, 2>({later, earlier}, DType::kBool,
                                                    [](auto a, auto b) { return a != b; })
                 : map<kMapAll | kMapSteps, 2>({later, earlier}, result.dtype(),
                                               [](auto a, auto b) { return wrap_sub(a, b); });
  }
  return result.is_same(self) ? clone(self, std::nullopt) : result;
}

// ---- gradient ----

// The gradient at one position is the sum of three weighted neighbours from `first` on (two at the
// ends of a first-order edge).
struct Stencil {
  int64_t first = 0, count = 0;
  std::array<double, 3> weights{};
};
// Of all positions. Between the ends of even spacing, the one in the middle has no weight.
struct Stencils {
  CountedVector<Stencil> all;
  std::optional<double> even_weight;  // of the successor, and less the predecessor's
};

// Weights of the second-order difference at the point that lies `left` behind its predecessor and
// `right` before its successor.
Stencil central(int64_t at, double left, double right) {
  return {at - 1,
          3,
          {-right / (left * (left + right)), (right - left) / (left * right),
           left / (right * (left + right))}};
}

// spacing[i] is the distance between positions i and i + 1.
Stencils stencils(const CountedVector<double>& spacing, int64_t edge_order) {
  const auto last = std::ssize(spacing);
  Stencils both{CountedVector<Stencil>(spacing.size() + 1), std::nullopt};
  CountedVector<Stencil>& result = both.all;
  if (std::ranges::count(spacing, spacing[0]) == last) both.even_weight = 0.5 / spacing[0];
  for (int64_t i = 1; i < last; ++i) {
    const auto at = static_cast<size_t>(i);
    result[at] = central(i, spacing[at - 1], spacing[at]);
  }
  if (edge_order == 1) {
    result.front() = {0, 2, {-1 / spacing.front(), 1 / spacing.front(), 0}};
    result.back() = {last - 1, 2, {-1 / spacing.back(), 1 / spacing.back(), 0}};
    return both;
  }
  const double a = spacing[0], b = spacing[1];
  result.front() = {0, 3, {-(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))}};
  const double c = spacing[spacing.size() - 2], d = spacing.back();
  result.back() = {
      last - 2, 3, {d / (c * (c + d)), -(c + d) / (c * d), (2 * d + c) / (d * (c + d))}};
  return both;
}

Tensor apply_stencils(const Tensor& self, int64_t dim, const Stencils& stencils, DType dtype) {
  if (self.numel() == 0) return empty(self.sizes(), dtype);
  const MemoryFormat format = self.suggest_memory_format();
  const IntArray order = dense_order(self).value_or(*dense_order(empty(self.sizes(), dtype)));
  const IntArray places = inverse_order(order);
  const Tensor dense = permute(self, order);
  dim = places[static_cast<size_t>(dim)];
  return compute_as<kMapReal | kMapComplex>(dtype, "gradient", [&](auto zero) {
    using C = decltype(zero);
    using Real = std::conditional_t<std::is_same_v<C, float>, float, double>;
    const Tensor values = dense_as<C>(dense);
    const Tensor sums = empty(dense.sizes(), DTypeOf<C>::value);
    const C* in = values.template data_ptr<C>();
    C* out = sums.template data_ptr<C>();
    const int64_t length = dense.size(dim);
    int64_t inner = 1;
    for (int64_t d = dim + 1; d < dense.dim(); ++d) inner *= dense.size(d);
    const bool is_even = stencils.even_weight.has_value();
    const Real weight = static_cast<Real>(stencils.even_weight.value_or(0));
    // The inner ones of lines that lie in memory, a line of weights for each neighbour.
    const bool is_line = !is_even && inner == 1 && length > 2;
    CountedVector<Real> lines(static_cast<size_t>(is_line ? 3 * length : 0));
    for (int64_t i = 1; is_line && i < length - 1; ++i) {
      const Stencil& stencil = stencils.all[static_cast<size_t>(i)];
      for (int64_t j = 0; j < 3; ++j) {
        lines[static_cast<size_t>(j * length + i)] =
            static_cast<Real>(stencil.weights[static_cast<size_t>(j)]);
      }
    }
    const Real *const before = lines.data(), *const here = before + (is_line ? length : 0),
                      *const after = here + (is_line ? length : 0);
    const bool has_middle = is_even || is_line;
    const int64_t step = has_middle ? std::max<int64_t>(1, length - 1) : 1;  // from end to end
    for (int64_t outer = 0; outer < self.numel() / (length * inner);
         ++outer, in += length * inner, out += length * inner) {
      for (int64_t k = inner; is_even && k < (length - 1) * inner; ++k) {
        out[k] = (in[k + inner] - in[k - inner]) * weight;
      }
      for (int64_t i = 1; is_line && i < length - 1; ++i) {
        out[i] = in[i - 1] * before[i] + in[i] * here[i] + in[i + 1] * after[i];
      }
      for (int64_t i = 0; i < length; i += step) {
        const Stencil& stencil = stencils.all[static_cast<size_t>(i)];
        const C* from = in + stencil.first * inner;
        C* to = out + i * inner;
        for (int64_t k = 0; k < inner; ++k) {
          const auto term = [&](int64_t j) {
            return from[j * inner + k] * static_cast<Real>(stencil.weights[static_cast<size_t>(j)]);
          };
          to[k] = stencil.count == 2 ? term(0) + term(1) : term(0) + term(1) + term(2);
        }
      }
    }
    return permute(sums.to(dtype), places).contiguous(format);
  });
}

// What lies between the positions of one dimension: one step for all, or their coordinates.
struct Spacing {
  double step = 1;
  Tensor coordinates;
};

std::vector<Tensor> gradient(const Tensor& self, const std::vector<Spacing>& spacings,
                             const IntArray& dims, int64_t edge_order) {
  TORCHLET_CHECK(self.dtype() != DType::kUInt8, "torch.gradient does not support uint8 input.");
  TORCHLET_CHECK(edge_order == 1 || edge_order == 2,
                 "torch.gradient only supports edge_order=1 and edge_order=2.");
  TORCHLET_CHECK(spacings.size() == dims.size(),
                 "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and "
                 "dim arguments to have the same length, but got a spacing argument of length %zu "
                 "and a dim argument of length %zu.",
                 spacings.size(), dims.size());
  if (!dims.empty()) normalize_dims(dims, self.dim());
  std::vector<Tensor> results;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = wrap_dim(dims[i], self.dim());
    const int64_t length = self.size(dim);
    TORCHLET_CHECK(length >= edge_order + 1,
                   "torch.gradient expected each dimension size to be at least edge_order+1");
    CountedVector<double> distances(static_cast<size_t>(length - 1), spacings[i].step);
    DType dtype = to_float_type(self.dtype());
    if (const Tensor& coordinates = spacings[i].coordinates; coordinates.defined()) {
      TORCHLET_CHECK(
          coordinates.dim() == 1 && coordinates.numel() == length,
          "torch.gradient expected the coordinates of dimension %lld to be %lld numbers, "
          "got %s",
          static_cast<long long>(dim), static_cast<long long>(length),
          coordinates.describe().c_str());
      if (!is_integral(coordinates.dtype(), true))
        dtype = promote_types(dtype, coordinates.dtype());
      const Tensor numbers = coordinates.to(DType::kFloat64).contiguous();
      const double* at = numbers.data_ptr<double>();
      for (size_t k = 0; k < distances.size(); ++k) distances[k] = at[k + 1] - at[k];
    }
    results.push_back(apply_stencils(self, dim, stencils(distances, edge_order), dtype));
  }
  return results;
}

IntArray dims_or_all(const Tensor& self, std::optional<int64_t> dim) {
  if (dim) return {*dim};
  IntArray dims;
  for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  return dims;
}

std::vector<Spacing> steps(const Value& list) {
  std::vector<Spacing> result;
  for (const Value& item : list.to_list()) result.push_back({item.to_double(), Tensor()});
  return result;
}
std::vector<Spacing> coordinates(const std::vector<Tensor>& tensors) {
  std::vector<Spacing> result;
  for (const Tensor& tensor : tensors) result.push_back({1, tensor});
  return result;
}

// ---- cross ----

Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  TORCHLET_CHECK(self.dim() == other.dim(),
                 "linalg.cross: inputs must have the same number of dimensions.");
  TORCHLET_CHECK(self.dtype() == other.dtype(), "expected scalar type %s but found %s",
                 dtype_name(self.dtype()).data(), dtype_name(other.dtype()).data());
  if (!dim) {
    const auto found = std::ranges::find(self.sizes(), 3);
    TORCHLET_CHECK(found != self.sizes().end(), "no dimension of size 3 in input");
    dim = found - self.sizes().begin();
  }
  return linalg_cross(self, other, *dim);
}

}  // namespace

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  TORCHLET_CHECK(self.dim() == other.dim(),
                 "linalg.cross: inputs must have the same number of dimensions.");
  TORCHLET_CHECK(self.size(dim) == 3 && other.size(dim) == 3,
                 "linalg.cross: inputs dimension %lld must have length 3. Got %lld and %lld",
                 static_cast<long long>(dim), static_cast<long long>(self.size(dim)),
                 static_cast<long long>(other.size(dim)));
  const std::vector<Tensor> both = broadcast_tensors({self, other});
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    parts.push_back(sub(mul(select(both[0], dim, j), select(both[1], dim, k)),
                        mul(select(both[0], dim, k), select(both[1], dim, j))));
  }
  return stack(parts, wrap_dim(dim, self.dim()));
}

TORCHLET_OP_WITH(diff, out("out"),
                 "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? "
                 "append=None) -> Tensor",
                 diff);
TORCHLET_OP(gradient_scalarint,
            "aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int "
            "edge_order=1) -> Tensor[]",
            [](const Tensor& self, const std::optional<Scalar>& spacing, std::optional<int64_t> dim,
               int64_t edge_order) {
              const IntArray dims = dims_or_all(self, dim);
              const Spacing step{spacing ? spacing->to_double() : 1, Tensor()};
              return gradient(self, std::vector<Spacing>(dims.size(), step), dims, edge_order);
            });
TORCHLET_OP(gradient_scalararray,
            "aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int "
            "edge_order=1) -> Tensor[]",
            [](const Tensor& self, const Scalar& spacing, const IntArray& dims,
               int64_t edge_order) {
              const Spacing step{spacing.to_double(), Tensor()};
              return gradient(self, std::vector<Spacing>(dims.size(), step), dims, edge_order);
            });
TORCHLET_OP(gradient_array,
            "aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]",
            [](const Tensor& self, const IntArray& dims, int64_t edge_order) {
              return gradient(self, std::vector<Spacing>(dims.size()), dims, edge_order);
            });
TORCHLET_OP(gradient_scalarrayint,
            "aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int "
            "edge_order=1) -> Tensor[]",
            [](const Tensor& self, const Value& spacing, std::optional<int64_t> dim,
               int64_t edge_order) {
              return gradient(self, steps(spacing), dims_or_all(self, dim), edge_order);
            });
TORCHLET_OP(gradient_scalarrayarray,
            "aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int "
            "edge_order=1) -> Tensor[]",
            [](const Tensor& self, const Value& spacing, const IntArray& dims, int64_t edge_order) {
              return gradient(self, steps(spacing), dims, edge_order);
            });
TORCHLET_OP(gradient_tensorarrayint,
            "aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int "
            "edge_order=1) -> Tensor[]",
            [](const Tensor& self, const std::vector<Tensor>& spacing, std::optional<int64_t> dim,
               int64_t edge_order) {
              return gradient(self, coordinates(spacing), dims_or_all(self, dim), edge_order);
            });
TORCHLET_OP(gradient_tensorarray,
            "aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int "
            "edge_order=1) -> Tensor[]",
            [](const Tensor& self, const std::vector<Tensor>& spacing, const IntArray& dims,
               int64_t edge_order) {
              return gradient(self, coordinates(spacing), dims, edge_order);
            });
TORCHLET_OP_WITH(cross, out("out"),
                 "aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", cross);

}  // namespace torchlet::ops
