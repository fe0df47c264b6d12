#include "ops/engines/elementwise.h"

#include <algorithm>
#include <cstring>

#include "base/selection.h"
#include "base/sort.h"
#include "base/thread_pool.h"
#include "kernels/elementwise/convert.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

constexpr int64_t kShortRun = 512;         // elements that are worth no call of their own
constexpr int64_t kParallelGrain = 32768;  // elements worth a hand-off to another thread
constexpr size_t kMaxOperands = 4;
// Converted at a time, so that it stays in the first-level cache.
constexpr int64_t kBufferBytes = int64_t{1} << 13, kMostInBuffer = 2048;
constexpr int64_t kSlack = 64;  // bytes; what is repeated is written in vectors

using Inputs = std::span<const Tensor* const>;

// The same tensors by pointer.
SmallVector<const Tensor*, kMaxOperands> pointers(std::span<const Tensor> tensors) {
  SmallVector<const Tensor*, kMaxOperands> all;
  for (const Tensor& tensor : tensors) all.push_back(&tensor);
  return all;
}

// Walks out and inputs together. Dimension 0 is the innermost; strides are in bytes.
struct Loop {
  IntArray sizes;
  std::array<IntArray, kMaxOperands> strides;  // [operand][dim]; operand 0 is out
  size_t operands = 0;
};

Loop make_loop(const Tensor& out, Inputs inputs) {
  const size_t rank = out.sizes().size();
  const size_t operands = inputs.size() + 1;
  std::array<IntArray, kMaxOperands> full;
  for (size_t k = 0; k < operands; ++k) {
    const Tensor& t = k == 0 ? out : *inputs[k - 1];
    const int64_t width = static_cast<int64_t>(element_size(t.dtype()));
    TORCHLET_CHECK(t.sizes().size() <= rank, "an input has more dimensions than the result");
    const size_t lead = rank - t.sizes().size();
    full[k].resize(rank);
    for (size_t d = lead; d < rank; ++d) {
      const int64_t size = t.sizes()[d - lead];
      TORCHLET_CHECK(size == out.sizes()[d] || size == 1,
                     "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
                     "non-singleton dimension %zu",
                     static_cast<long long>(out.sizes()[d]), static_cast<long long>(size), d);
      full[k][d] = size == 1 ? 0 : t.strides()[d - lead] * width;
    }
  }
  IntArray order;
  for (size_t d = rank; d-- > 0;) order.push_back(static_cast<int64_t>(d));
  stable_sort(order, [&](int64_t a, int64_t b) {
    return full[0][static_cast<size_t>(a)] < full[0][static_cast<size_t>(b)];
  });
  Loop loop;
  loop.operands = operands;
  for (int64_t dim : order) {
    const size_t d = static_cast<size_t>(dim);
    const int64_t size = out.sizes()[d];
    if (size == 1) continue;
    bool merge = !loop.sizes.empty();
    for (size_t k = 0; merge && k < operands; ++k) {
      merge = loop.strides[k].back() * loop.sizes.back() == full[k][d];
    }
    if (merge) {
      loop.sizes.back() *= size;
    } else {
      loop.sizes.push_back(size);
      for (size_t k = 0; k < operands; ++k) loop.strides[k].push_back(full[k][d]);
    }
  }
  if (loop.sizes.empty()) {
    loop.sizes.push_back(1);
    for (size_t k = 0; k < operands; ++k) loop.strides[k].push_back(0);
  }
  return loop;
}

