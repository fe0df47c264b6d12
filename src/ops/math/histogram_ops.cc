// Counting elements in bins; covariance.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/checked.h"
#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/matmul.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

void check_floating(const char* name, const Tensor& self) {
  TORCHLET_CHECK(self.dtype() == DType::kFloat32 || self.dtype() == DType::kFloat64,
                 "\"%s\" not implemented for '%s'", name, dtype_name(self.dtype()).data());
}

// The range of the bins: as given, else that of the data; widened by `margin` if it is empty.
struct Range {
  double low, high;
};
Range range_of(const Tensor& data, Range given, double margin) {
  Range range = given;
  if (given.low == given.high && data.numel() > 0) {
    range = {amin(data).item<double>(), amax(data).item<double>()};
  }
  if (range.low == range.high) range = {range.low - margin, range.high + margin};
  TORCHLET_CHECK(std::isfinite(range.low) && std::isfinite(range.high),
                 "range of [%g, %g] is not finite", range.low, range.high);
  TORCHLET_CHECK(range.low < range.high, "max must be larger than min");
  return range;
}

Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  TORCHLET_CHECK(is_floating_point(self.dtype()), "\"histogram_cpu\" not implemented for '%s'",
                 dtype_name(self.dtype()).data());
  TORCHLET_CHECK(bins > 0, "bins must be > 0");
  const Range range = range_of(self, {min.to_double(), max.to_double()}, 1);
  const Tensor counts = zeros(IntArray{bins}, DType::kFloat64);
  double* count = counts.data_ptr<double>();
  const double scale = static_cast<double>(bins) / (range.high - range.low);
  const Tensor data = dense_as<double>(self);
  for (double x : std::span(data.data_ptr<double>(), static_cast<size_t>(data.numel()))) {
    if (!(x >= range.low && x <= range.high)) continue;
    ++count[std::clamp<int64_t>(saturating_int((x - range.low) * scale), 0, bins - 1)];
  }
  return counts.to(self.dtype());
}

// ---- histogramdd ----

// bins + 1 borders from low to high, rounded to `dtype` as linspace does.
Tensor edges_between(Range range, int64_t bins, DType dtype) {
  const Tensor edges = empty(IntArray{checked_add(bins, 1)}, DType::kFloat64);
  double* edge = edges.data_ptr<double>();
  const double step = (range.high - range.low) / static_cast<double>(bins);
  for (int64_t i = 0; i <= bins; ++i) {
    edge[i] = 2 * i < bins + 1 ? range.low + step * static_cast<double>(i)
                               : range.high - step * static_cast<double>(bins - i);
  }
  return edges.to(dtype);
}

std::vector<Tensor> bin_edges(const Tensor& self, const IntArray& bins,
                              const std::optional<std::vector<double>>& range) {
  check_floating("histogramdd", self);
  TORCHLET_CHECK(self.dim() >= 2,
                 "torch.histogramdd: input tensor should have at least 2 dimensions");
  const int64_t dims = self.size(-1);
  TORCHLET_CHECK(static_cast<int64_t>(bins.size()) == dims,
                 "torch.histogramdd: expected %lld sequences of bin edges for a %lld-dimensional "
                 "histogram but got %zu",
                 static_cast<long long>(dims), static_cast<long long>(dims), bins.size());
  TORCHLET_CHECK(!range || static_cast<int64_t>(range->size()) == 2 * dims,
                 "torch.histogramdd: for a %lld-dimensional histogram range should have %lld "
                 "elements",
                 static_cast<long long>(dims), static_cast<long long>(2 * dims));
  std::vector<Tensor> edges;
  for (size_t d = 0; d < bins.size(); ++d) {
    TORCHLET_CHECK(bins[d] > 0, "torch.histogramdd: bins must be positive");
    Range found{0, 1};
    if (range) {
      TORCHLET_CHECK((*range)[2 * d] <= (*range)[2 * d + 1],
                     "torch.histogramdd: min should not exceed max, but got min %g max %g",
                     (*range)[2 * d], (*range)[2 * d + 1]);
      found = {(*range)[2 * d], (*range)[2 * d + 1]};
    }
    if (range || self.numel() > 0) {
      found = range_of(select(self, -1, static_cast<int64_t>(d)), range ? found : Range{0, 0}, 0.5);
    }
    edges.push_back(edges_between(found, bins[d], self.dtype()));
  }
  return edges;
}

