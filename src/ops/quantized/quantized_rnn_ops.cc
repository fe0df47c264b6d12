// Recurrent layers whose matrix products are dynamically quantized (aten/src/ATen/native/RNN.cpp):
// the weights are packed linears, everything else is float.
#include <cmath>

#include "base/checked.h"
#include "ops/core/custom_class.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/quantize.h"
#include "ops/quantized/cell_params.h"

namespace torchlet::ops {
namespace {

Ref<CustomObject> packed_linear(const Value& value) {
  return Ref<CustomObject>(&custom_object<LinearPackedParams>(value));
}

Ref<CellParams> make_cell(const Value& ih, const Value& hh) {
  auto cell = make_ref<CellParams>();
  cell->ih = packed_linear(ih);
  cell->hh = packed_linear(hh);
  return cell;
}

constexpr std::string_view kDynamic = "quantized_dynamic", kFloat16 = "quantized_fp16";

// CellParamsSerializationType: (kind, tensors, doubles, ints, packed linears). The tensors are the
// biases, which the packed linears have as well; the int is reduce_range.
Value set_state(const Value& state) {
  const std::vector<Value> items = state.to_tuple();
  TORCHLET_CHECK(items.size() == 5, "the state of a CellParamsBase has %zu items, expected 5",
                 items.size());
  const std::string& kind = items[0].to_string();
  const std::vector<Value> ints = items[3].to_list(), packed = items[4].to_list();
  if (packed.size() != 2) {
    fail(ErrorCode::kUnsupported,
         "quantized recurrent cells of the kind '" + kind + "' are not supported");
  }
  const Ref<CellParams> cell = make_cell(packed[0], packed[1]);
  cell->has_float16_weights = kind == kFloat16;
  cell->reduce_range = !ints.empty() && ints[0].to_int() != 0;
  return Value(Ref<CustomObject>(cell));
}

}  // namespace

Value CellParams::get_state() const {
  const auto linear_type = std::make_shared<ClassType>(
      TypeKind::kClass, LinearPackedParams::kClassName, /*is_module=*/false);
  const Value packed = make_list(linear_type, {Value(ih), Value(hh)});
  const Value no_doubles = make_list(types::floating(), {});
  if (has_float16_weights) {
    return Value::tuple(
        {std::string(kFloat16), make_tensor_list({}), no_doubles, make_int_list({}), packed});
  }
  const Value biases = make_tensor_list({input().unpack().second, hidden().unpack().second});
  return Value::tuple({std::string(kDynamic), biases, no_doubles,
                       make_list(types::integer(), {int64_t{reduce_range}}), packed});
}

namespace {

// ---- cells ----

Tensor sigmoid(const Tensor& x) {
  return map<kMapReal, 1>({x}, DType::kFloat32, [](auto v) { return 1 / (1 + std::exp(-v)); });
}
Tensor tanh(const Tensor& x) {
  return map<kMapReal, 1>({x}, DType::kFloat32, [](auto v) { return std::tanh(v); });
}
Tensor sum(const Tensor& a, const Tensor& b) {
  return map<kMapReal, 2>({a, b}, DType::kFloat32, [](auto x, auto y) { return x + y; });
}
Tensor product(const Tensor& a, const Tensor& b) {
  return map<kMapReal, 2>({a, b}, DType::kFloat32, [](auto x, auto y) { return x * y; });
}
// Part i of n along the last dimension.
Tensor gate(const Tensor& gates, int64_t i, int64_t n) {
  const int64_t size = gates.size(-1) / n;
  return narrow(gates, gates.dim() - 1, i * size, size);
}

struct LstmState {
  Tensor h, c;
};
// gates_ih: the input's share [batch, 4 * hidden], order input, forget, cell, output.
LstmState lstm_step(const Tensor& gates_ih, const LstmState& state, const Tensor& gates_hh) {
  const Tensor gates = sum(gates_ih, gates_hh);
  const Tensor c = sum(product(sigmoid(gate(gates, 1, 4)), state.c),
                       product(sigmoid(gate(gates, 0, 4)), tanh(gate(gates, 2, 4))));
  return {product(sigmoid(gate(gates, 3, 4)), tanh(c)), c};
}

// Order reset, update, new.
Tensor gru_step(const Tensor& ih, const Tensor& h, const Tensor& hh) {
  const Tensor reset = sigmoid(sum(gate(ih, 0, 3), gate(hh, 0, 3)));
  const Tensor update = sigmoid(sum(gate(ih, 1, 3), gate(hh, 1, 3)));
  const Tensor fresh = tanh(sum(gate(ih, 2, 3), product(reset, gate(hh, 2, 3))));
  return map<kMapReal, 3>({h, fresh, update}, DType::kFloat32,
                          [](auto old, auto n, auto z) { return (old - n) * z + n; });
}

// ---- layers ----

// Rows of the batch that are still running at each time step, largest first (a packed sequence);
// empty: all of them, and the data is [time, batch, features] instead of [rows, features].
using BatchSizes = IntArray;

struct Direction {
  Tensor output;  // as the input, with hidden features
  LstmState last;
};

// One direction of one layer. `step(ih, state, cell)` gives the next state.
template <typename Step>
Direction run_direction(const Tensor& input, const BatchSizes& batch_sizes, const CellParams& cell,
                        LstmState state, bool reverse, Step step) {
  const Tensor ih = cell.linear_ih(input);
  const bool packed = !batch_sizes.empty();
  const int64_t steps = packed ? static_cast<int64_t>(batch_sizes.size()) : input.size(0);
  IntArray shape(input.sizes());
  shape.back() = state.h.size(-1);
  const Tensor output = empty(shape, DType::kFloat32);
  LstmState last{state.h.clone(), state.c.defined() ? state.c.clone() : Tensor()};
  int64_t row = 0;
  IntArray starts;
  for (int64_t t = 0; t < steps; ++t) {
    starts.push_back(row);
    row += packed ? batch_sizes[static_cast<size_t>(t)] : 1;
  }
  for (int64_t i = 0; i < steps; ++i) {
    const size_t t = static_cast<size_t>(reverse ? steps - 1 - i : i);
    const int64_t batch = packed ? batch_sizes[t] : state.h.size(0);
    auto at = [&](const Tensor& x) {
      return packed ? narrow(x, 0, starts[t], batch) : select(x, 0, static_cast<int64_t>(t));
    };
    LstmState now{narrow(last.h, 0, 0, batch),
                  last.c.defined() ? narrow(last.c, 0, 0, batch) : Tensor()};
    const LstmState next = step(at(ih), now, cell);
    at(output).copy_(next.h);
    now.h.copy_(next.h);
    if (now.c.defined()) now.c.copy_(next.c);
  }
  return {output, last};
}

Tensor call_cat(const std::vector<Tensor>& tensors, int64_t dim, const char* name) {
  const Operator* op = find_operator(name, "");
  Value args[] = {make_tensor_list(tensors), Value(dim)}, result;
  op->call(args, {&result, 1});
  return result.to_tensor();
}

struct Rnn {
  Tensor output, h, c;
};

template <typename Step>
Rnn run_layers(Tensor input, const BatchSizes& batch_sizes, const Tensor& h0, const Tensor& c0,
               const std::vector<Value>& params, int64_t num_layers, bool bidirectional,
               Step step) {
  const int64_t directions = bidirectional ? 2 : 1;
  TORCHLET_CHECK(static_cast<int64_t>(params.size()) == checked_mul(num_layers, directions),
                 "%zu cells given for %lld layers of %lld directions", params.size(),
                 static_cast<long long>(num_layers), static_cast<long long>(directions));
  std::vector<Tensor> hs, cs;
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t index = layer * directions + d;
      const auto& cell = custom_object<CellParams>(params[static_cast<size_t>(index)]);
      LstmState state{select(h0, 0, index), c0.defined() ? select(c0, 0, index) : Tensor()};
      Direction run = run_direction(input, batch_sizes, cell, std::move(state), d == 1, step);
      outputs.push_back(run.output);
      hs.push_back(run.last.h);
      if (c0.defined()) cs.push_back(run.last.c);
    }
    input = outputs.size() == 1 ? outputs[0] : call_cat(outputs, outputs[0].dim() - 1, "aten::cat");
  }
  return {input, call_cat(hs, 0, "aten::stack"),
          c0.defined() ? call_cat(cs, 0, "aten::stack") : Tensor()};
}

