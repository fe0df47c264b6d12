// What detectors do besides convolutions: boxes, regions of interest, keypoints. Boxes of quantized
// models are TENSOR_QUANT16_ASYMM, in eighths of a pixel.
#include "base/error.h"
#include "neuralnetworks/translate/emitter.h"

namespace torchlet::nn {
namespace {

void check_eighths(const Operand& operand, const char* what) {
  if (operand.type != ANEURALNETWORKS_TENSOR_QUANT16_ASYMM &&
      operand.type != ANEURALNETWORKS_TENSOR_QUANT16_SYMM) {
    return;
  }
  TORCHLET_CHECK(operand.scale == 0.125f && operand.zero_point == 0,
                 "the scale of %s is %g and the zero point %d, not 0.125 and 0", what,
                 double{operand.scale}, operand.zero_point);
}

// Boxes and the like as float32.
SsaValue* boxes(Emitter& emit, const Call& call, const char* name) {
  check_eighths(call.operand(name), name);
  return emit.real(call, name);
}

void give_boxes(Emitter& emit, const Call& call, SsaValue* boxes, size_t i) {
  check_eighths(call.output(i), "the resulting boxes");
  emit.give_real(call, boxes, i);
}

// An image as float32 in NHWC.
SsaValue* real_nhwc(Emitter& emit, const Call& call, const char* name) {
  SsaValue* real = emit.real(call, name);
  if (!call.boolean("nchw")) return real;
  return emit.call("aten::permute", {real, {0, 2, 3, 1}});
}

void axis_aligned_bbox_transform(Emitter& emit, const Call& call) {
  SsaValue* result = emit.call("nnapi::transformed_boxes",
                               {boxes(emit, call, "rois"), emit.real(call, "deltas"),
                                emit.value(call, "batches"), boxes(emit, call, "image_info")});
  give_boxes(emit, call, result, 0);
}

void box_with_nms_limit(Emitter& emit, const Call& call) {
  const std::vector<SsaValue*> results = emit.call_all(
      "nnapi::box_with_nms_limit",
      {emit.real(call, "scores"), boxes(emit, call, "rois"), emit.value(call, "batches"),
       call.real("score_threshold"), call.integer("max_num_detections"), call.integer("nms_kernel"),
       call.real("iou_threshold"), call.real("sigma"), call.real("nms_score_threshold")});
  emit.give_real(call, results[0], 0);
  give_boxes(emit, call, results[1], 1);
  emit.give(call, results[2], 2);
  emit.give(call, results[3], 3);
}

void generate_proposals(Emitter& emit, const Call& call) {
  const std::vector<SsaValue*> results = emit.call_all(
      "nnapi::generate_proposals",
      {real_nhwc(emit, call, "scores"), real_nhwc(emit, call, "deltas"),
       boxes(emit, call, "anchors"), boxes(emit, call, "image_info"), call.real("height_stride"),
       call.real("width_stride"), call.integer("pre_nms_max"), call.integer("post_nms_max"),
       call.real("iou_threshold"), call.real("min_size")});
  emit.give_real(call, results[0], 0);
  give_boxes(emit, call, results[1], 1);
  emit.give(call, results[2], 2);
}

void detection_postprocessing(Emitter& emit, const Call& call) {
  const std::vector<SsaValue*> results = emit.call_all(
      "nnapi::detections",
      {emit.real(call, "scores"),
       emit.real(call, "deltas"),
       emit.real(call, "anchors"),
       {call.real("scale_y"), call.real("scale_x"), call.real("scale_h"), call.real("scale_w")},
       call.boolean("use_regular_nms"),
       call.integer("max_num_detections"),
       call.integer("max_classes_per_detection"),
       call.integer("max_num_detections_per_class"),
       call.real("score_threshold"),
       call.real("iou_threshold"),
       call.boolean("is_background_in_label")});
  emit.give_real(call, results[0], 0);
  emit.give_real(call, results[1], 1);
  emit.give(call, results[2], 2);
  emit.give(call, results[3], 3);
}

void roi_align(Emitter& emit, const Call& call) {
  SsaValue* result = emit.call(
      "nnapi::roi_align",
      {emit.real_image(call, "input"), boxes(emit, call, "rois"), emit.value(call, "batches"),
       call.integer("output_height"), call.integer("output_width"), call.real("height_ratio"),
       call.real("width_ratio"), call.integer("height_samples"), call.integer("width_samples")});
  emit.give_real_image(call, result);
}

void roi_pooling(Emitter& emit, const Call& call) {
  SsaValue* result =
      emit.call("nnapi::roi_pooling", {emit.real_image(call, "input"), boxes(emit, call, "rois"),
                                       emit.value(call, "batches"), call.integer("output_height"),
                                       call.integer("output_width"), call.real("height_ratio"),
                                       call.real("width_ratio")});
  emit.give_real_image(call, result);
}

void heatmap_max_keypoint(Emitter& emit, const Call& call) {
  // Below this a determinant is that of a flat surface.
  const bool is_half = call.operand("heatmap").type == ANEURALNETWORKS_TENSOR_FLOAT16;
  const std::vector<SsaValue*> results = emit.call_all(
      "nnapi::heatmap_max_keypoint",
      {emit.real_image(call, "heatmap"), boxes(emit, call, "boxes"), is_half ? 1e-3 : 1e-5});
  emit.give_real(call, results[0], 0);
  give_boxes(emit, call, results[1], 1);
}

}  // namespace

NNAPI_OPERATION(
    AXIS_ALIGNED_BBOX_TRANSFORM, axis_aligned_bbox_transform,
    "T in FLOAT: (T rois, T deltas, TENSOR_INT32 batches, T image_info) -> (T)",
    "(TENSOR_QUANT16_ASYMM rois, TENSOR_QUANT8_ASYMM|TENSOR_QUANT8_ASYMM_SIGNED deltas, "
    "TENSOR_INT32 batches, TENSOR_QUANT16_ASYMM image_info) -> (TENSOR_QUANT16_ASYMM)");

NNAPI_OPERATION(
    BOX_WITH_NMS_LIMIT, box_with_nms_limit,
    "T in FLOAT: (T scores, T rois, TENSOR_INT32 batches, SCALAR(T) score_threshold, INT32 "
    "max_num_detections, INT32 nms_kernel, SCALAR(T) iou_threshold, SCALAR(T) sigma, SCALAR(T) "
    "nms_score_threshold) -> (T, T, TENSOR_INT32, TENSOR_INT32)",
    "T in QUANT8: (T scores, TENSOR_QUANT16_ASYMM rois, TENSOR_INT32 batches, FLOAT32 "
    "score_threshold, INT32 max_num_detections, INT32 nms_kernel, FLOAT32 iou_threshold, FLOAT32 "
    "sigma, FLOAT32 nms_score_threshold) -> (T, TENSOR_QUANT16_ASYMM, TENSOR_INT32, TENSOR_INT32)");

NNAPI_OPERATION(
    GENERATE_PROPOSALS, generate_proposals,
    "T in FLOAT: (T scores, T deltas, T anchors, T image_info, SCALAR(T) height_stride, SCALAR(T) "
    "width_stride, INT32 pre_nms_max, INT32 post_nms_max, SCALAR(T) iou_threshold, SCALAR(T) "
    "min_size, BOOL nchw) -> (T, T, TENSOR_INT32)",
    "T in QUANT8: (T scores, T deltas, TENSOR_QUANT16_SYMM anchors, TENSOR_QUANT16_ASYMM "
    "image_info, FLOAT32 height_stride, FLOAT32 width_stride, INT32 pre_nms_max, INT32 "
    "post_nms_max, FLOAT32 iou_threshold, FLOAT32 min_size, BOOL nchw) -> (T, "
    "TENSOR_QUANT16_ASYMM, TENSOR_INT32)");

NNAPI_OPERATION(
    DETECTION_POSTPROCESSING, detection_postprocessing,
    "T in FLOAT: (T scores, T deltas, T anchors, SCALAR(T) scale_y, SCALAR(T) scale_x, SCALAR(T) "
    "scale_h, SCALAR(T) scale_w, BOOL use_regular_nms, INT32 max_num_detections, INT32 "
    "max_classes_per_detection, INT32 max_num_detections_per_class, SCALAR(T) score_threshold, "
    "SCALAR(T) iou_threshold, BOOL is_background_in_label) -> (T, T, TENSOR_INT32, TENSOR_INT32)");

NNAPI_OPERATION(
    ROI_ALIGN, roi_align,
    "T in FLOAT: (T input, T rois, TENSOR_INT32 batches, INT32 output_height, INT32 output_width, "
    "SCALAR(T) height_ratio, SCALAR(T) width_ratio, INT32 height_samples, INT32 width_samples, "
    "BOOL nchw) -> (T)",
    "T in QUANT8: (T input, TENSOR_QUANT16_ASYMM rois, TENSOR_INT32 batches, INT32 output_height, "
    "INT32 output_width, FLOAT32 height_ratio, FLOAT32 width_ratio, INT32 height_samples, INT32 "
    "width_samples, BOOL nchw) -> (T)");

NNAPI_OPERATION(
    ROI_POOLING, roi_pooling,
    "T in FLOAT: (T input, T rois, TENSOR_INT32 batches, INT32 output_height, INT32 output_width, "
    "SCALAR(T) height_ratio, SCALAR(T) width_ratio, BOOL nchw) -> (T)",
    "T in QUANT8: (T input, TENSOR_QUANT16_ASYMM rois, TENSOR_INT32 batches, INT32 output_height, "
    "INT32 output_width, FLOAT32 height_ratio, FLOAT32 width_ratio, BOOL nchw) -> (T)");

NNAPI_OPERATION(HEATMAP_MAX_KEYPOINT, heatmap_max_keypoint,
                "T in FLOAT: (T heatmap, T boxes, BOOL nchw) -> (T, T)",
                "T in QUANT8: (T heatmap, TENSOR_QUANT16_ASYMM boxes, BOOL nchw) -> (T, "
                "TENSOR_QUANT16_ASYMM)");

}  // namespace torchlet::nn