// Bins between ascending edges.
class Bins {
 public:
  explicit Bins(const Tensor& edges)
      : dense_(dense_as<double>(edges)),
        edges_(dense_.data_ptr<double>(), static_cast<size_t>(dense_.numel())),
        scale_(static_cast<double>(count()) / (edges_.back() - edges_.front())) {
    if (!std::isfinite(scale_)) return;
    for (size_t i = 0; i < edges_.size(); ++i) {
      const double place = (edges_[i] - edges_.front()) * scale_;
      if (!(std::abs(place - static_cast<double>(i)) < 0.5)) return;
    }
    is_even_ = true;
  }

  int64_t count() const { return static_cast<int64_t>(edges_.size()) - 1; }

  // The bin of x: edge[b] <= x < edge[b + 1], with the last edge inside; -1 if there is none.
  int64_t of(double x) const {
    if (!(x >= edges_.front() && x <= edges_.back())) return -1;
    if (is_even_) {
      const int64_t guess = static_cast<int64_t>((x - edges_.front()) * scale_);
      const double* const edge = edges_.data() + guess;
      if (guess < count() && x >= edge[0] && x < edge[1]) return guess;
    }
    const auto above = std::upper_bound(edges_.begin(), edges_.end(), x);
    return std::min<int64_t>(above - edges_.begin(), count()) - 1;
  }

 private:
  Tensor dense_;
  std::span<const double> edges_;
  double scale_;          // bins for each unit
  bool is_even_ = false;  // all of about one width
};

Tensor count_in(const Tensor& self, const std::vector<Tensor>& bins, const Tensor& weight,
                bool density) {
  check_floating("histogramdd", self);
  const size_t dims = bins.size();
  TORCHLET_CHECK(self.dim() >= 2 && self.size(-1) == static_cast<int64_t>(dims),
                 "torch.histogramdd: expected one sequence of bin edges for each of the last "
                 "dimension of %s, got %zu",
                 self.describe().c_str(), dims);
  const size_t points = dims ? static_cast<size_t>(self.numel()) / dims : 0;
  TORCHLET_CHECK(!weight.defined() || weight.dtype() == self.dtype(),
                 "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
                 "should have the same dtype");
  TORCHLET_CHECK(!weight.defined() || weight.numel() == static_cast<int64_t>(points),
                 "torch.histogramdd: if weight tensor is provided it should have the same shape as "
                 "the input tensor excluding its innermost dimension");
  const Tensor coordinates =
      reshape(self.to(DType::kFloat64), IntArray{static_cast<int64_t>(points), self.size(-1)});
  const Tensor weights = weight.defined() ? dense_as<double>(weight) : Tensor();
  std::vector<Bins> edges;
  IntArray shape;
  for (const Tensor& sequence : bins) {
    TORCHLET_CHECK(sequence.dim() == 1 && sequence.numel() > 0,
                   "torch.histogramdd: bins tensor should have one dimension");
    TORCHLET_CHECK(sequence.dtype() == self.dtype(),
                   "torch.histogramdd: input tensor and bins tensors should have the same dtype");
    edges.emplace_back(sequence);
    shape.push_back(edges.back().count());
  }
  const Tensor hist = zeros(shape, DType::kFloat64);
  double* count = hist.data_ptr<double>();
  const double* x = const_data<double>(coordinates);
  const int64_t to_next = coordinates.stride(0), across = coordinates.stride(1);
  const double* const factor = const_data<double>(weights);
  for (size_t i = 0; i < points; ++i, x += to_next) {
    int64_t place = 0;
    for (size_t d = 0; d < dims && place >= 0; ++d) {
      const int64_t bin = edges[d].of(x[static_cast<int64_t>(d) * across]);
      place = bin < 0 ? -1 : place * shape[d] + bin;
    }
    if (place >= 0) count[place] += factor ? factor[i] : 1;
  }
  if (!density) return hist.to(self.dtype());
  Tensor scaled = div(hist, sum(hist));
  for (size_t d = 0; d < dims; ++d) {
    const Tensor edge = bins[d].to(DType::kFloat64);
    IntArray along(dims, 1);
    along[d] = shape[d];
    scaled = div(scaled,
                 reshape(sub(narrow(edge, 0, 1, shape[d]), narrow(edge, 0, 0, shape[d])), along));
  }
  return scaled.to(self.dtype());
}

