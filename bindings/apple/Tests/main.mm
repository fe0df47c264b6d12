// Tests of the Objective-C half on real models: GNUstep runs them on Linux, a command-line target runs them on a Mac. They run in
// the root of the checkout.
#import "tests.h"

#include <torchlet/c_api.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

id call(TorchModule* module, NSString* method, NSArray* inputs) {
  NSError* error = nil;
  id result = [module runMethod:method inputs:inputs keywords:nil error:&error];
  if (!result) std::printf("%s: %s\n", [method UTF8String], [[error localizedDescription] UTF8String]);
  return result;
}

TorchTensor* tensor(std::vector<float> numbers, NSArray* shape) {
  NSError* error = nil;
  TorchTensor* result = [TorchTensor tensorWithFloats:numbers.data() shape:shape error:&error];
  if (!result) std::printf("%s\n", [[error localizedDescription] UTF8String]);
  return result;
}

// The picture of a digit as the model wants it.
TorchTensor* digit(const char* path, NSError** error) {
  torchlet_image* image = nullptr;
  if (torchlet_image_read(path, &image) != TORCHLET_OK) return nil;
  const auto width = static_cast<NSInteger>(torchlet_image_width(image));
  const auto height = static_cast<NSInteger>(torchlet_image_height(image));
  TorchTensor* result = [TorchTensor tensorWithPixels:torchlet_image_data(image)
                                               format:TorchPixelsRGB
                                                width:width
                                               height:height
                                          bytesPerRow:3 * width
                                                 mean:nil
                                                  std:nil
                                                error:error];
  torchlet_image_free(image);
  return result;
}

NSUInteger largest(NSArray* scores) {
  NSUInteger best = 0;
  for (NSUInteger i = 1; i < [scores count]; ++i) {
    if ([[scores objectAtIndex:i] floatValue] > [[scores objectAtIndex:best] floatValue]) best = i;
  }
  return best;
}

// ---- tests ----

void classifies_digits() {
  TorchModule* model = [[[TorchModule alloc] initWithFileAtPath:kDigits] autorelease];
  NSError* error = nil;
  for (const int number : {0, 2, 3, 4, 7, 9}) {
    char path[100];
    std::snprintf(path, sizeof path, "models/samples/digit_%d.png", number);
    TorchTensor* input = digit(path, &error);
    EXPECT(input != nil);
    id scores = [model forward:list(input) error:&error];
    EXPECT([scores isKindOfClass:[TorchTensor class]]);
    EXPECT(largest([scores numbersAndReturnError:&error]) == static_cast<NSUInteger>(number));
    // The recipe's call gives the same numbers.
    NSArray* shape = [input shape];
    NSArray* predicted = [model predictImage:[input bytes]
                                       width:[[shape objectAtIndex:3] integerValue]
                                      height:[[shape objectAtIndex:2] integerValue]
                                       error:&error];
    EXPECT([predicted isEqual:[scores numbersAndReturnError:&error]]);
  }
  std::vector<float> image(3 * 224 * 224, 0.25f);
  EXPECT([[model predictImage:image.data()] count] == 10);
}

void gives_pytorchs_answer() {
  // linear.in0.npy and .out0.npy: float32, after a header that ends with a line feed.
  const auto numbers = [](NSString* path) {
    NSData* file = [NSData dataWithContentsOfFile:path];
    const auto* bytes = static_cast<const char*>([file bytes]);
    const size_t begin = static_cast<size_t>(static_cast<const char*>(std::memchr(bytes, '\n', [file length])) - bytes) + 1;
    std::vector<float> result(([file length] - begin) / sizeof(float));
    std::memcpy(result.data(), bytes + begin, result.size() * sizeof(float));
    return result;
  };
  TorchModule* model = load(@"tests/fixtures/linear.pt");
  TorchTensor* weight = [model attributeAtPath:@"weight" error:NULL];
  const NSInteger features = [[[weight shape] objectAtIndex:1] integerValue];
  const std::vector<float> in = numbers(@"tests/fixtures/linear.in0.npy"), out = numbers(@"tests/fixtures/linear.out0.npy");
  TorchTensor* input = tensor(in, list(integer(static_cast<long long>(in.size()) / features), integer(features)));
  NSData* got = [[model forward:list(input) error:NULL] floatsAndReturnError:NULL];
  EXPECT([got length] == out.size() * sizeof(float));
  for (size_t i = 0; i < out.size(); ++i) EXPECT(std::abs(static_cast<const float*>([got bytes])[i] - out[i]) < 1e-6f);
}

