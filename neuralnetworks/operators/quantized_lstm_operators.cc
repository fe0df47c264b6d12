// One step of an LSTM in integers: QUANTIZED_16BIT_LSTM and QUANTIZED_LSTM.
#include <algorithm>
#include <cmath>
#include <span>

#include "base/checked.h"
#include "base/counted_vector.h"
#include "base/limits.h"
#include "neuralnetworks/operators/checks.h"
#include "neuralnetworks/operators/fixed_point.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"

namespace torchlet::ops {
namespace {

using nn::check_sizes;
using nn::Multiplier;
using nn::rounding_shift;
using nn::saturate16;

// A dense matrix of 8-bit integers with its quantization.
template <typename T>
struct Integers {
  Integers() = default;
  Integers(const Tensor& tensor, DType dtype, const char* what) {
    TORCHLET_CHECK(tensor.dtype() == dtype && tensor.dim() == 2 && tensor.impl()->quantizer,
                   "%s is no quantized matrix: %s", what, tensor.describe().c_str());
    held = tensor.contiguous();
    data = reinterpret_cast<const T*>(held.impl()->data());
    rows = held.size(0), columns = held.size(1);
    scale = static_cast<float>(held.impl()->quantizer->scale);
    zero_point = static_cast<int32_t>(held.impl()->quantizer->zero_point);
  }
  const T* row(int64_t i) const { return data + i * columns; }

  Tensor held;
  const T* data = nullptr;
  int64_t rows = 0, columns = 0;
  float scale = 0;
  int32_t zero_point = 0;
};

// The sum of products of two rows, whose zero points are taken off. Sums of 2^15 products fit into
// 32 bits.
template <typename A, typename B>
int64_t product(const A* a, int32_t a_zero, const B* b, int32_t b_zero, int64_t count) {
  constexpr int64_t kBlock = int64_t{1} << 15;
  int64_t total = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    int32_t sum = 0;
    for (int64_t i = begin; i < std::min(count, begin + kBlock); ++i) {
      sum += (a[i] - a_zero) * (b[i] - b_zero);
    }
    total += sum;
  }
  return total;
}

template <typename T>
const T* vector_of(Tensor& tensor, int64_t count, const char* what) {
  check_sizes(tensor, {count}, what);
  tensor = dense_as<T>(tensor);
  return tensor.data_ptr<T>();
}

Tensor quantized_like(const Tensor& state) {
  return empty_quantized(state.sizes(), DType::kQUInt8, state.impl()->quantizer);
}

// ---- QUANTIZED_16BIT_LSTM ----

// The gates lie in the order input, forget, cell, output.
struct Lstm16 {
  Integers<uint8_t> input, state, input_weights[4], state_weights[4];
  const int32_t* biases[4];
  Multiplier to_gate;  // from sums of products to numbers with 3 integer bits

  int64_t inputs() const { return input.columns + state.columns; }

