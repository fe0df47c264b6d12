#include "device/specialise/needed_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/limits.h"
#include "device/specialise/rewriter.h"
#include "ops/core/meta_call.h"
#include "tensor/containers.h"
#include "tensor/meta.h"
#include "tensor/tensor_impl.h"

namespace torchlet::device {
namespace {

const Symbol kSelect("aten::select"), kSlice("aten::slice");

// Places of a dimension.
struct Range {
  int64_t dim = 0, begin = 0, end = 0;
  int64_t length() const { return end - begin; }
};

// What the calls read of a tensor: nothing, a range, or all of it.
struct Need {
  std::optional<Range> range;
  bool is_all = false;

  void add(const Range& more) {
    if (!range) {
      range = more;
    } else if (range->dim != more.dim) {
      is_all = true;
    } else {
      range->begin = std::min(range->begin, more.begin);
      range->end = std::max(range->end, more.end);
    }
  }
};

int64_t at(const IntArray& sizes, int64_t dim) { return sizes[static_cast<size_t>(dim)]; }

// A layer or a product of matrices.
bool is_product(const Call& call) {
  return call.op->facts->dtype == DTypeRule::kWeight || call.op->facts->places == PlaceRule::kRows;
}

// select(), or slice() by steps of one, by numbers that are known.
bool is_selection(const Call& call) {
  if ((call.kind() != kSelect && call.kind() != kSlice) || !call.argument(0).is_tensor()) {
    return false;
  }
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    const CallArgument& number = call.arguments[i];
    if (!number.is_known() || !(number.known().is_int() || number.is_none())) return false;
  }
  return call.arguments.size() == 3 || call.known_int(4) == 1;
}

// What a selection takes of a tensor of these sizes.
Range selected(const Call& call, const IntArray& sizes) {
  const int64_t dim = wrap_dim(call.known_int(1), std::ssize(sizes)), size = at(sizes, dim);
  const auto place = [&](size_t i, int64_t otherwise) {
    if (call.is_none(i)) return otherwise;
    const int64_t number = call.known_int(i);
    return std::clamp<int64_t>(number < 0 ? number + size : number, 0, size);
  };
  const int64_t begin = place(2, 0);
  if (call.kind() == kSelect) return {dim, begin, begin + 1};
  return {dim, begin, std::max(begin, place(3, size))};
}

class NeededRows {
 public:
  explicit NeededRows(SpecialisedSegment& segment)
      : segment_(segment), needs_(segment.tensors.size()), made_(segment.tensors.size()) {
    for (size_t id = 0; id < needs_.size(); ++id) {
      const TensorDescription* known = segment.description_on_meta(static_cast<ValueId>(id));
      sizes_.push_back(known ? std::optional(known->sizes) : std::nullopt);
    }
  }

  // Does a product get smaller?
  bool find() {
    bool is_less_work = false;
    for (const auto& output : segment_.outputs) need_all(output.value);
    for (size_t i = segment_.calls.size(); i-- > 0;) {
      poll();
      const Call& call = segment_.calls[i];
      if (const auto range = own_range(call)) {
        need(call.argument(0).id()).add(*range);
      } else if (narrows(call)) {
        is_less_work |= is_product(call);
        for (size_t k = 0; k < call.arguments.size(); ++k) {
          const CallArgument& argument = call.arguments[k];
          if (dims_[k] == kWhole) {
            need_all(argument);
          } else if (argument.is_tensor()) {
            need(argument.id()).add({dims_[k], range_.begin, range_.end});
          }
        }
      } else {
        for (const CallArgument& argument : call.arguments) need_all(argument);
      }
    }
    return is_less_work;
  }

  // Declined if something cannot be told of the new calls.
  void rewrite() {
    for (const Call& call : segment_.calls) {
      poll();
      if (const auto range = own_range(call)) {
        select(call, *range);
      } else if (narrows(call)) {
        narrow(call);
      } else {
        calls_.push_back(call);
      }
    }
    segment_.replace_calls(std::move(calls_));
  }

 private:
  static constexpr int64_t kWhole = -1;

  Need& need(ValueId id) { return needs_[static_cast<size_t>(id)]; }
  void need_all(const CallArgument& argument) {
    if (argument.is_tensor()) need(argument.id()).is_all = true;
    for (const CallArgument& item : argument.items()) need_all(item);
  }
  // Nothing if only a run could tell.
  const std::optional<IntArray>& sizes_of(ValueId id) const {
    return sizes_[static_cast<size_t>(id)];
  }
  // Of an argument that is a tensor, known or not; nothing for others.
  std::optional<IntArray> sizes_of(const CallArgument& argument) const {
    if (argument.is_tensor()) return sizes_of(argument.id());
    if (!argument.is_known() || !argument.known().is_tensor()) return std::nullopt;
    return IntArray(argument.known().to_tensor().sizes());
  }

