// Packed weights, which the plans of a segment share.
//
// Weights are packed by a plain function, which sees its arguments and nothing else. The function
// and its arguments are the key, so nothing that a packing depends on can be missing from it:
// tensors count by their memory and how they look at it, everything else by its value. Views that
// are made anew for every signature are found again.
//
// Who packs a tensor is done with it: memory that is only derived from another tensor or read from
// a file goes again, and comes back if somebody else asks. Small builds, which are for models of a
// few megabytes, keep it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/selection.h"
#include "device/weight_cache.h"
#include "kernels/conv_nchw/conv2d.h"
#include "kernels/conv_nhwc/conv3d_nhwc.h"
#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/conv_nhwc/dwconv_nhwc.h"
#include "kernels/quantized/elementwise_q8.h"
#include "tensor/derived_storage.h"

namespace torchlet::cpu {

// The shape of a layer as its packed weights depend on it: the batch and the sizes of the image
// count only by the form that the kernel chose for them. T is one of the kernels' shapes.
template <typename T>
struct LayerForm {
  T shape;
  int form = 0;
};

// A tensor that a packing reads with a RowReader, and does not want as a whole.
struct ByRows {
  ByRows(Tensor weight) : tensor(std::move(weight)) {}  // NOLINT(google-explicit-constructor)
  Tensor tensor;
};

// What a packing was made of.
class PackingKey {
 public:
  template <typename T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void add(T number) { words_.push_back(static_cast<int64_t>(number)); }
  void add(float number) { add(static_cast<double>(number)); }
  void add(double number);
  void add(const kernels::AffineQ8& affine);
  void add(const Tensor& tensor);  // may be undefined
  void add(const ByRows& rows) { add(rows.tensor); }
  void add(const LayerForm<kernels::ConvNhwcShape>& layer);
  void add(const LayerForm<kernels::Conv3dNhwcShape>& layer);
  void add(const LayerForm<kernels::DwConvShape>& layer);
  void add(const LayerForm<kernels::Conv2dShape>& layer);

 private:
  friend class PackedWeights;
  void add(const kernels::Window2dShape& window);
  // What the words say, told of the tensors' contents in place of their addresses: the same in
  // each process that has this build and packs the same.
  uint64_t content() const;

  std::vector<int64_t> words_;  // the first one is the function's address
  std::vector<Ref<Storage>> storages_;  // kept, so that their addresses stay their own
  struct Address {
    size_t at;             // in words_
    const Tensor* tensor;  // an argument, or a part of one
  };
  std::vector<Address> addresses_;
};

// Thread-safe.
class PackedWeights {
 public:
  // With a cache, which may be null, weights are looked for there before they are packed.
  explicit PackedWeights(std::shared_ptr<device::WeightCache> cache = nullptr)
      : cache_(std::move(cache)) {}
  // `nbytes` of memory, 64-byte aligned, filled by pack(memory, args...). What was packed of the
  // same arguments is given again as long as somebody holds it.
  template <typename... Args>
  std::shared_ptr<const void> get(size_t nbytes, void (*pack)(void* to, const Args&... args),
                                  const std::type_identity_t<Args>&... args) {
    PackingKey key;
    key.add(reinterpret_cast<uintptr_t>(pack));
    key.add(nbytes);
    (key.add(args), ...);
    return find_or_pack(std::move(key), nbytes, [&](void* to) {
      if constexpr (selection::kIsWhole) {
        pack(to, in_passing(args)...);
        (give_back(args), ...);
      } else {
        pack(to, args...);
      }
    });
  }

 private:
  struct Entry {
    std::vector<Ref<Storage>> storages;
    std::weak_ptr<const void> packed;
  };
  std::shared_ptr<const void> find_or_pack(PackingKey key, size_t nbytes,
                                           FunctionRef<void(void*)> pack);
  std::shared_ptr<const void> read_or_pack(const PackingKey& key, size_t nbytes,
                                           FunctionRef<void(void*)> pack);
  void forget_unreachable();

  const std::shared_ptr<device::WeightCache> cache_;
  std::mutex mutex_;
  std::map<std::vector<int64_t>, Entry> entries_;
};

}  // namespace torchlet::cpu
