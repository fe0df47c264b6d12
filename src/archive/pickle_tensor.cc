#include "archive/pickle_tensor.h"

#include "archive/pickle_globals.h"
#include "archive/stored_value.h"
#include "base/selection.h"

namespace torchlet::archive {
namespace {

const PickleStorage& storage_argument(const PickleArgs& args) {
  const auto* storage = pickle_internal<PickleStorage>(args[0]);
  if (!storage) args.refuse("a storage", args[0].kind_name());
  return *storage;
}

// The view that the first four arguments describe.
Tensor rebuild_view(const PickleArgs& args) {
  const PickleStorage& storage = storage_argument(args);
  const int64_t offset = args.integer(1, "the offset into the storage");
  const IntArray sizes = args.integers(2, "a tuple of sizes");
  const IntArray strides = args.integers(3, "a tuple of strides");
  return stored_tensor(storage.storage, storage.key, storage.dtype, sizes, strides, offset);
}

// A tensor that is read element by element here.
Tensor small_tensor(const PickleArgs& args, size_t i, const char* what) {
  const Tensor tensor = args.tensor(i, what);
  if (repeats_storage(tensor)) args.refuse(what, "a tensor that is larger than its storage");
  return tensor;
}

std::shared_ptr<const Quantizer> rebuild_quantizer(const Value& value, const Tensor& tensor) {
  const PickleArgs args("quantizer", value, 3, 4);
  const auto* scheme = pickle_internal<PickleGlobal>(args[0]);
  if (!scheme || scheme->kind != PickleGlobal::Kind::kQScheme) {
    args.refuse("a qscheme such as torch.per_tensor_affine", args[0].kind_name());
  }
  if (scheme->qscheme == QScheme::kPerTensorAffine ||
      scheme->qscheme == QScheme::kPerTensorSymmetric) {
    return stored_quantizer(tensor, scheme->qscheme, args.number(1, "a scale"),
                            args.integer(2, "a zero point"));
  }
  if (args.size() != 4) args.refuse("scales, zero points and an axis", "less");
  return stored_quantizer(tensor, scheme->qscheme, small_tensor(args, 1, "a tensor of scales"),
                          small_tensor(args, 2, "a tensor of zero points"),
                          args.integer(3, "the axis of the channels"));
}

}  // namespace

Tensor rebuild_tensor(const PickleArgs& args) {
  Tensor tensor = rebuild_view(args);
  if (tensor.is_quantized()) args.refuse("a storage that is not quantized", "a quantized one");
  if (args.size() > 4) tensor.impl()->requires_grad = args.boolean(4, "requires_grad as a bool");
  return tensor;
}

Tensor rebuild_qtensor(const PickleArgs& args) {
  Tensor tensor = rebuild_view(args);
  if (!tensor.is_quantized()) args.refuse("a storage of a quantized type", "another");
  tensor.impl()->quantizer = rebuild_quantizer(args[4], tensor);
  tensor.impl()->requires_grad = args.boolean(5, "requires_grad as a bool");
  return tensor;
}

namespace {

// The row and column of each value from the pointers to where rows begin. Columns ascend in a row.
Tensor indices_of_csr(const PickleArgs& args, const IntArray& sizes) {
  const auto integers = [&](size_t i, const char* what) {
    const Tensor tensor = small_tensor(args, i, what);
    if (!is_integral(tensor.dtype(), false)) args.refuse(what, tensor.describe().c_str());
    return tensor.to(DType::kInt64);
  };
  const Tensor rows = integers(3, "a tensor of row pointers");
  const Tensor columns = integers(4, "a tensor of column indices");
  if (sizes.size() != 2 || rows.dim() != 1 || columns.dim() != 1) {
    fail(ErrorCode::kUnsupported, "a sparse CSR tensor of other than two dimensions");
  }
  const Tensor begins = rows.contiguous(), of_values = columns.contiguous();
  const auto* begin = begins.data_ptr<int64_t>();
  const auto* column = of_values.data_ptr<int64_t>();
  const int64_t count = columns.numel();
  bool fits =
      rows.numel() > 0 && rows.numel() - 1 == sizes[0] && begin[0] == 0 && begin[sizes[0]] == count;
  const Tensor indices = empty(IntArray{2, count}, DType::kInt64);
  int64_t* index = indices.data_ptr<int64_t>();
  for (int64_t row = 0; fits && row < sizes[0]; ++row) {
    fits = begin[row] <= begin[row + 1] && begin[row + 1] <= count;
    for (int64_t i = begin[row]; fits && i < begin[row + 1]; ++i) {
      fits = i == begin[row] || column[i - 1] < column[i];
      index[i] = row;
      index[count + i] = column[i];
    }
  }
  if (!fits) {
    fail(ErrorCode::kFileFormat, "the row pointers " + rows.describe() + " and columns " +
                                     columns.describe() +
                                     " of a sparse tensor do not fit its size");
  }
  return indices;
}

bool fit(const SparseParts& parts, const IntArray& sizes) {
  const TensorImpl &indices = *parts.indices.impl(), &values = *parts.values.impl();
  const int64_t rank = std::ssize(sizes);
  if (indices.dtype != DType::kInt64 || indices.dim() != 2) return false;
  const int64_t sparse_dim = indices.sizes[0], nnz = indices.sizes[1];
  if (sparse_dim > rank || values.dim() != 1 + rank - sparse_dim || values.sizes[0] != nnz ||
      !std::equal(values.sizes.begin() + 1, values.sizes.end(), sizes.begin() + sparse_dim)) {
    return false;
  }
  for (int64_t i = 0; i < sparse_dim * nnz; ++i) {
    const int64_t index = parts.indices.data_ptr<int64_t>()[i];
    if (index < 0 || index >= sizes[static_cast<size_t>(i / nnz)]) return false;
  }
  return true;
}

}  // namespace

Tensor rebuild_sparse_tensor(const PickleArgs& args) {
  if constexpr (!selection::kHasSparse) {
    fail(ErrorCode::kUnsupported,
         "a sparse tensor, and this libtorchlet was built without them; build with "
         "TORCHLET_FEATURES=sparse");
  }
  if (args.size() < 5) args.refuse("layout, size, requires_grad, indices and values", "less");
  const auto layout = static_cast<Layout>(args.integer(0, "a layout"));
  if (layout != Layout::kSparse && layout != Layout::kSparseCsr) {
    fail(ErrorCode::kUnsupported,
         "a sparse tensor in another layout than COO and CSR; call to_sparse() or to_dense() on it "
         "before the model is saved");
  }
  const bool is_csr = layout == Layout::kSparseCsr;
  if (is_csr && args.size() < 6) args.refuse("row pointers, columns and values", "less");
  const IntArray sizes = args.integers(1, "a tuple of sizes");
  const bool requires_grad = args.boolean(2, "requires_grad as a bool");
  checked_numel(sizes);
  const SparseParts parts{is_csr ? indices_of_csr(args, sizes)
                                 : small_tensor(args, 3, "a tensor of indices").contiguous(),
                          small_tensor(args, is_csr ? 5 : 4, "a tensor of values"), is_csr, layout};
  if (!fit(parts, sizes)) {
    fail(ErrorCode::kFileFormat, "the indices " + parts.indices.describe() + " and values " +
                                     parts.values.describe() +
                                     " of a sparse tensor do not fit its size");
  }
  auto impl = make_ref<TensorImpl>();
  impl->dtype = parts.values.dtype();
  impl->requires_grad = requires_grad;
  impl->sizes = sizes;
  impl->strides = contiguous_strides(sizes);
  impl->update_numel();
  impl->sparse = std::make_shared<const SparseParts>(parts);
  return Tensor(std::move(impl));
}

}  // namespace torchlet::archive
