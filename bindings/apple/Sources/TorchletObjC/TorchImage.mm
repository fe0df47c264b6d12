#import "TorchImage.h"

#import "Handles.h"

#include <cstdint>

using namespace torchlet::apple;

namespace {

using Image = Owned<torchlet_image, torchlet_image_free>;
using Preprocess = Owned<torchlet_preprocess, torchlet_preprocess_free>;

torchlet_pixels view_of(const void* pixels, TorchPixels format, NSInteger width, NSInteger height, NSInteger bytes_per_row) {
  return {static_cast<torchlet_pixel_format>(format), pixels, width, height, bytes_per_row};
}

// Two planes: Cb and Cr lie in turns.
torchlet_yuv view_of(const void* luma, NSInteger luma_row, const void* chroma, NSInteger chroma_row, NSInteger width,
                     NSInteger height, TorchYUVMatrix matrix) {
  const auto* cb = static_cast<const uint8_t*>(chroma);
  torchlet_yuv view = {};
  view.y = static_cast<const uint8_t*>(luma);
  view.u = cb;
  view.v = cb ? cb + 1 : nullptr;
  view.width = width;
  view.height = height;
  view.y_row_stride = luma_row;
  view.y_pixel_stride = 1;
  view.uv_row_stride = chroma_row;
  view.uv_pixel_stride = 2;
  view.matrix = static_cast<torchlet_yuv_matrix>(matrix);
  return view;
}

torchlet_rotation rotation_of(TorchRotation rotation) { return static_cast<torchlet_rotation>(rotation); }

TorchTensor* tensor_of(torchlet_status status, Tensor* tensor, NSError** error) {
  if (!succeeded(status, error)) return nil;
  return TORCHLET_AUTORELEASE([[TorchTensor alloc] initWithTensor:tensor->release()]);
}

}  // namespace

@interface TorchImage ()
- (instancetype)initWithImage:(torchlet_image*)handle;
- (const torchlet_image*)handle;
@end

@interface TorchPreprocess ()
- (instancetype)initWithPreprocess:(torchlet_preprocess*)handle;
@end

@implementation TorchImage

// Takes the handle over.
- (instancetype)initWithImage:(torchlet_image*)handle {
  self = [super init];
  if (self) {
    _handle = handle;
  } else {
    torchlet_image_free(handle);
  }
  return self;
}

- (const torchlet_image*)handle {
  return _handle;
}

- (void)dealloc {
  torchlet_image_free(_handle);
  TORCHLET_SUPER_DEALLOC();
}

+ (instancetype)imageWithData:(NSData*)data error:(NSError**)error {
  if (![data isKindOfClass:[NSData class]]) {
    refuse(error, TorchletErrorInvalidArgument, @"the bytes of the picture are nil or no NSData");
    return nil;
  }
  Image image;
  if (!succeeded(torchlet_image_decode([data length] > 0 ? [data bytes] : "", [data length], image.out()), error)) return nil;
  return TORCHLET_AUTORELEASE([[self alloc] initWithImage:image.release()]);
}

+ (instancetype)imageWithContentsOfFile:(NSString*)path error:(NSError**)error {
  const char* file = path_of(path);
  if (!file) {
    refuse(error, TorchletErrorInvalidArgument, @"the path of the picture is nil, no NSString, or holds a null character");
    return nil;
  }
  Image image;
  if (!succeeded(torchlet_image_read(file, image.out()), error)) return nil;
  return TORCHLET_AUTORELEASE([[self alloc] initWithImage:image.release()]);
}

+ (instancetype)imageWithPixels:(const void*)pixels
                         format:(TorchPixels)format
                          width:(NSInteger)width
                         height:(NSInteger)height
                    bytesPerRow:(NSInteger)bytesPerRow
                       rotation:(TorchRotation)rotation
                          error:(NSError**)error {
  const torchlet_pixels view = view_of(pixels, format, width, height, bytesPerRow);
  Image image;
  if (!succeeded(torchlet_image_from_pixels(&view, rotation_of(rotation), image.out()), error)) return nil;
  return TORCHLET_AUTORELEASE([[self alloc] initWithImage:image.release()]);
}

+ (instancetype)imageWithLuma:(const void*)luma
              lumaBytesPerRow:(NSInteger)lumaBytesPerRow
                       chroma:(const void*)chroma
            chromaBytesPerRow:(NSInteger)chromaBytesPerRow
                        width:(NSInteger)width
                       height:(NSInteger)height
                       matrix:(TorchYUVMatrix)matrix
                     rotation:(TorchRotation)rotation
                        error:(NSError**)error {
  const torchlet_yuv view = view_of(luma, lumaBytesPerRow, chroma, chromaBytesPerRow, width, height, matrix);
  Image image;
  if (!succeeded(torchlet_image_from_yuv(&view, rotation_of(rotation), image.out()), error)) return nil;
  return TORCHLET_AUTORELEASE([[self alloc] initWithImage:image.release()]);
}

- (NSInteger)width {
  return static_cast<NSInteger>(torchlet_image_width(_handle));
}

