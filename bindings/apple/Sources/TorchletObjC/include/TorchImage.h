// Pictures as the inputs of models, and the steps between (docs/pictures.md). Methods with an error give nil when they fail;
// any number of threads may read one object.
#pragma once

#import "TorchModule.h"

NS_ASSUME_NONNULL_BEGIN

// Clockwise, to be upright.
typedef NS_ENUM(NSInteger, TorchRotation) {
  TorchRotation0 = 0,
  TorchRotation90 = 90,
  TorchRotation180 = 180,
  TorchRotation270 = 270,
};

// How luma and chroma make colours. Of iOS' cameras, BT.601 or BT.709 as the buffer's kCVImageBufferYCbCrMatrixKey says;
// kCVPixelFormatType_420YpCbCr8BiPlanarFullRange is without, ...VideoRange with "Limited".
typedef NS_ENUM(NSInteger, TorchYUVMatrix) {
  TorchYUVMatrixBT601 = 0,
  TorchYUVMatrixBT601Limited = 1,
  TorchYUVMatrixBT709 = 2,
  TorchYUVMatrixBT709Limited = 3,
};

struct torchlet_image;
struct torchlet_preprocess;

// A picture: 8-bit RGB, rows from the top.
@interface TorchImage : NSObject {
 @private
  struct torchlet_image* _handle;
}

// A PNG or JPEG, made upright by its EXIF orientation. TorchletErrorUnsupported in CTorchlet.xcframework, which leaves decoding
// to the system.
+ (_Nullable instancetype)imageWithData:(NSData*)data error:(NSError* _Nullable* _Nullable)error;
+ (_Nullable instancetype)imageWithContentsOfFile:(NSString*)path error:(NSError* _Nullable* _Nullable)error;
// A copy of pixels whose rows lie bytesPerRow apart, turned upright.
+ (_Nullable instancetype)imageWithPixels:(const void*)pixels
                                   format:(TorchPixels)format
                                    width:(NSInteger)width
                                   height:(NSInteger)height
                              bytesPerRow:(NSInteger)bytesPerRow
                                 rotation:(TorchRotation)rotation
                                    error:(NSError* _Nullable* _Nullable)error;
// A copy of a camera's two planes: a byte of luma a pixel, and Cb and Cr in turns for every four.
+ (_Nullable instancetype)imageWithLuma:(const void*)luma
                        lumaBytesPerRow:(NSInteger)lumaBytesPerRow
                                 chroma:(const void*)chroma
                      chromaBytesPerRow:(NSInteger)chromaBytesPerRow
                                  width:(NSInteger)width
                                 height:(NSInteger)height
                                 matrix:(TorchYUVMatrix)matrix
                               rotation:(TorchRotation)rotation
                                  error:(NSError* _Nullable* _Nullable)error;
#ifdef __clang__
+ (instancetype)new NS_UNAVAILABLE;
- (instancetype)init NS_UNAVAILABLE;
#endif

@property(nonatomic, readonly) NSInteger width;
@property(nonatomic, readonly) NSInteger height;
// A copy: 3 bytes a pixel, width * 3 bytes a row.
@property(nonatomic, readonly) NSData* pixels;

// Bilinear, with the bits of PIL.
- (TorchImage* _Nullable)resizedToWidth:(NSInteger)width
                                 height:(NSInteger)height
                                  error:(NSError* _Nullable* _Nullable)error;
// The rectangle; black where it leaves the picture.
- (TorchImage* _Nullable)croppedToX:(NSInteger)x
                                  y:(NSInteger)y
                              width:(NSInteger)width
                             height:(NSInteger)height
                              error:(NSError* _Nullable* _Nullable)error;
- (TorchImage* _Nullable)rotatedBy:(TorchRotation)rotation error:(NSError* _Nullable* _Nullable)error;
@end

// The steps from a picture to a model's input.
@interface TorchPreprocess : NSObject {
 @private
  struct torchlet_preprocess* _handle;
}

// Of a record, such as {"resize": 256, "crop": 224, "mean": [0.5], "std": [0.5]}.
+ (_Nullable instancetype)preprocessWithJSON:(NSString*)json error:(NSError* _Nullable* _Nullable)error;
// Those that the model carries. TorchletErrorNotFound if it carries none.
+ (_Nullable instancetype)preprocessOfModule:(TorchModule*)module error:(NSError* _Nullable* _Nullable)error;
#ifdef __clang__
+ (instancetype)new NS_UNAVAILABLE;
- (instancetype)init NS_UNAVAILABLE;
#endif

// The record, on one line.
@property(nonatomic, readonly) NSString* json;

// [1, channels, height, width]: what a model takes.
- (TorchTensor* _Nullable)tensorOfImage:(TorchImage*)image
                                  error:(NSError* _Nullable* _Nullable)error NS_SWIFT_NAME(tensor(of:));
// The same of pixels, in one pass and without a picture between.
- (TorchTensor* _Nullable)tensorOfPixels:(const void*)pixels
                                  format:(TorchPixels)format
                                   width:(NSInteger)width
                                  height:(NSInteger)height
                             bytesPerRow:(NSInteger)bytesPerRow
                                rotation:(TorchRotation)rotation
                                   error:(NSError* _Nullable* _Nullable)error;
- (TorchTensor* _Nullable)tensorOfLuma:(const void*)luma
                       lumaBytesPerRow:(NSInteger)lumaBytesPerRow
                                chroma:(const void*)chroma
                     chromaBytesPerRow:(NSInteger)chromaBytesPerRow
                                 width:(NSInteger)width
                                height:(NSInteger)height
                                matrix:(TorchYUVMatrix)matrix
                              rotation:(TorchRotation)rotation
                                 error:(NSError* _Nullable* _Nullable)error;
@end

NS_ASSUME_NONNULL_END
