// Android's Neural Networks API, as programs for the NDK see it: <android/NeuralNetworks.h> of
// libneuralnetworks.so for Linux, up to feature level 7 (Android 13). Names, numbers and contracts
// are the public API's (developer.android.com/ndk/reference/group/neural-networks).
//
// A program builds a model, compiles it, and executes the compilation as often as it likes:
//
//   Model_create, addOperand..., setOperandValue..., addOperation..., identifyInputsAndOutputs,
//   finish; Compilation_create, finish; Execution_create, setInput..., setOutput..., compute.
//
// All functions give a ResultCode unless they say otherwise. What every one of them answers, and is
// not repeated below:
//   UNEXPECTED_NULL  a pointer that has to be there is null
//   BAD_DATA         an index, a size or an operand that cannot be right, or an object that was
//                    freed or is of another kind
//   BAD_STATE        an object is not in the state that the function is for
//   OUT_OF_MEMORY
// A function that fails changes nothing, and sets *result to null where it would have made an
// object. Objects are only names: to use one that is freed is an error and not a crash, and what
// another object needs lives on, so any order of freeing is right. To free null does nothing.
//
// Any number of threads may call any functions at any time. Calls that change an object happen one
// after the other; to compute what is being computed is BAD_STATE.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// ---- Numbers -----------------------------------------------------------------------------------

// Types of operands.
typedef enum {
  ANEURALNETWORKS_FLOAT32 = 0,
  ANEURALNETWORKS_INT32 = 1,
  ANEURALNETWORKS_UINT32 = 2,
  ANEURALNETWORKS_TENSOR_FLOAT32 = 3,
  ANEURALNETWORKS_TENSOR_INT32 = 4,
  ANEURALNETWORKS_TENSOR_QUANT8_ASYMM = 5,
  ANEURALNETWORKS_BOOL = 6,
  ANEURALNETWORKS_TENSOR_QUANT16_SYMM = 7,
  ANEURALNETWORKS_TENSOR_FLOAT16 = 8,
  ANEURALNETWORKS_TENSOR_BOOL8 = 9,
  ANEURALNETWORKS_FLOAT16 = 10,
  ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL = 11,
  ANEURALNETWORKS_TENSOR_QUANT16_ASYMM = 12,
  ANEURALNETWORKS_TENSOR_QUANT8_SYMM = 13,
  ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED = 14,
  ANEURALNETWORKS_MODEL = 15,
} OperandCode;

