// Images of another height and width.
#include "base/error.h"
#include "neuralnetworks/operations/moving.h"
#include "neuralnetworks/translate/representation.h"

namespace torchlet::nn {
namespace {

struct Resizing {
  Arg height, width;
  bool align_corners, half_pixel_centers;
};

// A size, or the input's times a factor.
Arg resized(Emitter& emit, const Call& call, const char* size, const char* factor, int64_t axis) {
  if (call.has(size)) return call.integer(size);
  return emit.call("nnapi::scaled_size", {emit.size(call.index("input"), axis), call.real(factor)});
}

Resizing resizing_of(Emitter& emit, const Call& call) {
  require_rank(call, "input", 4, 4);
  require_same_quantization(call, call.operand("input"));
  const int64_t rows = call.boolean("nchw") ? 2 : 1;
  const Resizing made = {resized(emit, call, "height", "height_scale", rows),
                         resized(emit, call, "width", "width_scale", rows + 1),
                         call.boolean("align_corners"), call.boolean("half_pixel_centers")};
  for (const Arg& size : {made.height, made.width}) {
    if (size.number() && *size.number() < 1) {
      fail(ErrorCode::kInvalidArgument, "an image is to be resized to %lld rows or columns",
           static_cast<long long>(*size.number()));
    }
  }
  if (made.align_corners && made.half_pixel_centers) {
    fail(ErrorCode::kInvalidArgument, "align_corners and half_pixel_centers exclude each other");
  }
  return made;
}

// PyTorch's operators are those of the two newer conventions; quantized images are resized as they
// are.
void resize_bilinear(Emitter& emit, const Call& call) {
  const Operand& input = call.operand("input");
  const auto [height, width, align_corners, half_pixel_centers] = resizing_of(emit, call);
  if (is_quantized(input.type)) {
    SsaValue* image = plain(emit, emit.image(call, "input"), input);
    return emit.give_image(
        call, held(emit,
                   emit.call("nnapi::resize_bilinear",
                             {image, height, width, align_corners, half_pixel_centers}),
                   input));
  }
  SsaValue* image = emit.real_image(call, "input");
  const bool is_pytorchs = align_corners || half_pixel_centers;
  emit.give_real_image(
      call, is_pytorchs
                ? emit.call("aten::upsample_bilinear2d", {image, {height, width}, align_corners})
                : emit.call("nnapi::resize_bilinear", {image, height, width, false, false}));
}

void resize_nearest_neighbor(Emitter& emit, const Call& call) {
  const Operand& input = call.operand("input");
  const auto [height, width, align_corners, half_pixel_centers] = resizing_of(emit, call);
  SsaValue* image = emit.image(call, "input");
  if (input.type == ANEURALNETWORKS_TENSOR_FLOAT32 && !align_corners) {
    return emit.give_image(call, emit.call(half_pixel_centers ? "aten::_upsample_nearest_exact2d"
                                                              : "aten::upsample_nearest2d",
                                           {image, {height, width}}));
  }
  SsaValue* resized = emit.call("nnapi::resize_nearest", {plain(emit, image, input), height, width,
                                                          align_corners, half_pixel_centers});
  emit.give_image(call, held(emit, resized, input));
}

}  // namespace

#define SIZES "INT32 width, INT32 height"
#define FLOAT32_SCALES "FLOAT32 width_scale, FLOAT32 height_scale"
#define FLOAT16_SCALES "FLOAT16 width_scale, FLOAT16 height_scale"
#define CORNERS "BOOL align_corners = 0, BOOL half_pixel_centers = 0) -> (T)"

NNAPI_OPERATION(RESIZE_BILINEAR, resize_bilinear,
                "T in FLOAT QUANT8: (T input, " SIZES ", BOOL nchw = 0, " CORNERS,
                "T in TENSOR_FLOAT32 QUANT8: (T input, " FLOAT32_SCALES ", BOOL nchw = 0, " CORNERS,
                "T in TENSOR_FLOAT16: (T input, " FLOAT16_SCALES ", BOOL nchw = 0, " CORNERS);
NNAPI_OPERATION(RESIZE_NEAREST_NEIGHBOR, resize_nearest_neighbor,
                "T in FLOAT QUANT8: (T input, " SIZES ", BOOL nchw, " CORNERS,
                "T in TENSOR_FLOAT32 QUANT8: (T input, " FLOAT32_SCALES ", BOOL nchw, " CORNERS,
                "T in TENSOR_FLOAT16: (T input, " FLOAT16_SCALES ", BOOL nchw, " CORNERS);

}  // namespace torchlet::nn
