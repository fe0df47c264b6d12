// Tensors. Methods with an error give nil when they fail; thread safety is that of torchlet/c_api.h: any number of threads may
// read a tensor.
#pragma once

#import "TorchletDefines.h"

NS_ASSUME_NONNULL_BEGIN

// Element types, numbered as in PyTorch.
typedef NS_ENUM(NSInteger, TorchDType) {
  TorchDTypeUInt8 = 0,
  TorchDTypeInt8 = 1,
  TorchDTypeInt16 = 2,
  TorchDTypeInt32 = 3,
  TorchDTypeInt64 = 4,
  TorchDTypeFloat16 = 5,
  TorchDTypeFloat32 = 6,
  TorchDTypeFloat64 = 7,
  TorchDTypeBool = 11,
  TorchDTypeQInt8 = 12,
  TorchDTypeQUInt8 = 13,
  TorchDTypeQInt32 = 14,
  TorchDTypeBFloat16 = 15,
};

typedef NS_ENUM(NSInteger, TorchMemoryFormat) {
  TorchMemoryFormatContiguous = 0,
  TorchMemoryFormatChannelsLast = 2,    // NHWC in memory, for 4 dimensions
  TorchMemoryFormatChannelsLast3d = 3,  // NDHWC in memory, for 5
};

// How the bytes of a picture lie.
typedef NS_ENUM(NSInteger, TorchPixels) {
  TorchPixelsGrey = 0,  // 1 byte a pixel
  TorchPixelsRGB = 1,   // 3 bytes
  TorchPixelsRGBA = 2,  // 4 bytes; alpha is dropped
  TorchPixelsBGRA = 3,  // 4 bytes: kCVPixelFormatType_32BGRA
};

struct torchlet_tensor;

@interface TorchTensor : NSObject {
 @private
  struct torchlet_tensor* _handle;
}

// A copy of the numbers; as many as the shape says are read.
+ (_Nullable instancetype)tensorWithFloats:(const float*)numbers
                                     shape:(NSArray TORCHLET_OF(NSNumber*) *)shape
                                     error:(NSError* _Nullable* _Nullable)error;
// A copy of the bytes, which are as many as shape and dtype say; `format` is how they lie.
+ (_Nullable instancetype)tensorWithData:(NSData*)data
                                   dtype:(TorchDType)dtype
                                   shape:(NSArray TORCHLET_OF(NSNumber*) *)shape
                                  format:(TorchMemoryFormat)format
                                   error:(NSError* _Nullable* _Nullable)error;
// Over the bytes without a copy: they stay where they are until the last tensor that shares them is gone, and their length
// must not be changed. What is written to the tensor is written there.
+ (_Nullable instancetype)tensorWithMutableDataNoCopy:(NSMutableData*)data
                                                dtype:(TorchDType)dtype
                                                shape:(NSArray TORCHLET_OF(NSNumber*) *)shape
                                               format:(TorchMemoryFormat)format
                                                error:(NSError* _Nullable* _Nullable)error;
// float32 [1, 3, height, width] of a picture whose rows lie bytesPerRow apart: (pixel / 255 - mean) / std. mean and std have 3
// numbers, red first; nil: torchvision's for ImageNet.
+ (_Nullable instancetype)tensorWithPixels:(const void*)pixels
                                    format:(TorchPixels)format
                                     width:(NSInteger)width
                                    height:(NSInteger)height
                               bytesPerRow:(NSInteger)bytesPerRow
                                      mean:(NSArray TORCHLET_OF(NSNumber*) * _Nullable)mean
                                       std:(NSArray TORCHLET_OF(NSNumber*) * _Nullable)std
                                     error:(NSError* _Nullable* _Nullable)error;
#ifdef __clang__
+ (instancetype)new NS_UNAVAILABLE;
- (instancetype)init NS_UNAVAILABLE;
#endif

@property(nonatomic, readonly) TorchDType dtype;
@property(nonatomic, readonly) NSArray TORCHLET_OF(NSNumber*) * shape;
@property(nonatomic, readonly) NSArray TORCHLET_OF(NSNumber*) * strides;  // in elements
@property(nonatomic, readonly) NSInteger numel;
// The first element; the others lie by the strides. NULL for a sparse tensor. Lives as long as the tensor.
@property(nonatomic, readonly) void* _Nullable bytes;

// The same elements in that order in memory and of that type; shares memory if nothing changes.
- (TorchTensor* _Nullable)tensorWithDType:(TorchDType)dtype
                                   format:(TorchMemoryFormat)format
                                    error:(NSError* _Nullable* _Nullable)error;
// The elements, the last dimension fastest: as they are, as floats, or one by one as doubles, integers and bools.
- (NSData* _Nullable)dataAndReturnError:(NSError* _Nullable* _Nullable)error NS_SWIFT_NAME(data());
- (NSData* _Nullable)floatsAndReturnError:(NSError* _Nullable* _Nullable)error NS_SWIFT_NAME(floatData());
- (NSArray TORCHLET_OF(NSNumber*) * _Nullable)numbersAndReturnError:(NSError* _Nullable* _Nullable)error
    NS_SWIFT_NAME(numbers());
@end

NS_ASSUME_NONNULL_END
