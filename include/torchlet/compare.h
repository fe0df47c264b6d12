// What two models make of the same inputs, value by value: two files (a model and its quantized
// form, say), or one file on two devices or in two precisions.
//
//   torchlet::Options exact;
//   exact.devices = {"reference"};
//   const auto a = torchlet::load("model.pt", exact), b = torchlet::load("model.pt");
//   const torchlet::Comparison c = torchlet::compare(a, b, {image});
//   if (c.first_divergence) std::cout << c.nodes[*c.first_divergence].place_a;
#pragma once

#include <torchlet/export.h>
#include <torchlet/module.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace torchlet {

// How far a tensor (or number) b is from a. Quantized tensors count as the real numbers that they
// stand for; a NaN equals a NaN in the same place, an infinity the same infinity.
struct Difference {
  // 10 log10(sum a^2 / sum (a - b)^2), decibels, larger is better: infinite if nothing differs, and
  // -infinity if a number is lost to NaN or infinity, if the sizes differ, or if a is all zeros and
  // b is not.
  double sqnr = 0;
  double max_abs = 0;  // the largest |a - b|; infinite if a number is lost or the sizes differ
  double largest = 0;  // the largest finite |a|
};

struct CompareOptions {
  std::string method = "forward";
  // A value is within the tolerance if max_abs <= atol + rtol * largest of its tensor; if min_sqnr
  // is given, if sqnr >= *min_sqnr instead.
  double rtol = 1e-3, atol = 1e-6;
  std::optional<double> min_sqnr;
  // Plans merge operators, and only what a step of a plan gives is compared. True: every operator's
  // result, for which the plan computes each by itself.
  bool every_operator = false;
  // Values of intermediate results are held up to so many bytes, for both sides together; the
  // models run as often as that takes.
  size_t memory = size_t{512} << 20;
  // Called now and then with what was done, 0 to 1.
  std::function<void(double done)> progress;
};

// A part of what the method gives: "output", "output[0]", "output['boxes']".
struct ComparedOutput {
  std::string name;
  std::string a, b;  // "float32 [1, 1000]", or a repr of what is no tensor
  Difference difference;
  bool within = true;
};

// A tensor that both sides compute.
struct ComparedNode {
  std::string operator_a, operator_b;  // "aten::conv2d"
  std::string module_path;             // of a, "features.3.conv"; may be empty
  std::string place_a, place_b;        // "functional.py:1506"
  std::string calls;                   // of a, that lead there: "activation.py:235 < net.py:57"
  std::string tensor_a, tensor_b;      // "float32 [1, 32, 112, 112]", of the first time
  size_t times = 0;                    // that it was computed (in a loop) and compared
  Difference difference;               // the worst of these
  bool within = true;
  std::vector<size_t> inputs;  // in Comparison::nodes: what it is computed from, as far as compared
};

// A tensor that one side computes and the other does not: merged into a following operator, or
// another way to the same result.
struct UnmatchedNode {
  std::string op, module_path, place, tensor;
};

struct Comparison {
  std::vector<ComparedOutput> outputs;
  bool within = true;  // all outputs

  std::vector<ComparedNode> nodes;         // in the order in which a computes them
  std::optional<size_t> first_divergence;  // the first of `nodes` that is not within
  std::vector<UnmatchedNode> only_a, only_b;
};

// Runs the method of both with these inputs, some times: neither the modules nor the inputs are
// changed. Each run begins with the same random numbers (as torch.manual_seed(0)). `a` is the
// measure of what is right.
//
// Nodes are matched in order: by operator, module path, line and sizes. Where one side computes at
// once what the other computes in steps (a batch norm that went into a convolution), it is
// compared with the step that fits best.
//
// Errors as Method::operator(), with "in the first model" or "in the second model" as the last
// place.
TORCHLET_API Comparison compare(const Module& a, const Module& b, const std::vector<Value>& inputs,
                                const CompareOptions& options = {});

}  // namespace torchlet
