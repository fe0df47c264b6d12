/* The C interface of Torchlet: what C programs, and bindings of other languages, call.
 *
 *   torchlet_module* model = NULL;
 *   if (torchlet_module_load("mobilenet.ptl", NULL, &model) != TORCHLET_OK) {
 *     fprintf(stderr, "%s\n", torchlet_last_error());
 *   }
 *
 * Handles are opaque. What a function gives by its last argument is the caller's, to be freed by
 * the *_free function of its type, which takes NULL, too. A handle keeps alive whatever it needs:
 * a value may outlive the module that it came from. Functions do not take over handles that they
 * are given. A pointer that a function returns directly belongs to its handle and lives as long.
 *
 * Every function that can fail returns a status; then its outputs are untouched, and the calling
 * thread's last error says what, where and what to do. NULL for a handle or an output is
 * TORCHLET_INVALID_ARGUMENT, not a crash; what is answered directly is then 0 or NULL. Nothing is
 * thrown, and no signal or global state of the process is touched. Texts are UTF-8.
 *
 * Thread safety: any number of threads may read one handle and run methods of one module at once
 * (torchlet/module.h tells about models that change their own state). Writing to a tensor needs
 * the caller's own synchronisation.
 *
 * The ABI is stable within a major version from 1.0 on: functions and constants are added only.
 */
#ifndef TORCHLET_C_API_H_
#define TORCHLET_C_API_H_

#include <stddef.h>
#include <stdint.h>

#include <torchlet/export.h>

/* In C++ too, a constant that there is not is an error and no undefined behaviour. */
#ifdef __cplusplus
#define TORCHLET_INT : int
#else
#define TORCHLET_INT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct torchlet_options torchlet_options;
typedef struct torchlet_module torchlet_module;
typedef struct torchlet_value torchlet_value;
typedef struct torchlet_tensor torchlet_tensor;
typedef struct torchlet_image torchlet_image;
typedef struct torchlet_preprocess torchlet_preprocess;
typedef struct torchlet_profiler torchlet_profiler;

/* As torchlet::ErrorCode (torchlet/error.h). */
typedef enum torchlet_status TORCHLET_INT {
  TORCHLET_OK = 0,
  TORCHLET_INVALID_ARGUMENT = 1, /* the caller passed something that cannot be right */
  TORCHLET_FILE_FORMAT = 2,      /* a file is damaged, hostile or of another kind */
  TORCHLET_IO = 3,               /* the operating system refused a file */
  TORCHLET_NOT_FOUND = 4,        /* no such method, attribute, ... */
  TORCHLET_UNSUPPORTED = 5,      /* valid, but Torchlet does not do it */
  TORCHLET_RUNTIME = 6,          /* the model itself failed while running */
  TORCHLET_OUT_OF_MEMORY = 7,
  TORCHLET_MEMORY_LIMIT = 8, /* beyond torchlet_options_set_memory_limit */
  TORCHLET_TIME_LIMIT = 9,   /* beyond torchlet_options_set_time_limit */
  TORCHLET_CANCELLED = 10,   /* torchlet_module_cancel */
  TORCHLET_INTERNAL = 11     /* a bug in Torchlet */
} torchlet_status;

/* Element types, numbered as in PyTorch (c10/core/ScalarType.h). */
typedef enum torchlet_dtype TORCHLET_INT {
  TORCHLET_UINT8 = 0,
  TORCHLET_INT8 = 1,
  TORCHLET_INT16 = 2,
  TORCHLET_INT32 = 3,
  TORCHLET_INT64 = 4,
  TORCHLET_FLOAT16 = 5,
  TORCHLET_FLOAT32 = 6,
  TORCHLET_FLOAT64 = 7,
  TORCHLET_COMPLEX32 = 8,
  TORCHLET_COMPLEX64 = 9,
  TORCHLET_COMPLEX128 = 10,
  TORCHLET_BOOL = 11,
  TORCHLET_QINT8 = 12,
  TORCHLET_QUINT8 = 13,
  TORCHLET_QINT32 = 14,
  TORCHLET_BFLOAT16 = 15,
  TORCHLET_QUINT4X2 = 16 /* two a byte; only inside of packed embeddings */
} torchlet_dtype;

typedef enum torchlet_memory_format TORCHLET_INT {
  TORCHLET_CONTIGUOUS = 0,
  TORCHLET_CHANNELS_LAST = 2,   /* NHWC in memory, for 4 dimensions */
  TORCHLET_CHANNELS_LAST_3D = 3 /* NDHWC in memory, for 5 */
} torchlet_memory_format;

