// How the command talks to people.
#pragma once

#include <torchlet/error.h>
#include <torchlet/value.h>

#include <cstdint>
#include <span>
#include <string>

namespace torchlet::cli {

// The message and its places on one line of at most 500 bytes.
std::string one_line(const Error& error);

// "13.4 MB"
std::string human_bytes(uint64_t bytes);

// All elements, contiguous, as int64, float64 or complex128: the real numbers of a quantized
// tensor, the zeros of a sparse one.
Tensor plain_numbers(const Tensor& tensor);

// A line about each tensor ("float32 [1, 1000]  min .. max .. mean .."), a repr of anything else,
// with names of places inside containers. Ends with a line's end.
std::string describe(const Value& value, const std::string& name);

// Seconds of a clock that never goes back.
double now();

// The words, with `between` between any two.
std::string joined(std::span<const std::string> words, const char* between);

}  // namespace torchlet::cli
