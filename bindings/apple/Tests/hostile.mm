// Damaged models and pictures: an NSError each, or an answer. scripts/test_apple.sh lets tests/hostile/mutations.py make the
// models, in the folder that the environment variable MUTATIONS names.
#import "tests.h"

#include <cstdint>
#include <vector>

namespace {

// Every error tells what happened, and is none of Torchlet's own.
void expect_error(NSError* error) {
  EXPECT(code_of(error) >= TorchletErrorInvalidArgument && code_of(error) < TorchletErrorInternal);
  NSString* message = [[error userInfo] objectForKey:TorchletErrorMessageKey];
  EXPECT([message length] > 0);
  NSArray* lines = [list(message) arrayByAddingObjectsFromArray:[[error userInfo] objectForKey:TorchletErrorPlacesKey]];
  EXPECT([[error localizedDescription] isEqual:[lines componentsJoinedByString:@"\n  "]]);
}

// Asks a model everything, and runs its methods.
void explore(TorchModule* model, TorchTensor* input) {
  NSError* error = nil;
  EXPECT([model typeName] != nil);
  if (![model infoAndReturnError:&error]) expect_error(error);
  if (![model attributeAtPath:@"weight" error:&error]) expect_error(error);
  if (![model bundledInputsOfMethod:@"forward" error:&error]) expect_error(error);
  if (![model extraFile:@"labels.txt" error:&error]) expect_error(error);
  if (![TorchPreprocess preprocessOfModule:model error:&error]) expect_error(error);
  TorchModule* copy = [model duplicateAndReturnError:&error];
  if (!copy) expect_error(error);
  TorchModule* const both[] = {model, copy};
  NSArray* const inputs[] = {[NSArray array], list(input)};
  for (TorchModule* one : both) {
    NSArray* methods = [one methodNames];
    for (NSUInteger i = 0; i < [methods count]; ++i) {
      NSString* method = [methods objectAtIndex:i];
      if (![one schemaOfMethod:method error:&error]) expect_error(error);
      for (NSArray* given : inputs) {
        if (![one runMethod:method inputs:given keywords:nil error:&error]) expect_error(error);
      }
    }
  }
}

}  // namespace

void load_folder(NSString* folder, int* loaded, int* refused) {
  NSArray* names = [[NSFileManager defaultManager] contentsOfDirectoryAtPath:folder error:NULL];
  const std::vector<float> ones(3 * 32 * 32, 1.0f);
  TorchTensor* input = [TorchTensor tensorWithFloats:ones.data()
                                               shape:list(integer(1), integer(3), integer(32), integer(32))
                                               error:NULL];
  TorchOptions* options = [[[TorchOptions alloc] init] autorelease];
  options.timeLimit = 5;
  options.memoryLimit = 500 << 20;
  for (NSUInteger i = 0; i < [names count]; ++i) {
    const Pool pool;
    NSString* path = [folder stringByAppendingPathComponent:[names objectAtIndex:i]];
    options.allowUnsupported = i % 2;
    NSError* error = nil;
    TorchModule* model = i % 3 ? [[TorchModule alloc] initWithFileAtPath:path options:options error:&error]
                               : [[TorchModule alloc] initWithModelData:[NSData dataWithContentsOfFile:path]
                                                                options:options
                                                                  error:&error];
    ++*(model ? loaded : refused);
    if (model) {
      explore([model autorelease], input);
    } else {
      expect_error(error);
    }
  }
}

void survives_hostile_models() {
  const char* folder = std::getenv("MUTATIONS");
  if (!folder) {
    std::printf("MUTATIONS names no folder of damaged models\n");
    EXPECT(false);
    return;
  }
  int loaded = 0, refused = 0;
  load_folder([NSString stringWithUTF8String:folder], &loaded, &refused);
  std::printf("%d damaged models: %d load all the same\n", loaded + refused, loaded);
  EXPECT(loaded > 20 && refused > 100);
}

void survives_hostile_pictures() {
  NSError* error = nil;
  TorchPreprocess* steps = [TorchPreprocess preprocessWithJSON:@"{\"resize\": 20, \"crop\": 16}" error:&error];
  unsigned seed = 1;
  const auto random = [&](unsigned below) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
  };
  NSString* const paths[] = {@"tests/fixtures/image/rgb.png", @"tests/fixtures/image/palette.png",
                             @"tests/fixtures/image/rgb.jpg"};
  for (NSString* path : paths) {
    NSData* file = [NSData dataWithContentsOfFile:path];
    const auto size = static_cast<unsigned>([file length]);
    for (int i = 0; i < 200; ++i) {
      const Pool pool;
      const NSUInteger kept = i % 4 ? size : random(size);
      NSMutableData* damaged = [NSMutableData dataWithData:[file subdataWithRange:NSMakeRange(0, kept)]];
      for (int flips = 0; flips < 3 && kept; ++flips) {
        static_cast<uint8_t*>([damaged mutableBytes])[random(static_cast<unsigned>(kept))] = static_cast<uint8_t>(random(256));
      }
      TorchImage* image = [TorchImage imageWithData:damaged error:&error];
      if (!image) {
        expect_error(error);
        continue;
      }
      EXPECT([[image pixels] length] == static_cast<NSUInteger>([image width] * [image height] * 3));
      EXPECT([steps tensorOfImage:image error:&error] != nil);
    }
  }
}