/* What a value is. */
typedef enum torchlet_kind TORCHLET_INT {
  TORCHLET_KIND_NONE = 0,
  TORCHLET_KIND_TENSOR = 1,
  TORCHLET_KIND_INT = 2,
  TORCHLET_KIND_FLOAT = 3,
  TORCHLET_KIND_COMPLEX = 4,
  TORCHLET_KIND_BOOL = 5,
  TORCHLET_KIND_STRING = 6,
  TORCHLET_KIND_LIST = 7,
  TORCHLET_KIND_TUPLE = 8,
  TORCHLET_KIND_DICT = 9,
  TORCHLET_KIND_OBJECT = 10, /* an instance of a script class or module */
  TORCHLET_KIND_OTHER = 11   /* devices, enums, futures, generators, classes written in C++ */
} torchlet_kind;

/* "0.1.0" */
TORCHLET_API const char* torchlet_version(void);

/* ---- errors: of the calling thread's last call that failed; pointers live until its next one ----
 */

/* What happened and where, innermost place first, a line each. "" if nothing failed yet. */
TORCHLET_API const char* torchlet_last_error(void);
TORCHLET_API torchlet_status torchlet_last_error_status(void);
/* What happened, without the places. */
TORCHLET_API const char* torchlet_last_error_message(void);
/* The places, innermost first: "model.py:57, in features.3.conv". NULL beyond the last. */
TORCHLET_API const char* torchlet_last_error_place(size_t index);
/* The class of an exception that the model raised, "builtins.ValueError"; else "". */
TORCHLET_API const char* torchlet_last_error_python_class(void);

/* Frees a text that a function gave by its last argument. */
TORCHLET_API void torchlet_text_free(char* text);

/* ---- options for loading and running (torchlet/options.h); NULL stands for the defaults ---- */

TORCHLET_API torchlet_status torchlet_options_new(torchlet_options** options);
TORCHLET_API void torchlet_options_free(torchlet_options* options);
/* In order, with commas: "cpu", "nnapi,cpu", "nnapi:NAME,cpu", "reference", "auto". */
TORCHLET_API torchlet_status torchlet_options_set_devices(torchlet_options* options,
                                                          const char* devices);
/* "fp32"; "fp16": half the memory, less exact, in float16 where the processor computes so; or "bf16":
 * still less exact, with products of bfloat16 where the processor has them. */
TORCHLET_API torchlet_status torchlet_options_set_precision(torchlet_options* options,
                                                            const char* precision);
/* Load a model that uses operators which Torchlet does not have; running into one is an error. */
TORCHLET_API torchlet_status torchlet_options_set_allow_unsupported(torchlet_options* options,
                                                                    int allow);
/* "low-power", "fast" or "sustained": what accelerators aim for. */
TORCHLET_API torchlet_status torchlet_options_set_preference(torchlet_options* options,
                                                             const char* preference);
/* "fast", or "lean": take fewer copies of weights, and a little more time. */
TORCHLET_API torchlet_status torchlet_options_set_footprint(torchlet_options* options,
                                                            const char* footprint);
/* A folder, made if there is none, that keeps weights as the processor takes them, for the next
 * process that loads the model; "" for none. Nobody else should be able to write there. */
TORCHLET_API torchlet_status torchlet_options_set_cache_dir(torchlet_options* options,
                                                            const char* folder);
/* Bytes that the model may hold at once; 0: no limit. */
TORCHLET_API torchlet_status torchlet_options_set_memory_limit(torchlet_options* options,
                                                               size_t bytes);
/* Seconds for loading, and for each call of a method; 0: no limit. */
TORCHLET_API torchlet_status torchlet_options_set_time_limit(torchlet_options* options,
                                                             double seconds);

/* ---- models ---- */

/* Maps the file, which must not be changed in place while the model lives. */
TORCHLET_API torchlet_status torchlet_module_load(const char* path, const torchlet_options* options,
                                                  torchlet_module** module);
/* A model of `length` bytes at `offset` of an open file, such as an uncompressed asset of an
 * Android app (AssetFileDescriptor). It is mapped; any offset will do, and the descriptor may be
 * closed after the call. length -1: to the end of the file. */
