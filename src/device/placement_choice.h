// Which device runs which segment of a model, as it was measured and kept: what `torchlet tune`
// writes and Options::devices = {"auto"} reads.
#pragma once

#include <torchlet/value.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor_impl.h"

namespace torchlet::device {

// What a method was called with: of tensors dtype and sizes, of everything else its text.
class CallSignature {
 public:
  struct Input {
    bool is_tensor = false;
    DType dtype{};
    IntArray sizes;
    std::string text;
  };

  CallSignature() = default;
  explicit CallSignature(std::span<const Value> inputs);
  explicit CallSignature(std::vector<Input> inputs) : inputs_(std::move(inputs)) {}
  bool matches(std::span<const Value> inputs) const;
  bool operator==(const CallSignature& other) const { return str() == other.str(); }
  const std::vector<Input>& inputs() const { return inputs_; }
  std::string str() const;  // "float32 [1, 3, 224, 224], 5"

 private:
  std::vector<Input> inputs_;
};

struct UsedDevice {
  std::string name, version;  // Device::version()
};
struct DroppedDevice {
  std::string name, version;
  std::string reason;
};

// Minimum and median of runs of a method, seconds.
struct RunTimes {
  double min = 0, median = 0;
};

// For one method, one set of shapes, one number of threads.
struct PlacementChoice {
  std::string method;  // its qualified name
  CallSignature signature;
  int threads = 0;
  std::vector<UsedDevice> devices;  // in order
  // Segments, by segment_key() (device/partition.h), that their devices leave to those after them.
  std::set<std::string, std::less<>> left;
  RunTimes cpu, chosen;                // of the processor alone, and of this choice
  std::vector<DroppedDevice> dropped;  // for what they did while they were tried

  bool is_for(std::string_view called, std::span<const Value> inputs, int num_threads) const {
    return threads == num_threads && method == called && signature.matches(inputs);
  }
};

struct KeptPlacements {
  std::string torchlet;     // the version that wrote it; another one may cut other segments
  uint64_t model_hash = 0;  // content_hash() of the model's file
  std::vector<PlacementChoice> choices;

  // Takes the place of the one for the same method, signature and threads.
  void add(PlacementChoice choice);
};

// Beside the model: "model.pt.placement.json".
std::string placement_file_of(const std::string& model);

// The file's text. It is JSON:
//
//   {"format": "torchlet placement", "version": 1, "torchlet": VERSION, "model": HASH, "choices": [
//     {"method", "inputs": [{"dtype", "shape"} or {"value": TEXT}...], "threads",
//      "devices": [{"name", "version"}...], "left": [SEGMENT...], "cpu_ms": [MIN, MEDIAN],
//      "chosen_ms": [MIN, MEDIAN], "dropped": [{"name", "version", "reason"}...]}...]}
std::string to_json(const KeptPlacements& kept);
// Error kFileFormat if the text is something else.
KeptPlacements parse_placements(std::string_view text);
// Of a file. Error kIo, kFileFormat. None if there is no such file.
KeptPlacements read_placements(const std::string& path);

}  // namespace torchlet::device
