// Connectionist temporal classification: Graves et al., "Connectionist Temporal Classification:
// Labelling Unsegmented Sequence Data with Recurrent Neural Networks" (2006), in log space.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/loss/loss.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

template <typename T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

template <typename T>
T log_add(T a, T b, T c) {
  const T most = std::max({a, b, c});
  if (most == kNever<T>) return most;
  return most + std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}

// The labels with blanks between and around them: position s is a blank if s is even.
struct Labels {
  const int64_t* labels;
  int64_t count, blank;
  int64_t states() const { return 2 * count + 1; }
  int64_t operator[](int64_t s) const { return s % 2 == 0 ? blank : labels[s / 2]; }
};

// log_probs [time, classes] with those strides; alpha [time, width] receives the log probability of
// each state at each step. Returns the loss.
template <typename T>
T forward_pass(const T* log_probs, int64_t time_stride, int64_t class_stride, int64_t time,
               const Labels& l, T* alpha, int64_t width) {
  const auto log_prob = [=](int64_t t, int64_t label) {
    return log_probs[t * time_stride + label * class_stride];
  };
  if (time == 0) return l.count == 0 ? T(0) : -kNever<T>;
  const int64_t states = l.states();
  alpha[0] = log_prob(0, l.blank);
  if (states > 1) alpha[1] = log_prob(0, l[1]);
  for (int64_t t = 1; t < time; ++t) {
    const T* before = alpha + (t - 1) * width;
    T* now = alpha + t * width;
    for (int64_t s = 0; s < states; ++s) {
      const bool skips = s > 1 && l[s] != l[s - 2];  // never over a label, or from a blank
      now[s] =
          log_add(before[s], s > 0 ? before[s - 1] : kNever<T>, skips ? before[s - 2] : kNever<T>) +
          log_prob(t, l[s]);
    }
  }
  const T* last = alpha + (time - 1) * width;
  return -log_add(last[states - 1], states > 1 ? last[states - 2] : kNever<T>, kNever<T>);
}

// log_probs [time, batch, classes]; targets [batch, longest] or all labels in a row.
std::tuple<Tensor, Tensor> ctc(const Tensor& log_probs, const Tensor& targets,
                               IntSpan input_lengths, IntSpan target_lengths, int64_t blank) {
  TORCHLET_CHECK(log_probs.dim() == 3, "ctc_loss: expected log_probs of 3 dimensions, got %s",
                 log_probs.describe().c_str());
  const int64_t time = log_probs.size(0), batch = log_probs.size(1), classes = log_probs.size(2);
  TORCHLET_CHECK(blank >= 0 && blank < classes, "blank must be in label range");
  TORCHLET_CHECK(static_cast<int64_t>(input_lengths.size()) == batch,
                 "input_lengths must be of size batch_size");
  TORCHLET_CHECK(static_cast<int64_t>(target_lengths.size()) == batch,
                 "target_lengths must be of size batch_size");
  TORCHLET_CHECK(targets.dim() == 1 || (targets.dim() == 2 && targets.size(0) == batch),
                 "ctc_loss: expected targets of shape [%lld, longest] or in a row, got %s",
                 ll(batch), targets.describe().c_str());
  int64_t longest = 0, total = 0;
  for (size_t i = 0; i < target_lengths.size(); ++i) {
    TORCHLET_CHECK(target_lengths[i] >= 0 && input_lengths[i] >= 0 && input_lengths[i] <= time,
                   "Expected input_lengths to have value at most %lld, but got value %lld, for a "
                   "target of length %lld",
                   ll(time), ll(input_lengths[i]), ll(target_lengths[i]));
    longest = std::max(longest, target_lengths[i]);
    TORCHLET_CHECK(!__builtin_add_overflow(total, target_lengths[i], &total),
                   "ctc_loss: the target lengths overflow");
  }
  TORCHLET_CHECK(targets.dim() == 1 ? targets.numel() == total : targets.size(1) >= longest,
                 "Expected targets to hold the labels of all target_lengths (%lld, the longest "
                 "%lld), but got %s",
                 ll(total), ll(longest), targets.describe().c_str());
  const Tensor labels = dense_as<int64_t>(targets);
  const auto check_labels = [&](const int64_t* label, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      TORCHLET_CHECK(label[i] >= 0 && label[i] < classes, "ctc_loss: target %lld is out of bounds",
                     ll(label[i]));
    }
  };
  if (targets.dim() == 1) check_labels(labels.data_ptr<int64_t>(), total);
  for (int64_t n = 0; n < batch && targets.dim() == 2; ++n) {
    // What is beyond a target's length is never looked at.
    check_labels(labels.data_ptr<int64_t>() + n * targets.size(1),
                 target_lengths[static_cast<size_t>(n)]);
  }
  return compute_as<kMapReal>(log_probs.dtype(), "ctc_loss", [&](auto zero) {
    using T = decltype(zero);
    const Tensor x = log_probs.to(DTypeOf<T>::value);
    const int64_t width = 2 * longest + 1;
    const Tensor alpha =
        full({{batch, time, width}}, Scalar(static_cast<double>(kNever<T>)), DTypeOf<T>::value);
    const Tensor loss = empty({{batch}}, DTypeOf<T>::value);
    int64_t offset = 0;
    for (int64_t n = 0; n < batch; ++n) {
      const int64_t count = target_lengths[static_cast<size_t>(n)];
      const int64_t* own =
          labels.data_ptr<int64_t>() + (targets.dim() == 2 ? n * targets.size(1) : offset);
      loss.data_ptr<T>()[n] =
          forward_pass(const_data<T>(x) + n * x.stride(1), x.stride(0), x.stride(2),
                       input_lengths[static_cast<size_t>(n)], Labels{own, count, blank},
                       alpha.data_ptr<T>() + n * time * width, width);
      offset += count;
    }
    return std::tuple(loss.to(log_probs.dtype()), alpha.to(log_probs.dtype()));
  });
}