// Operations; what each takes and gives is in docs/nnapi_operations.md.
typedef enum {
  ANEURALNETWORKS_ADD = 0,
  ANEURALNETWORKS_AVERAGE_POOL_2D = 1,
  ANEURALNETWORKS_CONCATENATION = 2,
  ANEURALNETWORKS_CONV_2D = 3,
  ANEURALNETWORKS_DEPTHWISE_CONV_2D = 4,
  ANEURALNETWORKS_DEPTH_TO_SPACE = 5,
  ANEURALNETWORKS_DEQUANTIZE = 6,
  ANEURALNETWORKS_EMBEDDING_LOOKUP = 7,
  ANEURALNETWORKS_FLOOR = 8,
  ANEURALNETWORKS_FULLY_CONNECTED = 9,
  ANEURALNETWORKS_HASHTABLE_LOOKUP = 10,
  ANEURALNETWORKS_L2_NORMALIZATION = 11,
  ANEURALNETWORKS_L2_POOL_2D = 12,
  ANEURALNETWORKS_LOCAL_RESPONSE_NORMALIZATION = 13,
  ANEURALNETWORKS_LOGISTIC = 14,
  ANEURALNETWORKS_LSH_PROJECTION = 15,
  ANEURALNETWORKS_LSTM = 16,
  ANEURALNETWORKS_MAX_POOL_2D = 17,
  ANEURALNETWORKS_MUL = 18,
  ANEURALNETWORKS_RELU = 19,
  ANEURALNETWORKS_RELU1 = 20,
  ANEURALNETWORKS_RELU6 = 21,
  ANEURALNETWORKS_RESHAPE = 22,
  ANEURALNETWORKS_RESIZE_BILINEAR = 23,
  ANEURALNETWORKS_RNN = 24,
  ANEURALNETWORKS_SOFTMAX = 25,
  ANEURALNETWORKS_SPACE_TO_DEPTH = 26,
  ANEURALNETWORKS_SVDF = 27,
  ANEURALNETWORKS_TANH = 28,
  ANEURALNETWORKS_BATCH_TO_SPACE_ND = 29,
  ANEURALNETWORKS_DIV = 30,
  ANEURALNETWORKS_MEAN = 31,
  ANEURALNETWORKS_PAD = 32,
  ANEURALNETWORKS_SPACE_TO_BATCH_ND = 33,
  ANEURALNETWORKS_SQUEEZE = 34,
  ANEURALNETWORKS_STRIDED_SLICE = 35,
  ANEURALNETWORKS_SUB = 36,
  ANEURALNETWORKS_TRANSPOSE = 37,
  ANEURALNETWORKS_ABS = 38,
  ANEURALNETWORKS_ARGMAX = 39,
  ANEURALNETWORKS_ARGMIN = 40,
  ANEURALNETWORKS_AXIS_ALIGNED_BBOX_TRANSFORM = 41,
  ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_LSTM = 42,
  ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_RNN = 43,
  ANEURALNETWORKS_BOX_WITH_NMS_LIMIT = 44,
  ANEURALNETWORKS_CAST = 45,
  ANEURALNETWORKS_CHANNEL_SHUFFLE = 46,
  ANEURALNETWORKS_DETECTION_POSTPROCESSING = 47,
  ANEURALNETWORKS_EQUAL = 48,
  ANEURALNETWORKS_EXP = 49,
  ANEURALNETWORKS_EXPAND_DIMS = 50,
  ANEURALNETWORKS_GATHER = 51,
  ANEURALNETWORKS_GENERATE_PROPOSALS = 52,
  ANEURALNETWORKS_GREATER = 53,
  ANEURALNETWORKS_GREATER_EQUAL = 54,
  ANEURALNETWORKS_GROUPED_CONV_2D = 55,
  ANEURALNETWORKS_HEATMAP_MAX_KEYPOINT = 56,
  ANEURALNETWORKS_INSTANCE_NORMALIZATION = 57,
  ANEURALNETWORKS_LESS = 58,
  ANEURALNETWORKS_LESS_EQUAL = 59,
  ANEURALNETWORKS_LOG = 60,
  ANEURALNETWORKS_LOGICAL_AND = 61,
  ANEURALNETWORKS_LOGICAL_NOT = 62,
  ANEURALNETWORKS_LOGICAL_OR = 63,
  ANEURALNETWORKS_LOG_SOFTMAX = 64,
  ANEURALNETWORKS_MAXIMUM = 65,
  ANEURALNETWORKS_MINIMUM = 66,
  ANEURALNETWORKS_NEG = 67,
  ANEURALNETWORKS_NOT_EQUAL = 68,
  ANEURALNETWORKS_PAD_V2 = 69,
  ANEURALNETWORKS_POW = 70,
  ANEURALNETWORKS_PRELU = 71,
  ANEURALNETWORKS_QUANTIZE = 72,
  ANEURALNETWORKS_QUANTIZED_16BIT_LSTM = 73,
  ANEURALNETWORKS_RANDOM_MULTINOMIAL = 74,
  ANEURALNETWORKS_REDUCE_ALL = 75,
  ANEURALNETWORKS_REDUCE_ANY = 76,
  ANEURALNETWORKS_REDUCE_MAX = 77,
  ANEURALNETWORKS_REDUCE_MIN = 78,
  ANEURALNETWORKS_REDUCE_PROD = 79,
  ANEURALNETWORKS_REDUCE_SUM = 80,
  ANEURALNETWORKS_ROI_ALIGN = 81,
  ANEURALNETWORKS_ROI_POOLING = 82,
  ANEURALNETWORKS_RSQRT = 83,
  ANEURALNETWORKS_SELECT = 84,
  ANEURALNETWORKS_SIN = 85,
  ANEURALNETWORKS_SLICE = 86,
  ANEURALNETWORKS_SPLIT = 87,
  ANEURALNETWORKS_SQRT = 88,
  ANEURALNETWORKS_TILE = 89,
  ANEURALNETWORKS_TOPK_V2 = 90,
  ANEURALNETWORKS_TRANSPOSE_CONV_2D = 91,
  ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_LSTM = 92,
  ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_RNN = 93,
  ANEURALNETWORKS_RESIZE_NEAREST_NEIGHBOR = 94,
  ANEURALNETWORKS_QUANTIZED_LSTM = 95,
  ANEURALNETWORKS_IF = 96,
  ANEURALNETWORKS_WHILE = 97,
  ANEURALNETWORKS_ELU = 98,
  ANEURALNETWORKS_HARD_SWISH = 99,
  ANEURALNETWORKS_FILL = 100,
  ANEURALNETWORKS_RANK = 101,
  ANEURALNETWORKS_BATCH_MATMUL = 102,
  ANEURALNETWORKS_PACK = 103,
  ANEURALNETWORKS_MIRROR_PAD = 104,
  ANEURALNETWORKS_REVERSE = 105,
} OperationCode;

