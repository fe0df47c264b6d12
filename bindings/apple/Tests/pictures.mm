// Pictures and the steps to a model's input, against torchvision's numbers (scripts/make_image_fixtures.py).
#import "tests.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

NSString* const kPicture = @"tests/fixtures/image/rgb.png";
NSString* const kNormalized = @"{\"resize\": 32, \"crop\": 24, \"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}";

// The array of a file of NumPy: what stands behind the header, which ends with a line feed.
NSData* array(NSString* name) {
  NSData* file = [NSData dataWithContentsOfFile:[@"tests/fixtures/image/" stringByAppendingString:name]];
  const auto* bytes = static_cast<const char*>([file bytes]);
  const auto* end = static_cast<const char*>(std::memchr(bytes, '\n', [file length]));
  const auto begin = static_cast<NSUInteger>(end - bytes) + 1;
  return [file subdataWithRange:NSMakeRange(begin, [file length] - begin)];
}

TorchPreprocess* steps_of(NSString* record) {
  NSError* error = nil;
  TorchPreprocess* steps = [TorchPreprocess preprocessWithJSON:record error:&error];
  if (!steps) std::printf("%s\n", [[error localizedDescription] UTF8String]);
  return steps;
}

}  // namespace

void takes_pictures() {
  NSError* error = nil;
  TorchImage* image = [TorchImage imageWithContentsOfFile:kPicture error:&error];
  EXPECT([image width] == 53 && [image height] == 37);
  EXPECT([[image pixels] isEqual:array(@"rgb.png.npy")]);
  EXPECT([[[TorchImage imageWithData:[NSData dataWithContentsOfFile:kPicture] error:&error] pixels] isEqual:[image pixels]]);
  EXPECT([[[image resizedToWidth:30 height:20 error:&error] pixels] isEqual:array(@"resized_20x30.npy")]);
  EXPECT(contains([image description], @"53 x 37"));

  // All of torchvision's numbers, of the picture and of its pixels in one pass.
  TorchPreprocess* steps = steps_of(kNormalized);
  TorchTensor* input = [steps tensorOfImage:image error:&error];
  EXPECT([[input shape] isEqual:list(integer(1), integer(3), integer(24), integer(24))]);
  EXPECT([[input dataAndReturnError:&error] isEqual:array(@"input_24.npy")]);
  TorchTensor* same = [steps tensorOfPixels:[[image pixels] bytes]
                                     format:TorchPixelsRGB
                                      width:53
                                     height:37
                                bytesPerRow:3 * 53
                                   rotation:TorchRotation0
                                      error:&error];
  EXPECT([[same dataAndReturnError:&error] isEqual:array(@"input_24.npy")]);
  EXPECT([[[steps_of([steps json]) tensorOfImage:image error:&error] dataAndReturnError:&error] isEqual:array(@"input_24.npy")]);

  // Turned there and back, and cut out of the middle.
  TorchImage* turned = [image rotatedBy:TorchRotation90 error:&error];
  EXPECT([turned width] == 37 && [turned height] == 53);
  EXPECT([[[turned rotatedBy:TorchRotation270 error:&error] pixels] isEqual:[image pixels]]);
  TorchImage* upright = [TorchImage imageWithPixels:[[turned pixels] bytes]
                                             format:TorchPixelsRGB
                                              width:37
                                             height:53
                                        bytesPerRow:3 * 37
                                           rotation:TorchRotation270
                                              error:&error];
  EXPECT([[upright pixels] isEqual:[image pixels]]);
  TorchImage* pixel = [image croppedToX:52 y:36 width:2 height:1 error:&error];
  uint8_t expected[6] = {};
  [[image pixels] getBytes:expected range:NSMakeRange([[image pixels] length] - 3, 3)];
  EXPECT([[pixel pixels] isEqual:[NSData dataWithBytes:expected length:6]]);

  // A model takes it.
  TorchModule* model = load(kDigits);
  TorchImage* seven = [TorchImage imageWithContentsOfFile:@"models/samples/digit_7.png" error:&error];
  NSString* record = @"{\"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}";
  NSArray* scores = [[model forward:list([steps_of(record) tensorOfImage:seven error:&error]) error:&error]
      numbersAndReturnError:&error];
  for (NSUInteger i = 0; i < 10; ++i) {
    EXPECT(i == 7 || [[scores objectAtIndex:i] doubleValue] < [[scores objectAtIndex:7] doubleValue]);
  }

  // Models that carry their steps and labels, and one that does not.
  EXPECT([TorchPreprocess preprocessOfModule:model error:&error] == nil && code_of(error) == TorchletErrorNotFound);
  EXPECT([model extraFile:@"labels.txt" error:&error] == nil && code_of(error) == TorchletErrorNotFound);
  TorchModule* carries = load(@"tests/fixtures/image/carries.pt");
  TorchPreprocess* carried = [TorchPreprocess preprocessOfModule:carries error:&error];
  EXPECT([[[carried tensorOfImage:image error:&error] dataAndReturnError:&error] isEqual:array(@"input_24.npy")]);
  EXPECT([[carries extraFile:@"labels.txt" error:&error] isEqual:[NSData dataWithBytes:"one\nzw\xc3\xb6lf\n" length:11]]);
}