  // The first numbers of all inputs are those of the input and the first weights of all those of
  // the state, as in Android's implementation; so the weights of a model do not mean what their
  // names say unless it knows.
  void join_inputs(int64_t row, uint8_t* all) const {
    all = std::copy_n(input.row(row), input.columns, all);
    std::copy_n(state.row(row), state.columns, all);
  }
  void join_weights(size_t gate, int64_t unit, uint8_t* all) const {
    all = std::copy_n(state_weights[gate].row(unit), state.columns, all);
    std::copy_n(input_weights[gate].row(unit), input.columns, all);
  }
};

// [batch, 4, units]: the gates before their activations.
CountedVector<int16_t> gates_of(const Lstm16& lstm) {
  const int64_t batch = lstm.input.rows, units = lstm.state.columns, count = lstm.inputs();
  const auto size = static_cast<size_t>(count);
  CountedVector<uint8_t> inputs(static_cast<size_t>(batch) * size), weights(size);
  for (int64_t row = 0; row < batch; ++row) lstm.join_inputs(row, inputs.data() + row * count);
  CountedVector<int16_t> gates(static_cast<size_t>(batch * 4 * units));
  for (size_t gate = 0; gate < 4; ++gate) {
    for (int64_t unit = 0; unit < units; ++unit) {
      poll();
      lstm.join_weights(gate, unit, weights.data());
      for (int64_t row = 0; row < batch; ++row) {
        const int64_t sum = lstm.biases[gate][unit] +
                            product(inputs.data() + row * count, lstm.input.zero_point,
                                    weights.data(), lstm.input_weights[0].zero_point, count);
        gates[static_cast<size_t>((row * 4 + static_cast<int64_t>(gate)) * units + unit)] =
            saturate16(lstm.to_gate(sum));
      }
    }
  }
  return gates;
}

void check_16bit_lstm(const Lstm16& lstm) {
  const int64_t units = lstm.state.columns;
  const auto is_unit = [](const Integers<uint8_t>& x) {
    return x.scale == 1.0f / 128 && x.zero_point == 128;
  };
  TORCHLET_CHECK(is_unit(lstm.input) && is_unit(lstm.state),
                 "the input and the output have to have the scale 1/128 and the zero point 128");
  TORCHLET_CHECK(lstm.input.rows == lstm.state.rows, "there are %lld inputs and %lld states",
                 static_cast<long long>(lstm.input.rows), static_cast<long long>(lstm.state.rows));
  const Integers<uint8_t>& first = lstm.input_weights[0];
  for (int i = 0; i < 4; ++i) {
    check_sizes(lstm.input_weights[i].held, {units, lstm.input.columns},
                "the weights of the input");
    check_sizes(lstm.state_weights[i].held, {units, units}, "the weights of the state");
    for (const auto* weights : {&lstm.input_weights[i], &lstm.state_weights[i]}) {
      TORCHLET_CHECK(weights->scale == first.scale && weights->zero_point == first.zero_point,
                     "the weights have to have one scale and one zero point");
    }
  }
}

std::tuple<Tensor, Tensor> quantized_16bit_lstm(const Tensor& input,
                                                const std::vector<Tensor>& input_weights,
                                                const std::vector<Tensor>& state_weights,
                                                const std::vector<Tensor>& biases,
                                                const Tensor& cell_state, const Tensor& state) {
  TORCHLET_CHECK(input_weights.size() == 4 && state_weights.size() == 4 && biases.size() == 4,
                 "an LSTM has 4 gates");
  Lstm16 lstm;
  lstm.input = {input, DType::kQUInt8, "the input"};
  lstm.state = {state, DType::kQUInt8, "the output of the step before"};
  std::vector<Tensor> dense_biases = biases;
  const int64_t batch = lstm.state.rows, units = lstm.state.columns;
  for (size_t i = 0; i < 4; ++i) {
    lstm.input_weights[i] = {input_weights[i], DType::kQUInt8, "a weight of the input"};
    lstm.state_weights[i] = {state_weights[i], DType::kQUInt8, "a weight of the state"};
    lstm.biases[i] = vector_of<int32_t>(dense_biases[i], units, "the bias");
  }
  check_16bit_lstm(lstm);
  lstm.to_gate = Multiplier(double{4096} * (lstm.input_weights[0].scale / 128));
  check_sizes(cell_state, {batch, units}, "the state of the cell");

  const Tensor cell = empty(cell_state.sizes(), DType::kInt16);
  cell.copy_(cell_state);
  const Tensor output = quantized_like(state);
  auto* out = reinterpret_cast<uint8_t*>(output.impl()->data());
  const CountedVector<int16_t> gates = gates_of(lstm);
  for (int64_t row = 0; row < batch; ++row) {
    for (int64_t unit = 0; unit < units; ++unit) {
      const int64_t at = row * units + unit;
      const int16_t* gate = gates.data() + row * 4 * units + unit;
      const int16_t in = nn::fixed_sigmoid(gate[0]);
      const int16_t forget = nn::fixed_sigmoid(gate[units]);
      const int16_t candidate = nn::fixed_tanh(gate[2 * units], 3);
      const int16_t open = nn::fixed_sigmoid(gate[3 * units]);
      // The cell has 4 integer bits.
      int16_t& value = cell.data_ptr<int16_t>()[at];
      value = saturate16(rounding_shift(nn::high_product16(in, candidate), 4) +
                         nn::high_product16(forget, value));
      const int16_t hidden = nn::high_product16(open, nn::fixed_tanh(saturate16(value * 2), 3));
      const int64_t rounded = std::clamp<int64_t>(rounding_shift(hidden, 8), -128, 127);
      out[at] = static_cast<uint8_t>(rounded + 128);
    }
  }
  return {cell, output};
}

// ---- QUANTIZED_LSTM ----

// What of it belongs to a gate.
struct QuantizedGate {
  Integers<int8_t> input_weights, state_weights;
  const int32_t* bias = nullptr;
  const int16_t* peephole = nullptr;  // or null
  const int16_t* norm = nullptr;      // or null
  Multiplier of_input, of_state, of_cell, of_norm;
};

// To a mean of 0 and a variance of 1, times the gate's weights, plus its bias: in integers, as
// TensorFlow Lite does it.
void normalise(const QuantizedGate& gate, std::span<int16_t> values) {
  const auto count = static_cast<int64_t>(values.size());
  constexpr int64_t kGuard = 1 << 20;
  int64_t sum = 0, squares = 0;
  for (const int64_t value : values) {
    sum += value;
    squares += value * value;
  }
  const int64_t mean = sum * 1024 / count;  // times 1024
  const int64_t variance = (squares * (kGuard / count) - mean * mean) / kGuard;
  const Multiplier inverse = Multiplier::inverse_square_root(
      static_cast<int32_t>(std::clamp<int64_t>(variance, 0, INT32_MAX)));
  const Multiplier to_gate = gate.of_norm.shifted(12);
  for (int64_t i = 0; i < count; ++i) {
    int16_t& value = values[static_cast<size_t>(i)];
    const int64_t scaled =
        int64_t{inverse(1024 * int64_t{value} - mean)} * gate.norm[i] + gate.bias[i];
    value = saturate16(to_gate((scaled > 0 ? scaled + 512 : scaled - 512) / 1024));
  }
}

// The sums of a gate for one row, before its activation.
void fill_gate(const QuantizedGate& gate, const uint8_t* input, int32_t input_zero,
               const uint8_t* state, int32_t state_zero, const int16_t* cell,
               std::span<int16_t> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto unit = static_cast<int64_t>(i);
    const Integers<int8_t>& w = gate.input_weights;
    const Integers<int8_t>& r = gate.state_weights;
    const int64_t bias = gate.norm ? 0 : gate.bias[i];
    int16_t value =
        saturate16(gate.of_input(bias + product(input, input_zero, w.row(unit), 0, w.columns)));
    value = saturate16(
        value + int64_t{gate.of_state(product(state, state_zero, r.row(unit), 0, r.columns))});
    if (gate.peephole) value = saturate16(value + gate.of_cell(gate.peephole[i] * cell[i]));
    values[i] = value;
  }
  if (gate.norm) normalise(gate, values);
}

