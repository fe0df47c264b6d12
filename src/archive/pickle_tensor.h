// Tensors from the arguments of torch._utils._rebuild_*; every view is checked against its storage.
#pragma once

#include "archive/pickle_args.h"

namespace torchlet::archive {

// (storage, storage_offset, size, stride[, requires_grad, hooks[, metadata]])
Tensor rebuild_tensor(const PickleArgs& args);

// (storage, storage_offset, size, stride, quantizer, requires_grad, hooks) where quantizer is
// (qscheme, scale, zero_point) or (qscheme, scales, zero_points, axis)
Tensor rebuild_qtensor(const PickleArgs& args);

// TorchScript: (layout, size, requires_grad, indices, values, hooks) of a COO tensor (layout 1),
// (layout, size, requires_grad, row pointers, columns, values, hooks) of a CSR matrix (layout 2).
Tensor rebuild_sparse_tensor(const PickleArgs& args);

}  // namespace torchlet::archive
