#import "TorchTensor.h"

#import "Handles.h"

#include <cstdint>
#include <vector>

using namespace torchlet::apple;

namespace {

constexpr NSUInteger kMaxDims = 64;
constexpr NSInteger kMaxSide = 1 << 15;
constexpr float kImageNetMean[3] = {0.485f, 0.456f, 0.406f};
constexpr float kImageNetStd[3] = {0.229f, 0.224f, 0.225f};

void let_go(void* data) { TORCHLET_LET_GO(data); }

bool is_numbers(NSArray* array) {
  if (![array isKindOfClass:[NSArray class]]) return false;
  for (NSUInteger i = 0; i < [array count]; ++i) {
    if (![[array objectAtIndex:i] isKindOfClass:[NSNumber class]]) return false;
  }
  return true;
}

// 0 for what is no format.
NSInteger bytes_of_pixel(TorchPixels format) {
  switch (format) {
    case TorchPixelsGrey:
      return 1;
    case TorchPixelsRGB:
      return 3;
    case TorchPixelsRGBA:
    case TorchPixelsBGRA:
      return 4;
  }
  return 0;
}

NSUInteger element_size(TorchDType dtype) {
  switch (dtype) {
    case TorchDTypeUInt8:
    case TorchDTypeInt8:
    case TorchDTypeBool:
      return 1;
    case TorchDTypeInt16:
    case TorchDTypeFloat16:
    case TorchDTypeBFloat16:
      return 2;
    case TorchDTypeInt32:
    case TorchDTypeFloat32:
      return 4;
    case TorchDTypeInt64:
    case TorchDTypeFloat64:
      return 8;
    default:
      return 0;
  }
}

// What a new tensor over bytes is like.
struct Layout {
  std::vector<int64_t> sizes, strides;
  size_t bytes = 0;
};

// Strides of the dimensions of a memory format, the fastest last: NCHW's are 0 1 2 3, channels last's 0 2 3 1.
void set_strides(Layout* layout, TorchMemoryFormat format) {
  const size_t dims = layout->sizes.size();
  layout->strides.assign(dims, 1);
  int64_t stride = 1;
  const auto next = [&](size_t dim) {
    layout->strides[dim] = stride;
    stride *= layout->sizes[dim] > 0 ? layout->sizes[dim] : 1;
  };
  const bool channels_last = format != TorchMemoryFormatContiguous;
  if (channels_last) next(1);
  for (size_t dim = dims; dim-- > (channels_last ? 2 : 0);) next(dim);
  if (channels_last) next(0);
}

bool find_layout(NSArray* shape, TorchDType dtype, TorchMemoryFormat format, Layout* layout, NSError** error) {
  if (!is_numbers(shape) || [shape count] > kMaxDims) {
    refuse(error, TorchletErrorInvalidArgument, @"a shape is an NSArray of at most 64 NSNumbers");
    return false;
  }
  const size_t element = element_size(dtype);
  if (element == 0) {
    refuse(error, TorchletErrorInvalidArgument,
           [NSString stringWithFormat:@"no tensor can be made of bytes of dtype %ld", static_cast<long>(dtype)]);
    return false;
  }
  size_t bytes = element;
  for (NSUInteger i = 0; i < [shape count]; ++i) {
    const long long size = [[shape objectAtIndex:i] longLongValue];
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<unsigned long long>(size), &bytes) || bytes > SIZE_MAX / 2) {
      refuse(error, TorchletErrorInvalidArgument,
             [NSString stringWithFormat:@"the shape [%@] has a negative size or is too large",
                                        [shape componentsJoinedByString:@", "]]);
      return false;
    }
    layout->sizes.push_back(size);
  }
  const size_t dims = layout->sizes.size();
  if ((format == TorchMemoryFormatChannelsLast && dims != 4) || (format == TorchMemoryFormatChannelsLast3d && dims != 5) ||
      format < TorchMemoryFormatContiguous || format == 1 || format > TorchMemoryFormatChannelsLast3d) {
    refuse(error, TorchletErrorInvalidArgument,
           [NSString stringWithFormat:@"memory format %ld does not go with %lu dimensions", static_cast<long>(format),
                                      static_cast<unsigned long>(dims)]);
    return false;
  }
  set_strides(layout, format);
  layout->bytes = bytes;
  return true;
}

NSArray* numbers_of(const int64_t* values, size_t count) {
  NSMutableArray* numbers = [NSMutableArray arrayWithCapacity:count];
  for (size_t i = 0; values && i < count; ++i) [numbers addObject:[NSNumber numberWithLongLong:values[i]]];
  return numbers;
}

