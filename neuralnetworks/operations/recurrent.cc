// Layers with a memory: LSTM, RNN, SVDF; and those that walk over sequences.
#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "neuralnetworks/translate/emitter.h"
#include "neuralnetworks/translate/representation.h"

namespace torchlet::nn {
namespace {

// ---- what all share ----

// A sequence [time, batch, features] of an input in either order, and back.
SsaValue* time_first(Emitter& emit, SsaValue* sequence, bool time_major) {
  return time_major ? sequence : emit.call("aten::transpose.int", {sequence, 0, 1});
}

void give_sequence(Emitter& emit, const Call& call, SsaValue* sequence, bool time_major,
                   size_t output) {
  emit.give_real(call, time_first(emit, sequence, time_major), output);
}

// What a direction of a layer gives: [time, batch, width], and the last states.
struct Walked {
  SsaValue* output;
  std::vector<SsaValue*> states;
};

// The inputs of one direction, time first; the auxiliary one may be null.
struct Inputs {
  SsaValue* input;
  SsaValue* auxiliary = nullptr;
};

// Both directions of a bidirectional layer see the input, and with weights for it the auxiliary
// input too; without such weights the auxiliary input is the input of the second direction.
std::pair<Inputs, Inputs> linked(Emitter& emit, const Call& call, bool fw_has_weights,
                                 bool bw_has_weights, bool time_major) {
  const bool has_input = call.has("aux_input");
  TORCHLET_CHECK(fw_has_weights == bw_has_weights && (has_input || !fw_has_weights),
                 "auxiliary weights are for both directions, and need an auxiliary input");
  const Inputs plain{time_first(emit, emit.real(call, "input"), time_major)};
  if (!has_input) return {plain, plain};
  SsaValue* auxiliary = time_first(emit, emit.real(call, "aux_input"), time_major);
  if (!fw_has_weights) return {plain, {auxiliary}};
  const Inputs both{plain.input, auxiliary};
  return {both, both};
}

// Outputs of a layer of two directions: merged or not, and then the states if they are wanted.
void give_directions(Emitter& emit, const Call& call, const Walked& fw, const Walked& bw,
                     bool time_major) {
  const bool merge = call.boolean("merge_outputs");
  const size_t sequences = merge ? 1 : 2, states = 2 * fw.states.size();
  TORCHLET_CHECK(call.num_outputs() == sequences || call.num_outputs() == sequences + states,
                 "there are %zu outputs in place of %zu or %zu", call.num_outputs(), sequences,
                 sequences + states);
  if (merge) {
    SsaValue* merged =
        emit.call("aten::cat", {std::vector<SsaValue*>{fw.output, bw.output}, int64_t{2}});
    give_sequence(emit, call, merged, time_major, 0);
  } else {
    give_sequence(emit, call, fw.output, time_major, 0);
    give_sequence(emit, call, bw.output, time_major, 1);
  }
  if (call.num_outputs() == sequences) return;
  size_t at = sequences;
  for (SsaValue* state : fw.states) emit.give_real(call, state, at++);
  for (SsaValue* state : bw.states) emit.give_real(call, state, at++);
}

// ---- LSTM ----

// Arguments of one direction by their names without "fw_" or "bw_".
class Cell {
 public:
  Cell(Emitter& emit, const Call& call, std::string prefix)
      : emit_(emit), call_(call), prefix_(std::move(prefix)) {
    const bool own_input_gate = has("input_to_input_weights");
    TORCHLET_CHECK(has("recurrent_to_input_weights") == own_input_gate &&
                       has("input_gate_bias") == own_input_gate,
                   "the input gate has to have all of its weights and bias, or none");
    gates_ = own_input_gate ? std::vector<std::string>{"input", "forget", "cell", "output"}
                            : std::vector<std::string>{"forget", "cell", "output"};
    looks_ = own_input_gate ? std::vector<std::string>{"input", "forget", "output"}
                            : std::vector<std::string>{"forget", "output"};
    for (const char* name :
         {"cell_to_input_weights", "input_layer_norm_weights", "aux_input_to_input_weights"}) {
      TORCHLET_CHECK(own_input_gate || !has(name), "%s is given, but there is no input gate", name);
    }
  }

