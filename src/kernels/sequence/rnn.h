// The recurrent part of LSTM and GRU layers; the input's part of the gates is a matrix product that
// is done before for all steps at once. Gates lie in PyTorch's order: i, f, g, o or r, z, n.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/nhwc.h"

namespace torchlet::kernels {

enum class RnnCell : uint8_t { kLstm, kGru };
constexpr int64_t gate_count(RnnCell cell) { return cell == RnnCell::kLstm ? 4 : 3; }

// Weights [gates * hidden, hidden] and bias [gates * hidden] (or null) of the hidden state, in a
// form that belongs to the processor. `packed` is aligned to 64 bytes. `weights` may be kFloat16 if
// has_half_panels() (gemm/gemm_nhwc.h), and not kBFloat16.
size_t rnn_packed_bytes(RnnCell cell, int64_t hidden,
                        WeightFormat weights = WeightFormat::kFloat32);
void rnn_pack(RnnCell cell, int64_t hidden, const float* weight, const float* bias, void* packed,
              WeightFormat weights = WeightFormat::kFloat32);

// [batch, ...] whose rows are `stride` elements apart.
template <typename T>
struct RnnRows {
  T* data;
  int64_t stride;
};

// One step of a layer in one direction.
struct RnnStepF32 {
  RnnCell cell;
  int64_t batch, hidden;
  RnnRows<const float> gates;  // [batch, gates * hidden]: the input's part
  RnnRows<const float> h;      // [batch, hidden]
  RnnRows<float> c;            // [batch, hidden], of an LSTM; becomes the new one
  RnnRows<float> next;         // [batch, hidden]: the new h, elsewhere
  WeightFormat weights = WeightFormat::kFloat32;  // as they were packed
};

// Runs on the threads of base/thread_pool.
void rnn_step_f32(const RnnStepF32& step, const void* packed);

// The same with the product done already: `hidden_gates` [batch, gates * hidden] are those of h,
// with their bias.
void rnn_finish_f32(const RnnStepF32& step, RnnRows<const float> hidden_gates);

}  // namespace torchlet::kernels
