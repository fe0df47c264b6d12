#include "wire.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>
#include <string>
#include <variant>

namespace torchlet::jni {
namespace {

// Java's half writes what this reads: other numbers would be a bug there.
[[noreturn]] void refuse(JNIEnv* env, const std::string& message) {
  env->ThrowNew(env->FindClass("java/lang/IllegalArgumentException"), message.c_str());
  throw Pending();
}

// Lets go of a direct buffer, from whichever thread frees the tensor over it.
void release_buffer(void* buffer) {
  JNIEnv* env = nullptr;
  JavaVM* const vm = virtual_machine();
  const bool attached = vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) == JNI_OK;
#ifdef __ANDROID__
  if (!attached && vm->AttachCurrentThread(&env, nullptr) != JNI_OK) return;
#else
  if (!attached && vm->AttachCurrentThread(reinterpret_cast<void**>(&env), nullptr) != JNI_OK) {
    return;
  }
#endif
  env->DeleteGlobalRef(static_cast<jobject>(buffer));
  if (!attached) vm->DetachCurrentThread();
}

// In elements, for sizes in the order NCHW or NCDHW.
std::vector<int64_t> channels_last_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  strides[1] = 1;
  int64_t stride = sizes[1];
  for (size_t i = sizes.size(); i-- > 2;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  strides[0] = stride;
  return strides;
}

double as_double(jlong bits) { return std::bit_cast<double>(bits); }

std::vector<const torchlet_value*> pointers(const std::vector<Owned<torchlet_value>>& values) {
  std::vector<const torchlet_value*> all;
  for (const auto& value : values) all.push_back(value.get());
  return all;
}

class WireWriter {
 public:
  explicit WireWriter(JNIEnv* env) : env_(env) {}

  void add(const torchlet_value* value);
  void add(Owned<torchlet_tensor> tensor);
  jobjectArray result();

 private:
  // Bytes of a text, or a tensor whose memory a direct buffer shows.
  using Object = std::variant<std::string, const torchlet_tensor*>;

  void word(int64_t word) { words_.push_back(word); }
  void word(double number) { words_.push_back(std::bit_cast<jlong>(number)); }
  size_t size_of(const torchlet_value* value);
  void add_kind(const torchlet_value* value);
  void add_items(const torchlet_value* value);
  void add_dict(const torchlet_value* value);
  jobject made_object(const Object& object);