// What is computed on the result of an operation that has an activation.
typedef enum {
  ANEURALNETWORKS_FUSED_NONE = 0,
  ANEURALNETWORKS_FUSED_RELU = 1,
  ANEURALNETWORKS_FUSED_RELU1 = 2,
  ANEURALNETWORKS_FUSED_RELU6 = 3,
} FuseCode;

typedef enum {
  ANEURALNETWORKS_PADDING_SAME = 1,
  ANEURALNETWORKS_PADDING_VALID = 2,
} PaddingCode;

// What a compilation is for.
typedef enum {
  ANEURALNETWORKS_PREFER_LOW_POWER = 0,
  ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER = 1,
  ANEURALNETWORKS_PREFER_SUSTAINED_SPEED = 2,
} PreferenceCode;

// Of a compilation among those that use the same device.
typedef enum {
  ANEURALNETWORKS_PRIORITY_LOW = 90,
  ANEURALNETWORKS_PRIORITY_MEDIUM = 100,
  ANEURALNETWORKS_PRIORITY_HIGH = 110,
  ANEURALNETWORKS_PRIORITY_DEFAULT = ANEURALNETWORKS_PRIORITY_MEDIUM,
} PriorityCode;

typedef enum {
  ANEURALNETWORKS_DEVICE_UNKNOWN = 0,
  ANEURALNETWORKS_DEVICE_OTHER = 1,
  ANEURALNETWORKS_DEVICE_CPU = 2,
  ANEURALNETWORKS_DEVICE_GPU = 3,
  ANEURALNETWORKS_DEVICE_ACCELERATOR = 4,
} DeviceTypeCode;

// What a runtime or a device can do, by the version of Android that brought it.
typedef enum {
  ANEURALNETWORKS_FEATURE_LEVEL_1 = 27,       // 8.1, NNAPI 1.0
  ANEURALNETWORKS_FEATURE_LEVEL_2 = 28,       // 9, NNAPI 1.1
  ANEURALNETWORKS_FEATURE_LEVEL_3 = 29,       // 10, NNAPI 1.2
  ANEURALNETWORKS_FEATURE_LEVEL_4 = 30,       // 11, NNAPI 1.3
  ANEURALNETWORKS_FEATURE_LEVEL_5 = 31,       // 12
  ANEURALNETWORKS_FEATURE_LEVEL_6 = 1000006,  // an update of 12
  ANEURALNETWORKS_FEATURE_LEVEL_7 = 1000007,  // 13
  ANEURALNETWORKS_FEATURE_LEVEL_8 = 1000008,
} FeatureLevelCode;

// What time of an execution is asked for: on the hardware alone or with the driver's own, from the
// start or, FENCED, from when the last dependency was signalled.
typedef enum {
  ANEURALNETWORKS_DURATION_ON_HARDWARE = 0,
  ANEURALNETWORKS_DURATION_IN_DRIVER = 1,
  ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE = 2,
  ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER = 3,
} DurationCode;

enum {
  // Bytes: values up to this size are copied by setOperandValue, larger ones are not.
  ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES = 128,
  // Bytes of the token that names a compilation in a cache.
  ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN = 32,
};

typedef enum {
  ANEURALNETWORKS_NO_ERROR = 0,
  ANEURALNETWORKS_OUT_OF_MEMORY = 1,
  ANEURALNETWORKS_INCOMPLETE = 2,
  ANEURALNETWORKS_UNEXPECTED_NULL = 3,
  ANEURALNETWORKS_BAD_DATA = 4,
  ANEURALNETWORKS_OP_FAILED = 5,
  ANEURALNETWORKS_BAD_STATE = 6,
  ANEURALNETWORKS_UNMAPPABLE = 7,
  ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE = 8,
  ANEURALNETWORKS_UNAVAILABLE_DEVICE = 9,
  ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT = 10,
  ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT = 11,
  ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT = 12,
  ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT = 13,
  ANEURALNETWORKS_DEAD_OBJECT = 14,
} ResultCode;

// ---- Objects -----------------------------------------------------------------------------------