void converts_values() {
  TorchModule* model = load(kValues);
  NSDictionary* maps = call(model, @"forward", list(tensor({1, 2}, list(integer(2)))));
  EXPECT([maps isKindOfClass:[NSDictionary class]] && [maps count] == 2);
  EXPECT([[[maps objectForKey:@"out"] numbersAndReturnError:NULL] isEqual:list(real(2), real(4))]);
  EXPECT([[[maps objectForKey:@"aux"] numbersAndReturnError:NULL] isEqual:list(real(2), real(3))]);

  TorchTuple* record = call(model, @"record", list(integer(41), real(1.25), [NSNumber numberWithBool:YES], @"größer"));
  EXPECT([record isKindOfClass:[TorchTuple class]]);
  EXPECT([[record items] isEqual:list(integer(42), real(2.5), [NSNumber numberWithBool:NO], @"größer!")]);
  EXPECT([[record items] objectAtIndex:2] == [NSNumber numberWithBool:NO]);

  TorchTuple* swapped = call(model, @"swap", list([TorchTuple tupleWithItems:list(integer(1), @"one")]));
  EXPECT([[swapped items] isEqual:list(@"one", integer(1))]);
  EXPECT(call(model, @"maybe", list([NSNull null])) == [NSNull null]);
  EXPECT([call(model, @"maybe", list(integer(7))) isEqual:integer(7)]);
  EXPECT([call(model, @"floats", list(list(real(1), real(2.25)))) isEqual:list(real(1.5), real(2.75))]);
  EXPECT([call(model, @"floats", list([NSArray array])) isEqual:[NSArray array]]);
  NSArray* nested = call(model, @"nested", list(list(list(integer(1)), list(integer(2), integer(3)))));
  EXPECT([nested isEqual:list(list(integer(1)), list(integer(2), integer(3)), list(integer(2)))]);
  NSDictionary* counts = call(model, @"counts", list([NSDictionary dictionaryWithObject:integer(5) forKey:@"five"]));
  EXPECT([counts isEqual:[NSDictionary dictionaryWithObjectsAndKeys:integer(5), @"five", integer(1), @"more", nil]]);
  NSDictionary* numbers = [NSDictionary dictionaryWithObject:real(0.5) forKey:integer(-3)];
  EXPECT([call(model, @"by_number", list(numbers)) isEqual:numbers]);
  EXPECT([[call(model, @"repeat", list(integer(3))) objectAtIndex:2] isEqual:@"ü"]);

  NSError* error = nil;
  NSDictionary* keywords = [NSDictionary dictionaryWithObject:real(10) forKey:@"scale"];
  NSArray* tensors = list(list(tensor({1, 2}, list(integer(2))), tensor({3}, list(integer(1)))));
  TorchTensor* total = [model runMethod:@"total" inputs:tensors keywords:keywords error:&error];
  EXPECT([[total numbersAndReturnError:&error] isEqual:list(real(60))] && [[total shape] count] == 0);

  EXPECT([model runMethod:@"imaginary" inputs:[NSArray array] keywords:nil error:&error] == nil);
  EXPECT(code_of(error) == TorchletErrorUnsupported);
}