using HistogramDD = std::tuple<Tensor, std::vector<Tensor>>;
HistogramDD histogramdd(const Tensor& self, const IntArray& bins,
                        const std::optional<std::vector<double>>& range, const Tensor& weight,
                        bool density) {
  const std::vector<Tensor> edges = bin_edges(self, bins, range);
  return {count_in(self, edges, weight, density), edges};
}
HistogramDD histogramdd_int(const Tensor& self, int64_t bins,
                            const std::optional<std::vector<double>>& range, const Tensor& weight,
                            bool density) {
  TORCHLET_CHECK(self.dim() >= 2,
                 "torch.histogramdd: input tensor should have at least 2 dimensions");
  require_memory(self.size(-1), sizeof(int64_t), "numbers of bins");
  return histogramdd(self, IntArray(static_cast<size_t>(self.size(-1)), bins), range, weight,
                     density);
}

// One-dimensional: elements become points of one coordinate.
Tensor points_of(const Tensor& self) { return reshape(self, IntArray{self.numel(), 1}); }
Tensor flat_weight(const Tensor& weight) {
  return weight.defined() ? reshape(weight, IntArray{weight.numel()}) : weight;
}

std::tuple<Tensor, Tensor> histogram_count(const Tensor& self, int64_t bins,
                                           const std::optional<std::vector<double>>& range,
                                           const Tensor& weight, bool density) {
  auto [hist, edges] =
      histogramdd(points_of(self), IntArray{bins}, range, flat_weight(weight), density);
  return {hist, edges[0]};
}
std::tuple<Tensor, Tensor> histogram_bins(const Tensor& self, const Tensor& bins,
                                          const Tensor& weight, bool density) {
  return {count_in(points_of(self), {bins}, flat_weight(weight), density), bins.clone()};
}

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  TORCHLET_CHECK(is_integral(self.dtype(), false), "bincount only supports integer input, got %s",
                 dtype_name(self.dtype()).data());
  TORCHLET_CHECK(minlength >= 0, "minlength should be >= 0");
  TORCHLET_CHECK(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
  TORCHLET_CHECK(!weights.defined() || std::ranges::equal(weights.sizes(), self.sizes()),
                 "weights should be 1-d and have the same length as input");
  const Tensor values = self.to(DType::kInt64).contiguous();
  const std::span<const int64_t> bins(values.data_ptr<int64_t>(),
                                      static_cast<size_t>(values.numel()));
  int64_t size = minlength;
  for (int64_t bin : bins) {
    TORCHLET_CHECK(bin >= 0, "bincount only supports 1-d non-negative integral inputs.");
    size = std::max(size, checked_add(bin, 1));
  }
  if (!weights.defined()) {
    const Tensor out = zeros(IntArray{size}, DType::kInt64);
    int64_t* count = out.data_ptr<int64_t>();
    for (int64_t bin : bins) ++count[bin];
    return out;
  }
  const Tensor weight = dense_as<double>(weights);
  const Tensor out = zeros(IntArray{size}, DType::kFloat64);
  double* total = out.data_ptr<double>();
  const double* const factor = weight.data_ptr<double>();
  for (size_t i = 0; i < bins.size(); ++i) total[bins[i]] += factor[i];
  return weights.dtype() == DType::kFloat32 ? out.to(DType::kFloat32) : out;
}

// ---- covariance ----

void check_weights(const char* name, const Tensor& weights, int64_t observations) {
  TORCHLET_CHECK(weights.dim() <= 1 && weights.numel() == observations,
                 "cov(): expected %s to have one weight for each of %lld observations", name,
                 static_cast<long long>(observations));
  TORCHLET_CHECK(observations == 0 || amin(weights).item<double>() >= 0,
                 "cov(): %s cannot be negative", name);
}

