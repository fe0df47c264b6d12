// How a model is loaded and run.
#pragma once

#include <functional>
#include <string_view>

namespace torchlet {

// What runs a model.
enum class Device {
  // The processor, as fast as Torchlet can: methods are inlined, constants folded and batch norms
  // merged into convolutions when a method is first called (see Module).
  kCpu,
  // The same answers from the program as it was written, operator by operator: slow, and the
  // measure of what is right.
  kReference,
};
// From "cpu" or "reference"; Error kInvalidArgument naming these for another word.
Device parse_device(std::string_view name);

// How Device::kCpu computes what is float32 in the program. Inputs, outputs, and tensors of other
// types stay what the program says.
enum class Precision {
  kFloat32,
  // Convolutions, linear layers and what follows them in float16, with half the memory: faster,
  // with an error of about 1e-3 of a tensor's largest value in image models. Numbers beyond 65504
  // become infinite. Long sums, and operators without a float16 kernel, are in float32. Only where
  // has_float16_arithmetic(); elsewhere, and for programs with float16 tensors of their own, the
  // same as kFloat32.
  kFloat16,
};
// From "fp32" or "fp16"; Error kInvalidArgument naming these for another word.
Precision parse_precision(std::string_view name);
// Whether this processor computes in float16: AVX512-FP16, or Armv8.2-A with half precision.
bool has_float16_arithmetic();

struct Options {
  Device device = Device::kCpu;
  Precision precision = Precision::kFloat32;

  // load() refuses a model that uses operators which Torchlet does not have, and its Error lists
  // them all, each with its place in the Python source. With true such a model loads, and only
  // running into one of these operators is an Error; Module::unsupported_operators() lists them.
  bool allow_unsupported = false;

  // Receives what the program prints, line by line without the line's end; standard output if
  // empty. Called from whichever thread runs the program.
  std::function<void(std::string_view line)> print;
};

}  // namespace torchlet