struct QuantizedLstm {
  std::vector<QuantizedGate> gates;  // (input,) forget, cell, output
  int64_t units = 0;
  int cell_shift = 0;     // the cell counts in 2^cell_shift
  int16_t cell_clip = 0;  // 0: none
  Multiplier to_hidden;
  int32_t hidden_zero_point = 0;

  bool is_coupled() const { return gates.size() == 3; }
};

// One row: the cell's new state goes to `cell`, and what it gives to `hidden`.
void quantized_step(const QuantizedLstm& lstm, const uint8_t* input, int32_t input_zero,
                    const uint8_t* state, int32_t state_zero, std::span<int16_t> work,
                    int16_t* cell, int8_t* hidden) {
  const auto n = static_cast<size_t>(lstm.units);
  const size_t first = lstm.is_coupled() ? 1 : 0;
  const auto fill = [&](size_t which) {
    const std::span<int16_t> values = work.subspan(which * n, n);
    fill_gate(lstm.gates[which - first], input, input_zero, state, state_zero, cell, values);
    return values;
  };
  if (!lstm.is_coupled()) std::ranges::transform(fill(0), work.begin(), nn::fixed_sigmoid);
  std::ranges::transform(fill(1), work.begin() + n, nn::fixed_sigmoid);
  const std::span<int16_t> in = work.first(n), forget = work.subspan(n, n), candidate = fill(2);
  for (size_t i = 0; i < n; ++i) {
    if (lstm.is_coupled()) in[i] = static_cast<int16_t>(INT16_MAX - forget[i]);
    const int64_t kept = rounding_shift(forget[i] * cell[i], 15);
    const int64_t added =
        rounding_shift(in[i] * nn::fixed_tanh(candidate[i], 3), 30 + lstm.cell_shift);
    cell[i] = saturate16(saturate16(kept) + saturate16(added));
    if (lstm.cell_clip > 0) {
      cell[i] = std::clamp<int16_t>(cell[i], static_cast<int16_t>(-lstm.cell_clip), lstm.cell_clip);
    }
  }
  const std::span<int16_t> output = fill(3);
  for (size_t i = 0; i < n; ++i) {
    const int32_t open = nn::fixed_sigmoid(output[i]);
    const int32_t value = open * nn::fixed_tanh(cell[i], lstm.cell_shift + 15);
    hidden[i] = static_cast<int8_t>(std::clamp<int64_t>(
        int64_t{lstm.to_hidden(value)} - lstm.hidden_zero_point, INT8_MIN, INT8_MAX));
  }
}

