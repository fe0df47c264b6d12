// Schemas as text would take 125 KB of the program. The words that they are made of become single
// bytes when they are compiled, and text again when an operator is asked for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace torchlet::ops {

// Word i is the byte 128 + i. Longer ones come first, so that they are found before their parts.
inline constexpr std::string_view kSchemaWords[] = {
    "MemoryFormat? memory_format=None",
    "Generator? generator=None",
    "Tensor self, Tensor other",
    ", ScalarType? dtype=None",
    "__torch__.torch.classes.",
    ", bool? pin_memory=None",
    ", Device? device=None",
    ", Layout? layout=None",
    ", bool keepdim=False",
    "chebyshev_polynomial",
    "Tensor(a!) self, ",
    "output_zero_point",
    "PackedParamsBase",
    "Tensor self, ",
    "Tensor weight",
    "align_corners",
    ") -> (Tensor",
    "Scalar other",
    "Tensor input",
    "Tensor other",
    "output_scale",
    ") -> Tensor",
    "Tensor self",
    "kernel_size",
    "output_size",
    "quantized::",
    ") -> float",
    ", Tensor? ",
    "Tensor(a!)",
    ") -> bool",
    ", Scalar ",
    ", Tensor ",
    ", float? ",
    ", int dim",
    ", int[1] ",
    ", int[2] ",
    ", int[3] ",
    ", int[]? ",
    "Tensor(a)",
    "Tensor[] ",
    "embedding",
    "upsample_",
    ") -> int",
    ", float ",
    ", int[] ",
    "dilation",
    "special_",
    ", bool ",
    ", int? ",
    "complex",
    "dynamic",
    "linalg_",
    "padding",
    ", int ",
    ", str ",
    "=False",
    "Scalar",
    "Tensor",
    "aten::",
    "groups",
    "int[] ",
    "linear",
    "packed",
    "prim::",
    "reduce",
    "stride",
    "weight",
    ") -> ",
    ", *, ",
    "=None",
    "=True",
    "dtype",
    "float",
    "scale",
    " -> ",
    "bias",
    "bool",
    "conv",
    "pool",
    "self",
    "size",
    "tion",
    "dim",
    "int",
    "str",
    ", ",
};
static_assert(std::size(kSchemaWords) <= 128);

// How many bytes pack_schema() makes of a text, with the zero at its end.
template <size_t N>
struct PackedSchema {
  char bytes[N];
};

// Calls put(byte) for each byte of the packed text.
template <typename Put>
consteval void for_each_packed_byte(std::string_view text, const Put& put) {
  while (!text.empty()) {
    size_t word = 0;
    while (word < std::size(kSchemaWords) &&
           (text[0] != kSchemaWords[word][0] || !text.starts_with(kSchemaWords[word]))) {
      ++word;
    }
    const bool found = word < std::size(kSchemaWords);
    put(found ? static_cast<char>(static_cast<unsigned char>(128 + word)) : text[0]);
    text.remove_prefix(found ? kSchemaWords[word].size() : 1);
  }
}
consteval size_t packed_size(std::string_view text) {
  size_t size = 1;
  for_each_packed_byte(text, [&](char) { ++size; });
  return size;
}
template <size_t N>
consteval PackedSchema<N> pack_schema(std::string_view text) {
  PackedSchema<N> packed{};
  size_t at = 0;
  for_each_packed_byte(text, [&](char byte) { packed.bytes[at++] = byte; });
  return packed;
}

// The text again; all of it, or only the name: "aten::add".
std::string unpack_schema(const char* packed);
std::string unpack_schema_name(const char* packed);

}  // namespace torchlet::ops