// Rows are variables, columns observations.
Tensor cov(const Tensor& self, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  TORCHLET_CHECK(self.dim() <= 2, "cov(): expected input to have two or fewer dimensions");
  TORCHLET_CHECK(self.dtype() != DType::kBool, "cov(): bool dtype is not supported for input");
  const Tensor input = self.dim() < 2 ? reshape(self, IntArray{1, self.numel()}) : self;
  const int64_t observations = input.size(1);
  Tensor weights;
  if (fweights.defined()) {
    TORCHLET_CHECK(is_integral(fweights.dtype(), false),
                   "cov(): expected fweights to have integral dtype");
    check_weights("fweights", fweights, observations);
    weights = fweights;
  }
  if (aweights.defined()) {
    TORCHLET_CHECK(is_floating_point(aweights.dtype()),
                   "cov(): expected aweights to have floating point dtype");
    check_weights("aweights", aweights, observations);
    weights = weights.defined() ? mul(weights, aweights) : aweights;
  }
  const Tensor total =
      weights.defined() ? sum(weights) : scalar_tensor(observations, DType::kInt64);
  const Tensor weighted = weights.defined() ? mul(input, weights) : input;
  const Tensor average = div(sum(weighted, IntArray{1}), total);
  Tensor norm;
  if (weights.defined() && aweights.defined() && correction != 0) {
    norm = sub(total, div(mul(sum(mul(weights, aweights)), correction), total));
  } else {
    norm = sub(total, correction);
  }
  norm = clamp(norm, Scalar(0), std::nullopt);
  const Tensor centered = sub(input, unsqueeze(average, 1));
  const Tensor other = weights.defined() ? mul(centered, weights) : centered;
  const Tensor product = matmul(centered, transpose(other, 0, 1));
  const Tensor result = div(product, norm);
  return result.numel() == 1 ? reshape(result, {}) : result;
}

Tensor corrcoef(const Tensor& self) {
  TORCHLET_CHECK(self.dim() <= 2, "corrcoef(): expected input to have two or fewer dimensions");
  const Tensor c = cov(self, 1, Tensor(), Tensor());
  if (c.dim() == 0) return div(c, c);
  const int64_t n = c.size(0);
  const Tensor diagonal =
      make_view(c, IntArray{n}, IntArray{c.stride(0) + c.stride(1)}, c.storage_offset());
  const Tensor deviation = sqrt(diagonal);
  const Tensor scaled = div(div(c, unsqueeze(deviation, 1)), unsqueeze(deviation, 0));
  return clamp(scaled, Scalar(-1), Scalar(1));
}

}  // namespace

TORCHLET_OP_WITH(histc, out("out"),
                 "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
                 histc);
TORCHLET_OP_WITH(histogram_bin_ct, out("bin_ct_out(hist, bin_edges)"),
                 "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, "
                 "Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
                 histogram_count);
TORCHLET_OP_WITH(histogram_bins_tensor, out("bins_tensor_out(hist, bin_edges)"),
                 "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? "
                 "weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
                 histogram_bins);
TORCHLET_OP(histogramdd,
            "aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, "
            "bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
            histogramdd);
TORCHLET_OP(histogramdd_int_bins,
            "aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? "
            "weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
            histogramdd_int);
TORCHLET_OP(histogramdd_TensorList_bins,
            "aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, "
            "Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
            [](const Tensor& self, const std::vector<Tensor>& bins,
               const std::optional<std::vector<double>>&, const Tensor& weight,
               bool density) { return HistogramDD(count_in(self, bins, weight, density), bins); });
TORCHLET_OP(_histogramdd_bin_edges,
            "aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? "
            "weight=None, bool density=False) -> Tensor[]",
            [](const Tensor& self, const IntArray& bins,
               const std::optional<std::vector<double>>& range, const Tensor&,
               bool) { return bin_edges(self, bins, range); });
TORCHLET_OP_WITH(_histogramdd_from_bin_cts, out("out"),
                 "aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? "
                 "range=None, Tensor? weight=None, bool density=False) -> Tensor",
                 [](const Tensor& self, const IntArray& bins,
                    const std::optional<std::vector<double>>& range, const Tensor& weight,
                    bool density) {
                   return count_in(self, bin_edges(self, bins, range), weight, density);
                 });
TORCHLET_OP_WITH(_histogramdd_from_bin_tensors, out("out"),
                 "aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? "
                 "weight=None, bool density=False) -> Tensor",
                 count_in);
TORCHLET_OP_WITH(bincount, out("out"),
                 "aten::bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
                 bincount);
TORCHLET_OP(cov,
            "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? "
            "aweights=None) -> Tensor",
            cov);
TORCHLET_OP(corrcoef, "aten::corrcoef(Tensor self) -> Tensor", corrcoef);

}  // namespace torchlet::ops
