// What the parts of conv_nhwc_q8 share.
#pragma once

#include <cstdint>

#include "kernels/conv_nchw/conv2d.h"
#include "kernels/quantized/layer_q8.h"

namespace torchlet::kernels {

enum class ConvQ8Form : uint8_t { kDirect, kAmx, kWinograd };

// In front of the packed weights.
struct PackedConvQ8 {
  int32_t repeats;  // of the weights and the rows, see dot_q8-inl.h
  bool wide;        // see RequantizeQ8
  uint8_t input_zero_point;
  ConvQ8Form form;
};
constexpr int64_t kConvQ8HeaderBytes = 64;

// How the work is cut: groups x blocks of rows x chunks of panels of columns.
struct ConvCutQ8 {
  int64_t groups;
  int64_t rows, blocks;  // rows of a block
  int64_t panels, chunks;
  bool panels_first = false;  // all blocks of a panel follow each other: a thread has its panels

  int64_t count() const { return groups * blocks * chunks; }
  int64_t group(int64_t i) const { return i / chunks / blocks; }
  int64_t block_of(int64_t i) const {
    return panels_first ? group(i) * blocks + i % blocks : i / chunks;
  }
  int64_t first_row(int64_t i) const { return block_of(i) % blocks * rows; }
  int64_t first_panel(int64_t i) const {
    return (panels_first ? i / blocks % chunks : i % chunks) * (panels / chunks);
  }
  int64_t end_panel(int64_t i) const { return first_panel(i) + panels / chunks; }
};

// One call.
struct ConvRunQ8 {
  const PackedConvQ8& header() const { return *reinterpret_cast<const PackedConvQ8*>(packed); }
  const uint8_t* weights() const { return packed + kConvQ8HeaderBytes; }

  const Conv2dShape& shape;
  const uint8_t* input;
  int64_t input_stride;
  const uint8_t* packed;
  OutputQ8 result;
  uint8_t* output;
  int64_t output_stride;
  ConvCutQ8 cut;  // made once: the number of threads may change meanwhile
};

}  // namespace torchlet::kernels
