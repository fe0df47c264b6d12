#include "ops/vision/gather_spatial.h"

#include <algorithm>
#include <complex>
#include <utility>

#include "base/thread_pool.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

// Neighbours of the input that are so in the output, too.
struct Stretch {
  int64_t from, count;
};

CountedVector<Stretch> stretches_of(const CountedVector<int64_t>& table) {
  CountedVector<Stretch> stretches;
  Stretch last{0, 0};
  for (const int64_t from : table) {
    if (last.from + last.count != from) {
      if (last.count > 0) stretches.push_back(last);
      last = {from, 0};
    }
    ++last.count;
  }
  if (last.count > 0) stretches.push_back(last);
  return stretches;
}

// T is any type of the element's width.
template <typename T>
void gather_planes(const Tensor& in, const Tensor& out, const IndexTables& tables,
                   const IntArray& in_sizes) {
  constexpr int64_t kLongStretch = 16;
  const CountedVector<int64_t>&depth = tables[0], &height = tables[1], &width = tables[2];
  const int64_t in_plane = in_sizes[0] * in_sizes[1] * in_sizes[2];
  const int64_t out_w = static_cast<int64_t>(width.size());
  const int64_t out_plane = static_cast<int64_t>(depth.size() * height.size()) * out_w;
  const T* from = static_cast<const T*>(in.raw_data());
  T* to = static_cast<T*>(out.raw_data());
  const CountedVector<Stretch> stretches = stretches_of(width);
  const bool by_stretches = static_cast<int64_t>(stretches.size()) * kLongStretch <= out_w;
  const int64_t grain = std::max<int64_t>(1, 32768 / out_plane);
  parallel_for(out.numel() / out_plane, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      T* target = to + plane * out_plane;
      const T* before = nullptr;
      for (int64_t z : depth) {
        for (int64_t y : height) {
          const T* row = from + plane * in_plane + (z * in_sizes[1] + y) * in_sizes[2];
          if (row == before) {
            target = std::copy_n(target - out_w, out_w, target);
          } else if (by_stretches) {
            for (const Stretch& s : stretches) target = std::copy_n(row + s.from, s.count, target);
          } else {
            for (int64_t x : width) *target++ = row[x];
          }
          before = row;
        }
      }
    }
  });
}

}  // namespace

Tensor empty_as(const Tensor& like, IntSpan sizes) {
  const auto& quantizer = like.impl()->quantizer;
  return quantizer ? empty_quantized(sizes, like.dtype(), quantizer) : empty(sizes, like.dtype());
}

Tensor gather_spatial(const Tensor& self, IndexTables tables) {
  TORCHLET_ASSERT(tables.size() <= 3 && static_cast<size_t>(self.dim()) >= tables.size());
  IntArray shape(self.sizes()), in_sizes{1, 1, 1};
  IndexTables all(3 - tables.size(), {0});
  for (size_t i = 0; i < tables.size(); ++i) {
    const size_t d = shape.size() - tables.size() + i;
    in_sizes[3 - tables.size() + i] = shape[d];
    shape[d] = static_cast<int64_t>(tables[i].size());
    all.push_back(std::move(tables[i]));
  }
  const Tensor in = self.contiguous();
  const Tensor out = empty_as(self, shape);
  if (out.numel() == 0) return out;
  if (is_meta(out)) return out.contiguous(self.suggest_memory_format());
  switch (element_size(self.dtype())) {
    case 1:
      gather_planes<uint8_t>(in, out, all, in_sizes);
      break;
    case 2:
      gather_planes<uint16_t>(in, out, all, in_sizes);
      break;
    case 4:
      gather_planes<uint32_t>(in, out, all, in_sizes);
      break;
    case 8:
      gather_planes<uint64_t>(in, out, all, in_sizes);
      break;
    default:
      gather_planes<std::complex<double>>(in, out, all, in_sizes);
  }
  return out.contiguous(self.suggest_memory_format());
}

}  // namespace torchlet::ops
