// Random tensors. Shapes, dtypes and distributions are PyTorch's; the numbers are, too, where its
// plain CPU code draws them one after the other (rand, randn, randint, randperm).
#include "base/counted_vector.h"
#include "ops/random/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>

#include "ops/core/op.h"
#include "ops/creation/factory.h"
#include "ops/engines/elementwise.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"

#define TORCHLET_GENERATOR "Generator? generator=None"
#define TORCHLET_LONG_FACTORY_ARGS \
  "ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None"

namespace torchlet::ops {
namespace {

using OptionalDType = std::optional<DType>;
using OptionalFormat = std::optional<MemoryFormat>;

// ---- one distribution for all elements ----

void check_floating(const Tensor& self, const char* name) {
  TORCHLET_CHECK(is_floating_point(self.dtype()), "\"%s\" not implemented for '%s'", name,
                 dtype_name(self.dtype()).data());
}

// Draws one double for each element.
template <typename F>
Tensor draw(const Tensor& self, const F& sample) {
  const Tensor dense = empty(self.sizes(), DType::kFloat64);
  double* data = dense.data_ptr<double>();
  {
    Random random;
    for (int64_t i = 0; i < dense.numel(); ++i) data[i] = sample(random);
  }
  self.copy_(dense);
  return self;
}

Tensor uniform_(const Tensor& self, double from, double to, const Value&) {
  TORCHLET_CHECK(from <= to,
                 "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", from,
                 to);
  fill_uniform(self, from, to);
  return self;
}

Tensor normal_(const Tensor& self, double mean, double std, const Value&) {
  TORCHLET_CHECK(std >= 0, "normal expects std >= 0.0, but found std %g", std);
  fill_normal(self, mean, std);
  return self;
}

Tensor exponential_(const Tensor& self, double lambda, const Value&) {
  check_floating(self, "exponential_cpu");
  TORCHLET_CHECK(lambda > 0, "exponential_ expects lambda > 0.0, but found lambda=%g", lambda);
  return draw(self, [=](Random& random) { return -std::log1p(-random.uniform()) / lambda; });
}

Tensor cauchy_(const Tensor& self, double median, double sigma, const Value&) {
  check_floating(self, "cauchy_cpu");
  TORCHLET_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=%g", sigma);
  return draw(self, [=](Random& random) {
    return median + sigma * std::tan(std::numbers::pi * (random.uniform() - 0.5));
  });
}

Tensor log_normal_(const Tensor& self, double mean, double std, const Value&) {
  check_floating(self, "log_normal_cpu");
  TORCHLET_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=%g", std);
  return draw(self, [=](Random& random) { return std::exp(random.normal() * std + mean); });
}

Tensor geometric_(const Tensor& self, double p, const Value&) {
  TORCHLET_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=%g", p);
  return draw(self, [=](Random& random) {
    return std::max(1.0, std::ceil(std::log(random.uniform()) / std::log1p(-p)));
  });
}

// Integers in [from, from + range); range 0 stands for all 64-bit patterns.
void fill_integers(const Tensor& self, int64_t from, uint64_t range) {
  const Tensor dense = empty(self.sizes(), DType::kInt64);
  int64_t* data = dense.data_ptr<int64_t>();
  Random random;
  for (int64_t i = 0; i < dense.numel(); ++i) {
    const uint64_t offset = range == 0 ? random.next64() : random.below(range);
    data[i] = static_cast<int64_t>(static_cast<uint64_t>(from) + offset);
  }
  self.copy_(self.is_contiguous() ? dense : dense.to(self.dtype()));  // each in one way at a time
}

// One more than the largest integer below which all are exact in the dtype.
uint64_t integer_range(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 2;
    case DType::kUInt8:
      return 256;
    case DType::kInt8:
      return 128;
    case DType::kInt16:
      return 32768;
    case DType::kInt32:
      return uint64_t{1} << 31;
    case DType::kFloat16:
      return (1 << 11) + 1;
    case DType::kBFloat16:
      return (1 << 8) + 1;
    case DType::kFloat32:
      return (1 << 24) + 1;
    case DType::kFloat64:
      return (uint64_t{1} << 53) + 1;
    default:
      return uint64_t{1} << 63;
  }
}

Tensor random_(const Tensor& self, const Value&) {
  fill_integers(self, 0, integer_range(self.dtype()));
  return self;
}

Tensor random_from_(const Tensor& self, int64_t from, std::optional<int64_t> to, const Value&) {
  if (!to) {
    const uint64_t limit = integer_range(self.dtype());
    fill_integers(self, from, limit - static_cast<uint64_t>(from));
    return self;
  }
  TORCHLET_CHECK(from < *to,
                 "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                 static_cast<long long>(from), static_cast<long long>(*to));
  const int64_t last = *to - 1;
  if (is_integral(self.dtype(), true)) {  // both ends must be elements of self's dtype
    element_of(self, from);
    element_of(self, last);
  }
  fill_integers(self, from, static_cast<uint64_t>(*to) - static_cast<uint64_t>(from));
  return self;
}
Tensor random_to_(const Tensor& self, int64_t to, const Value& generator) {
  return random_from_(self, 0, to, generator);
}

Tensor bernoulli_float_(const Tensor& self, double p, const Value&) {
  fill_bernoulli(self, p);
  return self;
}

// ---- one distribution for each element ----

// out = sample(random, element) for the elements of `parameters`, in double.
template <typename F>
Tensor draw_each(const Tensor& parameters, DType dtype, const F& sample) {
  const Tensor values = parameters.to(DType::kFloat64).contiguous();
  const Tensor result = empty(parameters.sizes(), DType::kFloat64);
  const double* in = values.data_ptr<double>();
  double* to = result.data_ptr<double>();
  Random random;
  for (int64_t i = 0; i < result.numel(); ++i) to[i] = sample(random, in[i]);
  return result.to(dtype);
}

// Short types of the probabilities have short draws.
Tensor bernoulli_of(const Tensor& p, DType dtype) {
  const bool is_double = p.dtype() == DType::kFloat64;
  return draw_each(p, dtype, [=](Random& random, double probability) {
    TORCHLET_CHECK(probability >= 0 && probability <= 1,
                   "Expected p_in >= 0 && p_in <= 1 to be true, but got %g", probability);
    return (is_double ? random.uniform() : random.uniform_float()) < probability ? 1.0 : 0.0;
  });
}

Tensor bernoulli(const Tensor& self, const Value&) {
  check_floating(self, "bernoulli_tensor_cpu_self_");
  return bernoulli_of(self, self.dtype());
}
Tensor bernoulli_p(const Tensor& self, double p, const Value&) {
  const Tensor result = torchlet::empty_like(self);
  fill_bernoulli(result, p);
  return result;
}
Tensor bernoulli_tensor_(const Tensor& self, const Tensor& p, const Value&) {
  check_floating(p, "bernoulli_tensor_cpu_p_");
  self.copy_(bernoulli_of(expand(p, self.sizes()), self.dtype()));
  return self;
}

Tensor poisson(const Tensor& self, const Value&) {
  check_floating(self, "poisson_cpu");
  return draw_each(self, self.dtype(), [](Random& random, double lambda) {
    TORCHLET_CHECK(lambda >= 0 && lambda < 0x1p53,
                   "invalid Poisson rate, expected rate to be non-negative, and below 2^53");
    if (lambda == 0) return 0.0;
    return static_cast<double>(std::poisson_distribution<int64_t>(lambda)(random.engine()));
  });
}

Tensor standard_gamma(const Tensor& self, const Value&) {
  check_floating(self, "gamma_cpu");
  return draw_each(self, self.dtype(), [](Random& random, double alpha) {
    return std::max(std::gamma_distribution<double>(alpha, 1)(random.engine()),
                    std::numeric_limits<double>::min());
  });
}

Tensor sample_dirichlet(const Tensor& self, const Value& generator) {
  const Tensor gamma = standard_gamma(self, generator);
  return div(gamma, sum(gamma, IntArray{-1}, true));
}

Tensor binomial(const Tensor& count, const Tensor& prob, const Value&) {
  check_floating(count, "binomial_cpu");
  const IntArray shape = broadcast_shapes(count.sizes(), prob.sizes());
  const Tensor p = expand(prob, shape).to(DType::kFloat64).contiguous();
  const double* probability = p.data_ptr<double>();
  return draw_each(expand(count, shape), count.dtype(), [&](Random& random, double n) {
    const double chance = *probability++;
    TORCHLET_CHECK(chance >= 0 && chance <= 1 && n >= 0 && n < 0x1p53,
                   "binomial expects counts >= 0 and probabilities in [0, 1]");
    std::binomial_distribution<int64_t> distribution(static_cast<int64_t>(n), chance);
    return static_cast<double>(distribution(random.engine()));
  });
}

// mean + std * N(0, 1) in the shape that both broadcast to.
Tensor normal_tensors(const Tensor& mean, const Tensor& std, const Value&) {
  TORCHLET_CHECK(!is_complex(std.dtype()), "normal expects standard deviation to be non-complex");
  const Tensor lowest = std.numel() > 0 ? amin(std) : Tensor();
  TORCHLET_CHECK(!lowest.defined() || !(scalar_of(lowest).to_double() < 0),
                 "normal expects all elements of std >= 0.0");
  const Tensor noise =
      empty(broadcast_shapes(mean.sizes(), std.sizes()), to_float_type(result_type(mean, std)));
  fill_normal(noise, 0, 1);
  return add(mul(noise, std), mean);
}
Tensor normal_tensor_float(const Tensor& mean, double std, const Value& generator) {
  TORCHLET_CHECK(std >= 0, "normal expects std >= 0.0, but found std %g", std);
  return normal_tensors(mean, scalar_tensor(std, mean.dtype()), generator);
}
Tensor normal_float_tensor(double mean, const Tensor& std, const Value& generator) {
  return normal_tensors(scalar_tensor(mean, std.dtype()), std, generator);
}

// ---- multinomial ----

// Draws with replacement: a uniform number is looked up in the cumulated weights.
void sample_with_replacement(const double* weights, int64_t categories, int64_t* out, int64_t count,
                             Random& random) {
  CountedVector<double> cumulated(static_cast<size_t>(categories));
  std::partial_sum(weights, weights + categories, cumulated.begin());
  for (int64_t i = 0; i < count; ++i) {
    const double at = random.uniform() * cumulated.back();
    const auto found = std::ranges::upper_bound(cumulated, at) - cumulated.begin();
    int64_t category = std::min<int64_t>(found, categories - 1);
    while (category > 0 && weights[category] == 0) --category;
    out[i] = category;
  }
}

// Draws without replacement: the largest of weight / Exponential(1) (the exponential race).
void sample_without_replacement(const double* weights, int64_t categories, int64_t* out,
                                int64_t count, Random& random) {
  CountedVector<std::pair<double, int64_t>> keys;
  for (int64_t c = 0; c < categories; ++c) {
    keys.emplace_back(weights[c] / -std::log1p(-random.uniform()), c);
  }
  std::ranges::partial_sort(keys, keys.begin() + count,
                            [](const auto& a, const auto& b) { return a.first > b.first; });
  for (int64_t i = 0; i < count; ++i) out[i] = keys[static_cast<size_t>(i)].second;
}

Tensor multinomial(const Tensor& self, int64_t count, bool replacement, const Value&) {
  check_floating(self, "multinomial");
  TORCHLET_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim");
  const int64_t categories = self.size(-1);
  TORCHLET_CHECK(count > 0, "cannot sample n_sample <= 0 samples");
  TORCHLET_CHECK(replacement || count <= categories,
                 "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  TORCHLET_CHECK(categories > 0, "multinomial needs at least one category");
  const Tensor weights = self.to(DType::kFloat64).contiguous();
  IntArray shape(self.sizes());
  shape.back() = count;
  const Tensor result = empty(shape, DType::kInt64);
  Random random;
  for (int64_t row = 0; row < self.numel() / categories; ++row) {
    const double* p = weights.data_ptr<double>() + row * categories;
    double total = 0;
    for (int64_t c = 0; c < categories; ++c) {
      TORCHLET_CHECK(p[c] >= 0 && std::isfinite(p[c]),
                     "probability tensor contains either `inf`, `nan` or element < 0");
      total += p[c];
    }
    TORCHLET_CHECK(total > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
    int64_t* to = result.data_ptr<int64_t>() + row * count;
    (replacement ? sample_with_replacement : sample_without_replacement)(p, categories, to, count,
                                                                         random);
  }
  return result;
}

// ---- factories ----

Tensor rand(const IntArray& size, OptionalDType dtype, const Value& layout, const Value& device,
            const Value&) {
  const Tensor result = empty(size, factory_dtype(dtype, layout, device));
  fill_uniform(result, 0, 1);
  return result;
}
Tensor rand_generator(const IntArray& size, const Value&, OptionalDType dtype, const Value& layout,
                      const Value& device, const Value& pin) {
  return rand(size, dtype, layout, device, pin);
}
Tensor rand_out(const IntArray& size, const Tensor& out) {
  resize_output(out, size);
  fill_uniform(out, 0, 1);
  return out;
}

Tensor randn(const IntArray& size, OptionalDType dtype, const Value& layout, const Value& device,
             const Value&) {
  const Tensor result = empty(size, factory_dtype(dtype, layout, device));
  fill_normal(result, 0, 1);
  return result;
}
Tensor randn_generator(const IntArray& size, const Value&, OptionalDType dtype, const Value& layout,
                       const Value& device, const Value& pin) {
  return randn(size, dtype, layout, device, pin);
}
Tensor randn_out(const IntArray& size, const Tensor& out) {
  resize_output(out, size);
  fill_normal(out, 0, 1);
  return out;
}

Tensor randint(int64_t low, int64_t high, const IntArray& size, OptionalDType dtype,
               const Value& layout, const Value& device, const Value&) {
  return random_from_(empty(size, factory_dtype(dtype, layout, device, DType::kInt64)), low, high,
                      Value());
}
Tensor randint_out(int64_t low, int64_t high, const IntArray& size, const Tensor& out) {
  resize_output(out, size);
  return random_from_(out, low, high, Value());
}

Tensor like(const Tensor& self, OptionalDType dtype, const Value& layout, const Value& device,
            OptionalFormat format) {
  return empty_like(self, factory_dtype(dtype, layout, device, self.dtype()), format);
}

Tensor randint_like(const Tensor& self, int64_t low, int64_t high, OptionalDType dtype,
                    const Value& layout, const Value& device, const Value&, OptionalFormat format) {
  return random_from_(like(self, dtype, layout, device, format), low, high, Value());
}

Tensor randperm_into(const Tensor& out, int64_t n) {
  TORCHLET_CHECK(n >= 0, "n must be non-negative, got %lld", static_cast<long long>(n));
  const Tensor order = arange(0, n, 1, DType::kInt64);
  int64_t* data = order.data_ptr<int64_t>();
  {
    Random random;
    for (int64_t i = 0; i + 1 < n; ++i) {
      std::swap(data[i],
                data[i + static_cast<int64_t>(random.below(static_cast<uint64_t>(n - i)))]);
    }
  }
  resize_output(out, IntArray{n});
  out.copy_(order);
  return out;
}
Tensor randperm(int64_t n, OptionalDType dtype, const Value& layout, const Value& device,
                const Value&) {
  return randperm_into(empty(IntArray{0}, factory_dtype(dtype, layout, device, DType::kInt64)), n);
}

}  // namespace

TORCHLET_OP(manual_seed, "aten::manual_seed(int seed) -> ()",
            [](int64_t seed) { seed_random(static_cast<uint64_t>(seed)); });

TORCHLET_OP_WITH(uniform_, functional() | out("out") | varies(),
                 "aten::uniform_(Tensor(a!) self, float from=0., float to=1., "
                 "*, " TORCHLET_GENERATOR ") -> Tensor(a!)",
                 uniform_);
TORCHLET_OP_WITH(normal_, varies(),
                 "aten::normal_(Tensor(a!) self, float mean=0., float std=1., "
                 "*, " TORCHLET_GENERATOR ") -> Tensor(a!)",
                 normal_);
TORCHLET_OP_WITH(normal_functional, varies(),
                 "aten::normal_functional(Tensor self, float mean=0., float std=1., "
                 "*, " TORCHLET_GENERATOR ") -> Tensor",
                 [](const Tensor& self, double mean, double std, const Value& generator) {
                   return normal_(torchlet::empty_like(self), mean, std, generator);
                 });
TORCHLET_OP_WITH(exponential_, functional() | out("out") | varies(),
                 "aten::exponential_(Tensor(a!) self, float lambd=1., *, " TORCHLET_GENERATOR
                 ") -> Tensor(a!)",
                 exponential_);
TORCHLET_OP_WITH(cauchy_, functional() | out("out") | varies(),
                 "aten::cauchy_(Tensor(a!) self, float median=0., float sigma=1., "
                 "*, " TORCHLET_GENERATOR ") -> Tensor(a!)",
                 cauchy_);
TORCHLET_OP_WITH(log_normal_, functional() | out("out") | varies(),
                 "aten::log_normal_(Tensor(a!) self, float mean=1., float std=2., "
                 "*, " TORCHLET_GENERATOR ") -> Tensor(a!)",
                 log_normal_);
TORCHLET_OP_WITH(geometric_, functional() | out("out") | varies(),
                 "aten::geometric_(Tensor(a!) self, float p, *, " TORCHLET_GENERATOR
                 ") -> Tensor(a!)",
                 geometric_);
TORCHLET_OP_WITH(random_from, functional() | out("from_out") | varies(),
                 "aten::random_.from(Tensor(a!) self, int from, int? to, "
                 "*, " TORCHLET_GENERATOR ") -> Tensor(a!)",
                 random_from_);
TORCHLET_OP_WITH(random_to, functional() | out("to_out") | varies(),
                 "aten::random_.to(Tensor(a!) self, int to, *, " TORCHLET_GENERATOR
                 ") -> Tensor(a!)",
                 random_to_);
TORCHLET_OP_WITH(random_, functional() | out("out") | varies(),
                 "aten::random_(Tensor(a!) self, *, " TORCHLET_GENERATOR ") -> Tensor(a!)",
                 random_);
TORCHLET_OP_WITH(bernoulli, out("out") | varies(),
                 "aten::bernoulli(Tensor self, *, " TORCHLET_GENERATOR ") -> Tensor", bernoulli);
TORCHLET_OP_WITH(bernoulli_p, varies(),
                 "aten::bernoulli.p(Tensor self, float p, *, " TORCHLET_GENERATOR ") -> Tensor",
                 bernoulli_p);
TORCHLET_OP_WITH(bernoulli_Tensor, functional() | out("Tensor_out") | varies(),
                 "aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, " TORCHLET_GENERATOR
                 ") -> Tensor(a!)",
                 bernoulli_tensor_);
TORCHLET_OP_WITH(bernoulli_float, varies(),
                 "aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, " TORCHLET_GENERATOR
                 ") -> Tensor(a!)",
                 bernoulli_float_);
TORCHLET_OP_WITH(poisson, out("out") | varies(),
                 "aten::poisson(Tensor self, " TORCHLET_GENERATOR ") -> Tensor", poisson);
TORCHLET_OP_WITH(_standard_gamma, out("out") | varies(),
                 "aten::_standard_gamma(Tensor self, " TORCHLET_GENERATOR ") -> Tensor",
                 standard_gamma);
TORCHLET_OP_WITH(_sample_dirichlet, out("out") | varies(),
                 "aten::_sample_dirichlet(Tensor self, " TORCHLET_GENERATOR ") -> Tensor",
                 sample_dirichlet);
TORCHLET_OP_WITH(binomial, out("out") | varies(),
                 "aten::binomial(Tensor count, Tensor prob, " TORCHLET_GENERATOR ") -> Tensor",
                 binomial);
TORCHLET_OP_WITH(normal_Tensor_float, out("Tensor_float_out") | varies(),
                 "aten::normal.Tensor_float(Tensor mean, float std=1., *, " TORCHLET_GENERATOR
                 ") -> Tensor",
                 normal_tensor_float);
TORCHLET_OP_WITH(normal_float_Tensor, out("float_Tensor_out") | varies(),
                 "aten::normal.float_Tensor(float mean, Tensor std, *, " TORCHLET_GENERATOR
                 ") -> Tensor",
                 normal_float_tensor);
TORCHLET_OP_WITH(normal_Tensor_Tensor, out("Tensor_Tensor_out") | varies(),
                 "aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, " TORCHLET_GENERATOR
                 ") -> Tensor",
                 normal_tensors);
TORCHLET_OP_WITH(
    normal_float_float, varies(),
    "aten::normal.float_float(float mean, float std, int[] size, *, " TORCHLET_GENERATOR
    ", " TORCHLET_FACTORY_ARGS ") -> Tensor",
    [](double mean, double std, const IntArray& size, const Value& generator, OptionalDType dtype,
       const Value& layout, const Value& device, const Value&) {
      return normal_(empty(size, factory_dtype(dtype, layout, device)), mean, std, generator);
    });
TORCHLET_OP_WITH(multinomial, out("out") | varies(),
                 "aten::multinomial(Tensor self, int num_samples, bool replacement=False, "
                 "*, " TORCHLET_GENERATOR ") -> Tensor",
                 multinomial);

TORCHLET_OP_WITH(rand, varies(), "aten::rand(int[] size, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
                 rand);
TORCHLET_OP_WITH(rand_generator, varies(),
                 "aten::rand.generator(int[] size, *, Generator? generator, " TORCHLET_FACTORY_ARGS
                 ") -> Tensor",
                 rand_generator);
TORCHLET_OP_WITH(rand_out, varies(), "aten::rand.out(int[] size, *, Tensor(a!) out) -> Tensor(a!)",
                 rand_out);
TORCHLET_OP_WITH(randn, varies(), "aten::randn(int[] size, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
                 randn);
TORCHLET_OP_WITH(randn_generator, varies(),
                 "aten::randn.generator(int[] size, *, Generator? generator, " TORCHLET_FACTORY_ARGS
                 ") -> Tensor",
                 randn_generator);
TORCHLET_OP_WITH(randn_out, varies(),
                 "aten::randn.out(int[] size, *, Tensor(a!) out) -> Tensor(a!)", randn_out);
TORCHLET_OP_WITH(randint, varies(),
                 "aten::randint(int high, int[] size, *, " TORCHLET_LONG_FACTORY_ARGS ") -> Tensor",
                 [](int64_t high, const IntArray& size, OptionalDType dtype, const Value& layout,
                    const Value& device, const Value& pin) {
                   return randint(0, high, size, dtype, layout, device, pin);
                 });
TORCHLET_OP_WITH(randint_generator, varies(),
                 "aten::randint.generator(int high, int[] size, *, Generator? "
                 "generator, " TORCHLET_LONG_FACTORY_ARGS ") -> Tensor",
                 [](int64_t high, const IntArray& size, const Value&, OptionalDType dtype,
                    const Value& layout, const Value& device, const Value& pin) {
                   return randint(0, high, size, dtype, layout, device, pin);
                 });
TORCHLET_OP_WITH(randint_low, varies(),
                 "aten::randint.low(int low, int high, int[] size, *, " TORCHLET_LONG_FACTORY_ARGS
                 ") -> Tensor",
                 randint);
TORCHLET_OP_WITH(randint_low_generator, varies(),
                 "aten::randint.low_generator(int low, int high, int[] size, *, Generator? "
                 "generator, " TORCHLET_LONG_FACTORY_ARGS ") -> Tensor",
                 [](int64_t low, int64_t high, const IntArray& size, const Value&,
                    OptionalDType dtype, const Value& layout, const Value& device,
                    const Value& pin) {
                   return randint(low, high, size, dtype, layout, device, pin);
                 });
TORCHLET_OP_WITH(randint_out, varies(),
                 "aten::randint.out(int high, int[] size, *, Tensor(a!) out) -> Tensor(a!)",
                 [](int64_t high, const IntArray& size, const Tensor& out) {
                   return randint_out(0, high, size, out);
                 });
TORCHLET_OP_WITH(
    randint_low_out, varies(),
    "aten::randint.low_out(int low, int high, int[] size, *, Tensor(a!) out) -> Tensor(a!)",
    randint_out);
TORCHLET_OP_WITH(rand_like, keeps_rank() | varies(),
                 "aten::rand_like(Tensor self, *, " TORCHLET_FACTORY_ARGS
                 ", MemoryFormat? memory_format=None) -> Tensor",
                 [](const Tensor& self, OptionalDType dtype, const Value& layout,
                    const Value& device, const Value&, OptionalFormat format) {
                   const Tensor result = like(self, dtype, layout, device, format);
                   fill_uniform(result, 0, 1);
                   return result;
                 });
TORCHLET_OP_WITH(randn_like, keeps_rank() | varies(),
                 "aten::randn_like(Tensor self, *, " TORCHLET_FACTORY_ARGS
                 ", MemoryFormat? memory_format=None) -> Tensor",
                 [](const Tensor& self, OptionalDType dtype, const Value& layout,
                    const Value& device, const Value&, OptionalFormat format) {
                   const Tensor result = like(self, dtype, layout, device, format);
                   fill_normal(result, 0, 1);
                   return result;
                 });
TORCHLET_OP_WITH(randint_like, varies(),
                 "aten::randint_like(Tensor self, int high, *, " TORCHLET_FACTORY_ARGS
                 ", MemoryFormat? memory_format=None) -> Tensor",
                 [](const Tensor& self, int64_t high, OptionalDType dtype, const Value& layout,
                    const Value& device, const Value& pin, OptionalFormat format) {
                   return randint_like(self, 0, high, dtype, layout, device, pin, format);
                 });
TORCHLET_OP_WITH(randint_like_low_dtype, varies(),
                 "aten::randint_like.low_dtype(Tensor self, int low, int high, "
                 "*, " TORCHLET_FACTORY_ARGS ", MemoryFormat? memory_format=None) -> Tensor",
                 randint_like);
TORCHLET_OP_WITH(randperm, varies(),
                 "aten::randperm(int n, *, " TORCHLET_LONG_FACTORY_ARGS ") -> Tensor", randperm);
TORCHLET_OP_WITH(
    randperm_generator, varies(),
    "aten::randperm.generator(int n, *, Generator? generator, " TORCHLET_LONG_FACTORY_ARGS
    ") -> Tensor",
    [](int64_t n, const Value&, OptionalDType dtype, const Value& layout, const Value& device,
       const Value& pin) { return randperm(n, dtype, layout, device, pin); });
TORCHLET_OP_WITH(randperm_out, varies(),
                 "aten::randperm.out(int n, *, Tensor(a!) out) -> Tensor(a!)",
                 [](int64_t n, const Tensor& out) { return randperm_into(out, n); });

}  // namespace torchlet::ops