LstmState lstm_cell(const Tensor& ih, const LstmState& state, const CellParams& cell) {
  return lstm_step(ih, state, cell.linear_hh(state.h));
}
LstmState gru_cell(const Tensor& ih, const LstmState& state, const CellParams& cell) {
  return {gru_step(ih, state.h, cell.linear_hh(state.h)), Tensor()};
}

BatchSizes sizes_of(const Tensor& batch_sizes) {
  const Tensor flat = batch_sizes.to(DType::kInt64).contiguous();
  return BatchSizes(flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel());
}

std::tuple<Tensor, Tensor, Tensor> lstm_input(const Tensor& input, const std::vector<Tensor>& hx,
                                              const Value& params, bool, int64_t num_layers, double,
                                              bool, bool bidirectional, bool batch_first,
                                              const Value&, bool) {
  TORCHLET_CHECK(hx.size() == 2, "lstm expects two hidden states");
  Rnn run = run_layers(batch_first ? transpose(input, 0, 1) : input, {}, hx[0], hx[1],
                       params.to_list(), num_layers, bidirectional, lstm_cell);
  return {batch_first ? transpose(run.output, 0, 1) : run.output, run.h, run.c};
}

std::tuple<Tensor, Tensor, Tensor> lstm_data(const Tensor& data, const Tensor& batch_sizes,
                                             const std::vector<Tensor>& hx, const Value& params,
                                             bool, int64_t num_layers, double, bool,
                                             bool bidirectional, const Value&, bool) {
  TORCHLET_CHECK(hx.size() == 2, "lstm expects two hidden states");
  Rnn run = run_layers(data, sizes_of(batch_sizes), hx[0], hx[1], params.to_list(), num_layers,
                       bidirectional, lstm_cell);
  return {run.output, run.h, run.c};
}

