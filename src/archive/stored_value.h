// Values as files describe them, held to what they may be. Errors are kFileFormat.
#pragma once

#include <torchlet/value.h>

#include <memory>
#include <string>

#include "tensor/tensor_impl.h"

namespace torchlet::archive {

// A view of a storage, whose `name` is for messages; an error if it reaches outside.
Tensor stored_tensor(const Ref<Storage>& storage, const std::string& name, DType dtype,
                     IntSpan sizes, IntSpan strides, int64_t offset);

// Has the tensor more elements than its storage, by zero strides? Such a one could be of any size,
// so what is read element by element must not be.
bool repeats_storage(const Tensor& tensor);

// How all of `tensor` is quantized, or each of its channels along `axis`.
std::shared_ptr<const Quantizer> stored_quantizer(const Tensor& tensor, QScheme scheme,
                                                  double scale, int64_t zero_point);
std::shared_ptr<const Quantizer> stored_quantizer(const Tensor& tensor, QScheme scheme,
                                                  const Tensor& scales, const Tensor& zero_points,
                                                  int64_t axis);

// c10::Device's spelling: a type, and perhaps an index ("cuda:0"). Which devices exist is not
// asked: everything runs where Torchlet runs.
Value stored_device(std::string name);

}  // namespace torchlet::archive