  // A copy of more than half of a tensor costs as much as it saves.
  static bool is_few(const Range& range, const IntArray& sizes) {
    return range.length() > 0 && range.length() * 2 <= at(sizes, range.dim);
  }

  // The few places that a selection takes.
  std::optional<Range> own_range(const Call& call) const {
    if (!is_selection(call)) return std::nullopt;
    const auto& sizes = sizes_of(call.argument(0).id());
    if (!sizes) return std::nullopt;
    const Range range = selected(call, *sizes);
    return is_few(range, *sizes) ? std::optional(range) : std::nullopt;
  }

  // Is a range of what the call gives needed, and can it give that of ranges of what it reads?
  // Says then which range, and along which dimension of each argument, in range_ and dims_.
  bool narrows(const Call& call) {
    if (call.outputs.size() != 1 || !call.outputs[0].is_tensor()) return false;
    const Need& need = this->need(call.outputs[0].id());
    const auto& sizes = sizes_of(call.outputs[0].id());
    if (need.is_all || !need.range || !sizes || !is_few(*need.range, *sizes)) return false;
    range_ = *need.range;
    dims_.assign(call.arguments.size(), kWhole);
    try {
      return find_dims(call, *sizes);
    } catch (const Declined&) {  // an argument is not known
      return false;
    }
  }

  bool find_dims(const Call& call, const IntArray& sizes) {
    const Facts& facts = *call.op->facts;
    if (facts.is_pointwise) return find_broadcast_dims(call, sizes);
    const auto input = sizes_of(call.argument(0));
    if (!call.argument(0).is_tensor() || !input) return false;
    const auto rank = static_cast<int64_t>(sizes.size());
    const int64_t dim = range_.dim;
    dims_[0] = dim - rank + static_cast<int64_t>(input->size());
    switch (facts.places) {
      case PlaceRule::kAll:
        return true;
      case PlaceRule::kButLast: {
        const auto weight = sizes_of(call.argument("weight")),
                   bias = sizes_of(call.argument("bias"));
        return dim < rank - 1 && weight && weight->size() == 2 && !(bias && bias->size() > 1);
      }
      case PlaceRule::kButDim:
        return dim != wrap_dim(call.known_int("dim"), rank);
      case PlaceRule::kButNormalized:
        return dim < rank - static_cast<int64_t>(call.known_ints("normalized_shape").size());
      case PlaceRule::kRows: {
        const auto other = sizes_of(call.argument(1));
        return dim == rank - 2 && input->size() >= 2 && other && other->size() >= 2;
      }
      case PlaceRule::kUnknown:
        return find_dim_of_view(call, *input, sizes);
    }
    return false;
  }

  bool find_broadcast_dims(const Call& call, const IntArray& sizes) {
    for (size_t k = 0; k < call.arguments.size(); ++k) {
      if (call.arguments[k].is_list()) return false;
      const auto input = sizes_of(call.arguments[k]);
      if (!input) continue;
      const int64_t dim = range_.dim - static_cast<int64_t>(sizes.size() - input->size());
      if (dim >= 0 && at(*input, dim) == at(sizes, range_.dim)) dims_[k] = dim;
    }
    return true;
  }

  // A view of part of a tensor along a dimension is part of the view of all of it if it has these
  // sizes, lies there and steps like that.
  bool find_dim_of_view(const Call& call, const IntArray& input, const IntArray& sizes) {
    if (!call.op->schema.returns[0].is_aliased) return false;
    std::vector<Value> arguments = {
        Value(make_meta(DType::kFloat32, input, contiguous_strides(input), 0, nullptr))};
    for (size_t k = 1; k < call.arguments.size(); ++k) arguments.push_back(call.known(k));
    const torchlet::Tensor tensor = arguments[0].to_tensor(), whole = view_of(call, arguments);
    if (!whole.defined()) return false;
    IntArray few = sizes;
    few[static_cast<size_t>(range_.dim)] = range_.length();
    // view() is told the sizes.
    for (Value& argument : arguments) argument = with_sizes(argument, sizes, few);
    for (int64_t d = 0; d < static_cast<int64_t>(input.size()); ++d) {
      if (at(input, d) != at(sizes, range_.dim)) continue;
      IntArray part = input;
      part[static_cast<size_t>(d)] = range_.length();
      const int64_t offset = range_.begin * tensor.stride(d);
      arguments[0] = Value(make_meta(DType::kFloat32, part, tensor.strides(), offset, nullptr));
      const torchlet::Tensor view = view_of(call, arguments);
      if (!view.defined() || !(IntArray(view.sizes()) == few) ||
          !(IntArray(view.strides()) == IntArray(whole.strides())) ||
          view.storage_offset() != whole.storage_offset() + offset) {
        continue;
      }
      dims_[0] = d;
      return true;
    }
    return false;
  }