std::tuple<Tensor, Tensor> gru_input(const Tensor& input, const Tensor& hx, const Value& params,
                                     bool, int64_t num_layers, double, bool, bool bidirectional,
                                     bool batch_first) {
  Rnn run = run_layers(batch_first ? transpose(input, 0, 1) : input, {}, hx, Tensor(),
                       params.to_list(), num_layers, bidirectional, gru_cell);
  return {batch_first ? transpose(run.output, 0, 1) : run.output, run.h};
}

std::tuple<Tensor, Tensor> gru_data(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                    const Value& params, bool, int64_t num_layers, double, bool,
                                    bool bidirectional) {
  Rnn run = run_layers(data, sizes_of(batch_sizes), hx, Tensor(), params.to_list(), num_layers,
                       bidirectional, gru_cell);
  return {run.output, run.h};
}

Tensor linear(const Value& params, const Tensor& x) {
  return custom_object<LinearPackedParams>(params).apply_dynamic(x, false);
}

template <bool kRelu>
Tensor rnn_cell(const Tensor& input, const Tensor& hx, const Value& w_ih, const Value& w_hh,
                const Tensor&, const Tensor&) {
  const Tensor gates = sum(linear(w_ih, input), linear(w_hh, hx));
  if (!kRelu) return tanh(gates);
  return map<kMapReal, 1>({gates}, DType::kFloat32,
                          [](auto v) { return std::max(v, decltype(v)(0)); });
}

#define TORCHLET_CELL "__torch__.torch.classes.rnn.CellParamsBase"
#define TORCHLET_LINEAR "__torch__.torch.classes.quantized.LinearPackedParamsBase"

}  // namespace

extern const CustomClassDef class_rnn_cell_params;
constinit const CustomClassDef class_rnn_cell_params = {CellParams::kClassName, set_state, {}};

TORCHLET_OP(make_quantized_cell_params_dynamic,
            "quantized::make_quantized_cell_params_dynamic(" TORCHLET_LINEAR
            " w_ih, " TORCHLET_LINEAR
            " w_hh, Tensor bias_ih, Tensor bias_hh, bool reduce_range=False) -> " TORCHLET_CELL,
            [](const Value& ih, const Value& hh, const Tensor&, const Tensor&, bool reduce_range) {
              const Ref<CellParams> cell = make_cell(ih, hh);
              cell->reduce_range = reduce_range;
              return Value(Ref<CustomObject>(cell));
            });
