// LSTM and GRU: whole sequences, and cells as sequences of one step. One step of the plan runs all
// layers: for each, the input's products of all time steps at once, then the recurrent part.
#include <algorithm>
#include <limits>
#include <vector>

#include "base/thread_pool.h"
#include "device/cpu/lower/conv_step.h"
#include "device/cpu/lower/lowering.h"
#include "device/cpu/lower/quantized_layer.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/quantized/linear_dynamic_q8.h"
#include "kernels/sequence/rnn.h"
#include "ops/core/custom_class.h"
#include "ops/quantized/cell_params.h"
#include "passes/analysis/constants.h"

namespace torchlet::cpu {
namespace {

using kernels::RnnCell;

// The weights of one direction of one layer as the model has them: float, or dynamically quantized.
struct DirectionWeights {
  Tensor input, input_bias;    // [gates * hidden, in], [gates * hidden] or none
  Tensor hidden, hidden_bias;  // [gates * hidden, hidden]
};

// A product with weights, of one of the two kinds.
struct Product {
  bool is_dynamic = false;
  DynamicLinear dynamic{};
  const void* packed = nullptr;
  const float* bias = nullptr;  // of the input's float product
};
struct Direction {
  Product input, hidden;
};

struct RnnShape {
  RnnCell cell;
  int64_t layers, directions, steps, batch, in, hidden;
  bool batch_first;
  kernels::WeightFormat weights;

  int64_t rows() const { return steps * batch; }
  int64_t gates() const { return kernels::gate_count(cell) * hidden; }
  int64_t width() const { return directions * hidden; }  // of an output row
  int64_t layer_in(int64_t layer) const { return layer == 0 ? in : width(); }
  int64_t state() const { return batch * hidden; }  // of one direction
  int64_t all_states() const { return layers * directions * state(); }
  // Rows of sequences from time to time, and from sequence to sequence.
  int64_t time_step() const { return batch_first ? 1 : batch; }
  // The recurrent kernel knows no products of bfloat16.
  kernels::WeightFormat recurrent_weights() const {
    const bool is_half = weights == kernels::WeightFormat::kFloat16 && kernels::has_half_panels();
    return is_half ? weights : kernels::WeightFormat::kFloat32;
  }
  int64_t batch_step() const { return batch_first ? steps : 1; }
};

kernels::ConvNhwcShape input_shape(const RnnShape& s, int64_t layer) {
  return {.in_channels = s.layer_in(layer),
          .out_channels = s.gates(),
          .window = {1, s.rows(), 1, s.rows(), 1, 1},
          .weights = s.weights};
}

// The tensors of the step. The result is one buffer: the output, the last h of all layers and
// directions, then the last c.
struct RnnTensors {
  Operand x;     // rows
  Operand h, c;  // contiguous
  Operand result;
  Operand scratch, bytes;
};

class RnnStep : public Step {
 public:
  RnnStep(const RnnShape& shape, const RnnTensors& tensors, std::vector<Direction> directions)
      : s_(shape), t_(tensors), directions_(std::move(directions)) {
    for (const Operand& operand : {t_.x, t_.h, t_.c, t_.scratch, t_.bytes}) {
      if (operand.id() != kNoTensor) reading(operand);
    }
    writing(t_.result);
  }
  const char* kernel() const override { return s_.cell == RnnCell::kLstm ? "lstm_f32" : "gru_f32"; }
  double flops() const override {
    double products = 0;
    for (int64_t layer = 0; layer < s_.layers; ++layer) {
      products += static_cast<double>(s_.layer_in(layer) + s_.hidden);
    }
    return 2 * products * static_cast<double>(s_.rows() * s_.gates() * s_.directions);
  }

  // Floats of scratch memory: gates of the input, gates of h, outputs of two layers.
  static int64_t scratch_floats(const RnnShape& s) {
    return s.directions * (s.rows() + s.batch) * s.gates() + 2 * s.rows() * s.width();
  }
  // Bytes for quantized rows, of an input or of the states of all directions.
  static int64_t scratch_bytes(const RnnShape& s) {
    const int64_t widest = s.layers > 1 ? std::max(s.in, s.width()) : s.in;
    return std::max(kernels::linear_dynamic_q8_work_bytes(s.rows(), widest),
                    s.directions * kernels::linear_dynamic_q8_work_bytes(s.batch, s.hidden));
  }

