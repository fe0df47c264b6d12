#include "handles.h"

#include <cstring>

namespace torchlet::jni {
namespace {

JavaVM* vm_ = nullptr;
jclass exception_class = nullptr, bytes_class = nullptr;
jmethodID make_exception = nullptr;

jclass global_class(JNIEnv* env, const char* name) {
  const jclass local = env->FindClass(name);
  return local ? static_cast<jclass>(env->NewGlobalRef(local)) : nullptr;
}

}  // namespace

bool find_classes(JavaVM* vm, JNIEnv* env) {
  vm_ = vm;
  exception_class = global_class(env, "org/torchlet/TorchletException");
  bytes_class = global_class(env, "[B");
  if (!exception_class || !bytes_class) return false;
  make_exception =
      env->GetStaticMethodID(exception_class, "of", "(I[B[B[[B[B)Lorg/torchlet/TorchletException;");
  return make_exception != nullptr;
}

JavaVM* virtual_machine() { return vm_; }

void check(JNIEnv* env, torchlet_status status) {
  if (status == TORCHLET_OK) return;
  jsize count = 0;
  while (torchlet_last_error_place(static_cast<size_t>(count))) ++count;
  const jobjectArray places = there(env->NewObjectArray(count, bytes_class, nullptr));
  for (jsize i = 0; i < count; ++i) {
    const jbyteArray place = bytes_of(env, torchlet_last_error_place(static_cast<size_t>(i)));
    env->SetObjectArrayElement(places, i, place);
    env->DeleteLocalRef(place);
  }
  const jobject exception = env->CallStaticObjectMethod(
      exception_class, make_exception, static_cast<jint>(status),
      bytes_of(env, torchlet_last_error()), bytes_of(env, torchlet_last_error_message()), places,
      bytes_of(env, torchlet_last_error_python_class()));
  if (!env->ExceptionCheck()) env->Throw(static_cast<jthrowable>(exception));
  throw Pending();
}

jbyteArray bytes_of(JNIEnv* env, const char* text, size_t size) {
  const auto length = static_cast<jsize>(size);
  const jbyteArray bytes = there(env->NewByteArray(length));
  env->SetByteArrayRegion(bytes, 0, length, reinterpret_cast<const jbyte*>(text));
  return bytes;
}

jbyteArray bytes_of(JNIEnv* env, const char* text) { return bytes_of(env, text, strlen(text)); }

template <>
jbyte* Bytes::pinned() {
  return env_->GetByteArrayElements(array_, nullptr);
}
template <>
void Bytes::release() {
  env_->ReleaseByteArrayElements(array_, data_, JNI_ABORT);
}
template <>
jint* Ints::pinned() {
  return env_->GetIntArrayElements(array_, nullptr);
}
template <>
void Ints::release() {
  env_->ReleaseIntArrayElements(array_, data_, JNI_ABORT);
}
template <>
jlong* Longs::pinned() {
  return env_->GetLongArrayElements(array_, nullptr);
}
template <>
void Longs::release() {
  env_->ReleaseLongArrayElements(array_, data_, JNI_ABORT);
}
template <>
jdouble* Doubles::pinned() {
  return env_->GetDoubleArrayElements(array_, nullptr);
}
template <>
void Doubles::release() {
  env_->ReleaseDoubleArrayElements(array_, data_, JNI_ABORT);
}

}  // namespace torchlet::jni
