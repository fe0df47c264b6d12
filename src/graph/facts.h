// What is known of an operator beyond its schema. Facts are declared with the operator
// (ops/core/op.h) and hold for the variants that are derived from it.
#pragma once

#include <cstdint>

namespace torchlet {

// How many dimensions the results have.
enum class RankRule : uint8_t {
  kUnknown,
  kFirst,     // as many as the first argument
  kLargest,   // of the tensor arguments, which are broadcast
  kLength,    // one for each item of the int[] argument
  kOneMore,   // than the first argument
  kProduct,   // those of the first two arguments less the two that are summed over
  kJoined,    // as the tensors of the list that is the first argument; vectors without elements do
              // not count
  kEquation,  // one for each letter behind the arrow of the string that is the first argument,
              // unless there are dots
};

// Of the results, and whether they are plain: neither sparse, nested nor quantized.
enum class DTypeRule : uint8_t {
  kUnknown,
  kFirst,     // as the first argument, if that is floating-point
  kPromoted,  // as the tensor arguments, if they have one floating-point dtype; numbers do not
              // change it, unless complex
  kWeight,    // of the argument `weight`, if that is floating-point
};

// Along which dimensions of the result each place depends on the same place of the first argument
// alone, and on all of the others.
enum class PlaceRule : uint8_t {
  kUnknown,
  kAll,
  kButLast,        // linear layers with matrices and vectors as `weight` and `bias`
  kButDim,         // all but the one that the argument `dim` names
  kButNormalized,  // all but the last, as many as the list `normalized_shape` has
  kRows,           // the last but one of both: products of matrices
};

// What of its tensor arguments an operator looks at.
enum class LooksAt : uint8_t {
  kElements,
  kStrides,
  kSizes,
  kDType,
  kPlainness,  // whether it is sparse, nested or quantized
  kNothing,
};

// What an operator that knows only real numbers gives for quantized tensors.
enum class QuantizedOutput : uint8_t {
  kNone,        // an error
  kAsInput,     // quantized like its first tensor
  kAverage,     // the same, of averages: the scale drops out, so those of the integers are rounded
  kUnit,        // results in [0, 1): scale 1/256
  kSignedUnit,  // results in (-1, 1): scale 2/256
};

struct Facts {
  RankRule rank = RankRule::kUnknown;
  DTypeRule dtype = DTypeRule::kUnknown;
  PlaceRule places = PlaceRule::kUnknown;
  LooksAt looks_at = LooksAt::kElements;
  QuantizedOutput quantized = QuantizedOutput::kNone;
  // Each element of the result is a function of those in its place in the tensor arguments, which
  // are broadcast.
  bool is_pointwise = false;
  // May give an argument, or a view of one, back although the schema does not say so.
  bool may_alias = false;
  // Not if this argument, a list of tensors, has several items.
  const char* new_of_several = nullptr;
  // The reference implementation touches elements through nothing that does not ask is_meta()
  // (tensor/meta.h), so meta tensors tell what the results are. Views do so without saying it.
  bool runs_on_meta = false;
  bool never_raises = false;
  // Gives the first argument, which the schema says is written, other sizes; another dtype.
  bool changes_sizes = false, changes_dtype = false;
  // Names of arguments, separated by spaces.
  // Results depend on more than the arguments (random numbers, memory as it is found, addresses,
  // the clock, the state of the thread), unless one of these is false or 0. Null: they never do.
  const char* varies_unless = nullptr;
  // These are written although the schema does not say so, unless the argument `writes_unless` is
  // false.
  const char* writes = nullptr;
  const char* writes_unless = nullptr;
  // Gives the first argument back if this one is false.
  const char* identity_unless = nullptr;
};

}  // namespace torchlet