TORCHLET_API torchlet_status torchlet_module_load_fd(int fd, int64_t offset, int64_t length,
                                                     const torchlet_options* options,
                                                     torchlet_module** module);
/* The bytes are copied. */
TORCHLET_API torchlet_status torchlet_module_load_memory(const void* data, size_t size,
                                                         const torchlet_options* options,
                                                         torchlet_module** module);
TORCHLET_API void torchlet_module_free(torchlet_module* module);

/* "__torch__.torchvision.models.mobilenetv2.MobileNetV2" */
TORCHLET_API const char* torchlet_module_type_name(const torchlet_module* module);
TORCHLET_API size_t torchlet_module_method_count(const torchlet_module* module);
/* NULL beyond the last. */
TORCHLET_API const char* torchlet_module_method_name(const torchlet_module* module, size_t index);
/* "forward(Tensor x, int size=3) -> Tensor" */
TORCHLET_API torchlet_status torchlet_module_method_schema(const torchlet_module* module,
                                                           const char* method, char** schema);

/* Runs forward(). Arguments are checked against its signature and converted as Python's would be
 * (torchlet::Method). `inputs` may be NULL if count is 0. */
TORCHLET_API torchlet_status torchlet_module_forward(const torchlet_module* module,
                                                     const torchlet_value* const* inputs,
                                                     size_t count, torchlet_value** result);
/* Runs any method; `names` and `keywords` are its keyword arguments. */
TORCHLET_API torchlet_status torchlet_module_run(const torchlet_module* module, const char* method,
                                                 const torchlet_value* const* inputs, size_t count,
                                                 const char* const* names,
                                                 const torchlet_value* const* keywords,
                                                 size_t keyword_count, torchlet_value** result);
/* While `cancel` is not 0, all calls of the model and of its copies end with TORCHLET_CANCELLED
 * within some milliseconds. From any thread. */
TORCHLET_API torchlet_status torchlet_module_cancel(const torchlet_module* module, int cancel);
/* A module of the same program with its own tensors and state. */
TORCHLET_API torchlet_status torchlet_module_copy(const torchlet_module* module,
                                                  torchlet_module** copy);
/* Parameter, buffer or other attribute; "features.0.weight" is a path. */
TORCHLET_API torchlet_status torchlet_module_attribute(const torchlet_module* module,
                                                       const char* path, torchlet_value** value);
/* The arguments of each bundled call of the method: a list of tuples. TORCHLET_NOT_FOUND if the
 * file carries none. */
TORCHLET_API torchlet_status torchlet_module_bundled_inputs(const torchlet_module* module,
                                                            const char* method,
                                                            torchlet_value** calls);
/* Container, version, class, size, operators with counts, methods: a JSON object. */
TORCHLET_API torchlet_status torchlet_module_info(const torchlet_module* module, char** json);
/* What the file carries besides the model (PyTorch's _extra_files): its bytes, with a null character
 * at the end that `size` does not count, to be freed by torchlet_text_free. TORCHLET_NOT_FOUND if
 * there is none of that name. */
TORCHLET_API torchlet_status torchlet_module_extra_file(const torchlet_module* module,
                                                        const char* name, char** data,
                                                        size_t* size);
/* What runs where and why (torchlet/placement.h): a JSON array of objects. */
TORCHLET_API torchlet_status torchlet_module_placement(const torchlet_module* module, char** json);

/* ---- values: PyTorch's IValue ---- */

TORCHLET_API torchlet_status torchlet_value_none(torchlet_value** value);
TORCHLET_API torchlet_status torchlet_value_from_tensor(const torchlet_tensor* tensor,
                                                        torchlet_value** value);
TORCHLET_API torchlet_status torchlet_value_from_int(int64_t number, torchlet_value** value);
TORCHLET_API torchlet_status torchlet_value_from_float(double number, torchlet_value** value);
TORCHLET_API torchlet_status torchlet_value_from_complex(double real, double imaginary,
                                                         torchlet_value** value);
TORCHLET_API torchlet_status torchlet_value_from_bool(int truth, torchlet_value** value);
/* `size` bytes of UTF-8, which may hold null characters. */
TORCHLET_API torchlet_status torchlet_value_from_string(const char* text, size_t size,
                                                        torchlet_value** value);
/* `kind` LIST or TUPLE. A list whose items are of several kinds is converted to what a method
 * declares, as Python's is; on its own it is a list of Any. */