// Each of the elements `count` times; up to a vector more is written.
template <typename T>
void repeat_each(const std::byte* elements, int64_t number, int64_t count, std::byte* to) {
  constexpr int64_t kVector = sizeof(std::complex<double>), kWidth = sizeof(T);
  for (int64_t i = 0; i < number; ++i, to += count * kWidth) {
    std::byte vector[kVector];
    for (int64_t at = 0; at < kVector; at += kWidth) {
      std::memcpy(vector + at, elements + i * kWidth, sizeof(T));
    }
    for (int64_t at = 0; at < count * kWidth; at += kVector) std::memcpy(to + at, vector, kVector);
  }
}
void repeat_each(const std::byte* elements, int64_t width, int64_t number, int64_t count,
                 std::byte* to) {
  switch (width) {
    case 1:
      return repeat_each<uint8_t>(elements, number, count, to);
    case 2:
      return repeat_each<uint16_t>(elements, number, count, to);
    case 4:
      return repeat_each<uint32_t>(elements, number, count, to);
    case 8:
      return repeat_each<uint64_t>(elements, number, count, to);
    default:
      return repeat_each<std::complex<double>>(elements, number, count, to);
  }
}

using Places = std::array<std::byte*, kMaxOperands>;

// Goes from run to run, those of dimension 1 first.
class Walk {
 public:
  Walk(const Loop& loop, const Places& base, int64_t run)
      : loop_(loop), index_(loop.sizes.size()), at_(base) {
    for (size_t d = 1; d < loop.sizes.size(); run /= loop.sizes[d++]) move(d, run % loop.sizes[d]);
  }
  const Places& at() const { return at_; }
  int64_t left() const { return loop_.sizes[1] - index_[1]; }  // of dimension 1
  void go(int64_t runs) {                                      // at most left()
    move(1, runs);
    for (size_t d = 1; index_[d] == loop_.sizes[d]; ++d) {
      move(d, -index_[d]);
      if (d + 1 == loop_.sizes.size()) return;
      move(d + 1, 1);
    }
  }

 private:
  void move(size_t d, int64_t by) {
    index_[d] += by;
    for (size_t k = 0; k < loop_.operands; ++k) at_[k] += by * loop_.strides[k][d];
  }

  const Loop& loop_;
  IntArray index_;
  Places at_;
};

// One innermost run, block by block, converting what is not of the compute type.
class Run {
 public:
  Run(const Tensor& out, Inputs inputs, DType out_dtype, DType in_dtype, const Loop& loop,
      BlockFn fn)
      : out_dtype_(out_dtype),
        in_dtype_(in_dtype),
        block_(std::min(kMostInBuffer,
                        kBufferBytes / static_cast<int64_t>(std::max(element_size(out_dtype),
                                                                     element_size(in_dtype))))),
        count_(inputs.size()),
        fn_(fn) {
    for (size_t k = 0; k <= count_; ++k) {
      const Tensor& t = k == 0 ? out : *inputs[k - 1];
      dtype_[k] = t.dtype();
      width_[k] = static_cast<int64_t>(element_size(t.dtype()));
      stride_[k] = loop.strides[k][0];
      next_[k] = loop.sizes.size() > 1 ? loop.strides[k][1] : 0;
      direct_[k] = t.dtype() == (k == 0 ? out_dtype : in_dtype) && stride_[k] == width_[k];
      if constexpr (selection::kHasConversions) {
        dense_[k] = direct_[k];
        for (size_t d = 1; d < loop.sizes.size(); ++d) {
          dense_[k] &= loop.strides[k][d] == loop.strides[k][d - 1] * loop.sizes[d - 1];
        }
      }
    }
  }

  void operator()(const Places& base, int64_t begin, int64_t end) const {
    alignas(64) std::byte buffers[kMaxOperands][kBufferBytes + kSlack];
    bool all_direct = true;
    for (size_t k = 0; k <= count_; ++k) all_direct &= direct_[k];
    const int64_t step = all_direct ? end - begin : block_;
    for (size_t k = 1; k <= count_; ++k) {  // what is repeated is converted once
      if (stride_[k] != 0) continue;
      const int64_t count = std::min(block_, end - begin);
      if constexpr (selection::kHasConversions) {
        gather(k, base[k], 1, count, buffers[k]);
      } else {
        convert_elements(base[k], dtype_[k], 0, buffers[k], in_dtype_, 1, count);
      }
    }
    for (int64_t at = begin; at < end; at += step) {
      const int64_t n = std::min(step, end - at);
      const void* in[kMaxOperands];
      for (size_t k = 1; k <= count_; ++k) {
        const std::byte* from = base[k] + at * stride_[k];
        in[k - 1] = from;
        if (direct_[k]) continue;
        if (stride_[k] != 0)
          convert_elements(from, dtype_[k], stride_[k] / width_[k], buffers[k], in_dtype_, 1, n);
        in[k - 1] = buffers[k];
      }
      std::byte* to = base[0] + at * stride_[0];
      fn_(direct_[0] ? to : buffers[0], in, n);
      if (!direct_[0]) {
        convert_elements(buffers[0], out_dtype_, 1, to, dtype_[0], stride_[0] / width_[0], n);
      }
    }
  }

