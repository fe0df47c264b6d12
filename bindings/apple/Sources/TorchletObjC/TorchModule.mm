#import "TorchModule.h"

#import "Handles.h"

#include <cstdint>
#include <vector>

using namespace torchlet::apple;

namespace {

constexpr NSInteger kImageNetSide = 224;

// Null in `handle` for nil, the defaults.
bool make_options(TorchOptions* options, Options* handle, NSError** error) {
  if (!options) return true;
  if (!succeeded(torchlet_options_new(handle->out()), error)) return false;
  torchlet_options* const to = handle->get();
  const auto set = [&](NSString* text, auto function, NSString* what) {
    if (!text) return true;
    const char* utf8 = utf8_of(text);
    if (utf8) return succeeded(function(to, utf8), error);
    refuse(error, TorchletErrorInvalidArgument, [NSString stringWithFormat:@"the option %@ is no text", what]);
    return false;
  };
  return set(options.devices, torchlet_options_set_devices, @"devices") &&
         set(options.precision, torchlet_options_set_precision, @"precision") &&
         succeeded(torchlet_options_set_allow_unsupported(to, options.allowUnsupported), error) &&
         succeeded(torchlet_options_set_memory_limit(to, options.memoryLimit), error) &&
         succeeded(torchlet_options_set_time_limit(to, options.timeLimit), error);
}

// The name of a method or attribute for the C ABI.
const char* name_of(NSString* name, NSError** error) {
  const char* utf8 = utf8_of(name);
  if (!utf8) refuse(error, TorchletErrorInvalidArgument, @"a name is nil, no NSString, or holds a null character");
  return utf8;
}

// Arguments of a call: values, and what points to them.
struct Arguments {
  std::vector<Value> values;
  std::vector<const torchlet_value*> handles;

  bool add(id object, NSError** error) {
    values.emplace_back();
    if (!value_of(object, &values.back(), error)) return false;
    handles.push_back(values.back().get());
    return true;
  }
};

// For each of `pixels` the plane with the largest number, the first of equals.
NSData* largest_of(const float* planes, size_t count, size_t pixels) {
  NSMutableData* classes = [NSMutableData dataWithLength:pixels];
  auto* best = static_cast<uint8_t*>([classes mutableBytes]);
  for (size_t plane = 1; plane < count; ++plane) {
    for (size_t i = 0; i < pixels; ++i) {
      if (planes[plane * pixels + i] > planes[best[i] * pixels + i]) best[i] = static_cast<uint8_t>(plane);
    }
  }
  return classes;
}

void log(NSString* what, NSError* error) { NSLog(@"Torchlet: %@: %@", what, [error localizedDescription]); }

}  // namespace

@implementation TorchOptions

@synthesize devices = _devices;
@synthesize precision = _precision;
@synthesize allowUnsupported = _allowUnsupported;
@synthesize memoryLimit = _memoryLimit;
@synthesize timeLimit = _timeLimit;

- (void)dealloc {
  TORCHLET_RELEASE(_devices);
  TORCHLET_RELEASE(_precision);
  TORCHLET_SUPER_DEALLOC();
}

@end

@implementation TorchModule

- (instancetype)initWithModule:(torchlet_module*)handle {
  self = [super init];
  if (self) {
    _handle = handle;
  } else {
    torchlet_module_free(handle);
  }
  return self;
}

- (const torchlet_module*)handle {
  return _handle;
}

- (void)dealloc {
  torchlet_module_free(_handle);
  TORCHLET_SUPER_DEALLOC();
}

- (instancetype)initWithFileAtPath:(NSString*)filePath {
  NSError* error = nil;
  self = [self initWithFileAtPath:filePath options:nil error:&error];
  if (!self) log(@"the model was not loaded", error);
  return self;
}

- (instancetype)initWithFileAtPath:(NSString*)filePath options:(TorchOptions*)options error:(NSError**)error {
  Module module;
  Options handle;
  const char* path = path_of(filePath);
  if (!path) refuse(error, TorchletErrorInvalidArgument, @"the path of the model is nil, no NSString, or holds a null character");
  if (!path || !make_options(options, &handle, error) ||
      !succeeded(torchlet_module_load(path, handle.get(), module.out()), error)) {
    TORCHLET_RELEASE(self);
    return nil;
  }
  return [self initWithModule:module.release()];
}

