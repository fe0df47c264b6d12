// A model that NNAPI has compiled, and the memory of its runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "nnapi/library.h"
#include "nnapi/model.h"

namespace torchlet::nnapi {

struct CompileOptions {
  int32_t preference = ANEURALNETWORKS_PREFER_SUSTAINED_SPEED;
  // float32 may be computed in float16, where NNAPI knows of that (level 2).
  bool is_relaxed = false;
  // Which one computes all of it; null: as NNAPI distributes it.
  const NamedDevice* device = nullptr;
};

// Thrown for operations, by their places in the model, that CompileOptions::device does not take.
struct RefusedOperations {
  std::vector<size_t> operations;
};

// What NNAPI refuses is Error kRuntime. Thread-safe.
class CompiledModel {
  class Lane;

 public:
  // Seconds of the computing alone, and with what is around it in the driver; 0 where the driver
  // does not tell.
  struct Durations {
    double on_hardware = 0, in_driver = 0;
  };

  explicit CompiledModel(Model model, const CompileOptions& options = {});
  ~CompiledModel();
  CompiledModel(const CompiledModel&) = delete;
  CompiledModel& operator=(const CompiledModel&) = delete;

  // Memory for the inputs and outputs of one run at a time, with what the driver keeps for it. Runs
  // that follow one another share it; it is charged to the budget of who needed it first. One that
  // failed is not used again.
  class Run {
   public:
    explicit Run(const CompiledModel& model);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // Of Model::inputs[i] and Model::outputs[i], aligned to 64 bytes: dense, in the order of the
    // operand's sizes.
    std::byte* input(size_t i) const;
    std::byte* output(size_t i) const;
    // Computes the outputs of the inputs.
    void compute();
    // The same, and how long it took by the driver's word.
    Durations compute_timed();

   private:
    const CompiledModel& model_;
    std::unique_ptr<Lane> lane_;

    template <typename Compute>
    auto guarded(const Compute& compute);
  };

 private:
  template <typename T>
  using Handle = std::unique_ptr<T, void (*)(T*)>;
  struct Region {
    size_t offset, nbytes;
  };

  void fill(ANeuralNetworksModel& to) const;
  void compile(const CompileOptions& options);
  // For one device, or null as NNAPI distributes it: NNAPI's code.
  int compile_for(const ANeuralNetworksDevice* device, int32_t preference);

  Model model_;  // NNAPI reads its constants
  Handle<ANeuralNetworksModel> handle_{nullptr, nullptr};
  Handle<ANeuralNetworksCompilation> compilation_{nullptr, nullptr};
  std::vector<Region> inputs_, outputs_;  // in the memory of a run
  size_t nbytes_ = 0;                     // of it
  bool is_for_one_device_ = false;        // which tells durations
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Lane>> idle_;
};

}  // namespace torchlet::nnapi