void segments_pictures() {
  // values.pt gives twice its input as "out": three planes of 2 x 3.
  float planes[3][6] = {{1, 0, 0, 5, 2, 2}, {0, 1, 0, 5, 3, 1}, {0, 0, 1, 4, 9, 0}};
  NSError* error = nil;
  NSData* classes = [load(kValues) segmentImage:planes width:3 height:2 error:&error];
  const uint8_t expected[] = {0, 1, 2, 0, 2, 0};
  EXPECT([classes isEqual:[NSData dataWithBytes:expected length:6]]);
  std::vector<float> image(3 * 224 * 224);
  EXPECT([load(kDigits) segmentImage:image.data() width:224 height:224 error:&error] == nil);
  EXPECT(code_of(error) == TorchletErrorUnsupported && contains([error localizedDescription], @"TorchTensor [1, 10] float32"));
  EXPECT([load(kValues) segmentImage:NULL width:3 height:2 error:&error] == nil);
  EXPECT(code_of(error) == TorchletErrorInvalidArgument);
}

void tells_about_models() {
  TorchModule* model = load(kValues);
  EXPECT([[model typeName] isEqual:@"__torch__.Values"] || contains([model typeName], @"Values"));
  EXPECT([[model methodNames] containsObject:@"forward"] && [[model methodNames] containsObject:@"swap"]);
  NSError* error = nil;
  EXPECT(contains([model schemaOfMethod:@"total" error:&error], @"float scale=1"));
  EXPECT([[[model attributeAtPath:@"weight" error:&error] numbersAndReturnError:&error]
      isEqual:list(real(1), real(2), real(3))]);
  NSDictionary* info = [model infoAndReturnError:&error];
  EXPECT([info isKindOfClass:[NSDictionary class]] && [info count] > 3);
  EXPECT([[TorchModule version] length] >= 5);
  TorchModule* bundled = load(@"tests/fixtures/bundled.pt");
  NSArray* calls = [bundled bundledInputsOfMethod:@"forward" error:&error];
  EXPECT([calls count] > 0 && [[calls objectAtIndex:0] isKindOfClass:[TorchTuple class]]);
  EXPECT([bundled forward:[[calls objectAtIndex:0] items] error:&error] != nil);
  EXPECT([model bundledInputsOfMethod:@"forward" error:&error] == nil && code_of(error) == TorchletErrorNotFound);
}

void tensors_keep_what_they_are_given() {
  NSError* error = nil;
  NSMutableData* bytes = [NSMutableData dataWithLength:6 * sizeof(int32_t)];
  auto* numbers = static_cast<int32_t*>([bytes mutableBytes]);
  for (int i = 0; i < 6; ++i) numbers[i] = i - 2;
  TorchTensor* shared = [TorchTensor tensorWithMutableDataNoCopy:bytes
                                                           dtype:TorchDTypeInt32
                                                           shape:list(integer(2), integer(3))
                                                          format:TorchMemoryFormatContiguous
                                                           error:&error];
  EXPECT([shared bytes] == numbers && [shared numel] == 6 && [shared dtype] == TorchDTypeInt32);
  EXPECT([[shared strides] isEqual:list(integer(3), integer(1))]);
  numbers[5] = 100;
  EXPECT([[[shared numbersAndReturnError:&error] lastObject] isEqual:integer(100)]);
  TorchTensor* floats = [shared tensorWithDType:TorchDTypeFloat32 format:TorchMemoryFormatContiguous error:&error];
  EXPECT(static_cast<const float*>([floats bytes])[5] == 100.0f);
  EXPECT(contains([shared description], @"[2, 3] int32"));

  // NHWC in memory, NCHW in shape.
  const uint8_t pixels[] = {1, 2, 3, 4, 5, 6};
  TorchTensor* last = [TorchTensor tensorWithData:[NSData dataWithBytes:pixels length:6]
                                            dtype:TorchDTypeUInt8
                                            shape:list(integer(1), integer(3), integer(1), integer(2))
                                           format:TorchMemoryFormatChannelsLast
                                            error:&error];
  EXPECT([[last numbersAndReturnError:&error]
      isEqual:list(integer(1), integer(4), integer(2), integer(5), integer(3), integer(6))]);
  TorchTensor* truth = [TorchTensor tensorWithData:[NSData dataWithBytes:"\0\1" length:2]
                                             dtype:TorchDTypeBool
                                             shape:list(integer(2))
                                            format:TorchMemoryFormatContiguous
                                             error:&error];
  EXPECT([[truth numbersAndReturnError:&error] lastObject] == [NSNumber numberWithBool:YES]);
  TorchTensor* empty = tensor({}, list(integer(0), integer(4)));
  EXPECT([empty numel] == 0 && [[empty dataAndReturnError:&error] length] == 0);

  const uint8_t bgra[] = {255, 0, 51, 9};
  TorchTensor* colour = [TorchTensor tensorWithPixels:bgra
                                               format:TorchPixelsBGRA
                                                width:1
                                               height:1
                                          bytesPerRow:4
                                                 mean:list(real(0), real(0), real(0))
                                                  std:list(real(1), real(1), real(1))
                                                error:&error];
  EXPECT([[colour shape] isEqual:list(integer(1), integer(3), integer(1), integer(1))]);
  const auto* rgb = static_cast<const float*>([colour bytes]);
  EXPECT(rgb[0] == 51.0f / 255 && rgb[1] == 0 && rgb[2] == 1);
}

