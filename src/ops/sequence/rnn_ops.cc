// Recurrent layers and cells.
#include "ops/sequence/rnn.h"

#include "ops/core/op.h"
#include "ops/engines/matmul.h"

namespace torchlet::ops {
namespace {

RnnDirection float_direction(const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                             const Tensor& b_hh, const Tensor& projection = Tensor()) {
  return {[=](const Tensor& x) { return linear(x, w_ih, b_ih); },
          [=](const Tensor& h) { return linear(h, w_hh, b_hh); }, projection};
}

// The flat list of weights: per direction w_ih, w_hh, then b_ih, b_hh and w_hr if there are any.
RnnStack float_stack(const std::vector<Tensor>& params, bool has_biases, bool has_projections,
                     int64_t num_layers, bool bidirectional, double dropout) {
  const size_t per = 2u + (has_biases ? 2u : 0u) + (has_projections ? 1u : 0u);
  const size_t layer = per * (bidirectional ? 2 : 1);
  TORCHLET_CHECK(num_layers > 0 && params.size() % layer == 0 &&
                     static_cast<uint64_t>(num_layers) == params.size() / layer,
                 "rnn: expected %zu weights for each of %lld layers, got %zu", layer,
                 static_cast<long long>(num_layers), params.size());
  RnnStack stack{{}, bidirectional, dropout};
  for (size_t i = 0; i < params.size(); i += per) {
    const Tensor* p = &params[i];
    stack.directions.push_back(float_direction(p[0], p[1], has_biases ? p[2] : Tensor(),
                                               has_biases ? p[3] : Tensor(),
                                               has_projections ? p[per - 1] : Tensor()));
  }
  return stack;
}

// A padded sequence [time, batch, features] (batch before time if batch_first).
Tensor run_padded(CellKind kind, const Tensor& input, const RnnStack& stack, bool batch_first,
                  RnnState* state) {
  TORCHLET_CHECK(input.dim() == 3, "rnn: expected an input of 3 dimensions, got %s",
                 input.describe().c_str());
  const Tensor sequence = batch_first ? transpose(input, 0, 1) : input;
  const int64_t time = sequence.size(0), batch = sequence.size(1);
  TORCHLET_CHECK(state->hidden.dim() == 3 && state->hidden.size(1) == batch,
                 "rnn: expected a hidden state for %lld sequences, got %s",
                 static_cast<long long>(batch), state->hidden.describe().c_str());
  const Tensor flat = run_rnn(kind, reshape(sequence, {{time * batch, sequence.size(2)}}),
                              padded_steps(time, batch), stack, state);
  const Tensor output = view(flat, {{time, batch, flat.size(1)}});
  return batch_first ? transpose(output, 0, 1) : output;
}

using LstmResult = std::tuple<Tensor, Tensor, Tensor>;

RnnState lstm_state(const std::vector<Tensor>& hx) {
  TORCHLET_CHECK(hx.size() == 2, "lstm expects two hidden states, got %zu", hx.size());
  return {hx[0], hx[1]};
}

RnnStack lstm_stack(const std::vector<Tensor>& params, bool has_biases, int64_t num_layers,
                    bool bidirectional, double dropout, const RnnState& state) {
  const bool projects = state.hidden.size(-1) != state.cell.size(-1);
  return float_stack(params, has_biases, projects, num_layers, bidirectional, dropout);
}

LstmResult lstm_input(const Tensor& input, const std::vector<Tensor>& hx,
                      const std::vector<Tensor>& params, bool has_biases, int64_t num_layers,
                      double dropout, bool train, bool bidirectional, bool batch_first) {
  RnnState state = lstm_state(hx);
  const RnnStack stack =
      lstm_stack(params, has_biases, num_layers, bidirectional, train ? dropout : 0, state);
  const Tensor output = run_padded(CellKind::kLstm, input, stack, batch_first, &state);
  return {output, state.hidden, state.cell};
}

LstmResult lstm_data(const Tensor& data, const Tensor& batch_sizes, const std::vector<Tensor>& hx,
                     const std::vector<Tensor>& params, bool has_biases, int64_t num_layers,
                     double dropout, bool train, bool bidirectional) {
  RnnState state = lstm_state(hx);
  const RnnStack stack =
      lstm_stack(params, has_biases, num_layers, bidirectional, train ? dropout : 0, state);
  const Tensor output =
      run_rnn(CellKind::kLstm, data, packed_steps(batch_sizes, data.size(0)), stack, &state);
  return {output, state.hidden, state.cell};
}

template <CellKind Kind>
std::tuple<Tensor, Tensor> rnn_input(const Tensor& input, const Tensor& hx,
                                     const std::vector<Tensor>& params, bool has_biases,
                                     int64_t num_layers, double dropout, bool train,
                                     bool bidirectional, bool batch_first) {
  RnnState state{hx, Tensor()};
  const RnnStack stack =
      float_stack(params, has_biases, false, num_layers, bidirectional, train ? dropout : 0);
  const Tensor output = run_padded(Kind, input, stack, batch_first, &state);
  return {output, state.hidden};
}

template <CellKind Kind>
std::tuple<Tensor, Tensor> rnn_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                    const std::vector<Tensor>& params, bool has_biases,
                                    int64_t num_layers, double dropout, bool train,
                                    bool bidirectional) {
  RnnState state{hx, Tensor()};
  const RnnStack stack =
      float_stack(params, has_biases, false, num_layers, bidirectional, train ? dropout : 0);
  const Tensor output = run_rnn(Kind, data, packed_steps(batch_sizes, data.size(0)), stack, &state);
  return {output, state.hidden};
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const std::vector<Tensor>& hx,
                                     const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                                     const Tensor& b_hh) {
  const RnnState state =
      rnn_cell(CellKind::kLstm, input, lstm_state(hx), float_direction(w_ih, w_hh, b_ih, b_hh));
  return {state.hidden, state.cell};
}

template <CellKind Kind>
Tensor simple_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                   const Tensor& b_ih, const Tensor& b_hh) {
  return rnn_cell(Kind, input, {hx, Tensor()}, float_direction(w_ih, w_hh, b_ih, b_hh)).hidden;
}

}  // namespace