  JNIEnv* env_;
  int depth_ = 0;
  std::vector<jlong> words_;
  std::vector<Object> objects_;
  // Given away to Java with the result.
  std::vector<Owned<torchlet_tensor>> tensors_;
  std::vector<Owned<torchlet_value>> others_;
};

size_t WireWriter::size_of(const torchlet_value* value) {
  size_t size = 0;
  check(env_, torchlet_value_size(value, &size));
  return size;
}

void WireWriter::add_items(const torchlet_value* value) {
  const size_t size = size_of(value);
  word(static_cast<int64_t>(size));
  if (torchlet_value_kind(value) == TORCHLET_KIND_LIST) {
    word(static_cast<int64_t>(torchlet_value_item_kind(value)));
  }
  for (size_t i = 0; i < size; ++i) {
    add(made<torchlet_value>(env_, [&](torchlet_value** item) {
          return torchlet_value_item(value, i, item);
        }).get());
  }
}

void WireWriter::add_dict(const torchlet_value* value) {
  const size_t size = size_of(value);
  word(static_cast<int64_t>(size));
  word(static_cast<int64_t>(torchlet_value_key_kind(value)));
  for (size_t i = 0; i < size; ++i) {
    add(made<torchlet_value>(env_, [&](torchlet_value** key) {
          return torchlet_value_key(value, i, key);
        }).get());
    add(made<torchlet_value>(env_, [&](torchlet_value** item) {
          return torchlet_value_item(value, i, item);
        }).get());
  }
}

// What a program returns may hold itself, or the same list many times.
void WireWriter::add(const torchlet_value* value) {
  constexpr int kMaxDepth = 100;
  constexpr size_t kMaxWords = size_t{1} << 26;
  if (depth_ == kMaxDepth) refuse(env_, "the result is nested too deeply for Java");
  if (words_.size() > kMaxWords) refuse(env_, "the result has too many items for Java");
  ++depth_;
  add_kind(value);
  --depth_;
}

void WireWriter::add_kind(const torchlet_value* value) {
  const torchlet_kind kind = torchlet_value_kind(value);
  word(static_cast<int64_t>(kind));
  switch (kind) {
    case TORCHLET_KIND_NONE:
      return;
    case TORCHLET_KIND_TENSOR:
      words_.pop_back();
      add(made<torchlet_tensor>(
          env_, [&](torchlet_tensor** tensor) { return torchlet_value_to_tensor(value, tensor); }));
      return;
    case TORCHLET_KIND_INT: {
      int64_t number = 0;
      check(env_, torchlet_value_to_int(value, &number));
      word(number);
      return;
    }
    case TORCHLET_KIND_FLOAT: {
      double number = 0;
      check(env_, torchlet_value_to_float(value, &number));
      word(number);
      return;
    }
    case TORCHLET_KIND_COMPLEX: {
      double real = 0, imaginary = 0;
      check(env_, torchlet_value_to_complex(value, &real, &imaginary));
      word(real);
      word(imaginary);
      return;
    }
    case TORCHLET_KIND_BOOL: {
      int truth = 0;
      check(env_, torchlet_value_to_bool(value, &truth));
      word(int64_t{truth});
      return;
    }
    case TORCHLET_KIND_STRING: {
      const char* text = nullptr;
      size_t size = 0;
      check(env_, torchlet_value_to_string(value, &text, &size));
      objects_.emplace_back(std::string(text, size));
      return;
    }
    case TORCHLET_KIND_LIST:
    case TORCHLET_KIND_TUPLE:
      return add_items(value);
    case TORCHLET_KIND_DICT:
      return add_dict(value);
    default: {
      words_.back() = TORCHLET_KIND_OTHER;
      // A handle of Java's own for the same value, which goes through a tuple of one.
      const auto tuple = made<torchlet_value>(env_, [&](torchlet_value** made_tuple) {
        return torchlet_value_from_items(TORCHLET_KIND_TUPLE, &value, 1, made_tuple);
      });
      others_.push_back(made<torchlet_value>(
          env_, [&](torchlet_value** item) { return torchlet_value_item(tuple.get(), 0, item); }));
      word(static_cast<int64_t>(reinterpret_cast<intptr_t>(others_.back().get())));
    }
  }
}

// Java's buffers have no strides, so the elements lie densely, in one of the formats.
void WireWriter::add(Owned<torchlet_tensor> tensor) {
  const size_t dims = torchlet_tensor_dims(tensor.get());
  torchlet_memory_format format = TORCHLET_CONTIGUOUS;
  if (!torchlet_tensor_is_contiguous(tensor.get(), format)) {
    const torchlet_memory_format last = dims == 4   ? TORCHLET_CHANNELS_LAST
                                        : dims == 5 ? TORCHLET_CHANNELS_LAST_3D
                                                    : TORCHLET_CONTIGUOUS;
    if (torchlet_tensor_is_contiguous(tensor.get(), last)) format = last;
    tensor = made<torchlet_tensor>(env_, [&](torchlet_tensor** dense) {
      return torchlet_tensor_to(tensor.get(), torchlet_tensor_dtype(tensor.get()), format, dense);
    });
  }
  const torchlet_dtype dtype = torchlet_tensor_dtype(tensor.get());
  if (dtype > TORCHLET_BFLOAT16) {
    refuse(env_, std::string("Java has no tensors of ") + torchlet_dtype_name(dtype));
  }
  const auto bytes = static_cast<uint64_t>(torchlet_tensor_numel(tensor.get())) *
                     torchlet_tensor_element_size(tensor.get());
  if (bytes > INT_MAX) {
    refuse(env_, "a tensor of " + std::to_string(bytes) + " bytes is too large for Java's buffers");
  }
  word(int64_t{TORCHLET_KIND_TENSOR});
  word(static_cast<int64_t>(reinterpret_cast<intptr_t>(tensor.get())));
  word(static_cast<int64_t>(dtype));
  word(static_cast<int64_t>(format));
  word(static_cast<int64_t>(dims));
  const int64_t* const sizes = torchlet_tensor_sizes(tensor.get());
  for (size_t i = 0; i < dims; ++i) word(sizes[i]);
  objects_.emplace_back(tensor.get());
  tensors_.push_back(std::move(tensor));
}

jobject WireWriter::made_object(const Object& object) {
  if (const auto* const text = std::get_if<std::string>(&object)) {
    return bytes_of(env_, text->data(), text->size());
  }
  const auto* const tensor = std::get<const torchlet_tensor*>(object);
  const auto bytes = static_cast<jlong>(torchlet_tensor_numel(tensor)) *
                     static_cast<jlong>(torchlet_tensor_element_size(tensor));
  static char nothing = 0;
  return there(env_->NewDirectByteBuffer(bytes ? torchlet_tensor_data(tensor) : &nothing, bytes));
}

jobjectArray WireWriter::result() {
  const auto count = static_cast<jsize>(words_.size());
  const jlongArray words = there(env_->NewLongArray(count));
  env_->SetLongArrayRegion(words, 0, count, words_.data());
  const jclass object = there(env_->FindClass("java/lang/Object"));
  const jobjectArray objects =
      there(env_->NewObjectArray(static_cast<jsize>(objects_.size()), object, nullptr));
  for (size_t i = 0; i < objects_.size(); ++i) {
    const jobject made = made_object(objects_[i]);
    env_->SetObjectArrayElement(objects, static_cast<jsize>(i), made);
    env_->DeleteLocalRef(made);  // some of Android's JVMs have room for 512
  }
  const jobjectArray result = there(env_->NewObjectArray(2, object, nullptr));
  env_->SetObjectArrayElement(result, 0, words);
  env_->SetObjectArrayElement(result, 1, objects);
  for (auto& tensor : tensors_) tensor.release();
  for (auto& other : others_) other.release();
  return result;
}

}  // namespace