  void run(const Memory& m) const override {
    float* gates = m.data<float>(t_.scratch);
    float* inner = gates + s_.directions * (s_.rows() + s_.batch) * s_.gates();
    float* result = m.data<float>(t_.result);
    if (t_.c.id() != kNoTensor) {
      std::copy_n(m.data<float>(t_.c), s_.all_states(), last_h(result) + s_.all_states());
    }
    const float* x = m.data<float>(t_.x);
    int64_t stride = m.stride(t_.x);
    for (int64_t layer = 0; layer < s_.layers; ++layer) {
      const bool is_last = layer + 1 == s_.layers;
      float* y = is_last ? result : inner + layer % 2 * s_.rows() * s_.width();
      for (int64_t d = 0; d < s_.directions; ++d) multiply_input(m, layer, d, x, stride, gates);
      const auto run_directions = [&](int64_t begin, int64_t end) {
        for (int64_t d = begin; d < end; ++d) run_direction(m, layer, d, gates, y);
      };
      // Two directions run at once; a single one shares the work of each step.
      if (s_.directions == 1) {
        run_directions(0, 1);
      } else {
        parallel_for(s_.directions, 1, run_directions);
      }
      x = y;
      stride = s_.width();
    }
  }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  const Direction& at(int64_t layer, int64_t d) const {
    return directions_[static_cast<size_t>(layer * s_.directions + d)];
  }
  float* last_h(float* result) const { return result + s_.rows() * s_.width(); }

  void multiply_input(const Memory& m, int64_t layer, int64_t d, const float* x, int64_t stride,
                      float* gates) const {
    const Product& product = at(layer, d).input;
    gates += d * s_.rows() * s_.gates();
    if (product.is_dynamic) {
      return run_dynamic_linear(product.dynamic, s_.rows(), x, stride, -kInfinity, kInfinity, gates,
                                s_.gates(), m.data<uint8_t>(t_.bytes));
    }
    kernels::EpilogueF32 epilogue;
    epilogue.bias = product.bias;
    kernels::conv_nhwc_f32(input_shape(s_, layer), x, stride, product.packed, epilogue, gates,
                           s_.gates());
  }

  void run_direction(const Memory& m, int64_t layer, int64_t d, const float* all_gates,
                     float* y) const {
    const int64_t index = layer * s_.directions + d;
    const Product& product = at(layer, d).hidden;
    const float* gates = all_gates + d * s_.rows() * s_.gates();
    float* hidden_gates = m.data<float>(t_.scratch) + s_.directions * s_.rows() * s_.gates() +
                          d * s_.batch * s_.gates();
    uint8_t* bytes = product.is_dynamic
                         ? m.data<uint8_t>(t_.bytes) +
                               d * kernels::linear_dynamic_q8_work_bytes(s_.batch, s_.hidden)
                         : nullptr;
    float* h_n = last_h(m.data<float>(t_.result)) + index * s_.state();
    kernels::RnnRows<const float> h{m.data<float>(t_.h) + index * s_.state(), s_.hidden};
    for (int64_t i = 0; i < s_.steps; ++i) {
      const int64_t row = (d == 1 ? s_.steps - 1 - i : i) * s_.time_step();
      const kernels::RnnStepF32 step{
          s_.cell,
          s_.batch,
          s_.hidden,
          {gates + row * s_.gates(), s_.batch_step() * s_.gates()},
          h,
          {h_n + s_.all_states(), s_.hidden},
          {y + row * s_.width() + d * s_.hidden, s_.batch_step() * s_.width()},
          s_.recurrent_weights()};
      if (product.is_dynamic) {
        run_dynamic_linear(product.dynamic, s_.batch, h.data, h.stride, -kInfinity, kInfinity,
                           hidden_gates, s_.gates(), bytes);
        kernels::rnn_finish_f32(step, {hidden_gates, s_.gates()});
      } else {
        kernels::rnn_step_f32(step, product.packed);
      }
      h = {step.next.data, step.next.stride};
    }
    for (int64_t b = 0; b < s_.batch; ++b) {
      std::copy_n(h.data + b * h.stride, s_.hidden, h_n + b * s_.hidden);
    }
  }

