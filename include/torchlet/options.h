// How a model is loaded and run.
#pragma once

#include <torchlet/precision.h>

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