WireReader::WireReader(JNIEnv* env, jlongArray words, jobjectArray objects)
    : env_(env), words_(env, words), objects_(objects) {}

jlong WireReader::word() {
  if (word_ >= words_.size()) refuse(env_, "too few words");
  return words_.data()[word_++];
}

jobject WireReader::object() { return there(env_->GetObjectArrayElement(objects_, object_++)); }

size_t WireReader::count() {
  const jlong count = word();
  if (count < 0 || static_cast<uint64_t>(count) > words_.size()) {
    // A list of None has a word for each item, and everything else has more.
    if (count != 0) refuse(env_, "a wrong count");
  }
  return static_cast<size_t>(count);
}

std::vector<char> WireReader::text() {
  const auto bytes = static_cast<jbyteArray>(object());
  std::vector<char> text(static_cast<size_t>(env_->GetArrayLength(bytes)));
  env_->GetByteArrayRegion(bytes, 0, static_cast<jsize>(text.size()),
                           reinterpret_cast<jbyte*>(text.data()));
  env_->DeleteLocalRef(bytes);
  return text;
}

Owned<torchlet_tensor> WireReader::tensor() {
  if (word() != TORCHLET_KIND_TENSOR) refuse(env_, "no tensor");
  return tensor_behind_kind();
}

