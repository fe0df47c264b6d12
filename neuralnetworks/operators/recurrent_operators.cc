// The recurrent part of LSTM and RNN layers. What the inputs of all time steps contribute to the
// gates is a matrix product done before.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/limits.h"
#include "kernels/elementwise/elementwise.h"
#include "neuralnetworks/operators/checks.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/matmul.h"

namespace torchlet::ops {
namespace {

using nn::check_sizes;

void sigmoid(float* x, int64_t count) { kernels::sigmoid_f32(x, x, count, 0, 0); }

// FuseCodes, and those that recurrent layers have besides: 4 is tanh, 6 is sigmoid.
bool is_activation(int64_t code) { return code >= 0 && code <= 6 && code != 5; }

void activate(int64_t code, float* x, int64_t count) {
  switch (code) {
    case 1:
      return kernels::clamp_f32(x, x, count, 0, INFINITY);
    case 2:
      return kernels::clamp_f32(x, x, count, -1, 1);
    case 3:
      return kernels::clamp_f32(x, x, count, 0, 6);
    case 4:
      return kernels::tanh_f32(x, x, count, 0, 0);
    case 6:
      return sigmoid(x, count);
    default:
      return;
  }
}

void check_activation(int64_t code) {
  TORCHLET_CHECK(is_activation(code), "there is no activation of number %lld",
                 static_cast<long long>(code));
}

Tensor copied(const Tensor& tensor) {
  const Tensor copy = empty(tensor.sizes(), DType::kFloat32);
  copy.copy_(tensor);
  return copy;
}

// sums[rows, units] += state[rows, width] weights[units, width]^T (+ bias).
void add_product(int64_t rows, const float* state, const Tensor& weights, const float* bias,
                 float* sums) {
  const int64_t units = weights.size(0), width = weights.size(1);
  kernels::GemmEpilogue<float> epilogue;
  epilogue.accumulate = true;
  epilogue.col_bias = bias;
  kernels::gemm_f32(rows, units, width, {state, width, 1}, {weights.data_ptr<float>(), 1, width},
                    sums, units, epilogue);
}

// Matrices and vectors of one kind, one below the other: those of all gates.
Tensor stacked(const std::vector<Tensor>& parts) {
  TORCHLET_CHECK(!parts.empty() && parts[0].dim() > 0, "there are no weights to stack");
  for (const Tensor& part : parts) {
    TORCHLET_CHECK(std::ranges::equal(part.sizes(), parts[0].sizes()),
                   "the weights of the gates have sizes %s and %s", parts[0].describe().c_str(),
                   part.describe().c_str());
  }
  IntArray sizes = parts[0].impl()->sizes;
  const int64_t rows = sizes[0];
  sizes[0] = checked_mul(rows, static_cast<int64_t>(parts.size()));
  const Tensor result = empty(sizes, parts[0].dtype());
  for (size_t i = 0; i < parts.size(); ++i) {
    narrow(result, 0, static_cast<int64_t>(i) * rows, rows).copy_(parts[i]);
  }
  return result;
}

// ---- RNN ----

std::tuple<Tensor, Tensor> rnn(const Tensor& sums, const Tensor& recurrent, const Tensor& bias,
                               const Tensor& state, int64_t activation, bool backward) {
  check_activation(activation);
  check_sizes(sums, {-1, -1, -1}, "the product of input and weights");
  const int64_t time = sums.size(0), batch = sums.size(1), units = sums.size(2);
  check_sizes(recurrent, {units, units}, "the recurrent weights");
  check_sizes(bias, {units}, "the bias");
  check_sizes(state, {batch, units}, "the hidden state");
  const Tensor weights = dense_as<float>(recurrent), biases = dense_as<float>(bias);
  const Tensor output = copied(sums);
  Tensor hidden = dense_as<float>(state);
  for (int64_t i = 0; i < time; ++i) {
    poll();
    const Tensor step = select(output, 0, backward ? time - 1 - i : i);
    float* out = step.data_ptr<float>();
    add_product(batch, hidden.data_ptr<float>(), weights, biases.data_ptr<float>(), out);
    activate(activation, out, batch * units);
    hidden = step;
  }
  return {output, copied(hidden)};
}

// ---- LSTM ----

// The weights of one direction, dense float32. Gates lie in the order input, forget, cell, output;
// where the input gate is coupled to the forget gate, there is none.
struct LstmWeights {
  Tensor recurrent;                    // [gates * units, width]
  Tensor bias;                         // [gates * units]
  Tensor peephole;                     // [(gates - 1) * units]: all gates but the cell's; or none
  Tensor projection, projection_bias;  // [width, units], [width]; or none
  Tensor norm;                         // [gates * units]; or none
  int64_t activation;
  float cell_clip, projection_clip;  // 0: none