IntArray lengths_of(const Tensor& tensor) {
  TORCHLET_CHECK(is_integral(tensor.dtype(), false), "ctc_loss: lengths must be integral, got %s",
                 tensor.describe().c_str());
  const Tensor list = dense_as<int64_t>(tensor);
  return IntArray(IntSpan(list.data_ptr<int64_t>(), static_cast<size_t>(list.numel())));
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const IntArray& input_lengths,
                const IntArray& target_lengths, int64_t blank, int64_t reduction,
                bool zero_infinity) {
  const bool batched = log_probs.dim() == 3;
  Tensor loss = std::get<0>(ctc(batched ? log_probs : unsqueeze(log_probs, 1), targets,
                                input_lengths, target_lengths, blank));
  if (zero_infinity) {
    loss = map<kMapReal, 1>({loss}, loss.dtype(), [](auto x) {
      return x == std::numeric_limits<decltype(x)>::infinity() ? decltype(x)(0) : x;
    });
  }
  if (to_reduction(reduction) == Reduction::kMean) {
    const Tensor lengths = empty({{static_cast<int64_t>(target_lengths.size())}}, DType::kInt64);
    std::ranges::copy(target_lengths, lengths.data_ptr<int64_t>());
    return mean(div(loss, clamp(lengths.to(loss.dtype()), Scalar(1), std::nullopt)));
  }
  loss = reduce_loss(loss, to_reduction(reduction));
  return batched || loss.dim() == 0 ? loss : squeeze(loss, 0);
}

}  // namespace

TORCHLET_OP(ctc_loss_IntList,
            "aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
            "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
            ctc_loss);
TORCHLET_OP(ctc_loss_Tensor,
            "aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
            "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
            [](const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
               const Tensor& target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
              return ctc_loss(log_probs, targets, lengths_of(input_lengths),
                              lengths_of(target_lengths), blank, reduction, zero_infinity);
            });
TORCHLET_OP_WITH(
    _ctc_loss, out("out(out0, out1)"),
    "aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
    "int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
    [](const Tensor& log_probs, const Tensor& targets, const IntArray& input_lengths,
       const IntArray& target_lengths, int64_t blank,
       bool) { return ctc(log_probs, targets, input_lengths, target_lengths, blank); });
TORCHLET_OP(_ctc_loss_Tensor,
            "aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
            "target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
            [](const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
               const Tensor& target_lengths, int64_t blank, bool) {
              return ctc(log_probs, targets, lengths_of(input_lengths), lengths_of(target_lengths),
                         blank);
            });

}  // namespace torchlet::ops
