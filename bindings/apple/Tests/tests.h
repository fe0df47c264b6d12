// What the tests share. Manual retain and release, so that every object is seen to go.
#pragma once

#import <Foundation/Foundation.h>
#import <TorchletObjC.h>

#include <cstdio>
#include <cstdlib>

inline int failures = 0;
inline int checks = 0;

inline void expect(bool truth, const char* what, const char* file, int line) {
  ++checks;
  if (truth) return;
  ++failures;
  std::printf("%s:%d: %s\n", file, line, what);
}
#define EXPECT(...) expect((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

inline NSString* const kDigits = @"models/digits_mobilenet_v2.pt";
inline NSString* const kValues = @"tests/fixtures/values.pt";

class Pool {
 public:
  ~Pool() { [pool_ release]; }

 private:
  NSAutoreleasePool* pool_ = [[NSAutoreleasePool alloc] init];
};

inline NSNumber* integer(long long number) { return [NSNumber numberWithLongLong:number]; }
inline NSNumber* real(double number) { return [NSNumber numberWithDouble:number]; }

template <typename... Items>
NSArray* list(Items... items) {
  const id all[] = {items...};
  return [NSArray arrayWithObjects:all count:sizeof...(items)];
}

inline TorchModule* load(NSString* path) {
  NSError* error = nil;
  TorchModule* module = [[TorchModule alloc] initWithFileAtPath:path options:nil error:&error];
  if (!module) {
    std::printf("%s\n", [[error localizedDescription] UTF8String]);
    std::exit(1);
  }
  return [module autorelease];
}

inline NSInteger code_of(NSError* error) { return [[error domain] isEqual:TorchletErrorDomain] ? [error code] : -1; }

inline bool contains(NSString* text, NSString* part) { return text && [text rangeOfString:part].location != NSNotFound; }

// pictures.mm
void takes_pictures();
void takes_cameras();
void refuses_pictures();
// hostile.mm
void survives_hostile_models();
void survives_hostile_pictures();
// Loads and runs each file of a folder: how many load, and how many do not.
void load_folder(NSString* folder, int* loaded, int* refused);