  int64_t units, width, gates;
  bool is_coupled() const { return gates == 3; }
};

const float* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<float>() : nullptr;
}

// To a mean of 0 and a variance of 1, then scaled and shifted.
void normalise(float* x, int64_t count, const float* scale, const float* shift) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) sum += x[i];
  const double mean = sum / static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(count) + 1e-8);
  for (int64_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>((x[i] - mean) / deviation) * scale[i] + shift[i];
  }
}

// One sequence's step: `gates` [gates * units] holds the sums of all products with weights and is
// overwritten, `cell` [units] becomes the new state of the cell, `hidden` [units] what the cell
// gives.
void lstm_row(const LstmWeights& weights, float* gates, float* cell, float* hidden) {
  const int64_t n = weights.units;
  const int64_t first = weights.is_coupled() ? 1 : 0;
  float* input = gates;
  float* forget = gates + (1 - first) * n;
  float* candidate = gates + (2 - first) * n;
  float* output = gates + (3 - first) * n;
  const float* peephole = data_or_null(weights.peephole);
  const float* norm = data_or_null(weights.norm);
  const float* bias = weights.bias.data_ptr<float>();
  const auto look = [&](float* gate, int64_t which) {
    if (!peephole) return;
    for (int64_t i = 0; i < n; ++i) gate[i] += peephole[which * n + i] * cell[i];
  };
  const auto finish = [&](float* gate) {
    if (norm) normalise(gate, n, norm + (gate - gates), bias + (gate - gates));
  };
  const auto open = [&](float* gate, int64_t which) {
    look(gate, which);
    finish(gate);
    sigmoid(gate, n);
  };
  if (!weights.is_coupled()) open(input, 0);
  open(forget, 1 - first);
  finish(candidate);
  activate(weights.activation, candidate, n);
  for (int64_t i = 0; i < n; ++i) {
    const float opened = weights.is_coupled() ? 1 - forget[i] : input[i];
    cell[i] = forget[i] * cell[i] + opened * candidate[i];
  }
  if (weights.cell_clip > 0) {
    kernels::clamp_f32(cell, cell, n, -weights.cell_clip, weights.cell_clip);
  }
  open(output, 2 - first);
  std::copy_n(cell, n, hidden);
  activate(weights.activation, hidden, n);
  for (int64_t i = 0; i < n; ++i) hidden[i] *= output[i];
}

// [rows, units] -> [rows, width]
void project(const LstmWeights& weights, int64_t rows, const float* hidden, float* output) {
  kernels::GemmEpilogue<float> epilogue;
  epilogue.col_bias = data_or_null(weights.projection_bias);
  if (weights.projection_clip > 0) {
    epilogue.min = -weights.projection_clip;
    epilogue.max = weights.projection_clip;
  }
  kernels::gemm_f32(rows, weights.width, weights.units, {hidden, weights.units, 1},
                    {weights.projection.data_ptr<float>(), 1, weights.units}, output, weights.width,
                    epilogue);
}