void maps_errors() {
  TorchModule* model = load(kValues);
  NSError* error = nil;
  EXPECT([model runMethod:@"fails" inputs:list(integer(7)) keywords:nil error:&error] == nil);
  EXPECT(code_of(error) == TorchletErrorRuntime);
  NSDictionary* info = [error userInfo];
  EXPECT(contains([info objectForKey:TorchletErrorMessageKey], @"too large: 7"));
  EXPECT(contains([error localizedDescription], @"too large: 7"));
  EXPECT([[info objectForKey:TorchletErrorPythonClassKey] isEqual:@"builtins.ValueError"]);
  NSArray* places = [info objectForKey:TorchletErrorPlacesKey];
  EXPECT([places count] > 0 && contains([places objectAtIndex:0], @"make_binding_fixtures.py:"));
  EXPECT([places count] > 0 && contains([error localizedDescription], [places objectAtIndex:0]));

  EXPECT([[TorchModule alloc] initWithFileAtPath:@"no/such/file.pt" options:nil error:&error] == nil);
  EXPECT(code_of(error) == TorchletErrorIO && contains([error localizedDescription], @"no/such/file.pt"));
  EXPECT([[error userInfo] objectForKey:TorchletErrorPythonClassKey] == nil);
  EXPECT([[TorchModule alloc] initWithFileAtPath:@"README.md" options:nil error:&error] == nil);
  EXPECT(contains([error localizedDescription], @"this is a text file"));
  NSData* cut = [[NSData dataWithContentsOfFile:kValues] subdataWithRange:NSMakeRange(0, 1000)];
  EXPECT([[TorchModule alloc] initWithModelData:cut options:nil error:&error] == nil);
  EXPECT(code_of(error) == TorchletErrorFileFormat);
  EXPECT([[TorchModule alloc] initWithFileAtPath:@"README.md"] == nil);
  EXPECT([model runMethod:@"nowhere" inputs:[NSArray array] keywords:nil error:&error] == nil);
  EXPECT(code_of(error) == TorchletErrorNotFound && contains([error localizedDescription], @"nowhere"));
  EXPECT([model forward:list(@"text") error:&error] == nil && code_of(error) == TorchletErrorInvalidArgument);
  EXPECT([model forward:[NSArray array] error:&error] == nil && code_of(error) == TorchletErrorInvalidArgument);

  TorchOptions* options = [[[TorchOptions alloc] init] autorelease];
  options.devices = @"warp-drive";
  EXPECT([[TorchModule alloc] initWithFileAtPath:kValues options:options error:&error] == nil);
  EXPECT(contains([error localizedDescription], @"warp-drive"));
  options.devices = @"reference";
  options.precision = @"fp32";
  options.timeLimit = 0.05;
  TorchModule* limited = [[[TorchModule alloc] initWithFileAtPath:kValues options:options error:&error] autorelease];
  EXPECT(limited != nil);
  EXPECT([limited runMethod:@"spin" inputs:list(integer(1000000000000)) keywords:nil error:&error] == nil);
  EXPECT(code_of(error) == TorchletErrorTimeLimit);
  options.timeLimit = 0;
  options.memoryLimit = 100;
  limited = [[TorchModule alloc] initWithFileAtPath:kDigits options:options error:&error];
  EXPECT(limited == nil && code_of(error) == TorchletErrorMemoryLimit);
  EXPECT(![TorchModule setThreadCount:-1 error:&error] && code_of(error) == TorchletErrorInvalidArgument);
  EXPECT(![TorchModule setThreadCount:1000 error:&error]);
  EXPECT([TorchModule setThreadCount:2 error:&error] && [TorchModule threadCount] == 2);
}

