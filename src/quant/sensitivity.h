// Which layers cost the most accuracy.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "quant/fidelity.h"

namespace torchlet::quant {

// What the answers of a model must keep of those of the float model.
struct Target {
  double agreement = 0;  // of the largest score, 0 to 1; counts if there are scores
  double sqnr_db = -1000;
  double top1_drop = 1;  // from the part of right answers, 0 to 1; counts if there are labels
  bool holds(const Fidelity& fidelity) const {
    return (fidelity.rows() == 0 || fidelity.agreement() >= agreement) &&
           fidelity.sqnr_db() >= sqnr_db &&
           fidelity.exact_accuracy().top1() - fidelity.accuracy().top1() <= top1_drop + kRounding;
  }
  static constexpr double kRounding = 1e-9;
};

// How the model answers with just these layers quantized.
using Evaluate = std::function<Fidelity(const std::vector<bool>& wanted)>;

struct Sweep {
  std::vector<double> alone_db;  // SQNR of the answers with this layer alone quantized
  std::vector<bool> wanted;      // the layers that are left when the target holds
};

// Evaluates each wanted layer of those that are `compared` alone, and then leaves the worst float,
// as few as will do: found by halving, since fewer quantized layers seldom make answers worse. If
// not even one layer can be quantized, none is wanted.
Sweep sweep(std::vector<bool> wanted, const std::vector<bool>& compared, const Target& target,
            const Evaluate& evaluate, const std::function<void(double)>& progress);

}  // namespace torchlet::quant