// `sums` [batch, gates * units] and `cell` change; the new output state goes to `output`.
void lstm_step(const LstmWeights& weights, int64_t batch, const float* state, float* sums,
               float* cell, float* hidden, float* output) {
  // Normalised gates get their bias later.
  const float* bias = weights.norm.defined() ? nullptr : weights.bias.data_ptr<float>();
  add_product(batch, state, weights.recurrent, bias, sums);
  const int64_t units = weights.units;
  for (int64_t row = 0; row < batch; ++row) {
    lstm_row(weights, sums + row * weights.gates * units, cell + row * units, hidden + row * units);
  }
  if (weights.projection.defined()) project(weights, batch, hidden, output);
}

Tensor dense_or_none(const Tensor& tensor) {
  return tensor.defined() ? dense_as<float>(tensor) : Tensor();
}

LstmWeights lstm_weights(const Tensor& recurrent, const Tensor& bias, const Tensor& peephole,
                         const Tensor& projection, const Tensor& projection_bias,
                         const Tensor& norm, int64_t units) {
  check_sizes(recurrent, {-1, -1}, "the recurrent weights");
  const int64_t gates = recurrent.size(0) == checked_mul(3, units) ? 3 : 4;
  const int64_t width = recurrent.size(1);
  check_sizes(recurrent, {gates * units, width}, "the recurrent weights");
  check_sizes(bias, {gates * units}, "the bias");
  if (peephole.defined()) check_sizes(peephole, {(gates - 1) * units}, "the peephole weights");
  if (norm.defined()) check_sizes(norm, {gates * units}, "the weights of the normalization");
  if (projection.defined()) {
    check_sizes(projection, {width, units}, "the projection");
    if (projection_bias.defined()) {
      check_sizes(projection_bias, {width}, "the bias of the projection");
    }
  } else {
    TORCHLET_CHECK(width == units && !projection_bias.defined(),
                   "%lld outputs of %lld units need a projection", static_cast<long long>(width),
                   static_cast<long long>(units));
  }
  return {.recurrent = dense_as<float>(recurrent),
          .bias = dense_as<float>(bias),
          .peephole = dense_or_none(peephole),
          .projection = dense_or_none(projection),
          .projection_bias = dense_or_none(projection_bias),
          .norm = dense_or_none(norm),
          .activation = 0,
          .cell_clip = 0,
          .projection_clip = 0,
          .units = units,
          .width = width,
          .gates = gates};
}

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& sums, const Tensor& recurrent,
                                        const Tensor& bias, const Tensor& peephole,
                                        const Tensor& projection, const Tensor& projection_bias,
                                        const Tensor& norm, const Tensor& output_state,
                                        const Tensor& cell_state, int64_t activation,
                                        double cell_clip, double projection_clip, bool backward) {
  check_activation(activation);
  TORCHLET_CHECK(cell_clip >= 0 && projection_clip >= 0, "an LSTM clips at %g and %g", cell_clip,
                 projection_clip);
  check_sizes(sums, {-1, -1, -1}, "the product of input and weights");
  const int64_t time = sums.size(0), batch = sums.size(1);
  check_sizes(cell_state, {batch, -1}, "the state of the cell");
  LstmWeights weights = lstm_weights(recurrent, bias, peephole, projection, projection_bias, norm,
                                     cell_state.size(1));
  weights.activation = activation;
  weights.cell_clip = static_cast<float>(cell_clip);
  weights.projection_clip = static_cast<float>(projection_clip);
  check_sizes(sums, {time, batch, weights.gates * weights.units},
              "the product of input and weights");
  check_sizes(output_state, {batch, weights.width}, "the output state");

  const Tensor own_sums = empty({{batch, weights.gates * weights.units}}, DType::kFloat32);
  const Tensor hidden = empty({{batch, weights.units}}, DType::kFloat32);
  const Tensor cell = copied(cell_state);
  const Tensor output = empty({{time, batch, weights.width}}, DType::kFloat32);
  Tensor state = dense_as<float>(output_state);
  for (int64_t i = 0; i < time; ++i) {
    poll();
    const int64_t t = backward ? time - 1 - i : i;
    own_sums.copy_(select(sums, 0, t));
    const Tensor step = select(output, 0, t);
    float* out = step.data_ptr<float>();
    lstm_step(weights, batch, state.data_ptr<float>(), own_sums.data_ptr<float>(),
              cell.data_ptr<float>(), weights.projection.defined() ? hidden.data_ptr<float>() : out,
              out);
    state = step;
  }
  return {output, copied(state), cell};
}