TORCHLET_API torchlet_status torchlet_value_from_items(torchlet_kind kind,
                                                       const torchlet_value* const* items,
                                                       size_t count, torchlet_value** value);
/* Keys, all of one kind: strings, ints, floats, bools, complex numbers or tensors. Of equal keys
 * the last value counts. */
TORCHLET_API torchlet_status torchlet_value_from_dict(const torchlet_value* const* keys,
                                                      const torchlet_value* const* values,
                                                      size_t count, torchlet_value** value);
TORCHLET_API void torchlet_value_free(torchlet_value* value);

/* NONE for NULL. */
TORCHLET_API torchlet_kind torchlet_value_kind(const torchlet_value* value);
/* Of a list its items' kind, of a dict its values' and its keys', as their type declares them; NONE
 * for Any, Optional and unions, and for other kinds of values. */
TORCHLET_API torchlet_kind torchlet_value_item_kind(const torchlet_value* value);
TORCHLET_API torchlet_kind torchlet_value_key_kind(const torchlet_value* value);

/* Each is TORCHLET_INVALID_ARGUMENT ("expected an int, got a Tensor") for another kind. */
TORCHLET_API torchlet_status torchlet_value_to_tensor(const torchlet_value* value,
                                                      torchlet_tensor** tensor);
TORCHLET_API torchlet_status torchlet_value_to_int(const torchlet_value* value,
                                                   int64_t* number); /* int, bool */
TORCHLET_API torchlet_status torchlet_value_to_float(const torchlet_value* value,
                                                     double* number); /* and float */
TORCHLET_API torchlet_status torchlet_value_to_complex(const torchlet_value* value, double* real,
                                                       double* imaginary);
TORCHLET_API torchlet_status torchlet_value_to_bool(const torchlet_value* value, int* truth);
/* Ends with a null character that `size` does not count; belongs to the value. */
TORCHLET_API torchlet_status torchlet_value_to_string(const torchlet_value* value,
                                                      const char** text, size_t* size);
/* Of a list, tuple or dict. */
TORCHLET_API torchlet_status torchlet_value_size(const torchlet_value* value, size_t* size);
/* Of a list or tuple; of a dict the index-th value, in its order. What a dict held when its handle
 * was made. */
TORCHLET_API torchlet_status torchlet_value_item(const torchlet_value* value, size_t index,
                                                 torchlet_value** item);
TORCHLET_API torchlet_status torchlet_value_key(const torchlet_value* value, size_t index,
                                                torchlet_value** key);
/* Of a dict with strings as keys; TORCHLET_NOT_FOUND if there is none. */
TORCHLET_API torchlet_status torchlet_value_lookup(const torchlet_value* value, const char* key,
                                                   torchlet_value** item);
/* Numbers of a list or tuple at once: `capacity` at most are written, `size` is how many it has. */
TORCHLET_API torchlet_status torchlet_value_to_ints(const torchlet_value* value, int64_t* numbers,
                                                    size_t capacity, size_t* size);
TORCHLET_API torchlet_status torchlet_value_to_floats(const torchlet_value* value, double* numbers,
                                                      size_t capacity, size_t* size);
/* For people: "[2, 3] float32", "{'out': ...}". */
TORCHLET_API torchlet_status torchlet_value_describe(const torchlet_value* value, char** text);

/* ---- tensors ---- */

/* Zeros, in the given order in memory. Of at most 64 dimensions, as all tensors; not of a quantized
 * dtype: see torchlet_tensor_quantized. */
TORCHLET_API torchlet_status torchlet_tensor_new(torchlet_dtype dtype, const int64_t* sizes,
                                                 size_t dims, torchlet_memory_format format,
                                                 torchlet_tensor** tensor);
/* Over the caller's memory, without a copy. `strides`, in elements, may be NULL: contiguous. `data`
 * is aligned to an element, holds the elements that sizes and strides reach and lives until
 * `release(context)` is called, once, by whichever thread lets go of the last tensor that shares
 * it; with `release` NULL, for ever. If this fails, `release` is not called. */
TORCHLET_API torchlet_status torchlet_tensor_from_memory(void* data, torchlet_dtype dtype,
                                                         const int64_t* sizes,
                                                         const int64_t* strides, size_t dims,
                                                         void (*release)(void* context),
                                                         void* context, torchlet_tensor** tensor);
/* A quantized tensor over uint8, int8 or int32 integers, which it shares: QUINT8, QINT8 or QINT32.
 */