Owned<torchlet_tensor> WireReader::tensor_behind_kind() {
  const auto* const native = reinterpret_cast<torchlet_tensor*>(static_cast<intptr_t>(word()));
  const auto dtype = static_cast<torchlet_dtype>(word());
  const auto format = static_cast<torchlet_memory_format>(word());
  std::vector<int64_t> sizes(count());
  for (int64_t& size : sizes) size = word();
  const jobject buffer = object();
  if (native) {
    env_->DeleteLocalRef(buffer);
    return made<torchlet_tensor>(env_, [&](torchlet_tensor** same) {
      return torchlet_tensor_to(native, dtype, format, same);
    });
  }
  std::vector<int64_t> strides;
  if (format != TORCHLET_CONTIGUOUS) strides = channels_last_strides(sizes);
  void* const data = env_->GetDirectBufferAddress(buffer);
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  if (!data && !empty) refuse(env_, "the memory of the direct buffer cannot be reached");
  const jobject kept = there(env_->NewGlobalRef(buffer));
  env_->DeleteLocalRef(buffer);
  static int64_t nothing = 0;
  torchlet_tensor* tensor = nullptr;
  const torchlet_status status = torchlet_tensor_from_memory(
      data ? data : &nothing, dtype, sizes.data(), strides.empty() ? nullptr : strides.data(),
      sizes.size(), release_buffer, kept, &tensor);
  if (status != TORCHLET_OK) env_->DeleteGlobalRef(kept);
  check(env_, status);
  return Owned<torchlet_tensor>(tensor);
}

std::vector<Owned<torchlet_value>> WireReader::values(size_t count) {
  std::vector<Owned<torchlet_value>> all;
  for (size_t i = 0; i < count; ++i) all.push_back(value());
  return all;
}

Owned<torchlet_value> WireReader::dict() {
  const size_t size = count();
  std::vector<Owned<torchlet_value>> keys, items;
  for (size_t i = 0; i < size; ++i) {
    keys.push_back(value());
    items.push_back(value());
  }
  return made<torchlet_value>(env_, [&](torchlet_value** result) {
    return torchlet_value_from_dict(pointers(keys).data(), pointers(items).data(), size, result);
  });
}

Owned<torchlet_value> WireReader::value() {
  const auto kind = static_cast<torchlet_kind>(word());
  const auto make = [&](const auto& function) { return made<torchlet_value>(env_, function); };
  switch (kind) {
    case TORCHLET_KIND_NONE:
      return make(torchlet_value_none);
    case TORCHLET_KIND_TENSOR: {
      const auto tensor = tensor_behind_kind();
      return make([&](auto** v) { return torchlet_value_from_tensor(tensor.get(), v); });
    }
    case TORCHLET_KIND_INT: {
      const jlong number = word();
      return make([&](auto** v) { return torchlet_value_from_int(number, v); });
    }
    case TORCHLET_KIND_FLOAT: {
      const double number = as_double(word());
      return make([&](auto** v) { return torchlet_value_from_float(number, v); });
    }
    case TORCHLET_KIND_COMPLEX: {
      const double real = as_double(word()), imaginary = as_double(word());
      return make([&](auto** v) { return torchlet_value_from_complex(real, imaginary, v); });
    }
    case TORCHLET_KIND_BOOL: {
      const bool truth = word() != 0;
      return make([&](auto** v) { return torchlet_value_from_bool(truth, v); });
    }
    case TORCHLET_KIND_STRING: {
      const std::vector<char> bytes = text();
      return make(
          [&](auto** v) { return torchlet_value_from_string(bytes.data(), bytes.size() - 1, v); });
    }
    case TORCHLET_KIND_LIST:
    case TORCHLET_KIND_TUPLE: {
      const auto items = values(count());
      return make([&](auto** v) {
        return torchlet_value_from_items(kind, pointers(items).data(), items.size(), v);
      });
    }
    case TORCHLET_KIND_DICT:
      return dict();
    case TORCHLET_KIND_OTHER: {
      const auto* const other = reinterpret_cast<torchlet_value*>(static_cast<intptr_t>(word()));
      env_->DeleteLocalRef(object());
      const auto tuple = make(
          [&](auto** v) { return torchlet_value_from_items(TORCHLET_KIND_TUPLE, &other, 1, v); });
      return make([&](auto** v) { return torchlet_value_item(tuple.get(), 0, v); });
    }
    default:
      refuse(env_, "no kind of value: " + std::to_string(kind));
  }
}

jobjectArray to_wire(JNIEnv* env, const torchlet_value* value) {
  WireWriter writer(env);
  writer.add(value);
  return writer.result();
}

jobjectArray to_wire(JNIEnv* env, Owned<torchlet_tensor> tensor) {
  WireWriter writer(env);
  writer.add(std::move(tensor));
  return writer.result();
}

}  // namespace torchlet::jni