  RnnShape s_;
  RnnTensors t_;
  std::vector<Direction> directions_;
};

// ---- weights ----

Product keep_input(PlanBuilder& plan, const DirectionWeights& w,
                   const kernels::ConvNhwcShape& shape) {
  if (w.input.is_quantized()) return {true, keep_dynamic_linear(plan, w.input, w.input_bias)};
  return {false,
          {},
          pack_conv(plan, DType::kFloat32, shape, w.input),
          keep_bias(plan, w.input_bias, w.input, shape.out_channels)};
}

void fill_hidden(void* to, const RnnCell& cell, const kernels::WeightFormat& weights,
                 const Tensor& weight, const Tensor& bias) {
  const Tensor dense_weight = weight.contiguous();
  const Tensor dense_bias = bias.defined() ? bias.contiguous() : Tensor();
  kernels::rnn_pack(cell, weight.size(1), dense_weight.data_ptr<float>(),
                    bias.defined() ? dense_bias.data_ptr<float>() : nullptr, to, weights);
}

Product keep_hidden(PlanBuilder& plan, const DirectionWeights& w, const RnnShape& s) {
  if (w.hidden.is_quantized()) return {true, keep_dynamic_linear(plan, w.hidden, w.hidden_bias)};
  const size_t nbytes = kernels::rnn_packed_bytes(s.cell, s.hidden, s.recurrent_weights());
  return {false,
          {},
          plan.packed(nbytes, fill_hidden, s.cell, s.recurrent_weights(), w.hidden, w.hidden_bias)};
}

bool has_sizes(const Tensor& t, int64_t rows, int64_t cols) {
  const bool is_known = t.is_quantized() || t.dtype() == DType::kFloat32;
  return is_known && t.dim() == 2 && t.size(0) == rows && t.size(1) == cols;
}
bool is_bias(const Tensor& t, int64_t size) {
  return !t.defined() || (t.dtype() == DType::kFloat32 && t.dim() == 1 && t.size(0) == size);
}

std::vector<Direction> keep_directions(PlanBuilder& plan, const RnnShape& s,
                                       const std::vector<DirectionWeights>& weights) {
  std::vector<Direction> all;
  if (static_cast<int64_t>(weights.size()) != s.layers * s.directions) {
    decline("weights for other layers");
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    const DirectionWeights& w = weights[i];
    const int64_t layer = static_cast<int64_t>(i) / s.directions;
    if (!has_sizes(w.input, s.gates(), s.layer_in(layer)) ||
        !has_sizes(w.hidden, s.gates(), s.hidden) || !is_bias(w.input_bias, s.gates()) ||
        !is_bias(w.hidden_bias, s.gates())) {
      decline("unusual weights");
    }
    all.push_back({keep_input(plan, w, input_shape(s, layer)), keep_hidden(plan, w, s)});
  }
  return all;
}

DirectionWeights packed_weights(const ops::LinearPackedParams& input,
                                const ops::LinearPackedParams& hidden) {
  const auto [input_weight, input_bias] = input.unpack();
  const auto [hidden_weight, hidden_bias] = hidden.unpack();
  return {input_weight, input_bias, hidden_weight, hidden_bias};
}

// ---- the nodes ----

// Adds the step for x [steps, batch, in] (batch before steps if batch_first) with the states
// [layers * directions, batch, hidden], and gives the tensors of its result.
struct RnnResult {
  TensorId y, h, c;
};
RnnResult add_rnn(PlanBuilder& plan, RnnShape s, TensorId x, const std::vector<TensorId>& states,
                  const std::vector<DirectionWeights>& weights) {
  const bool is_lstm = s.cell == RnnCell::kLstm;
  if (states.size() != (is_lstm ? 2 : 1)) decline("other states");
  const IntArray sizes = plan.info(x).sizes, state_sizes = plan.info(states[0]).sizes;
  if (sizes.size() != 3 || state_sizes.size() != 3 || plan.info(x).numel() == 0) {
    decline("other ranks");
  }
  s.steps = sizes[s.batch_first ? 1 : 0];
  s.batch = sizes[s.batch_first ? 0 : 1];
  s.in = sizes[2];
  s.weights = plan.weight_format();
  s.hidden = state_sizes[2];
  for (const TensorId state : states) {
    if (!(plan.info(state).sizes == IntArray{s.layers * s.directions, s.batch, s.hidden}) ||
        plan.info(state).dtype != DType::kFloat32 || s.hidden == 0) {
      decline("other states");
    }
  }
  std::vector<Direction> directions = keep_directions(plan, s, weights);
  const bool is_dynamic = std::ranges::any_of(
      directions, [](const Direction& d) { return d.input.is_dynamic || d.hidden.is_dynamic; });
  const int64_t y_floats = s.rows() * s.width();
  const auto new_memory = [&](DType dtype, int64_t count) {
    return Operand::fixed(plan.new_contiguous(dtype, {{count}}));
  };
  RnnTensors t;
  t.x = plan.as_rows(x);
  t.h = Operand::fixed(plan.contiguous(states[0]));
  if (is_lstm) t.c = Operand::fixed(plan.contiguous(states[1]));
  t.result = new_memory(DType::kFloat32, y_floats + (is_lstm ? 2 : 1) * s.all_states());
  t.scratch = new_memory(DType::kFloat32, RnnStep::scratch_floats(s));
  if (is_dynamic) t.bytes = new_memory(DType::kUInt8, RnnStep::scratch_bytes(s));
  plan.add_step<RnnStep>(s, t, std::move(directions));
  const auto part = [&](const IntArray& part_sizes, int64_t offset) {
    return plan.new_view(t.result.id(), part_sizes, contiguous_strides(part_sizes), offset);
  };
  IntArray y_sizes = sizes;
  y_sizes[2] = s.width();
  return {part(y_sizes, 0), part(state_sizes, y_floats),
          is_lstm ? part(state_sizes, y_floats + s.all_states()) : kNoTensor};
}

void define_results(PlanBuilder& plan, const Call& call, const RnnResult& result) {
  const TensorId ids[] = {result.y, result.h, result.c};
  for (size_t i = 0; i < call.outputs.size(); ++i) plan.define(call.outputs[i], ids[i]);
}

// w_ih, w_hh and, if there are any, b_ih, b_hh for each direction; or quantized cells.
std::vector<DirectionWeights> sequence_weights(const Value& params, bool has_biases) {
  std::vector<DirectionWeights> all;
  const std::vector<Value> items = params.to_list();
  if (!items.empty() && items[0].is_custom()) {
    for (const Value& item : items) {
      const auto& cell = ops::custom_object<ops::CellParams>(item);
      all.push_back(packed_weights(cell.input(), cell.hidden()));
    }
    return all;
  }
  const size_t count = has_biases ? 4 : 2;
  if (items.size() % count != 0) decline("projections");
  for (size_t i = 0; i < items.size(); i += count) {
    const auto tensor = [&](size_t at) { return items[i + at].to_tensor(); };
    all.push_back({tensor(0), has_biases ? tensor(2) : Tensor(), tensor(1),
                   has_biases ? tensor(3) : Tensor()});
  }
  return all;
}

template <RnnCell kCell>
void lower_sequence(PlanBuilder& plan, const Call& call) {
  if (call.known_bool("train") && call.known_double("dropout") != 0) decline("dropout");
  const bool is_lstm = kCell == RnnCell::kLstm;
  RnnShape s{};
  s.cell = kCell;
  s.layers = call.known_int("num_layers");
  s.directions = call.known_bool("bidirectional") ? 2 : 1;
  s.batch_first = call.known_bool("batch_first");
  const TensorId x = plan.tensor_of(call, 0, DType::kFloat32);
  const auto states = is_lstm ? plan.tensors(call, "hx") : std::vector{plan.tensor(call, "hx")};
  define_results(plan, call,
                 add_rnn(plan, s, x, states,
                         sequence_weights(call.known("params"), call.known_bool("has_biases"))));
}

// Packed weights hold their biases.
template <RnnCell kCell>
void lower_cell(PlanBuilder& plan, const Call& call) {
  const bool is_lstm = kCell == RnnCell::kLstm;
  const auto as_sequence = [&](TensorId id) {
    const IntArray sizes = plan.info(id).sizes;
    if (sizes.size() != 2) decline("other ranks");
    return plan.reshaped(id, {{1, sizes[0], sizes[1]}});
  };
  RnnShape s{};
  s.cell = kCell;
  s.layers = s.directions = 1;
  const TensorId x = as_sequence(plan.tensor_of(call, 0, DType::kFloat32));
  std::vector<TensorId> states;
  for (const TensorId id :
       is_lstm ? plan.tensors(call, "hx") : std::vector{plan.tensor(call, "hx")}) {
    states.push_back(as_sequence(id));
  }
  DirectionWeights weights;
  if (call.known("w_ih").is_custom()) {
    weights = packed_weights(ops::custom_object<ops::LinearPackedParams>(call.known("w_ih")),
                             ops::custom_object<ops::LinearPackedParams>(call.known("w_hh")));
  } else {
    weights = {call.known_tensor("w_ih"), call.known_tensor("b_ih"), call.known_tensor("w_hh"),
               call.known_tensor("b_hh")};
  }
  RnnResult result = add_rnn(plan, s, x, states, {weights});
  const IntArray sizes = {plan.info(result.h).sizes[1], plan.info(result.h).sizes[2]};
  result.h = plan.reshaped(result.h, sizes);
  if (is_lstm) result.c = plan.reshaped(result.c, sizes);
  define_results(plan, call, {result.h, result.c, kNoTensor});
}

// Steps write one tensor, and the reference implementation of several cannot be one: what is no
// plan's business must be known before.
std::string refuse_sequence(const Node& node) {
  if (node.op()->schema.find_argument("batch_sizes")) return "packed sequences";
  const auto known = [&](const char* name) { return passes::constant_argument(node, name); };
  for (const char* name : {"params", "has_biases", "num_layers", "train", "bidirectional"}) {
    if (!known(name)) return "unknown weights";
  }
  const std::vector<Value> items = known("params")->to_list();
  const bool is_packed = !items.empty() && items[0].is_custom();
  const int64_t per_direction = is_packed ? 1 : known("has_biases")->to_bool() ? 4 : 2;
  const int64_t per_layer = per_direction * (known("bidirectional")->to_bool() ? 2 : 1);
  const bool fits = std::ssize(items) % per_layer == 0 &&
                    known("num_layers")->to_int() == std::ssize(items) / per_layer;
  return fits ? "" : "projections";
}
std::string refuse_cell(const Node& node) {
  const bool known =
      passes::constant_argument(node, "w_ih") && passes::constant_argument(node, "w_hh");
  return known ? "" : "unknown weights";
}

}  // namespace

std::span<const Lowering> rnn_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::lstm", lower_sequence<RnnCell::kLstm>, refuse_sequence},
      {"aten::gru", lower_sequence<RnnCell::kGru>, refuse_sequence},
      {"aten::quantized_lstm", lower_sequence<RnnCell::kLstm>, refuse_sequence},
      {"aten::quantized_gru", lower_sequence<RnnCell::kGru>, refuse_sequence},
      {"aten::lstm_cell", lower_cell<RnnCell::kLstm>, refuse_cell},
      {"aten::gru_cell", lower_cell<RnnCell::kGru>, refuse_cell},
      {"quantized::quantized_lstm_cell_dynamic", lower_cell<RnnCell::kLstm>, refuse_cell},
      {"quantized::quantized_gru_cell_dynamic", lower_cell<RnnCell::kGru>, refuse_cell},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