TORCHLET_API torchlet_status torchlet_tensor_quantized(const torchlet_tensor* integers,
                                                       double scale, int64_t zero_point,
                                                       torchlet_tensor** tensor);
TORCHLET_API void torchlet_tensor_free(torchlet_tensor* tensor);

TORCHLET_API torchlet_dtype torchlet_tensor_dtype(const torchlet_tensor* tensor);
TORCHLET_API size_t torchlet_tensor_dims(const torchlet_tensor* tensor);
TORCHLET_API const int64_t* torchlet_tensor_sizes(const torchlet_tensor* tensor);
TORCHLET_API const int64_t* torchlet_tensor_strides(
    const torchlet_tensor* tensor); /* in elements */
TORCHLET_API int64_t torchlet_tensor_numel(const torchlet_tensor* tensor);
TORCHLET_API size_t torchlet_tensor_element_size(const torchlet_tensor* tensor); /* in bytes */
/* The first element; the others lie by the strides. NULL for a sparse tensor, which has no strides
 * either. */
TORCHLET_API void* torchlet_tensor_data(const torchlet_tensor* tensor);
TORCHLET_API int torchlet_tensor_is_contiguous(const torchlet_tensor* tensor,
                                               torchlet_memory_format format);
/* Of a tensor with one scale; else TORCHLET_INVALID_ARGUMENT. */
TORCHLET_API torchlet_status torchlet_tensor_quantizer(const torchlet_tensor* tensor, double* scale,
                                                       int64_t* zero_point);
/* The same elements in that order in memory and of that type; shares memory if nothing changes. */
TORCHLET_API torchlet_status torchlet_tensor_to(const torchlet_tensor* tensor, torchlet_dtype dtype,
                                                torchlet_memory_format format,
                                                torchlet_tensor** result);
/* "float32", "int64", "quint8"; "?" for no dtype. */
TORCHLET_API const char* torchlet_dtype_name(torchlet_dtype dtype);

/* ---- threads, devices, profiles ---- */

/* Threads that one operator may use, 256 at most; 0: all processors. */
TORCHLET_API torchlet_status torchlet_set_num_threads(int count);
TORCHLET_API int torchlet_num_threads(void);
/* What runs models here: a JSON array of {"name", "about", "available"}. */
TORCHLET_API torchlet_status torchlet_devices(char** json);

/* Hears what its own thread runs from now on, until it is freed, which the same thread does; of
 * several, the one that was made last. */
TORCHLET_API torchlet_status torchlet_profiler_new(torchlet_profiler** profiler);
TORCHLET_API void torchlet_profiler_free(torchlet_profiler* profiler);
/* One line an operator or step: kernel, place, shape, device, times. */
TORCHLET_API torchlet_status torchlet_profiler_table(const torchlet_profiler* profiler,
                                                     char** text);
/* For ui.perfetto.dev and chrome://tracing. */
TORCHLET_API torchlet_status torchlet_profiler_trace(const torchlet_profiler* profiler,
                                                     char** json);

/* ---- pictures (torchlet/image.h, docs/pictures.md) ---- */

/* Clockwise, to be upright. */
typedef enum torchlet_rotation TORCHLET_INT {
  TORCHLET_ROTATE_0 = 0,
  TORCHLET_ROTATE_90 = 90,
  TORCHLET_ROTATE_180 = 180,
  TORCHLET_ROTATE_270 = 270
} torchlet_rotation;

typedef enum torchlet_pixel_format TORCHLET_INT {
  TORCHLET_PIXELS_GREY = 0, /* 1 byte a pixel */
  TORCHLET_PIXELS_RGB = 1,  /* 3 bytes */
  TORCHLET_PIXELS_RGBA = 2, /* 4 bytes; alpha is dropped */
  TORCHLET_PIXELS_BGRA = 3  /* 4 bytes: Android's int colours on little-endian processors */
} torchlet_pixel_format;

/* Cameras of Android and JPEG: BT601. The ranges of the limited ones are 16 to 235 and 16 to 240.
 */
typedef enum torchlet_yuv_matrix TORCHLET_INT {
  TORCHLET_YUV_BT601 = 0,
  TORCHLET_YUV_BT601_LIMITED = 1,
  TORCHLET_YUV_BT709 = 2,
  TORCHLET_YUV_BT709_LIMITED = 3
} torchlet_yuv_matrix;