void takes_cameras() {
  // yuv.npy: planes of 39 x 53 bytes, and twice 20 x 27; yuv_rgb.npy: the RGB of each matrix, by NumPy.
  constexpr NSInteger kWidth = 53, kHeight = 39, kColumns = 27, kRows = 20;
  NSData* planes = array(@"yuv.npy");
  NSData* colours = array(@"yuv_rgb.npy");
  const auto* luma = static_cast<const uint8_t*>([planes bytes]);
  std::vector<uint8_t> chroma;
  for (NSInteger i = 0; i < kColumns * kRows; ++i) {
    chroma.push_back(luma[kWidth * kHeight + i]);
    chroma.push_back(luma[kWidth * kHeight + kColumns * kRows + i]);
  }
  NSError* error = nil;
  for (int matrix = 0; matrix < 4; ++matrix) {
    TorchImage* image = [TorchImage imageWithLuma:luma
                                  lumaBytesPerRow:kWidth
                                           chroma:chroma.data()
                                chromaBytesPerRow:2 * kColumns
                                            width:kWidth
                                           height:kHeight
                                           matrix:static_cast<TorchYUVMatrix>(matrix)
                                         rotation:TorchRotation0
                                            error:&error];
    const NSUInteger size = kWidth * kHeight * 3;
    EXPECT([[image pixels] length] == size);
    const auto* got = static_cast<const uint8_t*>([[image pixels] bytes]);
    const auto* want = static_cast<const uint8_t*>([colours bytes]) + static_cast<NSUInteger>(matrix) * size;
    int most = 0;
    for (NSUInteger i = 0; got && i < size; ++i) most = std::max(most, std::abs(got[i] - want[i]));
    EXPECT(most <= 1);
    // In one pass the same bits.
    TorchPreprocess* steps = steps_of(kNormalized);
    TorchTensor* once = [steps tensorOfLuma:luma
                            lumaBytesPerRow:kWidth
                                     chroma:chroma.data()
                          chromaBytesPerRow:2 * kColumns
                                      width:kWidth
                                     height:kHeight
                                     matrix:static_cast<TorchYUVMatrix>(matrix)
                                   rotation:TorchRotation90
                                      error:&error];
    TorchTensor* twice = [steps tensorOfImage:[image rotatedBy:TorchRotation90 error:&error] error:&error];
    EXPECT(once && [[once dataAndReturnError:&error] isEqual:[twice dataAndReturnError:&error]]);
  }
}