  // Undefined if the operator does not take the arguments.
  static torchlet::Tensor view_of(const Call& call, const std::vector<Value>& arguments) {
    try {
      const auto results = ops::call_on_meta(*call.op, arguments);
      return results ? (*results)[0].to_tensor() : torchlet::Tensor();
    } catch (const Error& error) {
      if (is_limit(error.code())) throw;
      return {};
    }
  }

  // A list that says `before`, of which one number may be left open, says `after`.
  static Value with_sizes(const Value& argument, const IntArray& before, const IntArray& after) {
    if (!argument.is_list() || argument.list_ref().items.size() != before.size()) return argument;
    for (size_t d = 0; d < before.size(); ++d) {
      const Value& item = argument.list_ref().items[d];
      if (!item.is_int() || (item.to_int() != before[d] && item.to_int() != -1)) return argument;
    }
    return make_int_list(after);
  }

  // ---- what takes their place ----

  void narrow(const Call& call) {
    Call made = call;
    for (size_t k = 0; k < dims_.size(); ++k) {
      if (dims_[k] != kWhole) {
        made.arguments[k] = part_of(call, call.arguments[k], {dims_[k], range_.begin, range_.end});
      }
    }
    const ValueId result = call.outputs[0].id();
    if (call.op->schema.returns[0].is_aliased) {
      const IntArray& sizes = *sizes_of(result);
      IntArray few = sizes;
      few[static_cast<size_t>(range_.dim)] = range_.length();
      for (CallArgument& argument : made.arguments) {
        if (argument.is_known()) argument = with_sizes(argument.known(), sizes, few);
      }
    }
    segment_.describe_again(made);
    made_[static_cast<size_t>(result)] = range_;
    calls_.push_back(std::move(made));
  }

  // The argument's places of the range; `user` reads them.
  CallArgument part_of(const Call& user, const CallArgument& argument, Range range) {
    static const Operator* const op = find_operator("aten::slice", "Tensor");
    if (!op) decline("a build without aten::slice");
    CallArgument whole = argument;
    if (argument.is_tensor()) {
      if (const auto& made = made_[static_cast<size_t>(argument.id())]) {
        if (range.begin == made->begin && range.end == made->end) return argument;
        range.begin -= made->begin;
        range.end -= made->begin;
      }
    }
    Call slice{user.node,
               op,
               {whole, Value(range.dim), Value(range.begin), Value(range.end), Value(int64_t{1})},
               {}};
    if (argument.is_known()) {
      std::vector<Value> arguments;
      for (const CallArgument& known : slice.arguments) arguments.push_back(known.known());
      Value result;
      op->call(arguments, {&result, 1});
      return result;
    }
    const auto key = std::tuple(argument.id(), range.dim, range.begin, range.end);
    const auto [found, is_new] = slices_.try_emplace(key);
    if (is_new) {
      found->second =
          segment_.add_tensor(segment_.tensors[static_cast<size_t>(argument.id())].value);
      made_.emplace_back();
      slice.outputs.push_back(CallArgument::tensor(found->second));
      segment_.describe_again(slice);
      calls_.push_back(std::move(slice));
    }
    return CallArgument::tensor(found->second);
  }

  // A selection of a tensor of which perhaps only a range is made.
  void select(const Call& call, const Range& range) {
    Call made = call;
    if (const auto& input = made_[static_cast<size_t>(call.argument(0).id())]) {
      made.arguments[2] = Value(range.begin - input->begin);
      if (call.kind() == kSlice) made.arguments[3] = Value(range.end - input->begin);
    }
    calls_.push_back(std::move(made));
  }

  SpecialisedSegment& segment_;
  std::vector<std::optional<IntArray>> sizes_;  // of the program's tensors
  std::vector<Need> needs_;
  std::vector<std::optional<Range>> made_;  // of the new calls' tensors: what they have, if not all
  std::map<std::tuple<ValueId, int64_t, int64_t, int64_t>, ValueId> slices_;
  std::vector<Call> calls_;
  Range range_;                // by narrows()
  std::vector<int64_t> dims_;  // the same
};

}  // namespace

void compute_needed_rows(SpecialisedSegment& segment) {
  if (std::ranges::any_of(segment.calls, is_selection) &&
      std::ranges::any_of(segment.calls, is_product)) {
    rewrite_by<NeededRows>(segment);
  }
}

}  // namespace torchlet::device