  // Short runs of `count` elements that are computed together.
  void together(Walk& walk, int64_t runs, int64_t count) const {
    alignas(64) std::byte buffers[kMaxOperands][kBufferBytes + kSlack];
    const auto in_width = static_cast<int64_t>(element_size(in_dtype_)),
               out_width = static_cast<int64_t>(element_size(out_dtype_));
    struct Piece {
      std::byte* to;
      int64_t runs;
    };
    SmallVector<Piece, 16> pieces;  // each along dimension 1
    for (int64_t filled; runs > 0; runs -= filled) {
      pieces.clear();
      filled = 0;
      const void* in[kMaxOperands];
      for (size_t k = 1; k <= count_; ++k) in[k - 1] = dense_[k] ? walk.at()[k] : buffers[k];
      for (const int64_t most = std::min(runs, block_ / count); filled < most;) {
        const int64_t piece = std::min(walk.left(), most - filled);
        pieces.push_back({walk.at()[0], piece});
        for (size_t k = 1; k <= count_; ++k) {
          if (dense_[k]) continue;
          gather(k, walk.at()[k], piece, count, buffers[k] + filled * count * in_width);
        }
        filled += piece;
        walk.go(piece);
      }
      fn_(dense_[0] ? pieces[0].to : buffers[0], in, filled * count);
      if (dense_[0]) continue;
      const std::byte* from = buffers[0];
      for (const auto& [place, number] : pieces) {
        for (int64_t i = 0; i < number; ++i, from += count * out_width) {
          std::byte* const to = place + i * next_[0];
          if (direct_[0]) {
            std::memcpy(to, from, static_cast<size_t>(count * out_width));
          } else {
            convert_elements(from, out_dtype_, 1, to, dtype_[0], stride_[0] / width_[0], count);
          }
        }
      }
    }
  }

 private:
  // `runs` runs of dimension 1, without gaps; up to a vector more of what is repeated.
  void gather(size_t k, const std::byte* from, int64_t runs, int64_t count, std::byte* to) const {
    const auto width = static_cast<int64_t>(element_size(in_dtype_));
    const int64_t bytes = count * width;
    if (next_[k] == 0 && runs > 1) {
      gather(k, from, 1, count, to);
      for (int64_t done = 1; done < runs; done *= 2) {
        std::memcpy(to + done * bytes, to,
                    static_cast<size_t>(std::min(done, runs - done) * bytes));
      }
    } else if (direct_[k]) {
      for (int64_t i = 0; i < runs; ++i) {
        std::memcpy(to + i * bytes, from + i * next_[k], static_cast<size_t>(bytes));
      }
    } else if (stride_[k] == 0) {
      alignas(64) std::byte elements[kBufferBytes + kSlack];
      convert_elements(from, dtype_[k], next_[k] / width_[k], elements, in_dtype_, 1, runs);
      repeat_each(elements, width, runs, count, to);
    } else if (next_[k] == stride_[k] * count) {
      convert_elements(from, dtype_[k], stride_[k] / width_[k], to, in_dtype_, 1, runs * count);
    } else {
      for (int64_t i = 0; i < runs; ++i) {
        convert_elements(from + i * next_[k], dtype_[k], stride_[k] / width_[k], to + i * bytes,
                         in_dtype_, 1, count);
      }
    }
  }