// Each with a place for the error and without.
void refuses_pictures() {
  NSError* error = nil;
  const uint8_t bytes[64] = {};
  const NSInteger far = INT64_MAX;
  for (NSError** to : {&error, static_cast<NSError**>(NULL)}) {
    EXPECT([TorchImage imageWithData:nil error:to] == nil && [TorchImage imageWithData:(NSData*)@"x" error:to] == nil);
    EXPECT([TorchImage imageWithData:[NSData data] error:to] == nil);
    EXPECT([TorchImage imageWithContentsOfFile:nil error:to] == nil && [TorchImage imageWithContentsOfFile:@"" error:to] == nil);
    EXPECT([TorchImage imageWithContentsOfFile:(NSString*)integer(3) error:to] == nil);
    EXPECT([TorchImage imageWithContentsOfFile:@"models" error:to] == nil);
    const auto picture = [&](const void* pixels, NSInteger format, NSInteger width, NSInteger height, NSInteger row, NSInteger turn) {
      return [TorchImage imageWithPixels:pixels format:static_cast<TorchPixels>(format) width:width height:height bytesPerRow:row
                                rotation:static_cast<TorchRotation>(turn) error:to];
    };
    EXPECT(picture(bytes, 1, 4, 4, 12, 0) != nil);
    EXPECT(!picture(NULL, 1, 4, 4, 12, 0) && !picture(bytes, 9, 4, 4, 12, 0) && !picture(bytes, -1, 4, 4, 12, 0));
    EXPECT(!picture(bytes, 1, 0, 4, 12, 0) && !picture(bytes, 1, 4, -4, 12, 0) && !picture(bytes, 1, 4, 4, 11, 0));
    EXPECT(!picture(bytes, 1, far, far, far, 0) && !picture(bytes, 1, 4, 4, 12, 45) && !picture(bytes, 1, 4, 4, 12, far));
    const auto camera = [&](const void* luma, const void* chroma, NSInteger width, NSInteger matrix) {
      return [TorchImage imageWithLuma:luma lumaBytesPerRow:4 chroma:chroma chromaBytesPerRow:4 width:width height:4
                                matrix:static_cast<TorchYUVMatrix>(matrix) rotation:TorchRotation0 error:to];
    };
    EXPECT(camera(bytes, bytes, 4, 0) != nil);
    EXPECT(!camera(NULL, bytes, 4, 0) && !camera(bytes, NULL, 4, 0) && !camera(bytes, bytes, -4, 0) && !camera(bytes, bytes, 4, 7));

    TorchImage* image = picture(bytes, 1, 4, 4, 12, 0);
    EXPECT([image resizedToWidth:0 height:4 error:to] == nil && [image resizedToWidth:far height:far error:to] == nil);
    EXPECT([image croppedToX:0 y:0 width:-1 height:1 error:to] == nil);
    EXPECT([image rotatedBy:static_cast<TorchRotation>(1) error:to] == nil);
    NSString* const records[] = {@"", @"{", @"[]", @"{\"resize\": -1}", @"{\"sharpen\": true}", @"{\"std\": [0]}"};
    for (NSString* record : records) {
      EXPECT([TorchPreprocess preprocessWithJSON:record error:to] == nil);
    }
    EXPECT([TorchPreprocess preprocessWithJSON:nil error:to] == nil);
    EXPECT([TorchPreprocess preprocessWithJSON:(NSString*)[NSNull null] error:to] == nil);
    EXPECT([TorchPreprocess preprocessOfModule:nil error:to] == nil);
    EXPECT([TorchPreprocess preprocessOfModule:(TorchModule*)@"x" error:to] == nil);
    TorchPreprocess* steps = steps_of(kNormalized);
    EXPECT([steps tensorOfImage:nil error:to] == nil && [steps tensorOfImage:(TorchImage*)@"x" error:to] == nil);
    EXPECT([steps tensorOfPixels:NULL format:TorchPixelsRGB width:4 height:4 bytesPerRow:12 rotation:TorchRotation0
                           error:to] == nil);
    EXPECT([load(kValues) extraFile:nil error:to] == nil && [load(kValues) extraFile:(NSString*)integer(3) error:to] == nil);
    // What init leaves without a handle.
    TorchImage* hollow = [[[TorchImage alloc] init] autorelease];
    EXPECT([hollow width] == 0 && [[hollow pixels] length] == 0 && [hollow rotatedBy:TorchRotation90 error:to] == nil);
    EXPECT([steps tensorOfImage:hollow error:to] == nil);
    TorchPreprocess* without = [[[TorchPreprocess alloc] init] autorelease];
    EXPECT([[without json] isEqual:@""] && [without tensorOfImage:image error:to] == nil);
  }
  EXPECT([TorchPreprocess preprocessWithJSON:@"{\"sharpen\": true}" error:&error] == nil);
  EXPECT(code_of(error) == TorchletErrorInvalidArgument && contains([error localizedDescription], @"sharpen"));
  EXPECT([TorchImage imageWithContentsOfFile:@"no/such.png" error:&error] == nil);
  EXPECT(code_of(error) == TorchletErrorIO && contains([error localizedDescription], @"no/such.png"));
}