typedef struct ANeuralNetworksMemory ANeuralNetworksMemory;
typedef struct ANeuralNetworksMemoryDesc ANeuralNetworksMemoryDesc;
typedef struct ANeuralNetworksModel ANeuralNetworksModel;
typedef struct ANeuralNetworksCompilation ANeuralNetworksCompilation;
typedef struct ANeuralNetworksExecution ANeuralNetworksExecution;
typedef struct ANeuralNetworksBurst ANeuralNetworksBurst;
typedef struct ANeuralNetworksEvent ANeuralNetworksEvent;
typedef struct ANeuralNetworksDevice ANeuralNetworksDevice;

struct AHardwareBuffer;
typedef struct AHardwareBuffer AHardwareBuffer;

typedef int32_t ANeuralNetworksOperationType;  // an OperationCode

// What an operand is. It is copied whole by the functions that take it.
typedef struct ANeuralNetworksOperandType {
  int32_t type;  // an OperandCode
  // Of a tensor; 0 of them for a scalar, or if the rank is not known. A size 0 is not known before
  // the execution, or before the operations that give it.
  uint32_t dimensionCount;
  const uint32_t* dimensions;
  // A quantized value q stands for (q - zeroPoint) * scale; both 0 for all other types.
  float scale;
  int32_t zeroPoint;
} ANeuralNetworksOperandType;

// Of TENSOR_QUANT8_SYMM_PER_CHANNEL: a value with index i in dimension channelDim stands for
// value * scales[i].
typedef struct ANeuralNetworksSymmPerChannelQuantParams {
  uint32_t channelDim;
  uint32_t scaleCount;  // the size of dimension channelDim
  const float* scales;
} ANeuralNetworksSymmPerChannelQuantParams;

// ---- Runtime and devices -----------------------------------------------------------------------

// A FeatureLevelCode: the highest whose functions and operations are all there. Since level 5.
int64_t ANeuralNetworks_getRuntimeFeatureLevel(void);

// Since level 3, as everything about devices.
int ANeuralNetworks_getDeviceCount(uint32_t* numDevices);

// *device lives as long as the process.
int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice** device);

// The same name for the same device in every process. Text lives as long as the process.
int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice* device, const char** name);

// A DeviceTypeCode.
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice* device, int32_t* type);

int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice* device, const char** version);

// A FeatureLevelCode: all of that level that the device may be asked for.
int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice* device,
                                          int64_t* featureLevel);

// Returns once the device can be used, which ours always can. Since level 4.
int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice* device);

// ---- Memory ------------------------------------------------------------------------------------

// The `size` bytes of a file from `offset`, a multiple of the page's size, mapped and shared as
// mmap() does; `protect` is PROT_READ, PROT_WRITE or both. `fd` may be closed afterwards. BAD_DATA
// if the file ends before, UNMAPPABLE if the system refuses. The file must not become shorter.
int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                       ANeuralNetworksMemory** memory);

// There are no hardware buffers here: always BAD_DATA, once the arguments are right. Since level 3.
int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer* ahwb,
                                                    ANeuralNetworksMemory** memory);

// What a finished description says. Nothing is in it until an execution or a copy writes it; to
// read it before, or after writing it failed, is OP_FAILED. It is used whole, with offset and
// length 0, and only in its roles. Sizes that are not known are those of what is written. Since
// level 4.
int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc* desc,
                                         ANeuralNetworksMemory** memory);

// All of `src` to `dst`, which has to be as long; if both come from descriptions, of the same type
// and of fitting sizes. BAD_DATA if nothing is in `src` yet; if it fails nothing is in `dst`.
// Memory from a description may be in use, memory of a file must not change. Since level 4.
int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory* src, const ANeuralNetworksMemory* dst);

void ANeuralNetworksMemory_free(ANeuralNetworksMemory* memory);

// A description of memory by what it will be used for. All since level 4.
int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc** desc);

// Input or output `index` of an execution of a finished compilation. `frequency` is a hint in
// (0, 1]. All roles of one description are of operands of one type and fitting shapes; the same
// role twice is BAD_DATA.
int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc* desc,
                                           const ANeuralNetworksCompilation* compilation,
                                           uint32_t index, float frequency);
int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc* desc,
                                            const ANeuralNetworksCompilation* compilation,
                                            uint32_t index, float frequency);

// Sizes that the roles leave open; 0 for one that stays so. `dimensions` may be null if rank is 0.
int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc* desc, uint32_t rank,
                                            const uint32_t* dimensions);

// At least one role. Nothing may be added afterwards.
int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc* desc);

void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc* desc);

