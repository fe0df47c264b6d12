#include "cli/placement.h"

#include <algorithm>
#include <cstdio>

namespace torchlet::cli {

void print_reference(const Module& module) {
  const std::vector<Placement> all = module.placement();
  const auto is_operator = [](const Placement& p) { return !p.is_segment; };
  if (std::ranges::none_of(all, is_operator)) return;
  std::printf("\nby the reference implementation\n");
  for (const Placement& p : all) {
    if (!is_operator(p)) continue;
    std::printf("  %-32s %s: %s (%s)%s\n", p.what.c_str(), p.device.c_str(), p.reason.c_str(),
                p.place.c_str(), p.times > 1 ? (" x" + std::to_string(p.times)).c_str() : "");
  }
}

void print_placement(const Module& module) {
  const std::vector<Placement> all = module.placement();
  std::printf("%-18s %9s %11s  %s\n", "segment on", "operators", "compile ms", "what");
  for (const Placement& p : all) {
    if (!p.is_segment) continue;
    std::printf("%-18s %9zu %11.2f  %s, %s%s%s\n", p.device.c_str(), p.operators, p.seconds * 1e3,
                p.what.c_str(), p.place.c_str(),
                p.reason.empty() ? "" : "\n    REFUSED: ", p.reason.c_str());
  }
  print_reference(module);
}

Json placement_json(const Module& module) {
  Json all = Json::array();
  for (const Placement& p : module.placement()) {
    all.push_back({{"segment", p.is_segment},
                   {"what", p.what},
                   {"place", p.place},
                   {"device", p.device},
                   {"reason", p.reason},
                   {"operators", p.operators},
                   {"times", p.times},
                   {"compile_ms", p.seconds * 1e3}});
  }
  return all;
}

}  // namespace torchlet::cli
