// What this build of Torchlet holds: everything, or what some models need (docs/small.md).
//
// Tables ask while they are compiled and leave out what is not there, and the linker then drops
// what only they led to. What does not include it, nor a header that does, is the same object in
// all builds.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace torchlet::selection {

#ifdef TORCHLET_SELECTION

#include TORCHLET_SELECTION  // made by scripts/select_operators.py; sorted

template <size_t kSize>
constexpr bool contains(const std::string_view (&names)[kSize], std::string_view name) {
  return std::binary_search(std::begin(names), std::end(names), name);
}
template <size_t kSize>
constexpr bool contains_any(const std::string_view (&names)[kSize], std::string_view prefix) {
  return std::ranges::any_of(names,
                             [&](std::string_view name) { return name.starts_with(prefix); });
}
inline constexpr bool kIsWhole = false;

#else

struct Everything {};
inline constexpr Everything kDeclarations, kOperators, kClasses, kDevices, kContainers, kFeatures,
    kPasses;
constexpr bool contains(Everything, std::string_view) { return true; }
constexpr bool contains_any(Everything, std::string_view) { return true; }
inline constexpr bool kIsWhole = true;

#endif

// `op_<id>` of ops/op_list.inc, `class_<id>` of ops/class_list.inc.
constexpr bool has_declaration(std::string_view id) { return contains(kDeclarations, id); }
constexpr bool has_class(std::string_view id) { return contains(kClasses, id); }
// "aten::relu", with some of its overloads.
constexpr bool has_operator(std::string_view name) { return contains(kOperators, name); }
constexpr bool has_any(std::string_view prefix) { return contains_any(kOperators, prefix); }
// Quantized tensors, or some operator that makes or takes them alone.
inline constexpr bool kHasQuantized =
    contains(kFeatures, "quantized") || contains_any(kOperators, "quantized::") ||
    contains_any(kOperators, "_quantized::") || contains_any(kOperators, "aten::quantize_");
// "cpu", "nnapi".
constexpr bool has_device(std::string_view name) { return contains(kDevices, name); }
// "pt": TorchScript source; "ptl", "ff": bytecode in a zip or a flatbuffer.
constexpr bool has_container(std::string_view name) { return contains(kContainers, name); }

// As constants, since a compiler that optimises for size does not compute calls.
inline constexpr bool kHasCompiler = has_container("pt"), kHasBytecode = has_container("ptl"),
                      kHasFlatbuffers = has_container("ff");
// Of passes/pass_list.h.
constexpr bool has_pass(std::string_view name) { return contains(kPasses, name); }
// What is not an operator's, a device's or a container's alone (TORCHLET_FEATURES).
inline constexpr bool kHasFloat16 = contains(kFeatures, "float16"),
                      kHasFloat64 = contains(kFeatures, "float64"),
                      kHasComplex = contains(kFeatures, "complex"),
                      kHasSparse = contains(kFeatures, "sparse"),
                      kHasConversions = contains(kFeatures, "conversions"),
                      kHasWinograd = contains(kFeatures, "winograd"),
                      kHasRareConvolutions = contains(kFeatures, "rare_convolutions"),
                      kHasVolumes = contains(kFeatures, "volumes"),
                      kHasPictures = contains(kFeatures, "pictures"),
                      kHasReports = contains(kFeatures, "reports"),
                      kHasPlaces = contains(kFeatures, "places");
// More than one device to choose from.
inline constexpr bool kHasChoice = has_device("cpu") && has_device("nnapi");

}  // namespace torchlet::selection
