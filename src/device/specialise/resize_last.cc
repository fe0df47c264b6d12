#include "device/specialise/resize_last.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/limits.h"
#include "device/specialise/rewriter.h"
#include "ops/core/common.h"

namespace torchlet::device {
namespace {

const Symbol kCat("aten::cat");
const Symbol kResizes[] = {Symbol("aten::upsample_bilinear2d"), Symbol("aten::upsample_nearest2d"),
                           Symbol("aten::_upsample_nearest_exact2d")};

// Multiplications that an output saves by which the addition is paid for.
constexpr int64_t kFewestSaved = 64;

bool is_resize(const Call& call) {
  return std::ranges::find(kResizes, call.kind()) != std::end(kResizes);
}

bool all_are(const IntArray& numbers, int64_t number) {
  return std::ranges::all_of(numbers, [=](int64_t n) { return n == number; });
}

// The weights [outputs, inputs, 1, 1] of a 1 x 1 convolution by steps of one; undefined for others.
torchlet::Tensor pixel_weights(const Call& call) {
  if (call.op->facts->dtype != DTypeRule::kWeight || !call.has_argument("groups")) return {};
  try {
    const torchlet::Tensor weight = call.known_tensor("weight");
    const bool fits = weight.dim() == 4 && weight.dtype() == DType::kFloat32 &&
                      weight.size(2) == 1 && weight.size(3) == 1 && call.known_int("groups") == 1 &&
                      all_are(call.known_ints("stride"), 1) &&
                      all_are(call.known_ints("padding"), 0) &&
                      !(call.has_argument("transposed") && call.known_bool("transposed"));
    return fits ? weight : torchlet::Tensor();
  } catch (const Declined&) {  // an argument is not known, or is a word
    return {};
  }
}

// An image of those that are joined.
struct Part {
  CallArgument image;
  int64_t first, channels;       // in the joined image
  const Call* resize = nullptr;  // what enlarges it, if that comes last
};

class ResizeLast {
 public:
  explicit ResizeLast(SpecialisedSegment& segment) : segment_(segment) {}

  // Is there a joined image to be taken apart?
  bool find() {
    for (const Call& call : segment_.calls) {
      poll();
      if (call.kind() == kCat) add_joined(call);
    }
    return !joined_.empty();
  }

  // Declined if something cannot be told of the new calls.
  void rewrite() {
    for (const Call& call : segment_.calls) {
      poll();
      const bool is_single = call.outputs.size() == 1 && call.outputs[0].is_tensor();
      const bool is_gone = is_single && (joined_.contains(call.outputs[0].id()) ||
                                         std::ranges::find(resizes_, &call) != resizes_.end());
      if (is_gone) continue;
      const auto parts = !call.arguments.empty() && call.argument(0).is_tensor()
                             ? joined_.find(call.argument(0).id())
                             : joined_.end();
      if (parts == joined_.end()) {
        calls_.push_back(call);
      } else {
        convolve(call, parts->second);
      }
    }
    segment_.replace_calls(std::move(calls_));
  }

 private:
  struct Joined {
    const Call* cat;
    std::vector<Part> parts;
  };

  // Nothing if only a run could tell, or it is no image of float32.
  std::optional<IntArray> image_sizes(const CallArgument& argument) {
    if (!argument.is_tensor()) return std::nullopt;
    const TensorDescription* known = segment_.description_on_meta(argument.id());
    const bool is_image = known && known->dtype == DType::kFloat32 && known->sizes.size() == 4;
    return is_image ? std::optional(known->sizes) : std::nullopt;
  }

  // The outputs of all convolutions that read the tensor; nothing if something else does.
  std::optional<int64_t> outputs_of_users(ValueId id, int64_t channels) {
    int64_t outputs = 0;
    for (const int user : segment_.tensors[static_cast<size_t>(id)].users) {
      if (static_cast<size_t>(user) >= segment_.calls.size()) return std::nullopt;
      const Call& call = segment_.calls[static_cast<size_t>(user)];
      const torchlet::Tensor weight = pixel_weights(call);
      if (!weight.defined() || weight.size(1) != channels) return std::nullopt;
      outputs += weight.size(0);
    }
    return outputs;
  }

  // What enlarges the image, if nothing else reads it.
  const Call* resize_of(const CallArgument& image) {
    const auto& tensor = segment_.tensors[static_cast<size_t>(image.id())];
    if (tensor.producer < 0 || tensor.users.size() != 1) return nullptr;
    const Call& call = segment_.calls[static_cast<size_t>(tensor.producer)];
    return is_resize(call) && call.argument(0).is_tensor() ? &call : nullptr;
  }

