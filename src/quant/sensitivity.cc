#include "quant/sensitivity.h"

#include <algorithm>

namespace torchlet::quant {

Sweep sweep(std::vector<bool> wanted, const std::vector<bool>& compared, const Target& target,
            const Evaluate& evaluate, const std::function<void(double)>& progress) {
  Sweep result{std::vector<double>(wanted.size(), 0), wanted};
  if (target.holds(evaluate(wanted))) return result;
  std::vector<size_t> order;
  for (size_t i = 0; i < wanted.size(); ++i) {
    progress(static_cast<double>(i) / static_cast<double>(wanted.size()));
    if (!wanted[i] || !compared[i]) continue;
    std::vector<bool> alone(wanted.size());
    alone[i] = true;
    result.alone_db[i] = evaluate(alone).sqnr_db();
    order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](size_t i) { return result.alone_db[i]; });
  const auto without_worst = [&](size_t count) {
    std::vector<bool> rest = wanted;
    for (size_t k = 0; k < count; ++k) rest[order[k]] = false;
    return rest;
  };
  // The target holds without `enough` layers, and does not without `few`.
  if (order.empty()) return result;
  size_t few = 0, enough = order.size();
  while (enough - few > 1) {
    const size_t middle = (few + enough) / 2;
    (target.holds(evaluate(without_worst(middle))) ? enough : few) = middle;
  }
  result.wanted = without_worst(enough);
  return result;
}

}  // namespace torchlet::quant