// The scale as a power of two.
int exponent_of(double scale) {
  const double exponent = std::log2(scale);
  TORCHLET_CHECK(scale > 0 && std::abs(exponent - std::round(exponent)) < 1e-3 &&
                     exponent > -15.5 && exponent < -8.5,
                 "the scale %g of the state of the cell is none of 2^-15 to 2^-9", scale);
  return static_cast<int>(std::round(exponent));
}

struct Projection {
  Integers<int8_t> weights;
  const int32_t* bias = nullptr;  // or null
  Multiplier to_output;
  int32_t least = 0, most = 255;  // as it is held

  void run(const int8_t* hidden, int32_t hidden_zero, int32_t zero_point, uint8_t* output) const {
    for (int64_t i = 0; i < weights.rows; ++i) {
      const int64_t sum =
          product(hidden, -hidden_zero, weights.row(i), 0, weights.columns) + (bias ? bias[i] : 0);
      output[i] = static_cast<uint8_t>(
          std::clamp<int64_t>(int64_t{to_output(sum)} + zero_point, least, most));
    }
  }
};

// Scales that are no tensor's.
struct LstmScales {
  explicit LstmScales(const std::vector<double>& all, size_t gates) {
    TORCHLET_CHECK(all.size() == 3 * gates + 4, "an LSTM of %zu gates has %zu scales", gates,
                   all.size());
    of_gates = std::span(all).first(3 * gates);
    cell = all[3 * gates];
    hidden = static_cast<float>(all[3 * gates + 1]);
    cell_clip = all[3 * gates + 2];
    projection_clip = all[3 * gates + 3];
    TORCHLET_CHECK(hidden > 0, "the scale of the hidden state is %g", double{hidden});
  }

  // Per gate: of its sums, of its peephole weights and of its normalization weights.
  std::span<const double> of_gates;
  double cell, cell_clip, projection_clip;
  float hidden;
};

// The tensors of a gate; those that it has not are undefined. They are made dense.
struct GateTensors {
  Tensor input_weights, state_weights, bias, peephole, norm;
};

QuantizedGate make_gate(GateTensors& tensors, const Integers<uint8_t>& x,
                        const Integers<uint8_t>& h, std::span<const double> scales, int64_t units,
                        int cell_shift) {
  check_sizes(tensors.input_weights, {units, x.columns}, "a weight of the input");
  check_sizes(tensors.state_weights, {units, h.columns}, "a weight of the state");
  const auto scale = static_cast<float>(scales[0]);
  TORCHLET_CHECK(scale > 0, "the scale of a gate is %g", double{scale});
  QuantizedGate gate;
  gate.input_weights = {tensors.input_weights, DType::kQInt8, "a weight of the input"};
  gate.state_weights = {tensors.state_weights, DType::kQInt8, "a weight of the state"};
  gate.bias = vector_of<int32_t>(tensors.bias, units, "the bias");
  gate.of_input = Multiplier(gate.input_weights.scale * x.scale / scale);
  gate.of_state = Multiplier(gate.state_weights.scale * h.scale / scale);
  if (tensors.peephole.defined()) {
    gate.peephole = vector_of<int16_t>(tensors.peephole, units, "the peephole weights");
    gate.of_cell = Multiplier(std::ldexp(static_cast<float>(scales[1]), cell_shift) / scale);
  }
  if (tensors.norm.defined()) {
    gate.norm = vector_of<int16_t>(tensors.norm, units, "the normalization's weights");
    gate.of_norm = Multiplier(static_cast<float>(scales[2]));
  }
  return gate;
}

// `bias` is made dense.
Projection make_projection(const Tensor& weights, Tensor& bias, const Integers<uint8_t>& h,
                           const LstmScales& scales, int64_t units) {
  check_sizes(weights, {h.columns, units}, "the projection");
  Projection made;
  made.weights = {weights, DType::kQInt8, "the projection"};
  if (bias.defined()) made.bias = vector_of<int32_t>(bias, h.columns, "the projection's bias");
  made.to_output = Multiplier(made.weights.scale * scales.hidden / h.scale);
  if (scales.projection_clip > 0) {
    const auto clip =
        static_cast<int32_t>(std::min(scales.projection_clip / double{h.scale}, 512.0));
    made.least = std::clamp(h.zero_point - clip, 0, 255);
    made.most = std::clamp(h.zero_point + clip, 0, 255);
  }
  return made;
}

