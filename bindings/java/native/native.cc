// The native methods of org.torchlet.internal.Native but for those of pictures.
#include <string>
#include <type_traits>

#include "wire.h"

using namespace torchlet::jni;

namespace {

torchlet_module* module_at(jlong pointer) { return handle_at<torchlet_module>(pointer); }

jbyteArray text_bytes(JNIEnv* env, const Owned<char>& text) { return bytes_of(env, text.get()); }

// `numbers`: whether unsupported operators are allowed, the limit of memory, that of time.
Owned<torchlet_options> options_of(JNIEnv* env, jbyteArray devices, jbyteArray precision,
                                   jdoubleArray numbers) {
  auto options = made<torchlet_options>(env, torchlet_options_new);
  const Bytes device_names(env, devices), precision_name(env, precision);
  const Doubles given(env, numbers);
  if (devices) check(env, torchlet_options_set_devices(options.get(), text_of(device_names)));
  if (precision) check(env, torchlet_options_set_precision(options.get(), text_of(precision_name)));
  check(env, torchlet_options_set_allow_unsupported(options.get(), given.data()[0] != 0));
  check(env,
        torchlet_options_set_memory_limit(options.get(), static_cast<size_t>(given.data()[1])));
  check(env, torchlet_options_set_time_limit(options.get(), given.data()[2]));
  return options;
}

template <typename Load>
jlong load(JNIEnv* env, jbyteArray devices, jbyteArray precision, jdoubleArray numbers,
           const Load& load_module) {
  return entered(env, [&] {
    const auto options = options_of(env, devices, precision, numbers);
    return given_away(made<torchlet_module>(
        env, [&](torchlet_module** module) { return load_module(options.get(), module); }));
  });
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  return find_classes(vm, env) ? JNI_VERSION_1_6 : JNI_ERR;
}

TORCHLET_NATIVE(jlong, loadPath)
(JNIEnv* env, jclass, jbyteArray path, jbyteArray devices, jbyteArray precision,
 jdoubleArray numbers) {
  return load(env, devices, precision, numbers,
              [&](const torchlet_options* options, torchlet_module** module) {
                const Bytes text(env, path);
                return torchlet_module_load(text_of(text), options, module);
              });
}

TORCHLET_NATIVE(jlong, loadArray)
(JNIEnv* env, jclass, jbyteArray model, jbyteArray devices, jbyteArray precision,
 jdoubleArray numbers) {
  return load(env, devices, precision, numbers,
              [&](const torchlet_options* options, torchlet_module** module) {
                const Bytes bytes(env, model);
                return torchlet_module_load_memory(bytes.data(), bytes.size(), options, module);
              });
}

TORCHLET_NATIVE(jlong, loadBuffer)
(JNIEnv* env, jclass, jobject model, jlong size, jbyteArray devices, jbyteArray precision,
 jdoubleArray numbers) {
  return load(env, devices, precision, numbers,
              [&](const torchlet_options* options, torchlet_module** module) {
                static const char nothing = 0;
                const void* const data = env->GetDirectBufferAddress(model);
                return torchlet_module_load_memory(data ? data : &nothing,
                                                   static_cast<size_t>(size), options, module);
              });
}

TORCHLET_NATIVE(jlong, loadDescriptor)
(JNIEnv* env, jclass, jint descriptor, jlong offset, jlong length, jbyteArray devices,
 jbyteArray precision, jdoubleArray numbers) {
  return load(env, devices, precision, numbers,
              [&](const torchlet_options* options, torchlet_module** module) {
                return torchlet_module_load_fd(descriptor, offset, length, options, module);
              });
}

TORCHLET_NATIVE(jobjectArray, run)
(JNIEnv* env, jclass, jlong module, jbyteArray method, jlongArray words, jobjectArray objects) {
  return entered(env, [&] {
    WireReader reader(env, words, objects);
    std::vector<Owned<torchlet_value>> owned;
    std::vector<const torchlet_value*> inputs(reader.count());
    for (auto& input : inputs) input = owned.emplace_back(reader.value()).get();
    std::vector<const torchlet_value*> keywords(reader.count());
    std::vector<std::vector<char>> names;
    for (auto& keyword : keywords) {
      names.push_back(reader.text());
      keyword = owned.emplace_back(reader.value()).get();
    }
    std::vector<const char*> name_texts;
    for (const auto& name : names) name_texts.push_back(name.data());
    const Bytes method_name(env, method);
    const auto result = made<torchlet_value>(env, [&](torchlet_value** answer) {
      return torchlet_module_run(module_at(module), method ? text_of(method_name) : "forward",
                                 inputs.data(), inputs.size(), name_texts.data(), keywords.data(),
                                 keywords.size(), answer);
    });
    return to_wire(env, result.get());
  });
}

TORCHLET_NATIVE(void, cancel)(JNIEnv* env, jclass, jlong module, jboolean cancel) {
  entered(env, [&] { check(env, torchlet_module_cancel(module_at(module), cancel)); });
}

TORCHLET_NATIVE(jlong, copy)(JNIEnv* env, jclass, jlong module) {
  return entered(env, [&] {
    return given_away(made<torchlet_module>(env, [&](torchlet_module** copy) {
      return torchlet_module_copy(module_at(module), copy);
    }));
  });
}

TORCHLET_NATIVE(jobjectArray, methods)(JNIEnv* env, jclass, jlong module) {
  return entered(env, [&] {
    const auto count = static_cast<jsize>(torchlet_module_method_count(module_at(module)));
    const jobjectArray names =
        there(env->NewObjectArray(count, there(env->FindClass("[B")), nullptr));
    for (jsize i = 0; i < count; ++i) {
      const jbyteArray name =
          bytes_of(env, torchlet_module_method_name(module_at(module), static_cast<size_t>(i)));
      env->SetObjectArrayElement(names, i, name);
      env->DeleteLocalRef(name);
    }
    return names;
  });
}

TORCHLET_NATIVE(jbyteArray, moduleText)
(JNIEnv* env, jclass, jlong pointer, jint what, jbyteArray argument) {
  return entered(env, [&] {
    const torchlet_module* const module = module_at(pointer);
    if (what == 0) return bytes_of(env, torchlet_module_type_name(module));
    const Bytes name(env, argument);
    return text_bytes(env, made<char>(env, [&](char** text) {
                        return what == 1
                                   ? torchlet_module_method_schema(module, text_of(name), text)
                               : what == 2 ? torchlet_module_info(module, text)
                                           : torchlet_module_placement(module, text);
                      }));
  });
}

TORCHLET_NATIVE(jobjectArray, attribute)(JNIEnv* env, jclass, jlong module, jbyteArray path) {
  return entered(env, [&] {
    const Bytes text(env, path);
    return to_wire(env, made<torchlet_value>(env, [&](torchlet_value** value) {
                          return torchlet_module_attribute(module_at(module), text_of(text), value);
                        }).get());
  });
}

TORCHLET_NATIVE(jobjectArray, bundledInputs)(JNIEnv* env, jclass, jlong module, jbyteArray method) {
  return entered(env, [&] {
    const Bytes text(env, method);
    return to_wire(env, made<torchlet_value>(env, [&](torchlet_value** calls) {
                          return torchlet_module_bundled_inputs(module_at(module), text_of(text),
                                                                calls);
                        }).get());
  });
}

TORCHLET_NATIVE(jbyteArray, extraFile)(JNIEnv* env, jclass, jlong module, jbyteArray name) {
  return entered(env, [&]() -> jbyteArray {
    const Bytes text(env, name);
    char* data = nullptr;
    size_t size = 0;
    const torchlet_status status =
        torchlet_module_extra_file(module_at(module), text_of(text), &data, &size);
    if (status == TORCHLET_NOT_FOUND) return nullptr;
    check(env, status);
    return bytes_of(env, Owned<char>(data).get(), size);
  });
}

TORCHLET_NATIVE(jobjectArray, quantized)
(JNIEnv* env, jclass, jlongArray words, jobjectArray objects, jdouble scale, jlong zero_point) {
  return entered(env, [&] {
    const auto integers = WireReader(env, words, objects).tensor();
    return to_wire(env, made<torchlet_tensor>(env, [&](torchlet_tensor** tensor) {
                     return torchlet_tensor_quantized(integers.get(), scale, zero_point, tensor);
                   }));
  });
}

TORCHLET_NATIVE(jobjectArray, converted)
(JNIEnv* env, jclass, jlongArray words, jobjectArray objects, jint dtype, jint format) {
  return entered(env, [&] {
    const auto own = WireReader(env, words, objects).tensor();
    return to_wire(env, made<torchlet_tensor>(env, [&](torchlet_tensor** tensor) {
                     return torchlet_tensor_to(own.get(), static_cast<torchlet_dtype>(dtype),
                                               static_cast<torchlet_memory_format>(format), tensor);
                   }));
  });
}

TORCHLET_NATIVE(jdoubleArray, quantizer)
(JNIEnv* env, jclass, jlongArray words, jobjectArray objects) {
  return entered(env, [&] {
    const auto tensor = WireReader(env, words, objects).tensor();
    double scale = 0;
    int64_t zero_point = 0;
    check(env, torchlet_tensor_quantizer(tensor.get(), &scale, &zero_point));
    const jdouble numbers[] = {scale, static_cast<double>(zero_point)};
    const jdoubleArray result = there(env->NewDoubleArray(2));
    env->SetDoubleArrayRegion(result, 0, 2, numbers);
    return result;
  });
}

TORCHLET_NATIVE(void, free)(JNIEnv*, jclass, jint kind, jlong pointer) {
  void* const object = reinterpret_cast<void*>(static_cast<intptr_t>(pointer));
  switch (kind) {
    case 0:
      return torchlet_module_free(static_cast<torchlet_module*>(object));
    case 1:
      return torchlet_tensor_free(static_cast<torchlet_tensor*>(object));
    case 2:
      return torchlet_value_free(static_cast<torchlet_value*>(object));
    case 3:
      return torchlet_profiler_free(static_cast<torchlet_profiler*>(object));
    case 4:
      return torchlet_image_free(static_cast<torchlet_image*>(object));
    default:
      return torchlet_preprocess_free(static_cast<torchlet_preprocess*>(object));
  }
}

TORCHLET_NATIVE(jbyteArray, text)(JNIEnv* env, jclass, jint what) {
  return entered(env, [&] {
    if (what == 0) return bytes_of(env, torchlet_version());
    return text_bytes(env, made<char>(env, torchlet_devices));
  });
}

TORCHLET_NATIVE(void, setNumThreads)(JNIEnv* env, jclass, jint count) {
  entered(env, [&] { check(env, torchlet_set_num_threads(count)); });
}

TORCHLET_NATIVE(jint, numThreads)(JNIEnv*, jclass) { return torchlet_num_threads(); }

TORCHLET_NATIVE(jlong, newProfiler)(JNIEnv* env, jclass) {
  return entered(env, [&] {
    torchlet_profiler* profiler = nullptr;
    check(env, torchlet_profiler_new(&profiler));
    return static_cast<jlong>(reinterpret_cast<intptr_t>(profiler));
  });
}

TORCHLET_NATIVE(jbyteArray, profile)(JNIEnv* env, jclass, jlong pointer, jint what) {
  return entered(env, [&] {
    const auto* const profiler = handle_at<torchlet_profiler>(pointer);
    return text_bytes(env, made<char>(env, [&](char** text) {
                        return what == 0 ? torchlet_profiler_table(profiler, text)
                                         : torchlet_profiler_trace(profiler, text);
                      }));
  });
}
