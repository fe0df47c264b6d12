#include "ops/core/testing.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

TEST(Recurrent, Lstm) {
  expect_tensor(
      result_of("aten::lstm", "input",
                {ramp({2, 1, 2}), make_tensor_list({ramp({1, 1, 2}), ramp({1, 1, 2}, 1)}),
                 make_tensor_list({ramp({8, 2}), ramp({8, 2}, 1), ramp({8}, 2), ramp({8}, 3)}),
                 true, 1, 0.0, false, false, false}),
      {-0.00015430247, 0.0707650036, 0.0321781971, -0.0462172367}, DType::kFloat32, {2, 1, 2});
  expect_tensor(
      result_of("aten::lstm", "input",
                {ramp({2, 1, 2}), make_tensor_list({ramp({1, 1, 2}), ramp({1, 1, 2}, 1)}),
                 make_tensor_list({ramp({8, 2}), ramp({8, 2}, 1), ramp({8}, 2), ramp({8}, 3)}),
                 true, 1, 0.0, false, false, false},
                1),
      {0.0321781971, -0.0462172367}, DType::kFloat32, {1, 1, 2});
  expect_tensor(
      result_of("aten::lstm", "input",
                {ramp({2, 1, 2}), make_tensor_list({ramp({1, 1, 2}), ramp({1, 1, 2}, 1)}),
                 make_tensor_list({ramp({8, 2}), ramp({8, 2}, 1), ramp({8}, 2), ramp({8}, 3)}),
                 true, 1, 0.0, false, false, false},
                2),
      {0.0915067419, -0.405762672}, DType::kFloat32, {1, 1, 2});
  expect_tensor(
      result_of(
          "aten::lstm", "input",
          {ramp({1, 2, 2}, 0, DType::kFloat64),
           make_tensor_list(
               {ramp({1, 1, 1}, 2, DType::kFloat64), ramp({1, 1, 2}, 1, DType::kFloat64)}),
           make_tensor_list({ramp({8, 2}, 0, DType::kFloat64), ramp({8, 1}, 1, DType::kFloat64),
                             ramp({8}, 2, DType::kFloat64), ramp({8}, 3, DType::kFloat64),
                             ramp({1, 2}, 4, DType::kFloat64)}),
           true, 1, 0.0, false, false, true}),
      {-0.101235903, -0.110719782}, DType::kFloat64, {1, 2, 1});
  expect_tensor(
      result_of(
          "aten::lstm", "input",
          {ramp({1, 2, 2}, 0, DType::kFloat64),
           make_tensor_list(
               {ramp({1, 1, 1}, 2, DType::kFloat64), ramp({1, 1, 2}, 1, DType::kFloat64)}),
           make_tensor_list({ramp({8, 2}, 0, DType::kFloat64), ramp({8, 1}, 1, DType::kFloat64),
                             ramp({8}, 2, DType::kFloat64), ramp({8}, 3, DType::kFloat64),
                             ramp({1, 2}, 4, DType::kFloat64)}),
           true, 1, 0.0, false, false, true},
          1),
      {-0.110719782}, DType::kFloat64, {1, 1, 1});
  expect_tensor(
      result_of(
          "aten::lstm", "input",
          {ramp({1, 2, 2}, 0, DType::kFloat64),
           make_tensor_list(
               {ramp({1, 1, 1}, 2, DType::kFloat64), ramp({1, 1, 2}, 1, DType::kFloat64)}),
           make_tensor_list({ramp({8, 2}, 0, DType::kFloat64), ramp({8, 1}, 1, DType::kFloat64),
                             ramp({8}, 2, DType::kFloat64), ramp({8}, 3, DType::kFloat64),
                             ramp({1, 2}, 4, DType::kFloat64)}),
           true, 1, 0.0, false, false, true},
          2),
      {0.168628603, -0.716080714}, DType::kFloat64, {1, 1, 2});
  expect_tensor(
      result_of(
          "aten::lstm", "data",
          {ramp({3, 2}), ints({2, 1}), make_tensor_list({ramp({2, 2, 2}), ramp({2, 2, 2}, 1)}),
           make_tensor_list({ramp({8, 2}), ramp({8, 2}, 1), ramp({8, 2}, 1), ramp({8, 2}, 2)}),
           false, 1, 0.0, false, true}),
      {0.0579313152, 0.104547098, -0.014546291, 0.0851783827, 0.0101183094, -0.6580441,
       -0.175276592, 0.529808998, 0.152792752, 0.154045284, 0.187340945, 0.168881193},
      DType::kFloat32, {3, 4});
  expect_tensor(
      result_of(
          "aten::lstm", "data",
          {ramp({3, 2}), ints({2, 1}), make_tensor_list({ramp({2, 2, 2}), ramp({2, 2, 2}, 1)}),
           make_tensor_list({ramp({8, 2}), ramp({8, 2}, 1), ramp({8, 2}, 1), ramp({8, 2}, 2)}),
           false, 1, 0.0, false, true},
          1),
      {0.152792752, 0.154045284, 0.0101183094, -0.6580441, -0.014546291, 0.0851783827, -0.175276592,
       0.529808998},
      DType::kFloat32, {2, 2, 2});
  expect_tensor(
      result_of(
          "aten::lstm", "data",
          {ramp({3, 2}), ints({2, 1}), make_tensor_list({ramp({2, 2, 2}), ramp({2, 2, 2}, 1)}),
           make_tensor_list({ramp({8, 2}), ramp({8, 2}, 1), ramp({8, 2}, 1), ramp({8, 2}, 2)}),
           false, 1, 0.0, false, true},
          2),
      {0.241348207, 0.28978011, 0.0433220491, -1.20493698, -0.0742110461, 0.109568596, -0.833697081,
       0.748301446},
      DType::kFloat32, {2, 2, 2});
}

