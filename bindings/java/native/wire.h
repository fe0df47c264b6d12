// Values as org.pytorch.Wire writes and reads them. Kinds are torchlet_kind.
#pragma once

#include <vector>

#include "handles.h"

namespace torchlet::jni {

class WireReader {
 public:
  WireReader(JNIEnv* env, jlongArray words, jobjectArray objects);

  size_t count();
  Owned<torchlet_value> value();
  // What begins with a tensor's kind.
  Owned<torchlet_tensor> tensor();
  // A text with a null character at its end.
  std::vector<char> text();

 private:
  jlong word();
  jobject object();
  Owned<torchlet_tensor> tensor_behind_kind();
  Owned<torchlet_value> dict();
  std::vector<Owned<torchlet_value>> values(size_t count);

  JNIEnv* env_;
  Longs words_;
  jobjectArray objects_;
  size_t word_ = 0;
  jsize object_ = 0;
};

// {words, objects} of a value or a tensor, for Wire.read().
jobjectArray to_wire(JNIEnv* env, const torchlet_value* value);
jobjectArray to_wire(JNIEnv* env, Owned<torchlet_tensor> tensor);

}  // namespace torchlet::jni