  void add_joined(const Call& cat) {
    const auto sizes = image_sizes(cat.outputs[0]);
    const CallArgument &images = cat.argument(0), &dim = cat.argument(1);
    if (!sizes || !images.is_list() || !dim.is_known() || !dim.known().is_int()) return;
    const int64_t along = dim.known().to_int(), channels = (*sizes)[1];
    if (along != 1 && along != -3) return;
    const auto outputs = outputs_of_users(cat.outputs[0].id(), channels);
    if (!outputs) return;

    Joined joined{&cat, {}};
    int64_t first = 0, turns = 0;  // from parts that stay to others, or back
    bool stays = false;
    for (const CallArgument& image : images.items()) {
      const auto part_sizes = image_sizes(image);
      if (!part_sizes) return;
      Part part{image, first, (*part_sizes)[1]};
      first += part.channels;
      if (const Call* resize = resize_of(image)) {
        const auto small = image_sizes(resize->argument(0));
        if (small &&
            saves((*small)[2] * (*small)[3], (*sizes)[2] * (*sizes)[3], part.channels, *outputs)) {
          part.resize = resize;
        }
      }
      turns += stays == (part.resize != nullptr);
      stays = !part.resize;
      joined.parts.push_back(part);
    }
    const bool all_stay = std::ranges::none_of(joined.parts, &Part::resize);
    if (all_stay || turns + stays != 2) return;  // those that stay are one run
    for (const Part& part : joined.parts) {
      if (part.resize) resizes_.push_back(part.resize);
    }
    joined_.emplace(cat.outputs[0].id(), std::move(joined));
  }

  // Of `channels` of few pixels that are enlarged to many, and read by convolutions with so many
  // outputs.
  static bool saves(int64_t few, int64_t many, int64_t channels, int64_t outputs) {
    return few < many && outputs <= 2 * channels && channels * (many - few) >= kFewestSaved * many;
  }

  // ---- what takes their place ----

  CallArgument add(Call call) { return add_call(segment_, calls_, std::move(call)); }

  static Call sum_for(const Call& user, CallArgument a, CallArgument b) {
    static const Operator* const op = find_operator("aten::add", "Tensor");
    if (!op) decline("a build without aten::add");
    return {user.node, op, {std::move(a), std::move(b), Value(int64_t{1})}, user.outputs};
  }

  // The convolution of the channels [first, first + channels) only.
  static Call part_of(const Call& conv, CallArgument image, int64_t first, int64_t channels) {
    Call part = conv;
    part.arguments[0] = std::move(image);
    part.arguments[Arg("weight").of(*conv.op)] =
        Value(ops::narrow(conv.known_tensor("weight"), 1, first, channels));
    return part;
  }

  void convolve(const Call& conv, const Joined& joined) {
    std::optional<CallArgument> sum;
    std::vector<CallArgument> stay;
    int64_t first = 0, channels = 0;
    for (const Part& part : joined.parts) {
      if (!part.resize) {
        if (stay.empty()) first = part.first;
        stay.push_back(part.image);
        channels += part.channels;
        continue;
      }
      Call small = part_of(conv, part.resize->argument(0), part.first, part.channels);
      small.arguments[Arg("bias").of(*conv.op)] = Value();
      Call resize = *part.resize;
      resize.arguments[0] = add(std::move(small));
      const CallArgument large = add(std::move(resize));
      sum = sum ? add(sum_for(conv, *sum, large)) : large;
    }
    CallArgument image = stay[0];
    if (stay.size() > 1) {
      Call cat = *joined.cat;
      cat.arguments[0] = CallArgument::list(std::move(stay));
      image = add(std::move(cat));
    }
    const CallArgument others = add(part_of(conv, std::move(image), first, channels));
    calls_.push_back(sum_for(conv, others, *sum));
  }

  SpecialisedSegment& segment_;
  std::map<ValueId, Joined> joined_;  // by what joins them
  std::vector<const Call*> resizes_;  // those that come last
  std::vector<Call> calls_;
};

}  // namespace

void resize_last(SpecialisedSegment& segment) {
  if (std::ranges::any_of(segment.calls, is_resize)) rewrite_by<ResizeLast>(segment);
}

}  // namespace torchlet::device