/* `height` rows that lie `row_stride` bytes apart. */
typedef struct torchlet_pixels {
  torchlet_pixel_format format;
  const void* data;
  int64_t width, height, row_stride;
} torchlet_pixels;

/* YUV 4:2:0 of 8 bits: a plane of width x height bytes, and two of half of both, rounded up.
 * Strides are bytes; uv_pixel_stride is 1 for I420, 2 for NV12 and NV21. */
typedef struct torchlet_yuv {
  const uint8_t *y, *u, *v;
  int64_t width, height;
  int64_t y_row_stride, y_pixel_stride;
  int64_t uv_row_stride, uv_pixel_stride;
  torchlet_yuv_matrix matrix;
} torchlet_yuv;

/* PNG or JPEG, made upright by its EXIF orientation. */
TORCHLET_API torchlet_status torchlet_image_decode(const void* data, size_t size,
                                                   torchlet_image** image);
TORCHLET_API torchlet_status torchlet_image_read(const char* path, torchlet_image** image);
/* Copies, turned upright. */
TORCHLET_API torchlet_status torchlet_image_from_pixels(const torchlet_pixels* pixels,
                                                        torchlet_rotation rotation,
                                                        torchlet_image** image);
TORCHLET_API torchlet_status torchlet_image_from_yuv(const torchlet_yuv* picture,
                                                     torchlet_rotation rotation,
                                                     torchlet_image** image);
TORCHLET_API void torchlet_image_free(torchlet_image* image);
TORCHLET_API int64_t torchlet_image_width(const torchlet_image* image);
TORCHLET_API int64_t torchlet_image_height(const torchlet_image* image);
/* RGB, 3 bytes a pixel, width * 3 bytes a row. */
TORCHLET_API const uint8_t* torchlet_image_data(const torchlet_image* image);
/* Bilinear; with antialias the bits of PIL, without those of torchvision for uint8 tensors. */
TORCHLET_API torchlet_status torchlet_image_resize(const torchlet_image* image, int64_t width,
                                                   int64_t height, int antialias,
                                                   torchlet_image** result);
/* The rectangle; black where it leaves the picture. */
TORCHLET_API torchlet_status torchlet_image_crop(const torchlet_image* image, int64_t left,
                                                 int64_t top, int64_t width, int64_t height,
                                                 torchlet_image** result);
TORCHLET_API torchlet_status torchlet_image_rotate(const torchlet_image* image,
                                                   torchlet_rotation rotation,
                                                   torchlet_image** result);
/* FLOAT32: (pixel / 255 - mean) / std, [1, 3, height, width]; UINT8: the pixels, mean and std NULL.
 * mean and std: 3 numbers, red first, or NULL for 0 and 1. */
TORCHLET_API torchlet_status torchlet_image_to_tensor(const torchlet_image* image,
                                                      torchlet_dtype dtype,
                                                      torchlet_memory_format format,
                                                      const float* mean, const float* std,
                                                      torchlet_tensor** tensor);

/* The steps from a picture to a model's input (torchlet/preprocess.h): from the record's JSON
 * (docs/pictures.md), ... */
TORCHLET_API torchlet_status torchlet_preprocess_new(const char* json,
                                                     torchlet_preprocess** preprocess);
/* ... or the one that the model carries; TORCHLET_NOT_FOUND if it carries none. */
TORCHLET_API torchlet_status torchlet_preprocess_of(const torchlet_module* module,
                                                    torchlet_preprocess** preprocess);
TORCHLET_API void torchlet_preprocess_free(torchlet_preprocess* preprocess);
TORCHLET_API torchlet_status torchlet_preprocess_json(const torchlet_preprocess* preprocess,
                                                      char** json);
TORCHLET_API torchlet_status torchlet_preprocess_run(const torchlet_preprocess* preprocess,
                                                     const torchlet_image* image,
                                                     torchlet_tensor** tensor);
/* The same in one pass, without a picture between. */
TORCHLET_API torchlet_status torchlet_preprocess_run_pixels(const torchlet_preprocess* preprocess,
                                                            const torchlet_pixels* pixels,
                                                            torchlet_rotation rotation,
                                                            torchlet_tensor** tensor);
TORCHLET_API torchlet_status torchlet_preprocess_run_yuv(const torchlet_preprocess* preprocess,
                                                         const torchlet_yuv* picture,
                                                         torchlet_rotation rotation,
                                                         torchlet_tensor** tensor);

#ifdef __cplusplus
}
#endif

#undef TORCHLET_INT

#endif
