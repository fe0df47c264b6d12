#include "neuralnetworks/operators/fingerprint.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace torchlet::nn {
namespace {

// What FarmHash gives (pyfarmhash 0.5.1) for so many bytes (37 i + 11) mod 256: each way of
// hashing, and both ends of it.
TEST(Fingerprint, OfAllLengths) {
  const std::pair<size_t, uint64_t> expected[] = {
      {0, 11160318154034397263u},  {1, 4787810249829893994u},    {3, 3979540680440595841u},
      {4, 14708324829907283305u},  {7, 10810953559526984053u},   {8, 9029840561075318013u},
      {16, 15579719139305551062u}, {17, 6692022265393568454u},   {32, 11543571239247179175u},
      {33, 9480451918888261270u},  {64, 4226431515964725u},      {65, 18101669290602532278u},
      {128, 3742283891066476345u}, {129, 14054188206783653085u}, {1000, 14329278931567331828u},
  };
  for (const auto& [size, fingerprint_of_them] : expected) {
    std::vector<std::byte> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(37 * i + 11);
    EXPECT_EQ(fingerprint(bytes), fingerprint_of_them) << size;
  }
}

}  // namespace
}  // namespace torchlet::nn
