#import "TorchError.h"

#import "Handles.h"

#include <cstring>
#include <initializer_list>

NSString* const TorchletErrorDomain = @"TorchletErrorDomain";
NSString* const TorchletErrorMessageKey = @"TorchletErrorMessage";
NSString* const TorchletErrorPlacesKey = @"TorchletErrorPlaces";
NSString* const TorchletErrorPythonClassKey = @"TorchletErrorPythonClass";

namespace torchlet::apple {

NSString* string_of(const char* text) {
  if (!text) return @"";
  const NSUInteger size = std::strlen(text);
  for (const NSStringEncoding encoding : {NSUTF8StringEncoding, NSISOLatin1StringEncoding}) {
    NSString* string = [[NSString alloc] initWithBytes:text length:size encoding:encoding];
    if (string) return TORCHLET_AUTORELEASE(string);
  }
  return @"";
}

const char* utf8_of(NSString* string) {
  if (![string isKindOfClass:[NSString class]]) return nullptr;
  NSData* bytes = [string dataUsingEncoding:NSUTF8StringEncoding];
  if (!bytes || ([bytes length] > 0 && std::memchr([bytes bytes], 0, [bytes length]))) return nullptr;
  return [string UTF8String];
}

const char* path_of(NSString* path) {
  const char* utf8 = utf8_of(path);
  return utf8 && *utf8 ? [path fileSystemRepresentation] : utf8;
}

bool succeeded(torchlet_status status, NSError** error) {
  if (status == TORCHLET_OK) return true;
  if (!error) return false;
  NSMutableDictionary* info = [NSMutableDictionary dictionary];
  [info setObject:string_of(torchlet_last_error()) forKey:NSLocalizedDescriptionKey];
  [info setObject:string_of(torchlet_last_error_message()) forKey:TorchletErrorMessageKey];
  NSMutableArray* places = [NSMutableArray array];
  for (size_t i = 0; const char* place = torchlet_last_error_place(i); ++i) {
    [places addObject:string_of(place)];
  }
  [info setObject:places forKey:TorchletErrorPlacesKey];
  const char* python_class = torchlet_last_error_python_class();
  if (python_class && *python_class) {
    [info setObject:string_of(python_class) forKey:TorchletErrorPythonClassKey];
  }
  *error = [NSError errorWithDomain:TorchletErrorDomain code:static_cast<NSInteger>(status) userInfo:info];
  return false;
}

void refuse(NSError** error, TorchletErrorCode code, NSString* message) {
  if (!error) return;
  NSDictionary* info = [NSDictionary dictionaryWithObjectsAndKeys:message, NSLocalizedDescriptionKey, message,
                                                                  TorchletErrorMessageKey, [NSArray array],
                                                                  TorchletErrorPlacesKey, nil];
  *error = [NSError errorWithDomain:TorchletErrorDomain code:code userInfo:info];
}

}  // namespace torchlet::apple
