// The fields of the tables in a flatbuffer's module, in the order of
// torch/csrc/jit/serialization/mobile_bytecode.fbs. A field of a union has two places: the kind of
// what it holds comes first.
#pragma once

#include <cstdint>

namespace torchlet::lite::flat {

namespace module {
enum : unsigned {
  kBytecodeVersion,
  kExtraFiles,
  kMethods,
  kStateObject,
  kValues,
  kStorageCount,
  kStorages,
  kClasses,
  kSources,
  kConstants,
  kOperatorVersion,
  kMobileValueCount,  // of the values, those before the constants of the source
};
}
namespace extra_file {
enum : unsigned { kName, kContent };
}
namespace storage {
enum : unsigned { kData };
}
namespace value {
enum : unsigned { kKind, kContent };
}
enum class ValueKind : uint8_t {
  kNone,
  kInt,
  kBool,
  kFloat,
  kComplex,
  kTensor,
  kString,
  kList,
  kTuple,
  kDict,
  kObject,
  kIntList,
  kFloatList,
  kBoolList,
  kDevice,
  kEnum,
  kFunction,
};
namespace tensor {
enum : unsigned { kStorage, kDType, kOffset, kSizes, kStrides, kRequiresGrad, kQuantizer };
}
namespace quantizer {
enum : unsigned { kScheme, kScale, kZeroPoint, kScales, kZeroPoints, kAxis };
}
// String and Device have their text, lists and tuples their items in field 0.
inline constexpr unsigned kText = 0;
inline constexpr unsigned kItems = 0;
namespace list {
enum : unsigned { kListItems, kType };
}
namespace dict {
enum : unsigned { kKeys, kValues, kType };
}
namespace enum_value {
enum : unsigned { kClass, kValue };
}
namespace object {
enum : unsigned { kClass, kState, kAttributes, kSetState };
}
namespace class_type {
enum : unsigned { kName, kKind, kAttributeNames };
}
enum class ClassKind : uint8_t { kUnset, kWithFields, kCustom, kWithSetState, kNoClass };
namespace function {
enum : unsigned {
  kName,
  kInstructions,
  kOperators,
  kConstants,
  kTypes,
  kRegisterSize,
  kSchema,
  kDebugInfo,
  kClass,
};
}
namespace instruction {  // a structure: offsets in bytes
inline constexpr size_t kOpcode = 0, kN = 2, kX = 4, kSize = 8;
}
namespace op {
enum : unsigned { kName, kOverload, kNumArgs };
}
namespace schema {
enum : unsigned { kArguments, kReturns };
}
namespace argument {
enum : unsigned { kName, kType, kDefault };
}

}  // namespace torchlet::lite::flat