// The three numbers of `array`, or `otherwise` for nil.
bool three_of(NSArray* array, const float* otherwise, float* numbers, NSError** error) {
  if (array && (!is_numbers(array) || [array count] != 3)) {
    refuse(error, TorchletErrorInvalidArgument, @"mean and std have 3 NSNumbers each, red first");
    return false;
  }
  for (NSUInteger i = 0; i < 3; ++i) numbers[i] = array ? [[array objectAtIndex:i] floatValue] : otherwise[i];
  return true;
}

NSNumber* element(const void* data, TorchDType dtype, size_t i) {
  switch (dtype) {
    case TorchDTypeInt64:
      return [NSNumber numberWithLongLong:static_cast<const int64_t*>(data)[i]];
    case TorchDTypeBool:
      return [NSNumber numberWithBool:static_cast<const uint8_t*>(data)[i] != 0];
    default:
      return [NSNumber numberWithDouble:static_cast<const double*>(data)[i]];
  }
}

}  // namespace

@implementation TorchTensor

- (instancetype)initWithTensor:(torchlet_tensor*)handle {
  self = [super init];
  if (self) {
    _handle = handle;
  } else {
    torchlet_tensor_free(handle);
  }
  return self;
}

- (const torchlet_tensor*)handle {
  return _handle;
}

- (void)dealloc {
  torchlet_tensor_free(_handle);
  TORCHLET_SUPER_DEALLOC();
}

+ (instancetype)tensorWithMutableDataNoCopy:(NSMutableData*)data
                                      dtype:(TorchDType)dtype
                                      shape:(NSArray*)shape
                                     format:(TorchMemoryFormat)format
                                      error:(NSError**)error {
  Layout layout;
  if (!find_layout(shape, dtype, format, &layout, error)) return nil;
  if (![data isKindOfClass:[NSMutableData class]] || [data length] != layout.bytes) {
    refuse(error, TorchletErrorInvalidArgument,
           [NSString stringWithFormat:@"the tensor has %zu bytes, and %@", layout.bytes,
                                      data ? [NSString stringWithFormat:@"%lu are given",
                                                                        static_cast<unsigned long>([data length])]
                                           : @"there are no data"]);
    return nil;
  }
  int64_t nothing = 0;  // what stands for the bytes of an empty tensor
  void* const bytes = layout.bytes > 0 ? [data mutableBytes] : &nothing;
  void* const kept = TORCHLET_KEEP(data);
  Tensor tensor;
  if (!succeeded(torchlet_tensor_from_memory(bytes, static_cast<torchlet_dtype>(dtype), layout.sizes.data(),
                                             layout.strides.data(), layout.sizes.size(), let_go, kept, tensor.out()),
                 error)) {
    TORCHLET_LET_GO(kept);
    return nil;
  }
  return TORCHLET_AUTORELEASE([[self alloc] initWithTensor:tensor.release()]);
}

+ (instancetype)tensorWithData:(NSData*)data
                         dtype:(TorchDType)dtype
                         shape:(NSArray*)shape
                        format:(TorchMemoryFormat)format
                         error:(NSError**)error {
  NSMutableData* copy = [data isKindOfClass:[NSData class]] ? [NSMutableData dataWithData:data] : nil;
  return [self tensorWithMutableDataNoCopy:copy dtype:dtype shape:shape format:format error:error];
}

+ (instancetype)tensorWithFloats:(const float*)numbers shape:(NSArray*)shape error:(NSError**)error {
  Layout layout;
  if (!find_layout(shape, TorchDTypeFloat32, TorchMemoryFormatContiguous, &layout, error)) return nil;
  if (!numbers && layout.bytes > 0) {
    refuse(error, TorchletErrorInvalidArgument, @"there are no numbers: the pointer to them is NULL");
    return nil;
  }
  NSMutableData* copy = layout.bytes > 0 ? [NSMutableData dataWithBytes:numbers length:layout.bytes] : [NSMutableData data];
  return [self tensorWithMutableDataNoCopy:copy
                                     dtype:TorchDTypeFloat32
                                     shape:shape
                                    format:TorchMemoryFormatContiguous
                                     error:error];
}