- (NSInteger)height {
  return static_cast<NSInteger>(torchlet_image_height(_handle));
}

- (NSData*)pixels {
  const uint8_t* data = torchlet_image_data(_handle);
  if (!data) return [NSData data];
  return [NSData dataWithBytes:data length:static_cast<NSUInteger>([self width] * [self height] * 3)];
}

- (TorchImage*)resizedToWidth:(NSInteger)width height:(NSInteger)height error:(NSError**)error {
  Image image;
  if (!succeeded(torchlet_image_resize(_handle, width, height, 1, image.out()), error)) return nil;
  return TORCHLET_AUTORELEASE([[TorchImage alloc] initWithImage:image.release()]);
}

- (TorchImage*)croppedToX:(NSInteger)x
                        y:(NSInteger)y
                    width:(NSInteger)width
                   height:(NSInteger)height
                    error:(NSError**)error {
  Image image;
  if (!succeeded(torchlet_image_crop(_handle, x, y, width, height, image.out()), error)) return nil;
  return TORCHLET_AUTORELEASE([[TorchImage alloc] initWithImage:image.release()]);
}

- (TorchImage*)rotatedBy:(TorchRotation)rotation error:(NSError**)error {
  Image image;
  if (!succeeded(torchlet_image_rotate(_handle, rotation_of(rotation), image.out()), error)) return nil;
  return TORCHLET_AUTORELEASE([[TorchImage alloc] initWithImage:image.release()]);
}

- (NSString*)description {
  return [NSString stringWithFormat:@"TorchImage %ld x %ld", static_cast<long>([self width]), static_cast<long>([self height])];
}

@end

@implementation TorchPreprocess

// Takes the handle over.
- (instancetype)initWithPreprocess:(torchlet_preprocess*)handle {
  self = [super init];
  if (self) {
    _handle = handle;
  } else {
    torchlet_preprocess_free(handle);
  }
  return self;
}

- (void)dealloc {
  torchlet_preprocess_free(_handle);
  TORCHLET_SUPER_DEALLOC();
}

+ (instancetype)preprocessWithJSON:(NSString*)json error:(NSError**)error {
  const char* text = utf8_of(json);
  if (!text) {
    refuse(error, TorchletErrorInvalidArgument, @"the record is nil, no NSString, or holds a null character");
    return nil;
  }
  Preprocess steps;
  if (!succeeded(torchlet_preprocess_new(text, steps.out()), error)) return nil;
  return TORCHLET_AUTORELEASE([[self alloc] initWithPreprocess:steps.release()]);
}

+ (instancetype)preprocessOfModule:(TorchModule*)module error:(NSError**)error {
  if (![module isKindOfClass:[TorchModule class]]) {
    refuse(error, TorchletErrorInvalidArgument, @"the model is nil or no TorchModule");
    return nil;
  }
  Preprocess steps;
  if (!succeeded(torchlet_preprocess_of([module handle], steps.out()), error)) return nil;
  return TORCHLET_AUTORELEASE([[self alloc] initWithPreprocess:steps.release()]);
}

- (NSString*)json {
  Text json;
  return succeeded(torchlet_preprocess_json(_handle, json.out()), NULL) ? string_of(json.get()) : @"";
}

- (TorchTensor*)tensorOfImage:(TorchImage*)image error:(NSError**)error {
  if (![image isKindOfClass:[TorchImage class]]) {
    refuse(error, TorchletErrorInvalidArgument, @"the picture is nil or no TorchImage");
    return nil;
  }
  Tensor tensor;
  return tensor_of(torchlet_preprocess_run(_handle, [image handle], tensor.out()), &tensor, error);
}

- (TorchTensor*)tensorOfPixels:(const void*)pixels
                        format:(TorchPixels)format
                         width:(NSInteger)width
                        height:(NSInteger)height
                   bytesPerRow:(NSInteger)bytesPerRow
                      rotation:(TorchRotation)rotation
                         error:(NSError**)error {
  const torchlet_pixels view = view_of(pixels, format, width, height, bytesPerRow);
  Tensor tensor;
  return tensor_of(torchlet_preprocess_run_pixels(_handle, &view, rotation_of(rotation), tensor.out()), &tensor, error);
}

- (TorchTensor*)tensorOfLuma:(const void*)luma
             lumaBytesPerRow:(NSInteger)lumaBytesPerRow
                      chroma:(const void*)chroma
           chromaBytesPerRow:(NSInteger)chromaBytesPerRow
                       width:(NSInteger)width
                      height:(NSInteger)height
                      matrix:(TorchYUVMatrix)matrix
                    rotation:(TorchRotation)rotation
                       error:(NSError**)error {
  const torchlet_yuv view = view_of(luma, lumaBytesPerRow, chroma, chromaBytesPerRow, width, height, matrix);
  Tensor tensor;
  return tensor_of(torchlet_preprocess_run_yuv(_handle, &view, rotation_of(rotation), tensor.out()), &tensor, error);
}

- (NSString*)description {
  return [NSString stringWithFormat:@"TorchPreprocess %@", [self json]];
}

@end