  Walked walk(const Inputs& inputs, bool backward) {
    SsaValue* sums = product(inputs.input, stacked_or_none("input_to_", "_weights", gates_));
    if (inputs.auxiliary) {
      SsaValue* more = product(inputs.auxiliary, auxiliary_weights());
      sums = emit_.call("aten::add.Tensor", {sums, more});
    }
    const std::vector<SsaValue*> results = emit_.call_all(
        "nnapi::lstm",
        {sums, stacked_or_none("recurrent_to_", "_weights", gates_), biases(),
         stacked_or_none("cell_to_", "_weights", looks_), real_or_none("projection_weights"),
         real_or_none("projection_bias"), stacked_or_none("", "_layer_norm_weights", gates_),
         real("output_state_in"), real("cell_state_in"), call_.integer("activation"),
         call_.real("cell_clip"), call_.real("proj_clip"), backward});
    return {results[0], {results[1], results[2]}};
  }

  // Whether the arguments of these gates are given: all, or else none.
  bool has_all(const std::string& before, const std::string& after,
               const std::vector<std::string>& gates) const {
    const auto count = static_cast<size_t>(std::ranges::count_if(
        gates, [&](const std::string& gate) { return has(before + gate + after); }));
    TORCHLET_CHECK(count == 0 || count == gates.size(), "%s...%s is given for %zu of %zu gates",
                   before.c_str(), after.c_str(), count, gates.size());
    return count > 0;
  }
  const std::vector<std::string>& gates() const { return gates_; }
  // Those that look at the cell.
  const std::vector<std::string>& looking_gates() const { return looks_; }

  bool has_auxiliary_weights() const { return has_all("aux_input_to_", "_weights", gates_); }

 private:
  bool has(const std::string& name) const { return call_.has(prefix_ + name); }
  SsaValue* real(const std::string& name) { return emit_.real(call_, prefix_ + name); }
  Arg real_or_none(const std::string& name) { return has(name) ? Arg(real(name)) : Arg(nullptr); }

  SsaValue* product(SsaValue* input, const Arg& weights) {
    return emit_.call("aten::linear", {input, weights});
  }

  SsaValue* stacked(std::vector<SsaValue*> parts) {
    return emit_.call("nnapi::stacked", {std::move(parts)});
  }

  // The weights of these gates, which have to be given all or not at all.
  Arg stacked_or_none(const std::string& before, const std::string& after,
                      const std::vector<std::string>& gates) {
    if (!has_all(before, after, gates)) return nullptr;
    std::vector<SsaValue*> parts;
    for (const std::string& gate : gates) parts.push_back(real(before + gate + after));
    return stacked(std::move(parts));
  }

  Arg auxiliary_weights() { return stacked_or_none("aux_input_to_", "_weights", gates_); }

  SsaValue* biases() {
    std::vector<SsaValue*> parts;
    for (const std::string& gate : gates_) parts.push_back(real(gate + "_gate_bias"));
    return stacked(std::move(parts));
  }