  DType out_dtype_, in_dtype_;
  int64_t block_;  // elements that fit a buffer
  size_t count_;
  BlockFn fn_;
  std::array<DType, kMaxOperands> dtype_{};
  std::array<int64_t, kMaxOperands> width_{}, stride_{}, next_{};  // next_: from run to run
  std::array<bool, kMaxOperands> direct_{}, dense_{};  // without gaps: in runs, in all of them
};

}  // namespace

Compute compute_kind(DType dtype) {
  if (is_complex(dtype)) return Compute::kComplex;
  if (dtype == DType::kFloat64) return Compute::kDouble;
  if (is_floating_point(dtype)) return Compute::kFloat;
  TORCHLET_CHECK(!is_quantized(dtype),
                 "not implemented for quantized tensors (%s): dequantize() first",
                 dtype_name(dtype).data());
  return Compute::kInt;
}

void elementwise(const Tensor& out, Inputs inputs, DType out_dtype, DType in_dtype, BlockFn fn) {
  TORCHLET_ASSERT(inputs.size() < kMaxOperands);
  if (out.numel() == 0 || is_meta(out)) return;
  const Loop loop = make_loop(out, inputs);
  const Run run(out, inputs, out_dtype, in_dtype, loop, fn);
  Places base{};
  base[0] = static_cast<std::byte*>(out.raw_data());
  for (size_t k = 0; k < inputs.size(); ++k) {
    base[k + 1] = static_cast<std::byte*>(inputs[k]->raw_data());
  }
  const int64_t inner = loop.sizes[0];
  const int64_t outer = out.numel() / inner;
  if (outer == 1) {
    parallel_for(inner, kParallelGrain, [&](int64_t begin, int64_t end) { run(base, begin, end); });
    return;
  }
  parallel_for(outer, std::max<int64_t>(1, kParallelGrain / inner),
               [&](int64_t begin, int64_t end) {
                 Walk walk(loop, base, begin);
                 if constexpr (selection::kHasConversions) {
                   if (inner <= kShortRun) return run.together(walk, end - begin, inner);
                 }
                 for (int64_t row = begin; row < end; ++row, walk.go(1)) run(walk.at(), 0, inner);
               });
}

void elementwise(const Tensor& out, std::span<const Tensor> inputs, DType out_dtype, DType in_dtype,
                 BlockFn fn) {
  elementwise(out, Inputs(pointers(inputs)), out_dtype, in_dtype, fn);
}

Tensor empty_result(Inputs inputs, DType dtype) {
  IntArray shape(inputs[0]->sizes());
  for (const Tensor* input : inputs.subspan(1)) shape = broadcast_shapes(shape, input->sizes());
  for (const Tensor* input : inputs) {
    if (std::ranges::equal(input->sizes(), shape)) return empty_like(*input, dtype);
  }
  return empty(shape, dtype);
}

Tensor empty_result(std::span<const Tensor> inputs, DType dtype) {
  return empty_result(Inputs(pointers(inputs)), dtype);
}

