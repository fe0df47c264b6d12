// Devices that are tried in a process of their own, since a driver may crash or hang.
#pragma once

#include <torchlet/module.h>

#include <string>
#include <vector>

#include "device/placement_choice.h"

namespace CLI {
class App;
}

namespace torchlet::cli {

// For a command whose devices are tried before it uses them: `torchlet COMMAND ...`. The command's
// own arguments are given to the process that tries, with --probe NAME before them.
class ProbeOptions {
 public:
  // --probe, which help does not show, --device-limit and --min-sqnr.
  void add_to(CLI::App& command);
  // The device that this process has to try: run_probe() and nothing else; empty in the first
  // process.
  const std::string& probed() const { return probed_; }
  double min_sqnr() const { return min_sqnr_; }

  // Error if the device is not right for the model.
  void run_probe(const Module& module, const std::string& method,
                 const std::vector<Value>& inputs) const;
  // Tries each in its own process; takes those that crash, hang, fail or answer wrongly out of
  // `devices` and says why.
  std::vector<device::DroppedDevice> drop_bad(std::vector<std::string>& devices) const;

 private:
  std::string probed_;
  double limit_ = 60, min_sqnr_ = 30;
};

}  // namespace torchlet::cli