+ (instancetype)tensorWithPixels:(const void*)pixels
                          format:(TorchPixels)format
                           width:(NSInteger)width
                          height:(NSInteger)height
                     bytesPerRow:(NSInteger)bytesPerRow
                            mean:(NSArray*)mean
                             std:(NSArray*)std
                           error:(NSError**)error {
  float means[3], stds[3];
  if (!three_of(mean, kImageNetMean, means, error) || !three_of(std, kImageNetStd, stds, error)) return nil;
  const NSInteger step = bytes_of_pixel(format);
  if (!pixels || step == 0 || width < 1 || height < 1 || width > kMaxSide || height > kMaxSide || bytesPerRow < width * step) {
    refuse(error, TorchletErrorInvalidArgument,
           [NSString stringWithFormat:@"no picture: %ld x %ld pixels of format %ld at %p, %ld bytes a row",
                                      static_cast<long>(width), static_cast<long>(height), static_cast<long>(format), pixels,
                                      static_cast<long>(bytesPerRow)]);
    return nil;
  }
  NSArray* shape = [NSArray arrayWithObjects:[NSNumber numberWithInt:1], [NSNumber numberWithInt:3],
                                             [NSNumber numberWithLongLong:height], [NSNumber numberWithLongLong:width], nil];
  NSMutableData* floats = [NSMutableData dataWithLength:static_cast<NSUInteger>(3 * width * height) * sizeof(float)];
  auto* out = static_cast<float*>([floats mutableBytes]);
  if (!out) {
    refuse(error, TorchletErrorOutOfMemory, @"there is no memory for the floats of the picture");
    return nil;
  }
  for (NSInteger channel = 0; channel < 3; ++channel) {
    const NSInteger at = format == TorchPixelsGrey ? 0 : format == TorchPixelsBGRA ? 2 - channel : channel;
    for (NSInteger y = 0; y < height; ++y) {
      const uint8_t* row = static_cast<const uint8_t*>(pixels) + y * bytesPerRow + at;
      for (NSInteger x = 0; x < width; ++x) *out++ = (row[x * step] / 255.0f - means[channel]) / stds[channel];
    }
  }
  return [self tensorWithMutableDataNoCopy:floats
                                     dtype:TorchDTypeFloat32
                                     shape:shape
                                    format:TorchMemoryFormatContiguous
                                     error:error];
}

- (TorchDType)dtype {
  return static_cast<TorchDType>(torchlet_tensor_dtype(_handle));
}

- (NSArray*)shape {
  return numbers_of(torchlet_tensor_sizes(_handle), torchlet_tensor_dims(_handle));
}

- (NSArray*)strides {
  return numbers_of(torchlet_tensor_strides(_handle), torchlet_tensor_dims(_handle));
}

- (NSInteger)numel {
  return static_cast<NSInteger>(torchlet_tensor_numel(_handle));
}

- (void*)bytes {
  return torchlet_tensor_data(_handle);
}

- (TorchTensor*)tensorWithDType:(TorchDType)dtype format:(TorchMemoryFormat)format error:(NSError**)error {
  Tensor tensor;
  if (!succeeded(torchlet_tensor_to(_handle, static_cast<torchlet_dtype>(dtype), static_cast<torchlet_memory_format>(format),
                                    tensor.out()),
                 error)) {
    return nil;
  }
  return TORCHLET_AUTORELEASE([[TorchTensor alloc] initWithTensor:tensor.release()]);
}

- (NSData*)dataOfDType:(TorchDType)dtype error:(NSError**)error {
  TorchTensor* tensor = [self tensorWithDType:dtype format:TorchMemoryFormatContiguous error:error];
  if (!tensor) return nil;
  const size_t size = static_cast<size_t>([tensor numel]) * torchlet_tensor_element_size([tensor handle]);
  return size > 0 && [tensor bytes] ? [NSData dataWithBytes:[tensor bytes] length:size] : [NSData data];
}

- (NSData*)dataAndReturnError:(NSError**)error {
  return [self dataOfDType:[self dtype] error:error];
}

- (NSData*)floatsAndReturnError:(NSError**)error {
  return [self dataOfDType:TorchDTypeFloat32 error:error];
}

- (NSArray*)numbersAndReturnError:(NSError**)error {
  const TorchDType own = [self dtype];
  const bool whole = own == TorchDTypeUInt8 || own == TorchDTypeInt8 || own == TorchDTypeInt16 || own == TorchDTypeInt32 ||
                     own == TorchDTypeInt64;
  const TorchDType dtype = whole ? TorchDTypeInt64 : own == TorchDTypeBool ? TorchDTypeBool : TorchDTypeFloat64;
  NSData* data = [self dataOfDType:dtype error:error];
  if (!data) return nil;
  const size_t count = [data length] / element_size(dtype);
  NSMutableArray* numbers = [NSMutableArray arrayWithCapacity:count];
  for (size_t i = 0; i < count; ++i) [numbers addObject:element([data bytes], dtype, i)];
  return numbers;
}

- (NSString*)description {
  return [NSString stringWithFormat:@"TorchTensor [%@] %@", [[self shape] componentsJoinedByString:@", "],
                                    string_of(torchlet_dtype_name(torchlet_tensor_dtype(_handle)))];
}

@end
