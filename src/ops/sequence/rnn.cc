#include "ops/sequence/rnn.h"

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/elementwise.h"
#include "ops/engines/compute.h"
#include "ops/engines/matmul.h"
#include "ops/random/random.h"

namespace torchlet::ops {
namespace {

template <typename T>
void sigmoid_run(T* x, int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    kernels::sigmoid_f32(x, x, count, 0, 0);
  } else {
    for (int64_t i = 0; i < count; ++i) x[i] = 1 / (1 + std::exp(-x[i]));
  }
}

template <typename T>
void tanh_run(T* x, int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    kernels::tanh_f32(x, x, count, 0, 0);
  } else {
    for (int64_t i = 0; i < count; ++i) x[i] = std::tanh(x[i]);
  }
}

// One row of gates: `in` is the product of the input and is overwritten, `hid` that of the hidden
// state. Writes the new hidden state, and for an LSTM the new cell state.
template <typename T>
void lstm_row(int64_t n, T* in, const T* hid, T* cell, T* hidden) {
  for (int64_t i = 0; i < 4 * n; ++i) in[i] += hid[i];
  sigmoid_run(in, 2 * n);
  tanh_run(in + 2 * n, n);
  sigmoid_run(in + 3 * n, n);
  for (int64_t i = 0; i < n; ++i) hidden[i] = cell[i] = in[n + i] * cell[i] + in[i] * in[2 * n + i];
  tanh_run(hidden, n);
  for (int64_t i = 0; i < n; ++i) hidden[i] *= in[3 * n + i];
}

template <typename T>
void gru_row(int64_t n, T* in, const T* hid, T* hidden) {
  for (int64_t i = 0; i < 2 * n; ++i) in[i] += hid[i];
  sigmoid_run(in, 2 * n);
  T* candidate = in + 2 * n;
  for (int64_t i = 0; i < n; ++i) candidate[i] += in[i] * hid[2 * n + i];
  tanh_run(candidate, n);
  for (int64_t i = 0; i < n; ++i) {
    hidden[i] = (hidden[i] - candidate[i]) * in[n + i] + candidate[i];
  }
}

template <typename T>
void plain_row(CellKind kind, int64_t n, const T* in, const T* hid, T* hidden) {
  for (int64_t i = 0; i < n; ++i) hidden[i] = in[i] + hid[i];
  if (kind == CellKind::kTanh) return tanh_run(hidden, n);
  for (int64_t i = 0; i < n; ++i) hidden[i] = hidden[i] < 0 ? T(0) : hidden[i];  // keeps a NaN
}

int64_t gate_count(CellKind kind) {
  return kind == CellKind::kLstm ? 4 : kind == CellKind::kGru ? 3 : 1;
}

void check_rows(const Tensor& t, int64_t rows, int64_t columns, const char* what) {
  TORCHLET_CHECK(t.dim() == 2 && t.size(0) == rows && t.size(1) == columns,
                 "rnn: expected %s of shape [%lld, %lld], got %s", what,
                 static_cast<long long>(rows), static_cast<long long>(columns),
                 t.describe().c_str());
}

// `hidden` [rows, n or proj] and `cell` [rows, n] are contiguous T and changed in place;
// `input_gates` [rows, gates * n] may be changed too.
template <typename T>
void advance(CellKind kind, const RnnDirection& direction, const Tensor& input_gates,
             const Tensor& hidden, const Tensor& cell) {
  const int64_t rows = hidden.size(0);
  const int64_t n = kind == CellKind::kLstm ? cell.size(1) : hidden.size(1);
  const Tensor hidden_gates = dense_as<T>(direction.hidden_product(hidden));
  check_rows(input_gates, rows, gate_count(kind) * n, "the gates of the input");
  check_rows(hidden_gates, rows, gate_count(kind) * n, "the gates of the hidden state");
  const bool projects = direction.projection.defined();
  const Tensor full_hidden = projects ? empty({{rows, n}}, DTypeOf<T>::value) : hidden;
  T* in = input_gates.data_ptr<T>();
  const T* hid = hidden_gates.data_ptr<T>();
  T* out = full_hidden.data_ptr<T>();
  for (int64_t row = 0; row < rows; ++row) {
    T* row_in = in + row * gate_count(kind) * n;
    const T* row_hid = hid + row * gate_count(kind) * n;
    switch (kind) {
      case CellKind::kLstm:
        lstm_row(n, row_in, row_hid, cell.data_ptr<T>() + row * n, out + row * n);
        break;
      case CellKind::kGru:
        gru_row(n, row_in, row_hid, out + row * n);
        break;
      default:
        plain_row(kind, n, row_in, row_hid, out + row * n);
    }
  }
  if (projects) hidden.copy_(linear(full_hidden, direction.projection, Tensor()));
}

// A copy as contiguous T that may be written.
template <typename T>
Tensor own_copy(const Tensor& tensor) {
  const Tensor copy = empty(tensor.sizes(), DTypeOf<T>::value);
  copy.copy_(tensor);
  return copy;
}