TORCHLET_OP_WITH(
    lstm_input, varies("dropout train"),
    "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int "
    "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
    "(Tensor, Tensor, Tensor)",
    lstm_input);
TORCHLET_OP_WITH(
    lstm_data, varies("dropout train"),
    "aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool "
    "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> "
    "(Tensor, Tensor, Tensor)",
    lstm_data);
TORCHLET_OP_WITH(
    gru_input, varies("dropout train"),
    "aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
    "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
    rnn_input<CellKind::kGru>);
TORCHLET_OP_WITH(
    gru_data, varies("dropout train"),
    "aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, "
    "int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
    rnn_data<CellKind::kGru>);
TORCHLET_OP_WITH(
    rnn_tanh_input, varies("dropout train"),
    "aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
    "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
    "(Tensor, Tensor)",
    rnn_input<CellKind::kTanh>);
TORCHLET_OP_WITH(
    rnn_tanh_data, varies("dropout train"),
    "aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
    "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> "
    "(Tensor, Tensor)",
    rnn_data<CellKind::kTanh>);
TORCHLET_OP_WITH(
    rnn_relu_input, varies("dropout train"),
    "aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
    "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
    "(Tensor, Tensor)",
    rnn_input<CellKind::kRelu>);
TORCHLET_OP_WITH(
    rnn_relu_data, varies("dropout train"),
    "aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
    "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> "
    "(Tensor, Tensor)",
    rnn_data<CellKind::kRelu>);
TORCHLET_OP(lstm_cell,
            "aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? "
            "b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
            lstm_cell);
TORCHLET_OP(gru_cell,
            "aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
            "Tensor? b_hh=None) -> Tensor",
            simple_cell<CellKind::kGru>);
TORCHLET_OP(rnn_tanh_cell,
            "aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? "
            "b_ih=None, Tensor? b_hh=None) -> Tensor",
            simple_cell<CellKind::kTanh>);
TORCHLET_OP(rnn_relu_cell,
            "aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? "
            "b_ih=None, Tensor? b_hh=None) -> Tensor",
            simple_cell<CellKind::kRelu>);

}  // namespace torchlet::ops
