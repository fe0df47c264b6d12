// Owners of the C interface's handles, and its errors as exceptions of Java.
#pragma once

#include <jni.h>
#include <torchlet/c_api.h>

#include <memory>

namespace torchlet::jni {

struct Free {
  void operator()(torchlet_options* x) const { torchlet_options_free(x); }
  void operator()(torchlet_module* x) const { torchlet_module_free(x); }
  void operator()(torchlet_value* x) const { torchlet_value_free(x); }
  void operator()(torchlet_tensor* x) const { torchlet_tensor_free(x); }
  void operator()(torchlet_image* x) const { torchlet_image_free(x); }
  void operator()(torchlet_preprocess* x) const { torchlet_preprocess_free(x); }
  void operator()(char* x) const { torchlet_text_free(x); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// What Java keeps of a handle, and back.
template <typename T>
jlong given_away(Owned<T> handle) {
  return static_cast<jlong>(reinterpret_cast<intptr_t>(handle.release()));
}
template <typename T>
T* handle_at(jlong pointer) {
  return reinterpret_cast<T*>(static_cast<intptr_t>(pointer));
}

// An exception of Java is pending; goes up to where native code returns.
struct Pending {};

// Throws the last error of this thread as a TorchletException, unless `status` is TORCHLET_OK.
void check(JNIEnv* env, torchlet_status status);

// Unless something is pending already: what JNI gave nothing for.
template <typename T>
T* there(T* object) {
  if (!object) throw Pending();
  return object;
}

// What a function of the C interface gives by its last argument.
template <typename T, typename Function>
Owned<T> made(JNIEnv* env, const Function& function) {
  T* result = nullptr;
  check(env, function(&result));
  return Owned<T>(result);
}

// Runs the body of a native method. What it throws becomes pending, and it answers nothing.
template <typename Body>
auto entered(JNIEnv* env, const Body& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const Pending&) {
  } catch (const std::bad_alloc&) {
    env->ThrowNew(env->FindClass("java/lang/OutOfMemoryError"), "Torchlet's native half");
  }
  return decltype(body())();
}

// Called once, when the library is loaded.
bool find_classes(JavaVM* vm, JNIEnv* env);
JavaVM* virtual_machine();

jbyteArray bytes_of(JNIEnv* env, const char* text, size_t size);
jbyteArray bytes_of(JNIEnv* env, const char* text);

// Elements of an array of Java's, while this lives. `array` may be null: then there are none.
template <typename Array, typename Element>
class Elements {
 public:
  Elements(JNIEnv* env, Array array) : env_(env), array_(array) {
    if (array_) data_ = static_cast<Element*>(there(pinned()));
  }
  ~Elements() {
    if (array_) release();
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  const Element* data() const { return data_; }
  size_t size() const { return array_ ? static_cast<size_t>(env_->GetArrayLength(array_)) : 0; }

 private:
  Element* pinned();
  void release();

  JNIEnv* env_;
  Array array_;
  Element* data_ = nullptr;
};
using Bytes = Elements<jbyteArray, jbyte>;
using Ints = Elements<jintArray, jint>;
using Longs = Elements<jlongArray, jlong>;
using Doubles = Elements<jdoubleArray, jdouble>;

// A text that Java wrote with a null character at its end; null for null.
inline const char* text_of(const Bytes& bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}

}  // namespace torchlet::jni

// A native method of org.torchlet.internal.Native.
#define TORCHLET_NATIVE(result, name) \
  extern "C" JNIEXPORT result JNICALL Java_org_torchlet_internal_Native_##name