- (instancetype)initWithModelData:(NSData*)data options:(TorchOptions*)options error:(NSError**)error {
  Module module;
  Options handle;
  const bool given = [data isKindOfClass:[NSData class]];
  if (!given) refuse(error, TorchletErrorInvalidArgument, @"the bytes of the model are nil or no NSData");
  if (!given || !make_options(options, &handle, error) ||
      !succeeded(torchlet_module_load_memory([data length] > 0 ? [data bytes] : "", [data length], handle.get(), module.out()),
                 error)) {
    TORCHLET_RELEASE(self);
    return nil;
  }
  return [self initWithModule:module.release()];
}

- (NSArray*)predictImage:(void*)imageBuffer {
  NSError* error = nil;
  NSArray* scores = [self predictImage:imageBuffer width:kImageNetSide height:kImageNetSide error:&error];
  if (!scores) log(@"the prediction failed", error);
  return scores;
}

// What forward() answers to an image.
- (id)forwardImage:(void*)imageBuffer width:(NSInteger)width height:(NSInteger)height error:(NSError**)error {
  NSArray* shape = [NSArray arrayWithObjects:[NSNumber numberWithInt:1], [NSNumber numberWithInt:3],
                                             [NSNumber numberWithLongLong:height], [NSNumber numberWithLongLong:width], nil];
  TorchTensor* input = [TorchTensor tensorWithFloats:static_cast<const float*>(imageBuffer) shape:shape error:error];
  return input ? [self forward:[NSArray arrayWithObject:input] error:error] : nil;
}

- (NSArray*)predictImage:(void*)imageBuffer width:(NSInteger)width height:(NSInteger)height error:(NSError**)error {
  id output = [self forwardImage:imageBuffer width:width height:height error:error];
  if (!output) return nil;
  if (![output isKindOfClass:[TorchTensor class]]) {
    refuse(error, TorchletErrorUnsupported,
           [NSString stringWithFormat:@"the model gives %@ and no tensor of scores; use forward:error:",
                                      NSStringFromClass([output class])]);
    return nil;
  }
  return [static_cast<TorchTensor*>(output) numbersAndReturnError:error];
}

- (NSData*)segmentImage:(void*)imageBuffer width:(NSInteger)width height:(NSInteger)height error:(NSError**)error {
  id output = [self forwardImage:imageBuffer width:width height:height error:error];
  if (!output) return nil;
  if ([output isKindOfClass:[NSDictionary class]]) output = [static_cast<NSDictionary*>(output) objectForKey:@"out"];
  TorchTensor* scores = [output isKindOfClass:[TorchTensor class]] ? output : nil;
  NSArray* shape = [scores shape];
  if ([shape count] != 4 || [[shape objectAtIndex:0] integerValue] != 1 || [[shape objectAtIndex:2] integerValue] != height ||
      [[shape objectAtIndex:3] integerValue] != width || [[shape objectAtIndex:1] integerValue] > 256) {
    refuse(error, TorchletErrorUnsupported,
           [NSString stringWithFormat:@"no scores of at most 256 classes, [1, classes, %ld, %ld]: the model gives %@",
                                      static_cast<long>(height), static_cast<long>(width), output]);
    return nil;
  }
  NSData* numbers = [scores floatsAndReturnError:error];
  return numbers ? largest_of(static_cast<const float*>([numbers bytes]), [[shape objectAtIndex:1] unsignedIntegerValue],
                              static_cast<size_t>(width * height))
                 : nil;
}

- (id)forward:(NSArray*)inputs error:(NSError**)error {
  return [self runMethod:@"forward" inputs:inputs keywords:nil error:error];
}