TEST(Recurrent, GruAndPlain) {
  expect_tensor(
      result_of("aten::gru", "input",
                {ramp({2, 1, 2}), ramp({1, 1, 2}),
                 make_tensor_list({ramp({6, 2}), ramp({6, 2}, 1), ramp({6}, 2), ramp({6}, 3)}),
                 true, 1, 0.0, false, false, false}),
      {-0.0963718668, 0.259308666, -0.0861206874, -0.179680765}, DType::kFloat32, {2, 1, 2});
  expect_tensor(
      result_of("aten::gru", "input",
                {ramp({2, 1, 2}), ramp({1, 1, 2}),
                 make_tensor_list({ramp({6, 2}), ramp({6, 2}, 1), ramp({6}, 2), ramp({6}, 3)}),
                 true, 1, 0.0, false, false, false},
                1),
      {-0.0861206874, -0.179680765}, DType::kFloat32, {1, 1, 2});
  expect_tensor(
      result_of("aten::rnn_tanh", "input",
                {ramp({2, 1, 2}), ramp({2, 1, 2}),
                 make_tensor_list({ramp({2, 2}), ramp({2, 2}, 1), ramp({2}, 2), ramp({2}, 3),
                                   ramp({2, 2}, 1), ramp({2, 2}, 2), ramp({2}, 3), ramp({2}, 4)}),
                 true, 2, 0.0, false, false, false}),
      {-0.946179748, 0.564157009, -0.0114211841, -0.559631646}, DType::kFloat32, {2, 1, 2});
  expect_tensor(
      result_of("aten::rnn_tanh", "input",
                {ramp({2, 1, 2}), ramp({2, 1, 2}),
                 make_tensor_list({ramp({2, 2}), ramp({2, 2}, 1), ramp({2}, 2), ramp({2}, 3),
                                   ramp({2, 2}, 1), ramp({2, 2}, 2), ramp({2}, 3), ramp({2}, 4)}),
                 true, 2, 0.0, false, false, false},
                1),
      {0.943446219, 0.895971358, -0.0114211841, -0.559631646}, DType::kFloat32, {2, 1, 2});
  expect_tensor(
      result_of("aten::rnn_relu", "data",
                {ramp({3, 2}), ints({2, 1}), ramp({1, 2, 2}),
                 make_tensor_list({ramp({2, 2}), ramp({2, 2}, 1), ramp({2}, 2), ramp({2}, 3)}),
                 true, 1, 0.0, false, false}),
      {4.3125, 0, 4.3125, 0, 0, 0}, DType::kFloat32, {3, 2});
  expect_tensor(
      result_of("aten::rnn_relu", "data",
                {ramp({3, 2}), ints({2, 1}), ramp({1, 2, 2}),
                 make_tensor_list({ramp({2, 2}), ramp({2, 2}, 1), ramp({2}, 2), ramp({2}, 3)}),
                 true, 1, 0.0, false, false},
                1),
      {0, 0, 4.3125, 0}, DType::kFloat32, {1, 2, 2});
  EXPECT_THROW(
      call_op("aten::gru", "input",
              {ramp({2, 1, 2}), ramp({1, 1, 3}),
               make_tensor_list({ramp({6, 2}), ramp({6, 2}, 1), ramp({6}, 2), ramp({6}, 3)}), true,
               1, 0.0, false, false, false}),
      Error);
}

