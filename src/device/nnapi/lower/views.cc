// What moves elements and computes none.
#include <algorithm>

#include "device/nnapi/lower/lowering.h"
#include "ops/core/common.h"

namespace torchlet::nnapi {
namespace {

// ---- the shuffle of channels, which has five dimensions on its way ----

// [n, c, h, w] as [n, groups, c / groups, h, w].
bool splits_channels(const IntArray& x, const IntArray& y) {
  return x.size() == 4 && y.size() == 5 && x[0] == y[0] && x[2] == y[3] && x[3] == y[4] &&
         x[1] == y[1] * y[2];
}

// [n, c / groups, groups, h, w] as [n, c, h, w].
void join_channels(ModelBuilder& model, const Call& call,
                   const ModelBuilder::SplitChannels& channels) {
  const TensorDescription image = model.describe(channels.image);
  if (!channels.is_swapped || !(model.result(call).sizes == image.sizes)) {
    decline("a tensor of 5 dimensions");
  }
  const Held x = model.held(channels.image);
  const OperandId groups = model.scalar(to_int32(channels.groups));
  const OperandId axis = model.scalar(axis_in(x.layout, 1));
  model.add_result(call, ANEURALNETWORKS_CHANNEL_SHUFFLE, {x.id, groups, axis}, x.layout);
}

// ---- others ----

// The argument itself, whatever the call is.
void lower_same(ModelBuilder& model, const Call& call) {
  if (const auto* channels = model.split_channels(call.argument(0))) {
    return model.define_split(call, *channels);
  }
  const TensorDescription x = model.describe(call, 0), y = model.result(call);
  if (x.dtype != y.dtype || !(x.sizes == y.sizes)) decline("a tensor of another type");
  model.define(call, model.held(call, 0));
}

void lower_dropout(ModelBuilder& model, const Call& call) {
  if (call.known_bool("train") && call.known_double("p") != 0) decline("a dropout that is trained");
  lower_same(model, call);
}

// The same elements in the program's order.
void lower_reshape(ModelBuilder& model, const Call& call) {
  const TensorDescription y = model.result(call);
  if (const auto* channels = model.split_channels(call.argument(0))) {
    return join_channels(model, call, *channels);
  }
  if (const TensorDescription x = model.describe(call, 0); splits_channels(x.sizes, y.sizes)) {
    if (!x.quantizer) require_float(x);
    return model.define_split(call, {call.argument(0), y.sizes[1], false});
  }
  // Declined for what is no operand, which reshaped() would not see.
  const Operand wanted = model.type(y, Layout::kPlain);
  const TensorDescription x = model.describe(call, 0);
  if (x.sizes == y.sizes) return lower_same(model, call);
  const OperandId elements = model.in_order(call.argument(0));
  model.define(call, {model.reshaped(elements, wanted.sizes), Layout::kPlain});
}

void permute(ModelBuilder& model, const Call& call, const IntArray& dims) {
  const Held x = model.held(call, 0);
  std::vector<int32_t> order;
  for (const int64_t dim : dims) order.push_back(axis_in(x.layout, dim));
  model.type(model.result(call), Layout::kPlain);
  // [n, h, w, c] as an image that is permuted back.
  const bool is_image = x.layout == Layout::kPlain && dims == IntArray{0, 3, 1, 2};
  if (is_image) return model.define(call, {x.id, Layout::kNhwc});
  model.define(call, {model.transposed(x.id, order), Layout::kPlain});
}

void lower_permute(ModelBuilder& model, const Call& call) {
  const auto rank = static_cast<int64_t>(model.describe(call, 0).sizes.size());
  IntArray dims;
  for (const int64_t dim : call.known_ints("dims")) dims.push_back(wrap_dim(dim, rank));
  permute(model, call, dims);
}

void swap(ModelBuilder& model, const Call& call, int64_t a, int64_t b) {
  const auto rank = static_cast<int64_t>(model.describe(call, 0).sizes.size());
  IntArray dims;
  for (int64_t i = 0; i < rank; ++i) dims.push_back(i);
  if (rank > 1) {
    std::swap(dims[static_cast<size_t>(wrap_dim(a, rank))],
              dims[static_cast<size_t>(wrap_dim(b, rank))]);
  }
  permute(model, call, dims);
}

void lower_transpose(ModelBuilder& model, const Call& call) {
  if (const auto* channels = model.split_channels(call.argument(0))) {
    if (wrap_dim(call.known_int(1), 5) + wrap_dim(call.known_int(2), 5) != 3 ||
        wrap_dim(call.known_int(1), 5) * wrap_dim(call.known_int(2), 5) != 2) {
      decline("a tensor of 5 dimensions");
    }
    return model.define_split(call, {channels->image, channels->groups, !channels->is_swapped});
  }
  swap(model, call, call.known_int(1), call.known_int(2));
}
void lower_t(ModelBuilder& model, const Call& call) { swap(model, call, 0, 1); }

// Elements [start, start + step, ...) of one dimension, `length` of them.
OperandId strided(ModelBuilder& model, const Held& x, int64_t dim, int64_t start, int64_t length,
                  int64_t step) {
  Operand output = model.info(x.id);
  const auto axis = static_cast<size_t>(axis_in(x.layout, dim));
  if (start == 0 && step == 1 && output.sizes[axis] == static_cast<uint32_t>(length)) return x.id;
  std::vector<int32_t> begins(output.sizes.size()), ends(output.sizes.begin(), output.sizes.end());
  std::vector<int32_t> strides(output.sizes.size(), 1);
  begins[axis] = to_int32(start);
  ends[axis] = to_int32(start + (length - 1) * step + 1);
  strides[axis] = to_int32(step);
  output.sizes[axis] = static_cast<uint32_t>(length);
  output.bytes.clear();
  output.tensor = Tensor();
  const OperandId none = model.scalar(int32_t{0});
  const OperandId from = model.ints(begins), to = model.ints(ends), by = model.ints(strides);
  return model.add(ANEURALNETWORKS_STRIDED_SLICE, {x.id, from, to, by, none, none, none},
                   std::move(output));
}

// A dimension of the first argument, and its size.
struct Dimension {
  int64_t dim, size;
};
Dimension dimension(ModelBuilder& model, const Call& call, Arg arg) {
  const IntArray sizes = model.describe(call, 0).sizes;
  const int64_t dim = wrap_dim(call.known_int(arg), static_cast<int64_t>(sizes.size()));
  return {dim, sizes[static_cast<size_t>(dim)]};
}

void lower_slice(ModelBuilder& model, const Call& call) {
  const auto [dim, size] = dimension(model, call, "dim");
  int64_t start = call.is_none("start") ? 0 : call.known_int("start");
  if (start < 0) start += size;
  start = std::clamp<int64_t>(start, 0, size);
  const int64_t length = model.result(call).sizes[static_cast<size_t>(dim)];
  if (length < 1) decline("a tensor without elements");
  const Held x = model.held(call, 0);
  model.define(call, {strided(model, x, dim, start, length, call.known_int("step")), x.layout});
}

void lower_narrow(ModelBuilder& model, const Call& call) {
  const auto [dim, size] = dimension(model, call, "dim");
  int64_t start = call.known_int("start");
  if (start < 0) start += size;
  const int64_t length = call.known_int("length");
  if (length < 1) decline("a tensor without elements");
  const Held x = model.held(call, 0);
  model.define(call, {strided(model, x, dim, start, length, 1), x.layout});
}

void lower_select(ModelBuilder& model, const Call& call) {
  const auto [dim, size] = dimension(model, call, "dim");
  int64_t index = call.known_int("index");
  if (index < 0) index += size;
  const Held x = {model.operand(call, 0, Layout::kPlain), Layout::kPlain};
  const OperandId one = strided(model, x, dim, index, 1, 1);
  model.define(call, {model.reshaped(one, model.type(model.result(call), Layout::kPlain).sizes),
                      Layout::kPlain});
}

// Parts along a dimension, as large as the tensors of the list that the call gives.
void lower_split(ModelBuilder& model, const Call& call) {
  const int64_t dim = dimension(model, call, "dim").dim;
  const Held x = model.held(call, 0);
  int64_t start = 0;
  for (const CallArgument& part : call.outputs[0].items()) {
    const int64_t length = model.describe(part).sizes[static_cast<size_t>(dim)];
    if (length < 1) decline("a tensor without elements");
    model.define(part, {strided(model, x, dim, start, length, 1), x.layout});
    start += length;
  }
}

}  // namespace

std::span<const Lowering> view_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::alias", lower_same},
      {"aten::clone", lower_same},
      {"aten::contiguous", lower_same},
      {"aten::detach", lower_same},
      {"aten::to", lower_same},
      {"aten::dropout", lower_dropout},
      {"aten::feature_dropout", lower_dropout},
      {"aten::_unsafe_view", lower_reshape},
      {"aten::flatten", lower_reshape},
      {"aten::reshape", lower_reshape},
      {"aten::squeeze", lower_reshape},
      {"aten::unflatten", lower_reshape},
      {"aten::unsqueeze", lower_reshape},
      {"aten::view", lower_reshape},
      {"aten::permute", lower_permute},
      {"aten::t", lower_t},
      {"aten::transpose", lower_transpose},
      {"aten::chunk", lower_split},
      {"aten::narrow", lower_narrow},
      {"aten::select", lower_select},
      {"aten::slice", lower_slice},
      {"aten::split", lower_split},
      {"aten::split_with_sizes", lower_split},
  };
  return kTable;
}

}  // namespace torchlet::nnapi