namespace detail {

// What is left of whole steps goes through arrays that a step fits, filled with the same elements
// again.
void run_steps(BlockBody body, const void* f, size_t operands, void* out, int64_t out_width,
               const void* const* in, int64_t in_width, int64_t count) {
  const int64_t whole = count / kStep * kStep, rest = count - whole;
  body(f, out, in, whole);
  if (rest == 0) return;
  alignas(64) std::byte last[kMaxOperands][kStep * sizeof(int64_t)];
  const void* padded[kMaxOperands];
  for (size_t k = 0; k < operands; ++k) {
    const auto* from = static_cast<const std::byte*>(in[k]) + whole * in_width;
    std::memcpy(last[k], from, static_cast<size_t>(rest * in_width));
    for (int64_t done = rest; done < kStep; done *= 2) {
      std::memcpy(last[k] + done * in_width, last[k],
                  static_cast<size_t>(std::min(done, kStep - done) * in_width));
    }
    padded[k] = last[k];
  }
  body(f, last[operands], padded, kStep);
  std::memcpy(static_cast<std::byte*>(out) + whole * out_width, last[operands],
              static_cast<size_t>(rest * out_width));
}

Tensor map_blocks(Inputs inputs, DType result, DType out_dtype, DType in_dtype, BlockBody body,
                  bool in_steps, const void* f, const Tensor* into) {
  const Tensor out = into ? *into : empty_result(inputs, result);
  const auto out_width = static_cast<int64_t>(element_size(out_dtype)),
             in_width = static_cast<int64_t>(element_size(in_dtype));
  elementwise(out, inputs, out_dtype, in_dtype,
              [=, operands = inputs.size()](void* o, const void* const* in, int64_t count) {
                if (!in_steps) return body(f, o, in, count);
                run_steps(body, f, operands, o, out_width, in, in_width, count);
              });
  return out;
}

namespace {

// Of up to three bools there are eight cases, so the function is a table of them.
[[maybe_unused]] Tensor map_bools(Inputs inputs, DType out_dtype, BlockBody body, bool in_steps,
                                  const void* f) {
  constexpr int64_t kFirst[] = {0, 1, 0, 1, 0, 1, 0, 1}, kSecond[] = {0, 0, 1, 1, 0, 0, 1, 1},
                    kThird[] = {0, 0, 0, 0, 1, 1, 1, 1};
  const void* const cases[] = {kFirst, kSecond, kThird};
  int64_t results[8];
  uint8_t answers[8];
  if (in_steps) {
    run_steps(body, f, inputs.size(), results, static_cast<int64_t>(element_size(out_dtype)), cases,
              sizeof(int64_t), 8);
  } else {
    body(f, results, cases, 8);
  }
  convert_elements(results, out_dtype, 1, answers, DType::kBool, 1, 8);
  const Tensor out = empty_result(inputs, DType::kBool);
  elementwise(out, inputs, DType::kBool, DType::kBool,
              [&, last = inputs.size() - 1](void* o, const void* const* in, int64_t count) {
                kernels::look_up_bools(answers, static_cast<const uint8_t*>(in[0]),
                                       static_cast<const uint8_t*>(in[std::min<size_t>(1, last)]),
                                       static_cast<const uint8_t*>(in[last]),
                                       static_cast<uint8_t*>(o), count);
              });
  return out;
}

}  // namespace

Tensor map_compute(Inputs inputs, DType dtype, bool to_bool, const BlockBody (&bodies)[4],
                   bool in_steps, const void* f, const Tensor* out) {
  constexpr DType kComputeTypes[] = {DType::kInt64, DType::kFloat32, DType::kFloat64,
                                     DType::kComplex128};
  const auto kind = static_cast<size_t>(compute_kind(dtype));
  if (!bodies[kind]) fail_not_implemented(dtype);
  if constexpr (selection::kHasConversions) {
    if (!out && dtype == DType::kBool &&
        std::ranges::all_of(inputs, [](auto* x) { return x->dtype() == DType::kBool; })) {
      return map_bools(inputs, to_bool ? DType::kBool : DType::kInt64, bodies[kind], in_steps, f);
    }
  }
  return map_blocks(inputs, to_bool ? DType::kBool : dtype,
                    to_bool ? DType::kBool : kComputeTypes[kind], kComputeTypes[kind], bodies[kind],
                    in_steps && kind < static_cast<size_t>(Compute::kComplex), f, out);
}

void fail_not_implemented(DType dtype, const char* op) {
  const bool is_missing = (dtype == DType::kFloat64 && !selection::kHasFloat64) ||
                          (is_complex(dtype) && !selection::kHasComplex);
  fail(ErrorCode::kRuntime, "%snot implemented for '%s'%s",
       op ? ('"' + std::string(op) + "\" ").c_str() : "", dtype_name(dtype).data(),
       is_missing ? "; this libtorchlet was built without it (TORCHLET_FEATURES)" : "");
}

}  // namespace detail

}  // namespace torchlet::ops
