// What the sources share: handles of the C ABI, their errors as NSError, and values as objects of Foundation.
#pragma once

#include <torchlet/c_api.h>

#import "TorchError.h"
#import "TorchModule.h"

#if __has_feature(objc_arc)
#define TORCHLET_RETAIN(object) (object)
#define TORCHLET_RELEASE(object) ((void)0)
#define TORCHLET_AUTORELEASE(object) (object)
#define TORCHLET_SUPER_DEALLOC() ((void)0)
#define TORCHLET_KEEP(object) ((__bridge_retained void*)(object))
#define TORCHLET_LET_GO(pointer) ((void)(__bridge_transfer id)(pointer))
#else
#define TORCHLET_RETAIN(object) [(object) retain]
#define TORCHLET_RELEASE(object) [(object) release]
#define TORCHLET_AUTORELEASE(object) [(object) autorelease]
#define TORCHLET_SUPER_DEALLOC() [super dealloc]
#define TORCHLET_KEEP(object) ((void*)[(object) retain])
#define TORCHLET_LET_GO(pointer) [(id)(pointer) release]
#endif

namespace torchlet::apple {

// Owns a handle of the C ABI, or a text of it.
template <typename T, void (*Free)(T*)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Free(handle_); }
  T* get() const { return handle_; }
  T** out() { return &handle_; }
  T* release() {
    T* const handle = handle_;
    handle_ = nullptr;
    return handle;
  }

 private:
  T* handle_ = nullptr;
};
using Options = Owned<torchlet_options, torchlet_options_free>;
using Module = Owned<torchlet_module, torchlet_module_free>;
using Value = Owned<torchlet_value, torchlet_value_free>;
using Tensor = Owned<torchlet_tensor, torchlet_tensor_free>;
using Text = Owned<char, torchlet_text_free>;

// UTF-8 as a string; bytes that are none as Latin-1, so that a hostile file has a message, too.
NSString* string_of(const char* text);
// NULL where the string has no form in UTF-8 or holds a null character.
const char* utf8_of(NSString* string);
// The same as files are named. Foundation raises an exception for an empty path.
const char* path_of(NSString* path);

// True if it is TORCHLET_OK; otherwise the calling thread's last error goes to `error`, which may be NULL.
bool succeeded(torchlet_status status, NSError** error);
// Sets `error` to one that did not come from the C ABI.
void refuse(NSError** error, TorchletErrorCode code, NSString* message);

// The object as a value; false with an error for what has no form in Python.
bool value_of(id object, Value* value, NSError** error);
// nil with an error for what has none in Foundation: complex numbers, objects of script classes.
id object_of(const torchlet_value* value, NSError** error);

}  // namespace torchlet::apple

@interface TorchTensor ()
// Takes the handle over.
- (instancetype)initWithTensor:(torchlet_tensor*)handle;
- (const torchlet_tensor*)handle;
@end

@interface TorchModule ()
- (const torchlet_module*)handle;
@end