TORCHLET_OP(make_quantized_cell_params_fp16,
            "quantized::make_quantized_cell_params_fp16(" TORCHLET_LINEAR " w_ih, " TORCHLET_LINEAR
            " w_hh) -> " TORCHLET_CELL,
            [](const Value& ih, const Value& hh) {
              const Ref<CellParams> cell = make_cell(ih, hh);
              cell->has_float16_weights = true;
              return Value(Ref<CustomObject>(cell));
            });

TORCHLET_OP_WITH(
    quantized_lstm_input, varies("dropout train"),
    "aten::quantized_lstm.input(Tensor input, Tensor[] hx, " TORCHLET_CELL
    "[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, "
    "bool "
    "batch_first, *, ScalarType? dtype=None, bool use_dynamic=False) -> (Tensor, Tensor, Tensor)",
    lstm_input);
TORCHLET_OP_WITH(
    quantized_lstm_data, varies("dropout train"),
    "aten::quantized_lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, " TORCHLET_CELL
    "[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, *, "
    "ScalarType? dtype=None, bool use_dynamic=False) -> (Tensor, Tensor, Tensor)",
    lstm_data);
TORCHLET_OP_WITH(quantized_gru_input, varies("dropout train"),
                 "aten::quantized_gru.input(Tensor input, Tensor hx, " TORCHLET_CELL
                 "[] params, bool has_biases, int num_layers, float dropout, bool train, bool "
                 "bidirectional, bool "
                 "batch_first) -> (Tensor, Tensor)",
                 gru_input);
TORCHLET_OP_WITH(
    quantized_gru_data, varies("dropout train"),
    "aten::quantized_gru.data(Tensor data, Tensor batch_sizes, Tensor hx, " TORCHLET_CELL
    "[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> "
    "(Tensor, Tensor)",
    gru_data);

TORCHLET_OP(
    quantized_lstm_cell_dynamic,
    "quantized::quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, " TORCHLET_LINEAR
    " w_ih, " TORCHLET_LINEAR " w_hh, Tensor bias_ih, Tensor bias_hh) -> (Tensor, Tensor)",
    [](const Tensor& input, const std::vector<Tensor>& hx, const Value& w_ih, const Value& w_hh,
       const Tensor&, const Tensor&) {
      TORCHLET_CHECK(hx.size() == 2, "lstm expects two hidden states");
      const LstmState next = lstm_step(linear(w_ih, input), {hx[0], hx[1]}, linear(w_hh, hx[0]));
      return std::tuple(next.h, next.c);
    });
TORCHLET_OP(quantized_gru_cell_dynamic,
            "quantized::quantized_gru_cell_dynamic(Tensor input, Tensor hx, " TORCHLET_LINEAR
            " w_ih, " TORCHLET_LINEAR " w_hh, Tensor b_ih, Tensor b_hh) -> Tensor",
            [](const Tensor& input, const Tensor& hx, const Value& w_ih, const Value& w_hh,
               const Tensor&,
               const Tensor&) { return gru_step(linear(w_ih, input), hx, linear(w_hh, hx)); });
TORCHLET_OP(quantized_rnn_relu_cell_dynamic,
            "quantized::quantized_rnn_relu_cell_dynamic(Tensor input, Tensor hx, " TORCHLET_LINEAR
            " w_ih, " TORCHLET_LINEAR " w_hh, Tensor b_ih, Tensor b_hh) -> Tensor",
            rnn_cell<true>);
TORCHLET_OP(quantized_rnn_tanh_cell_dynamic,
            "quantized::quantized_rnn_tanh_cell_dynamic(Tensor input, Tensor hx, " TORCHLET_LINEAR
            " w_ih, " TORCHLET_LINEAR " w_hh, Tensor b_ih, Tensor b_hh) -> Tensor",
            rnn_cell<false>);

}  // namespace torchlet::ops