// ---- Model -------------------------------------------------------------------------------------

int ANeuralNetworksModel_create(ANeuralNetworksModel** model);

void ANeuralNetworksModel_free(ANeuralNetworksModel* model);

// Operands have the indices 0, 1, ... in the order in which they are added. Scales and zero points
// are in the range of the type; a tensor has less than 2^32 bytes.
int ANeuralNetworksModel_addOperand(ANeuralNetworksModel* model,
                                    const ANeuralNetworksOperandType* type);

// What TENSOR_QUANT8_SYMM_PER_CHANNEL needs; it is copied. Since level 3.
int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel* model, int32_t index,
    const ANeuralNetworksSymmPerChannelQuantParams* channelQuant);

// A constant of exactly the operand's size, in its type, row after row. Up to
// MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES bytes are copied; more than that has to stay as it is until
// everything that was made from the model is freed. Null and 0: an optional argument that is
// omitted. A second call replaces the value.
int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel* model, int32_t index,
                                         const void* buffer, size_t length);

// The same from a part of a file's memory. The file must not change until everything that was made
// from the model is freed; the memory may be freed.
int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel* model, int32_t index,
                                                   const ANeuralNetworksMemory* memory,
                                                   size_t offset, size_t length);

// A finished model, for an operand of type MODEL: a branch of IF, or a part of WHILE. Since
// level 4.
int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel* model, int32_t index,
                                                  const ANeuralNetworksModel* value);

// In any order. BAD_DATA if there is no such operation, or if it does not take such operands.
int ANeuralNetworksModel_addOperation(ANeuralNetworksModel* model,
                                      ANeuralNetworksOperationType type, uint32_t inputCount,
                                      const uint32_t* inputs, uint32_t outputCount,
                                      const uint32_t* outputs);

// Once. The order is that of the indices that executions use.
int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel* model, uint32_t inputCount,
                                                  const uint32_t* inputs, uint32_t outputCount,
                                                  const uint32_t* outputs);

// Allows TENSOR_FLOAT32 to be computed with the range and precision of 16 bits. Since level 2.
int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel* model, bool allow);

// BAD_DATA if there are no inputs, outputs or operations, if an operand is neither an input nor a
// constant nor given by one operation, or if operations wait for each other. Afterwards nothing can
// be changed, whether it succeeded or not.
int ANeuralNetworksModel_finish(ANeuralNetworksModel* model);

// supportedOps[i]: whether at least one of the devices computes the i-th operation, in the order in
// which they were added, of a finished model. Since level 3.
int ANeuralNetworksModel_getSupportedOperationsForDevices(
    const ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices,
    uint32_t numDevices, bool* supportedOps);

// ---- Compilation -------------------------------------------------------------------------------

// Of a finished model, for the devices that the runtime chooses.
int ANeuralNetworksCompilation_create(ANeuralNetworksModel* model,
                                      ANeuralNetworksCompilation** compilation);

// For these devices, none of them twice; what the first ones do not compute is for the others.
// Since level 3.
int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel* model,
                                                const ANeuralNetworksDevice* const* devices,
                                                uint32_t numDevices,
                                                ANeuralNetworksCompilation** compilation);

void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation* compilation);

// A PreferenceCode; FAST_SINGLE_ANSWER unless one is set.
int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation* compilation,
                                             int32_t preference);

// A folder for what compiling makes, and the BYTE_SIZE_OF_CACHE_TOKEN bytes that name the model and
// all that it was compiled with. A cache only saves time: it never changes an answer. Since
// level 3.
int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation* compilation,
                                          const char* cacheDir, const uint8_t* token);

// A PriorityCode. Since level 4.
int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation* compilation, int priority);

// Nanoseconds for finish(), 0 for no limit; only of a compilation for one device. Since level 4.
int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation* compilation,
                                          uint64_t duration);

// MISSED_DEADLINE_* past the time limit. BAD_DATA if an operation cannot be computed as it
// stands. Afterwards nothing can be changed, whether it succeeded or not.
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation* compilation);

// What the buffer of an input or output of a finished compilation best starts at and is padded to:
// bytes, powers of two. Since level 5.
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment);
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding);
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment);
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding);

// ---- Execution ---------------------------------------------------------------------------------

// Of a finished compilation. It is computed once, unless it is made reusable.
int ANeuralNetworksExecution_create(ANeuralNetworksCompilation* compilation,
                                    ANeuralNetworksExecution** execution);