// ---- SVDF ----

// Filters on the features of the input, [batch, filters], whose last results are remembered, and
// filters on that memory; `rank` of them make one unit.
std::tuple<Tensor, Tensor> svdf(const Tensor& features, const Tensor& time_weights,
                                const Tensor& bias, const Tensor& state, int64_t rank) {
  check_sizes(features, {-1, -1}, "the product of input and weights");
  const int64_t batch = features.size(0), filters = features.size(1);
  check_sizes(time_weights, {filters, -1}, "the weights of time");
  const int64_t memory = time_weights.size(1);
  TORCHLET_CHECK(rank > 0 && filters % rank == 0 && memory > 0,
                 "%lld filters of %lld steps make no units of rank %lld",
                 static_cast<long long>(filters), static_cast<long long>(memory),
                 static_cast<long long>(rank));
  const int64_t units = filters / rank;
  check_sizes(state, {batch, checked_mul(memory, filters)}, "the state");
  if (bias.defined()) check_sizes(bias, {units}, "the bias");

  const Tensor x = dense_as<float>(features), weights = dense_as<float>(time_weights);
  const Tensor before = dense_as<float>(state), shift = dense_or_none(bias);
  const Tensor after = empty(state.sizes(), DType::kFloat32);
  const Tensor output = zeros({{batch, units}}, DType::kFloat32);
  for (int64_t i = 0; i < batch * filters; ++i) {
    const int64_t row = i / filters, filter = i % filters;
    const float newest = x.data_ptr<float>()[i];
    const float* from = before.data_ptr<float>() + i * memory;
    const float* weight = weights.data_ptr<float>() + filter * memory;
    float* to = after.data_ptr<float>() + i * memory;
    // The last place of a state is for what comes next.
    float sum = newest * weight[memory - 1];
    for (int64_t j = 0; j + 1 < memory; ++j) sum += from[j] * weight[j];
    if (memory > 1) {
      std::copy_n(from + 1, memory - 2, to);
      to[memory - 2] = newest;
    }
    to[memory - 1] = 0;
    output.data_ptr<float>()[row * units + filter / rank] += sum;
  }
  if (shift.defined()) {
    for (int64_t i = 0; i < batch * units; ++i) {
      output.data_ptr<float>()[i] += shift.data_ptr<float>()[i % units];
    }
  }
  return {after, output};
}

}  // namespace

TORCHLET_OP(nnapi_stacked, "nnapi::stacked(Tensor[] parts) -> Tensor", stacked);
TORCHLET_OP(nnapi_rnn,
            "nnapi::rnn(Tensor sums, Tensor recurrent, Tensor bias, Tensor state, int activation, "
            "bool backward) -> (Tensor, Tensor)",
            rnn);
TORCHLET_OP(nnapi_lstm,
            "nnapi::lstm(Tensor sums, Tensor recurrent, Tensor bias, Tensor? peephole, Tensor? "
            "projection, Tensor? projection_bias, Tensor? norm, Tensor output_state, Tensor "
            "cell_state, int activation, float cell_clip, float projection_clip, bool backward) -> "
            "(Tensor, Tensor, Tensor)",
            lstm);
TORCHLET_OP(nnapi_svdf,
            "nnapi::svdf(Tensor features, Tensor time_weights, Tensor? bias, Tensor state, int "
            "rank) -> (Tensor, Tensor)",
            svdf);

}  // namespace torchlet::ops