// What is nil, of a wrong class or has no form ends in an error and never in an exception or a crash; so does each of them
// without a place for the error.
void takes_nothing_wrong() {
  NSError* error = nil;
  for (NSError** to : {&error, static_cast<NSError**>(NULL)}) {
    EXPECT([[TorchModule alloc] initWithFileAtPath:nil options:nil error:to] == nil);
    EXPECT([[TorchModule alloc] initWithFileAtPath:(NSString*)integer(3) options:nil error:to] == nil);
    EXPECT([[TorchModule alloc] initWithModelData:nil options:nil error:to] == nil);
    EXPECT([[TorchModule alloc] initWithModelData:[NSData data] options:nil error:to] == nil);
    TorchModule* model = load(kValues);
    EXPECT([model runMethod:nil inputs:[NSArray array] keywords:nil error:to] == nil);
    EXPECT([model runMethod:@"forward" inputs:nil keywords:nil error:to] == nil);
    EXPECT([model runMethod:@"forward" inputs:(NSArray*)@"x" keywords:nil error:to] == nil);
    EXPECT([model runMethod:@"forward" inputs:[NSArray array] keywords:(NSDictionary*)@"x" error:to] == nil);
    EXPECT([model forward:list([NSDate date]) error:to] == nil);
    EXPECT([model schemaOfMethod:nil error:to] == nil && [model attributeAtPath:nil error:to] == nil);
    EXPECT([model bundledInputsOfMethod:nil error:to] == nil);
    NSMutableArray* endless = [NSMutableArray array];
    [endless addObject:endless];
    EXPECT([model forward:list(endless) error:to] == nil);
    [endless removeAllObjects];
    EXPECT([model runMethod:@"maybe" inputs:list([NSNumber numberWithUnsignedLongLong:~0ull]) keywords:nil error:to] == nil);
    const unichar half = 0xd800;
    NSString* text = [NSString stringWithCharacters:&half length:1];  // nil in GNUstep
    EXPECT(!text || [model runMethod:@"maybe" inputs:list(text) keywords:nil error:to] == nil);
    EXPECT([model runMethod:@"a\0b" inputs:[NSArray array] keywords:nil error:to] == nil);
    EXPECT([model predictImage:NULL width:2 height:2 error:to] == nil);
    EXPECT([model predictImage:NULL width:-1 height:2 error:to] == nil);

    NSArray* shape = list(integer(2));
    EXPECT([TorchTensor tensorWithFloats:NULL shape:shape error:to] == nil);
    const float numbers[2] = {1, 2};
    EXPECT([TorchTensor tensorWithFloats:numbers shape:nil error:to] == nil);
    EXPECT([TorchTensor tensorWithFloats:numbers shape:list(@"2") error:to] == nil);
    EXPECT([TorchTensor tensorWithFloats:numbers shape:list(integer(-2)) error:to] == nil);
    EXPECT([TorchTensor tensorWithFloats:numbers shape:list(integer(INT64_MAX), integer(4)) error:to] == nil);
    NSData* bytes = [NSMutableData dataWithLength:8];
    const auto make = [&](NSData* data, NSInteger dtype, NSArray* sizes, NSInteger format) {
      return [TorchTensor tensorWithData:data
                                   dtype:static_cast<TorchDType>(dtype)
                                   shape:sizes
                                  format:static_cast<TorchMemoryFormat>(format)
                                   error:to];
    };
    EXPECT(make(bytes, 6, shape, 0) != nil);
    EXPECT(make(nil, 6, shape, 0) == nil);
    EXPECT(make((NSData*)@"12345678", 6, shape, 0) == nil);
    EXPECT(make(bytes, 6, list(integer(3)), 0) == nil);
    EXPECT(make(bytes, 99, shape, 0) == nil && make(bytes, 13, shape, 0) == nil && make(bytes, -1, shape, 0) == nil);
    EXPECT(make(bytes, 6, shape, 1) == nil && make(bytes, 6, shape, 2) == nil && make(bytes, 6, shape, 77) == nil);
    EXPECT([TorchTensor tensorWithPixels:NULL format:TorchPixelsRGB width:1 height:1 bytesPerRow:3 mean:nil std:nil
                                   error:to] == nil);
    EXPECT([TorchTensor tensorWithPixels:numbers format:TorchPixelsRGB width:1 height:1 bytesPerRow:1 mean:nil std:nil
                                   error:to] == nil);
    EXPECT([TorchTensor tensorWithPixels:numbers format:TorchPixelsRGB width:1 height:1 bytesPerRow:3 mean:shape std:nil
                                   error:to] == nil);
    EXPECT([make(bytes, 6, shape, 0) tensorWithDType:static_cast<TorchDType>(99) format:TorchMemoryFormatContiguous
                                               error:to] == nil);
    // What init leaves without a handle answers with errors, too.
    TorchModule* hollow = [[[TorchModule alloc] init] autorelease];
    EXPECT([hollow forward:[NSArray array] error:to] == nil && [[hollow methodNames] count] == 0);
    EXPECT([[hollow typeName] isEqual:@""] && [hollow duplicateAndReturnError:to] == nil);
    [hollow setCancelled:YES];
    TorchTensor* without = [[[TorchTensor alloc] init] autorelease];
    EXPECT([without numel] == 0 && [[without shape] count] == 0 && [without dataAndReturnError:to] == nil);
    EXPECT([model forward:list(without) error:to] == nil);
    EXPECT([[[TorchTuple tupleWithItems:nil] items] count] == 0);
  }
}

