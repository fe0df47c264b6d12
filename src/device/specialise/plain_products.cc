#include "device/specialise/plain_products.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "device/specialise/rewriter.h"

namespace torchlet::device {
namespace {

const Symbol kBaddbmm("aten::baddbmm"), kEmpty("aten::empty"), kZeros("aten::zeros");

bool is_product_with_term(const Call& call) { return call.kind() == kBaddbmm; }

class PlainProducts {
 public:
  explicit PlainProducts(SpecialisedSegment& segment) : segment_(segment) {}

  bool find() {
    for (size_t i = 0; i < segment_.calls.size(); ++i) {
      poll();
      if (is_product_with_term(segment_.calls[i]) && is_known(segment_.calls[i])) found_.insert(i);
    }
    return !found_.empty();
  }

  void rewrite() {
    std::set<const Call*> gone;
    for (const size_t i : found_) {
      const Call& call = segment_.calls[i];
      if (const Call* fill = adds_term(call) ? nullptr : only_for(call.argument("self"))) {
        gone.insert(fill);
      }
    }
    for (size_t i = 0; i < segment_.calls.size(); ++i) {
      poll();
      const Call& call = segment_.calls[i];
      if (found_.contains(i)) {
        expand(call);
      } else if (!gone.contains(&call)) {
        calls_.push_back(call);
      }
    }
    segment_.replace_calls(std::move(calls_));
  }

 private:
  bool is_known(const Call& call) {
    const TensorDescription* result = segment_.description_on_meta(call.outputs[0].id());
    const auto is_number = [&](const char* name) {
      const CallArgument& factor = call.argument(name);
      return factor.is_known() && (factor.known().is_int() || factor.known().is_float());
    };
    return result && result->dtype == DType::kFloat32 && is_number("alpha") && is_number("beta");
  }

  const Call* producer(const CallArgument& argument) const {
    const int place =
        argument.is_tensor() ? segment_.tensors[static_cast<size_t>(argument.id())].producer : -1;
    return place < 0 ? nullptr : &segment_.calls[static_cast<size_t>(place)];
  }

  bool adds_term(const Call& call) const {
    if (call.known_double("beta") == 0) return false;
    const CallArgument& term = call.argument("self");
    if (term.is_known()) return !is_zero(term.known().to_tensor());
    const Call* fill = producer(term);
    return !fill || fill->kind() != kZeros;
  }

  static bool is_zero(const torchlet::Tensor& tensor) {
    if (!tensor.is_contiguous()) return false;
    const float* data = tensor.data_ptr<float>();
    return std::all_of(data, data + tensor.numel(), [](float x) { return x == 0; });
  }

  // What fills the tensor, if one call alone reads it.
  const Call* only_for(const CallArgument& argument) const {
    const Call* fill = producer(argument);
    if (!fill || (fill->kind() != kEmpty && fill->kind() != kZeros)) return nullptr;
    const auto& tensor = segment_.tensors[static_cast<size_t>(argument.id())];
    return tensor.users.size() == 1 ? fill : nullptr;
  }

  void expand(const Call& call) {
    const double alpha = call.known_double("alpha"), beta = call.known_double("beta");
    const bool adds = adds_term(call);
    Call last = made(call, "aten::bmm", "", {call.argument("batch1"), call.argument("batch2")});
    if (alpha != 1) last = scaled(call, add(std::move(last)), alpha);
    if (adds) {
      CallArgument term = call.argument("self");
      if (beta != 1) term = add(scaled(call, std::move(term), beta));
      last = made(call, "aten::add", "Tensor",
                  {std::move(term), add(std::move(last)), Value(int64_t{1})});
    }
    calls_.push_back(std::move(last));
  }

  static Call made(const Call& call, const char* name, const char* overload,
                   std::vector<CallArgument> arguments) {
    const Operator* op = find_operator(name, overload);
    if (!op) decline(std::string("a build without ") + name);
    return {call.node, op, std::move(arguments), call.outputs};
  }
  static Call scaled(const Call& call, CallArgument tensor, double factor) {
    return made(call, "aten::mul", "Scalar", {std::move(tensor), Value(factor)});
  }

  CallArgument add(Call call) { return add_call(segment_, calls_, std::move(call)); }

  SpecialisedSegment& segment_;
  std::set<size_t> found_;  // places of calls
  std::vector<Call> calls_;
};

}  // namespace

void write_plain_products(SpecialisedSegment& segment) {
  if (std::ranges::any_of(segment.calls, is_product_with_term)) rewrite_by<PlainProducts>(segment);
}

}  // namespace torchlet::device