// The lists have one item a gate; `scales` are as LstmScales reads them.
std::tuple<Tensor, Tensor> quantized_lstm(
    const Tensor& input, const std::vector<Tensor>& input_weights,
    const std::vector<Tensor>& state_weights, const std::vector<Tensor>& biases,
    const std::vector<Tensor>& peepholes, const std::vector<Tensor>& norms,
    const Tensor& projection_weights, const Tensor& projection_bias, const Tensor& state,
    const Tensor& cell_state, const std::vector<double>& all_scales, int64_t hidden_zero_point) {
  const Integers<uint8_t> x(input, DType::kQUInt8, "the input");
  const Integers<uint8_t> h(state, DType::kQUInt8, "the output of the step before");
  const size_t gates = input_weights.size();
  TORCHLET_CHECK((gates == 3 || gates == 4) && state_weights.size() == gates &&
                     biases.size() == gates && peepholes.size() == gates && norms.size() == gates,
                 "an LSTM has 3 or 4 gates");
  const LstmScales scales(all_scales, gates);
  check_sizes(cell_state, {x.rows, -1}, "the state of the cell");
  check_sizes(state, {x.rows, -1}, "the output state");
  TORCHLET_CHECK(hidden_zero_point >= -255 && hidden_zero_point <= 255,
                 "the zero point of the hidden state is %lld",
                 static_cast<long long>(hidden_zero_point));

  QuantizedLstm lstm;
  lstm.units = cell_state.size(1);
  TORCHLET_CHECK(lstm.units > 0, "the cell has no units");
  lstm.cell_shift = exponent_of(scales.cell);
  lstm.cell_clip = saturate16(saturating_int(std::max(0.0, scales.cell_clip) / scales.cell));
  lstm.to_hidden = Multiplier(0x1p-15f / scales.hidden * 0x1p-15f);
  lstm.hidden_zero_point = static_cast<int32_t>(hidden_zero_point);
  std::vector<GateTensors> tensors;
  for (size_t i = 0; i < gates; ++i) {
    tensors.push_back({input_weights[i], state_weights[i], biases[i], peepholes[i], norms[i]});
  }
  for (size_t i = 0; i < gates; ++i) {
    lstm.gates.push_back(make_gate(tensors[i], x, h, scales.of_gates.subspan(3 * i, 3), lstm.units,
                                   lstm.cell_shift));
  }
  const bool projects = projection_weights.defined();
  TORCHLET_CHECK(projects || h.columns == lstm.units,
                 "%lld outputs of %lld units need a projection", static_cast<long long>(h.columns),
                 static_cast<long long>(lstm.units));
  Tensor own_bias = projection_bias;
  const Projection projection =
      projects ? make_projection(projection_weights, own_bias, h, scales, lstm.units)
               : Projection();

  const Tensor cell = empty(cell_state.sizes(), DType::kInt16);
  cell.copy_(cell_state);
  const Tensor output = quantized_like(state);
  CountedVector<int16_t> work(static_cast<size_t>(4 * lstm.units));
  CountedVector<int8_t> hidden(static_cast<size_t>(lstm.units));
  for (int64_t row = 0; row < x.rows; ++row) {
    poll();
    quantized_step(lstm, x.row(row), x.zero_point, h.row(row), h.zero_point, work,
                   cell.data_ptr<int16_t>() + row * lstm.units, hidden.data());
    auto* out = reinterpret_cast<uint8_t*>(output.impl()->data()) + row * h.columns;
    if (projects) {
      projection.run(hidden.data(), lstm.hidden_zero_point, h.zero_point, out);
    } else {
      std::ranges::transform(hidden, out, [](int8_t v) { return static_cast<uint8_t>(v + 128); });
    }
  }
  return {output, cell};
}

}  // namespace

TORCHLET_OP(nnapi_quantized_16bit_lstm,
            "nnapi::quantized_16bit_lstm(Tensor input, Tensor[] input_weights, Tensor[] "
            "state_weights, Tensor[] biases, Tensor cell_state, Tensor state) -> (Tensor, Tensor)",
            quantized_16bit_lstm);
TORCHLET_OP(nnapi_quantized_lstm,
            "nnapi::quantized_lstm(Tensor input, Tensor[] input_weights, Tensor[] state_weights, "
            "Tensor[] biases, Tensor?[] peepholes, Tensor?[] norms, Tensor? projection_weights, "
            "Tensor? projection_bias, Tensor state, Tensor cell_state, float[] scales, int "
            "hidden_zero_point) -> (Tensor, Tensor)",
            quantized_lstm);

}  // namespace torchlet::ops