void runs_on_threads() {
  TorchModule* model = load(kDigits);
  NSError* error = nil;
  TorchTensor* input = digit("models/samples/digit_7.png", &error);
  NSArray* expected = [[model forward:list(input) error:&error] numbersAndReturnError:&error];
  std::atomic<int> right{0}, messages{0};
  std::vector<std::thread> threads;
  TorchModule* values = load(kValues);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
#ifdef GNUSTEP
      GSRegisterCurrentThread();
#endif
      {
        const Pool pool;
        for (int i = 0; i < 25; ++i) {
          const Pool inner;
          right += [[[model forward:list(input) error:NULL] numbersAndReturnError:NULL] isEqual:expected];
          NSError* own = nil;
          [values runMethod:@"fails" inputs:list(integer(10 + t)) keywords:nil error:&own];
          messages += contains([own localizedDescription], [NSString stringWithFormat:@"too large: %d", 10 + t]);
        }
      }
#ifdef GNUSTEP
      GSUnregisterCurrentThread();
#endif
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT(right == 100);
  EXPECT(messages == 100);

  TorchModule* spinning = load(kValues);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    [spinning setCancelled:YES];
  });
  EXPECT([spinning runMethod:@"spin" inputs:list(integer(1000000000000)) keywords:nil error:&error] == nil);
  EXPECT(code_of(error) == TorchletErrorCancelled);
  canceller.join();
  [spinning setCancelled:NO];
  EXPECT([[spinning runMethod:@"spin" inputs:list(integer(5)) keywords:nil error:&error] isEqual:integer(5)]);
}

