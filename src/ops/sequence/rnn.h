// Recurrent layers over padded or packed sequences, shared by the float and the quantized
// operators.
#pragma once

#include <functional>
#include <vector>

#include "base/counted_vector.h"
#include "ops/core/common.h"

namespace torchlet::ops {

enum class CellKind { kLstm, kGru, kTanh, kRelu };

// One direction of one layer. Both products give [rows, gates * hidden], bias included, with the
// gates in PyTorch's order: i, f, g, o (LSTM); r, z, n (GRU).
struct RnnDirection {
  std::function<Tensor(const Tensor&)> input_product, hidden_product;
  Tensor projection;  // LSTM with proj_size: [proj, hidden], else undefined
};

// The rows of a sequence: step t has `count` rows from `offset` on. Counts never grow with t, and
// row i of each step belongs to the same sequence.
struct RnnStep {
  int64_t offset, count;
};

struct RnnState {
  Tensor hidden;  // [layers * directions, batch, hidden or proj]
  Tensor cell;    // LSTM only: [layers * directions, batch, hidden]
};

struct RnnStack {
  std::vector<RnnDirection> directions;  // of layer 0, of layer 1, ...; forward before backward
  bool bidirectional = false;
  double dropout = 0;  // between the layers; 0 unless training
};

// data [rows, features] -> output [rows, directions * hidden]; `state` is replaced by the last
// state of every sequence.
Tensor run_rnn(CellKind kind, const Tensor& data, const CountedVector<RnnStep>& steps,
               const RnnStack& stack, RnnState* state);

// One step of a cell on rows [batch, ...]: the new hidden and cell (LSTM) state.
RnnState rnn_cell(CellKind kind, const Tensor& input, const RnnState& state,
                  const RnnDirection& cell);

// The steps of a padded sequence [time, batch, ...].
CountedVector<RnnStep> padded_steps(int64_t time, int64_t batch);
// The steps of a packed sequence with these batch sizes (int64 [time]); `rows` is that of its data.
// Error if the sizes grow, or do not add up to `rows`.
CountedVector<RnnStep> packed_steps(const Tensor& batch_sizes, int64_t rows);

}  // namespace torchlet::ops
