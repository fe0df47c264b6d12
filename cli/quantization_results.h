// What `torchlet quantize` tells of what it did.
#pragma once

#include <torchlet/quantize.h>

#include <cstdint>
#include <string>

#include "cli/json_values.h"
#include "quant/fidelity.h"

namespace torchlet::cli {

// How the two models do on the same inputs.
struct QuantizationComparison {
  quant::Fidelity fidelity;
  RunTime before, after;  // of the first input; 0 if there was none
  uint64_t before_bytes = 0, after_bytes = 0;
};

// The table of the layers and the comparison, on standard output.
void print_quantization(const QuantizationOptions& options, const Quantized& result,
                        const QuantizationComparison& comparison);
// What --json writes.
Json json_of_quantization(const Quantized& result, const QuantizationComparison& comparison);
// The page of --report.
std::string page_of_quantization(const std::string& model, const Quantized& result,
                                 const QuantizationComparison& comparison);

}  // namespace torchlet::cli