- (id)runMethod:(NSString*)method inputs:(NSArray*)inputs keywords:(NSDictionary*)keywords error:(NSError**)error {
  const char* name = name_of(method, error);
  if (!name) return nil;
  if (![inputs isKindOfClass:[NSArray class]] || (keywords && ![keywords isKindOfClass:[NSDictionary class]])) {
    refuse(error, TorchletErrorInvalidArgument, @"inputs are an NSArray, keyword arguments an NSDictionary");
    return nil;
  }
  Arguments positional, named;
  for (NSUInteger i = 0; i < [inputs count]; ++i) {
    if (!positional.add([inputs objectAtIndex:i], error)) return nil;
  }
  std::vector<const char*> names;
  NSArray* keys = [keywords allKeys];
  for (NSUInteger i = 0; i < [keys count]; ++i) {
    names.push_back(name_of([keys objectAtIndex:i], error));
    if (!names.back() || !named.add([keywords objectForKey:[keys objectAtIndex:i]], error)) return nil;
  }
  Value result;
  if (!succeeded(torchlet_module_run(_handle, name, positional.handles.data(), positional.handles.size(), names.data(),
                                     named.handles.data(), names.size(), result.out()),
                 error)) {
    return nil;
  }
  return object_of(result.get(), error);
}

- (NSString*)typeName {
  return string_of(torchlet_module_type_name(_handle));
}

- (NSArray*)methodNames {
  NSMutableArray* names = [NSMutableArray array];
  for (size_t i = 0; const char* name = torchlet_module_method_name(_handle, i); ++i) [names addObject:string_of(name)];
  return names;
}

- (NSString*)schemaOfMethod:(NSString*)method error:(NSError**)error {
  const char* name = name_of(method, error);
  Text schema;
  if (!name || !succeeded(torchlet_module_method_schema(_handle, name, schema.out()), error)) return nil;
  return string_of(schema.get());
}

- (id)attributeAtPath:(NSString*)path error:(NSError**)error {
  const char* name = name_of(path, error);
  Value value;
  if (!name || !succeeded(torchlet_module_attribute(_handle, name, value.out()), error)) return nil;
  return object_of(value.get(), error);
}

- (NSArray*)bundledInputsOfMethod:(NSString*)method error:(NSError**)error {
  const char* name = name_of(method, error);
  Value calls;
  if (!name || !succeeded(torchlet_module_bundled_inputs(_handle, name, calls.out()), error)) return nil;
  return object_of(calls.get(), error);
}

- (NSDictionary*)infoAndReturnError:(NSError**)error {
  Text json;
  if (!succeeded(torchlet_module_info(_handle, json.out()), error)) return nil;
  NSData* bytes = [string_of(json.get()) dataUsingEncoding:NSUTF8StringEncoding];
  return [NSJSONSerialization JSONObjectWithData:bytes options:0 error:error];
}

- (NSData*)extraFile:(NSString*)name error:(NSError**)error {
  const char* utf8 = name_of(name, error);
  Text data;
  size_t size = 0;
  if (!utf8 || !succeeded(torchlet_module_extra_file(_handle, utf8, data.out(), &size), error)) return nil;
  return [NSData dataWithBytes:data.get() length:size];
}

- (TorchModule*)duplicateAndReturnError:(NSError**)error {
  Module copy;
  if (!succeeded(torchlet_module_copy(_handle, copy.out()), error)) return nil;
  return TORCHLET_AUTORELEASE([[TorchModule alloc] initWithModule:copy.release()]);
}

- (void)setCancelled:(BOOL)cancelled {
  torchlet_module_cancel(_handle, cancelled);
}

+ (BOOL)setThreadCount:(NSInteger)count error:(NSError**)error {
  if (count < 0 || count > 256) {
    refuse(error, TorchletErrorInvalidArgument,
           [NSString stringWithFormat:@"%ld threads cannot be had: 0 to 256", static_cast<long>(count)]);
    return NO;
  }
  return succeeded(torchlet_set_num_threads(static_cast<int>(count)), error);
}

+ (NSInteger)threadCount {
  return torchlet_num_threads();
}

+ (NSString*)version {
  return string_of(torchlet_version());
}

@end
