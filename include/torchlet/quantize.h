// Post-training quantization: a float model and some of its inputs in, a model of PyTorch's
// quantized operators out (docs/quantize.md).
//
//   torchlet::Module model = torchlet::load("mobilenet.pt");
//   torchlet::Quantized result = torchlet::quantize(model, {{image1}, {image2}});
//   torchlet::save(result.module, "mobilenet_int8.pt");
#pragma once

#include <torchlet/export.h>
#include <torchlet/module.h>
#include <torchlet/value.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace torchlet {

// Where the borders to real numbers are.
enum class QuantizationMode {
  // The method takes and gives what it did: it quantizes its input, calls a method "core" with
  // quantized inputs and outputs, and dequantizes what that gives. As kInside for a program that
  // does not begin and end with quantized tensors.
  kCore,
  kFull,     // outside: the method takes and gives quantized tensors
  kInside,   // as kCore, in one method
  kDynamic,  // weights alone are quantized; activations by their own range in every call
  kHalf,     // weights alone, as float16, which are converted where they are used
};

// How the range of an activation is chosen from the values that calibration saw.
enum class RangeMethod {
  kMinMax,         // all of them
  kMovingAverage,  // MovingAverageMinMaxObserver
  kHistogram,      // HistogramObserver's search
  kL2,             // the least squared error of all ranges
  kPercentile,     // all but 1e-5 at either end
  kEntropy,        // the least Kullback-Leibler divergence
};

struct QuantizationOptions {
  std::string method = "forward";
  QuantizationMode mode = QuantizationMode::kCore;
  RangeMethod range = RangeMethod::kL2;
  bool per_channel = true;    // a scale for each output channel of a weight
  bool reduce_range = false;  // activations in 0..127
  bool bias_correction = true;
  // Cross-layer equalisation: the channels between two layers are scaled, which leaves the float
  // model as it is, where their weights and values then lose less. Most with one scale for a whole
  // weight.
  bool equalize = false;
  // Names of modules ("features.3", with all below), or of operators ("conv2d"): these stay float;
  // if `only` is not empty, all others do, too.
  std::vector<std::string> skip, only;
  // The layers that cost the most accuracy stay float, as few as will do, so that the answers to
  // the calibration inputs (up to 64, evenly over them) keep this: the part of rows of scores whose
  // largest is the same as the float model's, and the SQNR of all outputs. Takes a run for each
  // layer.
  std::optional<double> least_agreement, least_sqnr_db;
  // The same for the part of right answers: at most so much less than the float model's. Needs
  // `labels`, for each calibration call the classes of its rows of scores.
  std::optional<double> most_top1_drop;
  std::vector<std::vector<int64_t>> labels;
  // Measures each layer, float and quantized, with the first calibration call, on the threads that
  // are set. Takes some seconds. Not for kHalf, and for kDynamic if there is such a call.
  bool measure_times = false;
  // Puts a model in training mode into evaluation mode first. Otherwise that is an error.
  bool eval = false;
  // Methods besides the quantized one that must stay although it calls them.
  std::vector<std::string> preserve;
  // What is done and how much of it, 0 to 1.
  std::function<void(std::string_view what, double done)> progress;
};

// Of some runs.
struct RunTime {
  double least_ms = 0, median_ms = 0;
};

// What became of one layer: a node of the program that can be quantized.
struct LayerReport {
  std::string path;  // "features.3.conv.0": the module
  std::string op;    // "conv2d_relu"
  bool quantized = false;
  std::string reason;        // why not
  double low = 0, high = 0;  // of its output, in calibration
  double scale = 0;          // of its output
  int64_t zero_point = 0;
  // Of its output against the float model's, with all layers before it quantized: 10 log10 of the
  // signal's power to the error's, over all calibration inputs.
  double sqnr_db = 0;
  // Of the model's outputs with this layer alone quantized, if the layers were compared (
  // QuantizationOptions::least_agreement, least_sqnr_db); else 0.
  double alone_sqnr_db = 0;
  // The path of the layer behind it to which its channels were matched (QuantizationOptions::
  // equalize), and the largest factor by which one of them was scaled; 1 if none was.
  std::string equalized_with;
  double equalization = 1;
  size_t weight_bytes = 0, quantized_weight_bytes = 0;
  // With QuantizationOptions::measure_times. The quantized layer's time counts the conversions that
  // it needs: of its input, unless a layer before it needs that quantized as well, and of its
  // output where real numbers are wanted. 0 if the layer did not run.
  RunTime float_time, quantized_time;
  // Some are computed in one step, in one of the forms at least: both times are those of all of
  // them, and this is the first one's place among the layers.
  std::optional<size_t> timed_with;
  // Was it measured, and is the quantized form no faster, neither the fastest run nor the median?
  bool gains_no_time() const {
    return quantized && float_time.least_ms > 0 && quantized_time.least_ms >= float_time.least_ms &&
           quantized_time.median_ms >= float_time.median_ms;
  }
  // How often which values came, evenly over [histogram_low, histogram_high].
  double histogram_low = 0, histogram_high = 0;
  std::array<double, 64> histogram{};
};

// Layers that take no less time when they are quantized.
struct SlowLayers {
  std::vector<std::string> paths;  // for QuantizationOptions::skip
  // Of the whole method, with its conversions: as it was quantized, and with these layers float.
  RunTime quantized, skipped;
  bool are_all = false;  // nothing else is quantized
  // By more than what differs from run to run.
  bool gains_by_skipping() const {
    return skipped.least_ms < 0.98 * quantized.least_ms &&
           skipped.median_ms < 0.98 * quantized.median_ms;
  }
};

struct InputQuantization {
  double scale = 1;
  int64_t zero_point = 0;
};

struct Quantized {
  Module module;
  // How the arguments of the quantized method (kFull), or of the method "core" (kCore), are
  // quantized: quint8, per tensor. Empty where there is no such method.
  std::vector<InputQuantization> inputs;
  std::vector<LayerReport> layers;  // in the order of the program
  // With QuantizationOptions::measure_times, if there are such layers that a name tells from
  // others.
  std::optional<SlowLayers> slow;
};

// Quantizes one method of the model, which stays as it is. `calibration` holds the arguments of
// some calls of it, a few dozens of what the model will meet; modes kDynamic and kHalf need none.
// Runs the calls several times.
//
// The result's method has its calls inlined and its attributes as constants; methods that only it
// called are gone, and so are attributes that nobody needs any more.
//
// Error kInvalidArgument without calibration inputs, for labels that do not fit them or the scores,
// or for options that make no sense, kNotFound
// for an unknown method, kUnsupported if there is nothing to quantize, or
// for kFull if the method begins or ends with real numbers; a call that fails throws its
// error with the number of the input. Not while another thread changes the model.
TORCHLET_API Quantized quantize(const Module& model,
                                std::span<const std::vector<Value>> calibration,
                                const QuantizationOptions& options = {});

}  // namespace torchlet
