#include "ops/engines/fold/runs.h"

#include <algorithm>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/simd/scratch.h"
#include "ops/engines/fold/numbers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops::folding {
namespace {

using kernels::Fold;

constexpr int64_t kChunk = 1024, kChunksOfPiece = 32;

// Of at most kMostRun elements.
template <typename T>
void fold_short_runs(Fold fold, const Tensor& self, const Walk& walk, const std::byte* centers,
                     std::byte* results, int64_t outputs) {
  const auto* center = reinterpret_cast<const T*>(centers);
  const Dim runs = walk.kept.back();
  const int64_t columns = walk.columns.size, count = walk.reduced[0].size * columns;
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / (runs.size * count));
  parallel_for(outputs / (runs.size * columns), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t index = i, offset = 0, output = 0;
      for (size_t d = walk.kept.size() - 1; d-- > 0; index /= walk.kept[d].size) {
        offset += index % walk.kept[d].size * walk.kept[d].stride;
        output += index % walk.kept[d].size * walk.kept[d].output_stride;
      }
      const kernels::FoldRuns<T> matrix{static_cast<const T*>(self.raw_data()) + offset,
                                        runs.stride,
                                        runs.size,
                                        count,
                                        center ? center + output : nullptr,
                                        columns};
      kernels::fold_runs(fold, matrix, reinterpret_cast<T*>(results) + output, runs.output_stride);
    }
  });
}

// At most this many chunks, the last of which may be shorter.
template <typename T>
T fold_piece(Fold fold, const T* x, int64_t count, T center) {
  T results[kChunksOfPiece], centers[kChunksOfPiece];
  std::fill_n(centers, kChunksOfPiece, center);
  const int64_t chunks = count / kChunk, rest = count % kChunk;
  kernels::fold_runs(fold, kernels::FoldRuns<T>{x, kChunk, chunks, kChunk, centers}, results, 1);
  if (rest > 0) {
    kernels::fold_runs(fold, kernels::FoldRuns<T>{x + chunks * kChunk, rest, 1, rest, centers},
                       results + chunks, 1);
  }
  const int64_t all = chunks + (rest > 0 ? 1 : 0);
  T result;
  kernels::fold_runs(fold_of_results(fold), kernels::FoldRuns<T>{results, all, 1, all}, &result, 1);
  return result;
}

// Of more, piece by piece.
template <typename T>
void fold_long_runs(Fold fold, const Tensor& self, const Walk& walk, const std::byte* centers,
                    std::byte* results, int64_t outputs) {
  constexpr int64_t kPiece = kChunk * kChunksOfPiece;
  const auto* center = reinterpret_cast<const T*>(centers);
  const T* const data = static_cast<const T*>(self.raw_data());
  T* const to = reinterpret_cast<T*>(results);
  const int64_t count = walk.reduced[0].size, pieces = (count + kPiece - 1) / kPiece;
  const kernels::Scratch<T> partial(pieces == 1 ? 0 : outputs * pieces);
  const int64_t grain = std::max<int64_t>(1, kParallelGrain * pieces / count);
  parallel_for(outputs * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto [offset, output] = walk.place_of(i / pieces, 0);
      const int64_t first = i % pieces * kPiece;
      T& result = pieces == 1 ? to[output] : partial[i];
      result = fold_piece(fold, data + offset + first, std::min(kPiece, count - first),
                          center ? center[output] : T(0));
    }
  });
  for (int64_t i = 0; pieces > 1 && i < outputs; ++i) {
    kernels::fold_runs(fold_of_results(fold),
                       kernels::FoldRuns<T>{partial.data() + i * pieces, pieces, 1, pieces},
                       to + walk.place_of(i, 0).second, 1);
  }
}

// As runs, and their results again.
template <typename T>
void fold_dense(Fold fold, const T* x, int64_t count, T* into) {
  constexpr int64_t kRun = 1024, kRunsPerTask = 64;
  const kernels::Scratch<T> results((count + kRun - 1) / kRun);
  do {
    const int64_t runs = count / kRun, rest = count % kRun;
    const auto fold_some = [&](int64_t begin, int64_t end) {
      const kernels::FoldRuns<T> some{x + begin * kRun, kRun, end - begin, kRun};
      kernels::fold_runs(fold, some, results.data() + begin, 1);
    };
    if (x != results.data()) {
      parallel_for(runs, kRunsPerTask, fold_some);
    } else {  // in place, one after the other
      fold_some(0, runs);
    }
    if (rest > 0) {
      const kernels::FoldRuns<T> last{x + runs * kRun, rest, 1, rest};
      kernels::fold_runs(fold, last, results.data() + runs, 1);
    }
    count = runs + (rest > 0 ? 1 : 0);
    x = results.data();
    fold = fold_of_results(fold);
  } while (count > 1);
  *into = results[0];
}

// f(T()) for a type that may be runs.
template <typename F>
void visit_numbers(DType dtype, const F& f) {
  if constexpr (selection::kHasConversions) {
    if (dtype == DType::kInt64) return f(int64_t());
    if (selection::kHasFloat64 && dtype == DType::kFloat64) return f(double());
  }
  f(float());
}

}  // namespace

int64_t most_run_columns(Fold fold, DType dtype) {
  const bool is_wide =
      dtype == DType::kInt64 || (dtype == DType::kFloat64 && selection::kHasFloat64);
  const bool is_simple = fold == Fold::kSum || fold == Fold::kMax || fold == Fold::kMin;
  if (dtype == DType::kFloat32) return kernels::kMostRunColumns<float>;
  return selection::kHasConversions && is_wide && is_simple ? kernels::kMostRunColumns<double> : 0;
}

void fold_all(Fold fold, const Tensor& self, std::byte* out) {
  visit_numbers(self.dtype(), [&](auto number) {
    using T = decltype(number);
    fold_dense(fold, self.data_ptr<T>(), self.numel(), reinterpret_cast<T*>(out));
  });
}

void fold_along_runs(Fold fold, const Tensor& self, const Walk& walk, const std::byte* centers,
                     std::byte* out, int64_t outputs) {
  const bool is_long = selection::kHasConversions && walk.reduced[0].size > kMostRun;
  visit_numbers(self.dtype(), [&](auto number) {
    using T = decltype(number);
    (is_long ? fold_long_runs<T> : fold_short_runs<T>)(fold, self, walk, centers, out, outputs);
  });
}

}  // namespace torchlet::ops::folding