// May be called while the execution runs, which it then ends on its own.
void ANeuralNetworksExecution_free(ANeuralNetworksExecution* execution);

// The value of input `index` of the model. `type` may be null, or the operand's type with the sizes
// that the model left open. The buffer stays as it is until the execution ends. Null and 0: an
// optional argument that is omitted.
int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution* execution, int32_t index,
                                      const ANeuralNetworksOperandType* type, const void* buffer,
                                      size_t length);

// The same from a part of a file's memory, or from all of a description's, with offset and length
// 0.
int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                const ANeuralNetworksOperandType* type,
                                                const ANeuralNetworksMemory* memory, size_t offset,
                                                size_t length);

// Where output `index` of the model goes; `length` has to do for all of it unless its size is not
// known. Null and 0: it is not wanted.
int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution* execution, int32_t index,
                                       const ANeuralNetworksOperandType* type, void* buffer,
                                       size_t length);

int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                 const ANeuralNetworksOperandType* type,
                                                 const ANeuralNetworksMemory* memory, size_t offset,
                                                 size_t length);

// Whether buffers may be longer than their values. Before any of them is set. Since level 5.
int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution* execution,
                                                         bool enable);

// Whether it may be computed more than once, one after the other. Since level 5.
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution* execution, bool reusable);

// Whether getDuration() is to tell; only of a compilation for one device. Since level 3.
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution* execution, bool measure);

// Nanoseconds until the end of the execution, 0 for no limit; only of a compilation for one device.
// Since level 4.
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution* execution, uint64_t duration);

// Nanoseconds that each WHILE may take; more than the maximum is the maximum. Since level 4.
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution* execution, uint64_t duration);

// Nanoseconds: 2 and 15 seconds. Since level 4.
uint64_t ANeuralNetworks_getDefaultLoopTimeout(void);
uint64_t ANeuralNetworks_getMaximumLoopTimeout(void);

// Returns when it has been computed. No buffer is written past its end, and none at all if the
// computation failed. Since level 3.
//   OUTPUT_INSUFFICIENT_SIZE  a buffer is too short for its output; getOutputOperandDimensions
//                             tells what is needed
//   MISSED_DEADLINE_*         past a time limit
//   OP_FAILED                 an operation cannot be computed with these values
int ANeuralNetworksExecution_compute(ANeuralNetworksExecution* execution);

// The same in the background: ANeuralNetworksEvent_wait gives its result.
int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksEvent** event);

// The same once all dependencies are signalled, with `duration` nanoseconds from then, 0 for no
// limit; OP_FAILED if one of them failed. All sizes of outputs have to be known. Since level 4.
int ANeuralNetworksExecution_startComputeWithDependencies(
    ANeuralNetworksExecution* execution, const ANeuralNetworksEvent* const* dependencies,
    uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent** event);

// Executions of one compilation in quick succession, one at a time: BAD_STATE while another one
// runs in the burst. Since level 3.
int ANeuralNetworksBurst_create(ANeuralNetworksCompilation* compilation,
                                ANeuralNetworksBurst** burst);
void ANeuralNetworksBurst_free(ANeuralNetworksBurst* burst);
int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksBurst* burst);

// Of an output of an execution that has ended. OUTPUT_INSUFFICIENT_SIZE, with the numbers all the
// same, if its buffer was too short. Since level 3.
int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution* execution,
                                                  int32_t index, uint32_t* rank);
// As many as the rank is. BAD_DATA of a scalar.
int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution* execution,
                                                        int32_t index, uint32_t* dimensions);

// A DurationCode of an execution that ended well: nanoseconds. BAD_STATE and UINT64_MAX if it was
// not measured. Since level 3.
int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution* execution,
                                         int32_t durationCode, uint64_t* duration);

// ---- Events ------------------------------------------------------------------------------------

// Until what the event stands for has ended; gives its result, as often as it is called, by any
// number of threads.
int ANeuralNetworksEvent_wait(ANeuralNetworksEvent* event);

// Waits for the execution that it stands for, but not for a fence of somebody else.
void ANeuralNetworksEvent_free(ANeuralNetworksEvent* event);

// An event that is signalled when `sync_fence_fd`, which is not 0, can be read: that of a sync
// fence, an eventfd, a pipe. The descriptor is duplicated. Since level 4.
int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent** event);

// A new descriptor, the caller's to close, that can be read once the event is signalled; BAD_DATA
// and -1 for an event that has none, which is one of startCompute. Since level 4.
int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent* event, int* sync_fence_fd);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