// KB that the process holds, or 0 where that cannot be read.
long resident() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  long result = 0;
  char line[200];
  while (file && std::fgets(line, sizeof line, file)) std::sscanf(line, "VmRSS: %ld", &result);
  if (file) std::fclose(file);
  return result;
}

void leaves_no_memory_behind() {
  TorchModule* model = load(kDigits);
  TorchModule* values = load(kValues);
  TorchTensor* input = digit("models/samples/digit_3.png", NULL);
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const Pool pool;
      [model forward:list(input) error:NULL];
      call(values, @"forward", list(tensor(std::vector<float>(1000, 1.0f), list(integer(1000)))));
      call(values, @"record", list(integer(i), real(i), [NSNumber numberWithBool:NO], @"text"));
      NSError* error = nil;
      [values runMethod:@"fails" inputs:list(integer(9)) keywords:nil error:&error];
      if (i % 50 == 0) [values duplicateAndReturnError:&error];
      if (i % 50 == 0) load(kValues);
      [[TorchModule alloc] initWithFileAtPath:@"README.md" options:nil error:&error];
    }
  };
  rounds(300);
  const long before = resident();
  rounds(3000);
  const long grown = resident() - before;
  std::printf("3000 rounds: %ld KB more\n", grown);
  EXPECT(grown < 2000);

  NSMutableData* bytes = [[NSMutableData alloc] initWithLength:4];
  const NSUInteger references = [bytes retainCount];
  {
    const Pool pool;
    [TorchTensor tensorWithMutableDataNoCopy:bytes
                                       dtype:TorchDTypeFloat32
                                       shape:list(integer(1))
                                      format:TorchMemoryFormatContiguous
                                       error:NULL];
    EXPECT([bytes retainCount] == references + 1);
  }
  EXPECT([bytes retainCount] == references);
  [bytes release];
}

}  // namespace

int main(int count_of_arguments, char** arguments) {
  if (count_of_arguments > 1) {  // a folder of models, in place of the tests
    const Pool pool;
    int loaded = 0, refused = 0;
    load_folder([NSString stringWithUTF8String:arguments[1]], &loaded, &refused);
    std::printf("%d models loaded, %d refused, %d checks failed\n", loaded, refused, failures);
    return failures > 0;
  }
  const struct {
    const char* name;
    void (*run)();
  } tests[] = {{"classifies digits", classifies_digits},
               {"gives PyTorch's answer", gives_pytorchs_answer},
               {"converts values", converts_values},
               {"segments pictures", segments_pictures},
               {"tells about models", tells_about_models},
               {"tensors keep what they are given", tensors_keep_what_they_are_given},
               {"maps errors", maps_errors},
               {"takes nothing wrong", takes_nothing_wrong},
               {"takes pictures", takes_pictures},
               {"takes cameras' pictures", takes_cameras},
               {"refuses pictures that are none", refuses_pictures},
               {"survives hostile models", survives_hostile_models},
               {"survives hostile pictures", survives_hostile_pictures},
               {"runs on threads", runs_on_threads},
               {"leaves no memory behind", leaves_no_memory_behind}};
  int failed = 0;
  for (const auto& test : tests) {
    const Pool pool;
    const int before = failures;
    test.run();
    const bool passed = failures == before;
    failed += !passed;
    std::printf("%s  %s\n", passed ? "ok    " : "FAILED", test.name);
    std::fflush(stdout);
  }
  const int count = static_cast<int>(sizeof tests / sizeof *tests);
  std::printf("%d tests passed, %d failed (%d checks)\n", count - failed, failed, checks);
  return failed > 0;
}