// One direction of one layer; writes columns [column, column + width) of `output`.
template <typename T>
void run_direction(CellKind kind, const RnnDirection& direction, const Tensor& data,
                   const CountedVector<RnnStep>& steps, bool backward, const Tensor& hidden,
                   const Tensor& cell, const Tensor& output, int64_t column) {
  const Tensor gates = dense_as<T>(direction.input_product(data));
  const int64_t width = hidden.size(1), stride = output.size(1);
  const T* state = hidden.data_ptr<T>();
  T* out = output.data_ptr<T>();
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto [offset, count] = steps[backward ? steps.size() - 1 - i : i];
    // A sequence that is over (forward) or has not begun (backward) keeps its state.
    advance<T>(kind, direction, narrow(gates, 0, offset, count), narrow(hidden, 0, 0, count),
               cell.defined() ? narrow(cell, 0, 0, count) : Tensor());
    for (int64_t row = 0; row < count; ++row) {
      std::copy_n(state + row * width, width, out + (offset + row) * stride + column);
    }
  }
}

}  // namespace

Tensor run_rnn(CellKind kind, const Tensor& data, const CountedVector<RnnStep>& steps,
               const RnnStack& stack, RnnState* state) {
  const std::vector<RnnDirection>& directions = stack.directions;
  const size_t per_layer = stack.bidirectional ? 2 : 1;
  TORCHLET_CHECK(data.dim() == 2,
                 "rnn: expected the data of a sequence as [rows, features], got %s",
                 data.describe().c_str());
  TORCHLET_CHECK(
      state->hidden.dim() == 3 && state->hidden.size(0) == static_cast<int64_t>(directions.size()),
      "rnn: expected a hidden state [%zu, batch, hidden], got %s", directions.size(),
      state->hidden.describe().c_str());
  const int64_t batch = state->hidden.size(1), width = state->hidden.size(2);
  TORCHLET_CHECK(steps.empty() || steps[0].count <= batch,
                 "rnn: the hidden state %s is for fewer sequences than the input has",
                 state->hidden.describe().c_str());
  TORCHLET_CHECK(kind != CellKind::kLstm ||
                     (state->cell.dim() == 3 && state->cell.size(0) == state->hidden.size(0) &&
                      state->cell.size(1) == batch),
                 "lstm: the cell state %s does not fit the hidden state %s",
                 kind == CellKind::kLstm ? state->cell.describe().c_str() : "",
                 state->hidden.describe().c_str());
  return compute_as<kMapReal>(data.dtype(), "rnn", [&](auto zero) {
    using T = decltype(zero);
    const Tensor hidden = own_copy<T>(state->hidden);
    const Tensor cell = kind == CellKind::kLstm ? own_copy<T>(state->cell) : Tensor();
    Tensor input = data;
    for (size_t layer = 0; layer < directions.size(); layer += per_layer) {
      const Tensor output =
          empty({{data.size(0), static_cast<int64_t>(per_layer) * width}}, DTypeOf<T>::value);
      for (size_t d = 0; d < per_layer; ++d) {
        const int64_t at = static_cast<int64_t>(layer + d);
        run_direction<T>(kind, directions[layer + d], input, steps, d == 1, select(hidden, 0, at),
                         cell.defined() ? select(cell, 0, at) : Tensor(), output,
                         static_cast<int64_t>(d) * width);
      }
      input = output.to(data.dtype());
      const bool last = layer + per_layer == directions.size();
      if (!last) input = dropout(input, stack.dropout, true);
    }
    state->hidden = hidden.to(data.dtype());
    if (cell.defined()) state->cell = cell.to(data.dtype());
    return input;
  });
}

RnnState rnn_cell(CellKind kind, const Tensor& input, const RnnState& state,
                  const RnnDirection& cell) {
  TORCHLET_CHECK(state.hidden.dim() == 2,
                 "rnn cell: expected a hidden state [batch, hidden], got %s",
                 state.hidden.describe().c_str());
  return compute_as<kMapReal>(input.dtype(), "rnn_cell", [&](auto zero) -> RnnState {
    using T = decltype(zero);
    const Tensor hidden = own_copy<T>(state.hidden);
    const Tensor memory = kind == CellKind::kLstm ? own_copy<T>(state.cell) : Tensor();
    if (memory.defined()) check_rows(memory, hidden.size(0), memory.size(-1), "the cell state");
    advance<T>(kind, cell, own_copy<T>(cell.input_product(input)), hidden, memory);
    return {hidden.to(input.dtype()), memory.defined() ? memory.to(input.dtype()) : Tensor()};
  });
}

CountedVector<RnnStep> padded_steps(int64_t time, int64_t batch) {
  CountedVector<RnnStep> steps;
  for (int64_t t = 0; t < time; ++t) steps.push_back({t * batch, batch});
  return steps;
}

CountedVector<RnnStep> packed_steps(const Tensor& batch_sizes, int64_t rows) {
  TORCHLET_CHECK(batch_sizes.dim() == 1, "batch_sizes should be one-dimensional, got %s",
                 batch_sizes.describe().c_str());
  const Tensor sizes = dense_as<int64_t>(batch_sizes);
  CountedVector<RnnStep> steps;
  int64_t offset = 0;
  for (int64_t t = 0; t < sizes.numel(); ++t) {
    const int64_t count = sizes.data_ptr<int64_t>()[t];
    TORCHLET_CHECK(
        count > 0 && count <= rows - offset && (t == 0 || count <= steps.back().count),
        "packed sequence: batch sizes must be positive, not grow, and add up to the %lld "
        "rows of the data; size %lld at step %lld does not fit",
        static_cast<long long>(rows), static_cast<long long>(count), static_cast<long long>(t));
    steps.push_back({offset, count});
    offset += count;
  }
  TORCHLET_CHECK(offset == rows,
                 "packed sequence: batch sizes add up to %lld, the data has %lld rows",
                 static_cast<long long>(offset), static_cast<long long>(rows));
  return steps;
}

}  // namespace torchlet::ops