TEST(Recurrent, Cells) {
  expect_tensor(result_of("aten::lstm_cell", "",
                          {ramp({2, 2}), make_tensor_list({ramp({2, 2}, 1), ramp({2, 2}, 2)}),
                           ramp({8, 2}), ramp({8, 2}, 1), ramp({8}, 2), ramp({8}, 3)}),
                {-0.173990235, -0.122231252, 0.278095365, -0.0302286688}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::lstm_cell", "",
                          {ramp({2, 2}), make_tensor_list({ramp({2, 2}, 1), ramp({2, 2}, 2)}),
                           ramp({8, 2}), ramp({8, 2}, 1), ramp({8}, 2), ramp({8}, 3)},
                          1),
                {-0.722231805, -0.877896607, 0.942998886, -0.75376153}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::gru_cell", "",
                          {ramp({2, 2}), ramp({2, 2}, 1), ramp({6, 2}), ramp({6, 2}, 1),
                           ramp({6}, 2), ramp({6}, 3)}),
                {-0.715861022, 0.807647347, 0.586892724, -0.824461639}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::rnn_tanh_cell", "",
                          {ramp({2, 2}), ramp({2, 2}, 1), ramp({2, 2}), ramp({2, 2}, 1),
                           ramp({2}, 2), ramp({2}, 3)}),
                {0.999883413, -0.509829998, 0.893193364, 0.933828056}, DType::kFloat32, {2, 2});
  expect_tensor(
      result_of("aten::rnn_relu_cell", "",
                {ramp({2, 2}), ramp({2, 2}, 1), ramp({2, 2}), ramp({2, 2}, 1), Value(), Value()}),
      {3.625, 0.1875, 0.1875, 2.4375}, DType::kFloat32, {2, 2});
}

TEST(PackedSequence, PackAndPad) {
  expect_tensor(
      result_of("aten::_pack_padded_sequence", "", {ramp({3, 2, 1}), ints({3, 1}), false}),
      {-1.25, 0.5, -0.5, 0.25}, DType::kFloat32, {4, 1});
  expect_tensor(
      result_of("aten::_pack_padded_sequence", "", {ramp({3, 2, 1}), ints({3, 1}), false}, 1),
      {2, 1, 1}, DType::kInt64, {3});
  expect_tensor(
      result_of("aten::_pad_packed_sequence", "", {ramp({4, 1}), ints({2, 1, 1}), true, -1.0, 4}),
      {-1.25, -0.5, 1.25, -1, 0.5, -1, -1, -1}, DType::kFloat32, {2, 4, 1});
  expect_tensor(result_of("aten::_pad_packed_sequence", "",
                          {ramp({4, 1}), ints({2, 1, 1}), true, -1.0, 4}, 1),
                {3, 1}, DType::kInt64, {2});
  expect_tensor(result_of("aten::pad_sequence", "",
                          {make_tensor_list({ramp({1, 2}), ramp({2, 2}, 1)}), true, 0.5}),
                {-1.25, 0.5, 0.5, 0.5, -0.5, 1.25, 0.25, -0.75}, DType::kFloat32, {2, 2, 2});
  EXPECT_THROW(call_op("aten::_pack_padded_sequence", "", {ramp({3, 2, 1}), ints({1, 3}), false}),
               Error);
  EXPECT_THROW(call_op("aten::_pack_padded_sequence", "", {ramp({3, 2, 1}), ints({3, 0}), false}),
               Error);
}

}  // namespace
}  // namespace torchlet::ops