  Emitter& emit_;
  const Call& call_;
  std::string prefix_;
  std::vector<std::string> gates_, looks_;
};

void lstm(Emitter& emit, const Call& call) {
  Cell cell(emit, call, "");
  SsaValue* input = emit.call("aten::unsqueeze", {emit.real(call, "input"), 0});
  const Walked walked = cell.walk({input}, false);
  // Nobody may rely on what is in the scratch buffer.
  SsaValue* state = walked.states[1];
  SsaValue* scratch = emit.call(
      "aten::zeros_like",
      {emit.call("aten::repeat", {state, {1, static_cast<int64_t>(cell.gates().size())}})});
  emit.give_real(call, scratch, 0);
  emit.give_real(call, walked.states[0], 1);
  emit.give_real(call, state, 2);
  emit.give_real(call, emit.call("aten::select.int", {walked.output, 0, 0}), 3);
}

void unidirectional_sequence_lstm(Emitter& emit, const Call& call) {
  const bool time_major = call.boolean("time_major");
  Cell cell(emit, call, "");
  const Walked walked = cell.walk({time_first(emit, emit.real(call, "input"), time_major)}, false);
  give_sequence(emit, call, walked.output, time_major, 0);
  if (call.num_outputs() == 1) return;
  emit.give_real(call, walked.states[0], 1);
  emit.give_real(call, walked.states[1], 2);
}

void bidirectional_sequence_lstm(Emitter& emit, const Call& call) {
  const bool time_major = call.boolean("time_major");
  Cell fw(emit, call, "fw_"), bw(emit, call, "bw_");
  const auto [fw_inputs, bw_inputs] =
      linked(emit, call, fw.has_auxiliary_weights(), bw.has_auxiliary_weights(), time_major);
  const Walked forward = fw.walk(fw_inputs, false), backward = bw.walk(bw_inputs, true);
  give_directions(emit, call, forward, backward, time_major);
}

// ---- LSTM in integers ----

void quantized_lstm(Emitter& emit, const Call& call) {
  const Cell cell(emit, call, "");
  const std::vector<std::string>& looking = cell.looking_gates();
  const bool looks = cell.has_all("cell_to_", "_weights", looking);
  const bool normalises = cell.has_all("", "_layer_norm_weights", cell.gates());
  std::vector<Arg> input_weights, state_weights, biases, peepholes, norms, scales;
  const auto add_optional = [&](std::vector<Arg>& values, const std::string& name, bool is_given) {
    values.push_back(is_given ? Arg(emit.value(call, name)) : Arg(nullptr));
    scales.push_back(is_given ? double{call.operand(name).scale} : 0.0);
  };
  for (const std::string& gate : cell.gates()) {
    input_weights.push_back(emit.value(call, "input_to_" + gate + "_weights"));
    state_weights.push_back(emit.value(call, "recurrent_to_" + gate + "_weights"));
    biases.push_back(emit.value(call, gate + "_gate_bias"));
    scales.push_back(call.real(gate + "_intermediate_scale"));
    add_optional(peepholes, "cell_to_" + gate + "_weights",
                 looks && std::ranges::count(looking, gate));
    add_optional(norms, gate + "_layer_norm_weights", normalises);
  }
  const auto real_or_0 = [&](const char* name) { return call.has(name) ? call.real(name) : 0.0; };
  for (const double scale :
       {double{call.operand("cell_state_in").scale}, call.real("hidden_state_scale"),
        real_or_0("cell_clip"), real_or_0("projection_clip")}) {
    scales.push_back(scale);
  }
  const auto value_or_none = [&](const char* name) {
    return call.has(name) ? Arg(emit.value(call, name)) : Arg(nullptr);
  };
  const Operand& state = call.operand("output_state_in");
  for (const size_t i : {0, 2}) {
    TORCHLET_CHECK(
        call.output(i).scale == state.scale && call.output(i).zero_point == state.zero_point,
        "the output and the output state have to have one scale and zero point");
  }
  const std::vector<SsaValue*> results =
      emit.call_all("nnapi::quantized_lstm",
                    {emit.value(call, "input"), input_weights, state_weights, biases, peepholes,
                     norms, value_or_none("projection_weights"), value_or_none("projection_bias"),
                     emit.value(call, "output_state_in"), emit.value(call, "cell_state_in"), scales,
                     call.integer("hidden_state_zero_point")});
  emit.give(call, results[0], 0);
  emit.give(call, results[1], 1);
  emit.give(call, results[0], 2);
}

void quantized_16bit_lstm(Emitter& emit, const Call& call) {
  const double state_scale = call.operand("cell_state_in").scale;
  TORCHLET_CHECK(std::abs(state_scale * 2048 - 1) < 1e-3,
                 "the scale of the state of the cell is %g, not 2^-11", state_scale);
  std::vector<Arg> input_weights, state_weights, biases;
  for (const std::string gate : {"input", "forget", "cell", "output"}) {
    input_weights.push_back(emit.value(call, "input_to_" + gate + "_weights"));
    state_weights.push_back(emit.value(call, "recurrent_to_" + gate + "_weights"));
    biases.push_back(emit.value(call, gate + "_gate_bias"));
  }
  const std::vector<SsaValue*> results =
      emit.call_all("nnapi::quantized_16bit_lstm",
                    {emit.value(call, "input"), input_weights, state_weights, biases,
                     emit.value(call, "cell_state_in"), emit.value(call, "output_state_in")});
  emit.give(call, results[0], 0);
  emit.give(call, results[1], 1);
}

// ---- RNN ----

Walked rnn_walk(Emitter& emit, const Call& call, const std::string& prefix, const Inputs& inputs,
                bool backward) {
  const auto real = [&](const char* name) { return emit.real(call, prefix + name); };
  SsaValue* sums = emit.call("aten::linear", {inputs.input, real("weights")});
  if (inputs.auxiliary) {
    SsaValue* more = emit.call("aten::linear", {inputs.auxiliary, real("aux_weights")});
    sums = emit.call("aten::add.Tensor", {sums, more});
  }
  const std::vector<SsaValue*> results =
      emit.call_all("nnapi::rnn", {sums, real("recurrent_weights"), real("bias"),
                                   real("hidden_state"), call.integer("activation"), backward});
  return {results[0], {results[1]}};
}

void rnn(Emitter& emit, const Call& call) {
  SsaValue* input = emit.call("aten::unsqueeze", {emit.real(call, "input"), 0});
  const Walked walked = rnn_walk(emit, call, "", {input}, false);
  emit.give_real(call, walked.states[0], 0);
  emit.give_real(call, emit.call("aten::select.int", {walked.output, 0, 0}), 1);
}

void unidirectional_sequence_rnn(Emitter& emit, const Call& call) {
  const int64_t time_major = call.integer("time_major");
  TORCHLET_CHECK(time_major == 0 || time_major == 1, "time_major is %lld, not 0 or 1",
                 static_cast<long long>(time_major));
  SsaValue* input = time_first(emit, emit.real(call, "input"), time_major != 0);
  const Walked walked = rnn_walk(emit, call, "", {input}, false);
  give_sequence(emit, call, walked.output, time_major != 0, 0);
  if (call.num_outputs() == 2) emit.give_real(call, walked.states[0], 1);
}

void bidirectional_sequence_rnn(Emitter& emit, const Call& call) {
  const bool time_major = call.boolean("time_major");
  const auto [fw_inputs, bw_inputs] =
      linked(emit, call, call.has("fw_aux_weights"), call.has("bw_aux_weights"), time_major);
  const Walked forward = rnn_walk(emit, call, "fw_", fw_inputs, false);
  const Walked backward = rnn_walk(emit, call, "bw_", bw_inputs, true);
  give_directions(emit, call, forward, backward, time_major);
}

// ---- SVDF ----

void svdf(Emitter& emit, const Call& call) {
  SsaValue* features =
      emit.call("aten::linear", {emit.real(call, "input"), emit.real(call, "weights_feature")});
  const std::vector<SsaValue*> results =
      emit.call_all("nnapi::svdf", {features, emit.real(call, "weights_time"),
                                    call.has("bias") ? Arg(emit.real(call, "bias")) : Arg(nullptr),
                                    emit.real(call, "state_in"), call.integer("rank")});
  emit.give_real(call, results[0], 0);
  emit.give_real(call, emit.activate(results[1], call.integer("activation")), 1);
}

}  // namespace

// The weights of an LSTM's cell, in the documentation's order; `p` is the direction.
#define CELL_WEIGHTS(p)                                                                          \
  "T? " p "input_to_input_weights, T " p "input_to_forget_weights, T " p                         \
  "input_to_cell_weights, T " p "input_to_output_weights, T? " p                                 \
  "recurrent_to_input_weights, T " p "recurrent_to_forget_weights, T " p                         \
  "recurrent_to_cell_weights, T " p "recurrent_to_output_weights, T? " p                         \
  "cell_to_input_weights, T? " p "cell_to_forget_weights, T? " p "cell_to_output_weights, T? " p \
  "input_gate_bias, T " p "forget_gate_bias, T " p "cell_gate_bias, T " p                        \
  "output_gate_bias, T? " p "projection_weights, T? " p "projection_bias, "
#define CELL_STATES(p) "T " p "output_state_in, T " p "cell_state_in, "
#define CELL_AUXILIARY(p)                                                          \
  "T? " p "aux_input_to_input_weights, T? " p "aux_input_to_forget_weights, T? " p \
  "aux_input_to_cell_weights, T? " p "aux_input_to_output_weights, "
#define CELL_SCALARS "INT32 activation, SCALAR(T) cell_clip, SCALAR(T) proj_clip"
#define CELL_NORMS(p)                                                            \
  ", T? " p "input_layer_norm_weights, T? " p "forget_layer_norm_weights, T? " p \
  "cell_layer_norm_weights, T? " p "output_layer_norm_weights"

NNAPI_OPERATION(LSTM, lstm,
                "T in FLOAT: (T input, " CELL_WEIGHTS("") CELL_STATES("") CELL_SCALARS
                ") -> (T, T, T, T)",
                "T in FLOAT: (T input, " CELL_WEIGHTS("") CELL_STATES("")
                    CELL_SCALARS CELL_NORMS("") ") -> (T, T, T, T)");

#define SEQUENCE_LSTM                                                    \
  "T in FLOAT: (T input, " CELL_WEIGHTS("") CELL_STATES("") CELL_SCALARS \
      ", BOOL time_major" CELL_NORMS("")
NNAPI_OPERATION(UNIDIRECTIONAL_SEQUENCE_LSTM, unidirectional_sequence_lstm,
                SEQUENCE_LSTM ") -> (T)", SEQUENCE_LSTM ") -> (T, T, T)");

#define BIDIRECTIONAL_LSTM                                                                         \
  "T in FLOAT: (T input, " CELL_WEIGHTS("fw_") CELL_WEIGHTS("bw_") CELL_STATES("fw_")              \
      CELL_STATES("bw_") "T? aux_input, " CELL_AUXILIARY("fw_") CELL_AUXILIARY("bw_") CELL_SCALARS \
      ", BOOL merge_outputs, BOOL time_major" CELL_NORMS("fw_") CELL_NORMS("bw_") ")"
NNAPI_OPERATION(BIDIRECTIONAL_SEQUENCE_LSTM, bidirectional_sequence_lstm,
                BIDIRECTIONAL_LSTM " -> (T)", BIDIRECTIONAL_LSTM " -> (T, T)",
                BIDIRECTIONAL_LSTM " -> (T, T, T, T, T)",
                BIDIRECTIONAL_LSTM " -> (T, T, T, T, T, T)");

NNAPI_OPERATION(
    QUANTIZED_LSTM, quantized_lstm,
    "T in TENSOR_QUANT8_ASYMM_SIGNED: W in TENSOR_QUANT8_SYMM: S in TENSOR_QUANT16_SYMM: (T input, "
    "W? input_to_input_weights, W input_to_forget_weights, W input_to_cell_weights, W "
    "input_to_output_weights, W? recurrent_to_input_weights, W recurrent_to_forget_weights, W "
    "recurrent_to_cell_weights, W recurrent_to_output_weights, S? cell_to_input_weights, S? "
    "cell_to_forget_weights, S? cell_to_output_weights, TENSOR_INT32? input_gate_bias, "
    "TENSOR_INT32 "
    "forget_gate_bias, TENSOR_INT32 cell_gate_bias, TENSOR_INT32 output_gate_bias, W? "
    "projection_weights, TENSOR_INT32? projection_bias, T output_state_in, S cell_state_in, S? "
    "input_layer_norm_weights, S? forget_layer_norm_weights, S? cell_layer_norm_weights, S? "
    "output_layer_norm_weights, FLOAT32? cell_clip, FLOAT32? projection_clip, FLOAT32 "
    "input_intermediate_scale, FLOAT32 forget_intermediate_scale, FLOAT32 cell_intermediate_scale, "
    "FLOAT32 output_intermediate_scale, INT32 hidden_state_zero_point, FLOAT32 hidden_state_scale) "
    "-> (T, S, T)");

NNAPI_OPERATION(
    QUANTIZED_16BIT_LSTM, quantized_16bit_lstm,
    "T in TENSOR_QUANT8_ASYMM: (T input, T input_to_input_weights, T input_to_forget_weights, T "
    "input_to_cell_weights, T input_to_output_weights, T recurrent_to_input_weights, T "
    "recurrent_to_forget_weights, T recurrent_to_cell_weights, T recurrent_to_output_weights, "
    "TENSOR_INT32 input_gate_bias, TENSOR_INT32 forget_gate_bias, TENSOR_INT32 cell_gate_bias, "
    "TENSOR_INT32 output_gate_bias, TENSOR_QUANT16_SYMM cell_state_in, T output_state_in) -> "
    "(TENSOR_QUANT16_SYMM, T)");

NNAPI_OPERATION(RNN, rnn,
                "T in FLOAT: (T input, T weights, T recurrent_weights, T bias, T hidden_state, "
                "INT32 activation) -> (T, T)");

#define SEQUENCE_RNN                                                                     \
  "T in FLOAT: (T input, T weights, T recurrent_weights, T bias, T hidden_state, INT32 " \
  "activation, INT32 time_major)"
NNAPI_OPERATION(UNIDIRECTIONAL_SEQUENCE_RNN, unidirectional_sequence_rnn, SEQUENCE_RNN " -> (T)",
                SEQUENCE_RNN " -> (T, T)");

#define BIDIRECTIONAL_RNN                                                                 \
  "T in FLOAT: (T input, T fw_weights, T fw_recurrent_weights, T fw_bias, T "             \
  "fw_hidden_state, T bw_weights, T bw_recurrent_weights, T bw_bias, T bw_hidden_state, " \
  "T? aux_input, T? fw_aux_weights, T? bw_aux_weights, INT32 activation, BOOL "           \
  "time_major, BOOL merge_outputs)"
NNAPI_OPERATION(BIDIRECTIONAL_SEQUENCE_RNN, bidirectional_sequence_rnn, BIDIRECTIONAL_RNN " -> (T)",
                BIDIRECTIONAL_RNN " -> (T, T)", BIDIRECTIONAL_RNN " -> (T, T, T)",
                BIDIRECTIONAL_RNN " -> (T, T, T, T)");

NNAPI_OPERATION(SVDF, svdf,
                "T in FLOAT: (T input, T weights_feature, T weights_time, T? bias, T state_in, "
                "INT32 rank, INT32 activation) -> (T, T)");

}  // namespace torchlet::nn
