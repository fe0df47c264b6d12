// What is declared, as a whole; and docs/nnapi_operations.md, which is written from it:
//
//   TORCHLET_WRITE_DOCS=1 neuralnetworks_test --gtest_filter='OperationList.*'
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "neuralnetworks/operations/operation.h"

namespace torchlet::nn {
namespace {

constexpr char kPage[] = "docs/nnapi_operations.md";

constexpr char kIntroduction[] = R"(# The operations of NNAPI

What each operation takes and gives, from the declarations in `neuralnetworks/operations/`. Operands of
other types are `BAD_DATA` from `ANeuralNetworksModel_addOperation`, and so is a model from `finish` where
operands were omitted later that have to be there. Sizes, axes and values are checked when the model is
compiled, or executed if they are not known before.

- Types are OperandCodes without `ANEURALNETWORKS_`. `FLOAT` is TENSOR_FLOAT32 and TENSOR_FLOAT16,
  `QUANT8` is TENSOR_QUANT8_ASYMM and TENSOR_QUANT8_ASYMM_SIGNED, `ANY` is each type; `A|B` is
  either.
- `T in ...:` is a type that is the same wherever the signature says `T`. Of it follow `BIAS(T)`:
  TENSOR_INT32 if T is quantized, else T; `FILTER(T)`: T, or TENSOR_QUANT8_SYMM_PER_CHANNEL if T is
  quantized; `SCALAR(T)`: FLOAT32, FLOAT16 or INT32.
- `T? x` may be omitted, `T... x` stands for any number of operands, and `T x = 1` may be left out
  together with all after it.

Scalars are constants of the model, or inputs of it.
)";

// A signature in lines of about 100 characters, which end behind arguments.
std::string wrapped(const std::string& text) {
  constexpr size_t kWidth = 100;
  std::string lines, line = "    ";
  for (size_t begin = 0; begin < text.size();) {
    const size_t comma = text.find(", ", begin);
    const size_t end = comma == std::string::npos ? text.size() : comma + 2;
    if (line.size() > 6 && line.size() + (end - begin) > kWidth) {
      line.pop_back();
      lines += line + "\n";
      line = "      ";
    }
    line += text.substr(begin, end - begin);
    begin = end;
  }
  return lines + line + "\n";
}

std::vector<const OperationDef*> by_code() {
  std::vector<const OperationDef*> all(all_operations().begin(), all_operations().end());
  std::ranges::sort(all, {}, &OperationDef::code);
  return all;
}

std::string page() {
  std::string text = kIntroduction;
  for (const OperationDef* def : by_code()) {
    text += "\n**" + std::string(def->name) + "** (" + std::to_string(def->code) + ")\n\n";
    for (const char* signature : def->signatures) text += wrapped(signature);
  }
  return text;
}

TEST(OperationList, HasEveryOperationOnceSortedByName) {
  EXPECT_TRUE(std::ranges::is_sorted(
      all_operations(), {}, [](const OperationDef* def) { return std::string(def->name); }));
  // They are numbered without gaps.
  int32_t code = 0;
  for (const OperationDef* def : by_code()) EXPECT_EQ(def->code, code++) << def->name;
  EXPECT_EQ(code - 1, ANEURALNETWORKS_REVERSE);
}

TEST(OperationList, HasSignaturesThatCanBeTold) {
  for (const OperationDef* def : all_operations()) {
    EXPECT_FALSE(def->signatures.empty()) << def->name;
    for (const char* text : def->signatures) {
      const Signature signature = parse_signature(text);
      EXPECT_FALSE(signature.outputs.empty()) << text;
      // Arguments are asked for by name.
      std::vector<std::string> names;
      for (const Argument& argument : signature.inputs) names.push_back(argument.name);
      std::ranges::sort(names);
      EXPECT_EQ(std::ranges::adjacent_find(names), names.end()) << text;
    }
  }
}

TEST(OperationList, IsThatOfItsPage) {
  if (std::getenv("TORCHLET_WRITE_DOCS")) std::ofstream(kPage) << page();
  std::ifstream file(kPage);
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(written == page())
      << kPage << " is not what the declarations say; write it with TORCHLET_WRITE_DOCS=1";
}

}  // namespace
}  // namespace torchlet::nn
