#include "tensor/npy.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace torchlet {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string npy(const std::string& header, const std::string& data) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header + data;
}

TEST(Npy, WritesInLogicalOrderAndReadsBack) {
  const Tensor tensor = empty(std::array<int64_t, 2>{2, 3}, DType::kInt16);
  for (int16_t i = 0; i < 6; ++i) tensor.data_ptr<int16_t>()[i] = i;
  const Tensor turned =
      make_view(tensor, std::array<int64_t, 2>{3, 2}, std::array<int64_t, 2>{1, 3}, 0);
  std::string text;
  append_npy(turned, text);
  EXPECT_EQ(text.size(), 128u + 12u);  // the data begins at a multiple of 64
  EXPECT_NE(text.find("{'descr': '<i2', 'fortran_order': False, 'shape': (3,2,), }"),
            std::string::npos);
  const Tensor back = read_npy(bytes_of(text));
  ASSERT_EQ(back.dtype(), DType::kInt16);
  const int16_t* data = back.data_ptr<int16_t>();
  EXPECT_EQ(std::vector<int16_t>(data, data + 6), (std::vector<int16_t>{0, 3, 1, 4, 2, 5}));
}

TEST(Npy, ZeroDimensionsAndNoElements) {
  const std::string scalar =
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n", "\x01");
  EXPECT_EQ(read_npy(bytes_of(scalar)).dim(), 0);
  EXPECT_TRUE(read_npy(bytes_of(scalar)).item<bool>());
  const std::string none = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5), }\n", "");
  EXPECT_EQ(read_npy(bytes_of(none)).numel(), 0);
}

TEST(Npy, FortranOrderIsAView) {
  const Tensor tensor = read_npy(bytes_of(
      npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", "\1\2\3\4\5\6")));
  const Tensor plain = tensor.contiguous();
  const uint8_t* data = plain.data_ptr<uint8_t>();
  EXPECT_EQ(std::vector<int>(data, data + 6), (std::vector<int>{1, 3, 5, 2, 4, 6}));
}

TEST(Npy, ReadsBfloat16FromItsBits) {
  const std::string text =
      npy("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }\n", "\x80\x3f");
  EXPECT_EQ(read_npy(bytes_of(text)).dtype(), DType::kBFloat16);
  EXPECT_EQ(read_npy(bytes_of(text)).item<double>(), 1.0);
  EXPECT_THROW(read_npy(bytes_of(text), DType::kFloat32), Error);
}

TEST(Npy, DamagedFilesAreErrors) {
  const std::string good =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", "12345678");
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW(read_npy(bytes_of(good.substr(0, length))), Error) << length;
  }
  for (const char* shape : {"(-1,)", "(4611686018427387904, 8)", "2", "(x,)"}) {
    EXPECT_THROW(read_npy(bytes_of(npy(std::string("{'descr': '<f4', 'fortran_order': False, "
                                                   "'shape': ") +
                                           shape + ", }\n",
                                       "12345678"))),
                 Error)
        << shape;
  }
  EXPECT_THROW(read_npy(bytes_of(
                   npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }\n", "1234"))),
               Error);
}

}  // namespace
}  // namespace torchlet
