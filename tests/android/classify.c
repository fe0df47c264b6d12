/* What an app's native code does, in C: classify MODEL WIDTH HEIGHT PIXELS [LIBRARY]. PIXELS is a file of raw RGB; prints the class.
 * Then come calls that have to fail, and LIBRARY, the Java half's, is loaded and asked for JNI_OnLoad. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <torchlet/c_api.h>

#define CHECK(truth)                                                             \
  do {                                                                           \
    if (!(truth)) {                                                              \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #truth, torchlet_last_error()); \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

static torchlet_tensor* read_pixels(const char* path, long width, long height) {
  static const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
  const size_t pixels = (size_t)(width * height), size = 3 * pixels;
  unsigned char* bytes = malloc(size);
  FILE* file = fopen(path, "rb");
  CHECK(file && bytes && fread(bytes, 1, size, file) == size);
  fclose(file);
  torchlet_tensor* tensor = NULL;
  const int64_t sizes[] = {1, 3, height, width};
  CHECK(torchlet_tensor_new(TORCHLET_FLOAT32, sizes, 4, TORCHLET_CONTIGUOUS, &tensor) == TORCHLET_OK);
  float* numbers = torchlet_tensor_data(tensor);
  for (size_t i = 0; i < size; ++i) {
    const size_t channel = i / pixels;
    numbers[i] = (bytes[i % pixels * 3 + channel] / 255.0f - mean[channel]) / deviation[channel];
  }
  free(bytes);
  return tensor;
}

static size_t classify(const torchlet_module* model, const torchlet_tensor* input) {
  torchlet_value *argument = NULL, *result = NULL;
  torchlet_tensor* scores = NULL;
  CHECK(torchlet_value_from_tensor(input, &argument) == TORCHLET_OK);
  const torchlet_value* arguments[] = {argument};
  CHECK(torchlet_module_forward(model, arguments, 1, &result) == TORCHLET_OK);
  CHECK(torchlet_value_to_tensor(result, &scores) == TORCHLET_OK);
  const float* numbers = torchlet_tensor_data(scores);
  size_t best = 0;
  for (size_t i = 1; i < (size_t)torchlet_tensor_numel(scores); ++i) {
    if (numbers[i] > numbers[best]) best = i;
  }
  torchlet_tensor_free(scores);
  torchlet_value_free(result);
  torchlet_value_free(argument);
  return best;
}

static void fail_as_told(const torchlet_module* model) {
  torchlet_module* none = NULL;
  torchlet_value* result = NULL;
  torchlet_image* image = NULL;
  CHECK(torchlet_module_load("no/such/file", NULL, &none) == TORCHLET_IO);
  CHECK(strstr(torchlet_last_error(), "no/such/file"));
  CHECK(torchlet_module_load_memory("PK\3\4", 4, NULL, &none) == TORCHLET_FILE_FORMAT);
  CHECK(torchlet_module_load(NULL, NULL, &none) == TORCHLET_INVALID_ARGUMENT);
  CHECK(torchlet_module_forward(model, NULL, 0, &result) == TORCHLET_INVALID_ARGUMENT);
  CHECK(torchlet_module_forward(NULL, NULL, 0, NULL) == TORCHLET_INVALID_ARGUMENT);
  CHECK(!none && !result);
  /* Without codecs. */
  CHECK(torchlet_image_decode("\x89PNG", 4, &image) == TORCHLET_UNSUPPORTED);
  CHECK(strstr(torchlet_last_error(), "TORCHLET_CODECS"));
}

int main(int count, char** arguments) {
  if (count < 5) return 2;
  torchlet_module* model = NULL;
  CHECK(torchlet_module_load(arguments[1], NULL, &model) == TORCHLET_OK);
  torchlet_tensor* input = read_pixels(arguments[4], atol(arguments[2]), atol(arguments[3]));
  printf("%zu\n", classify(model, input));
  fail_as_told(model);
  torchlet_tensor_free(input);
  torchlet_module_free(model);
  if (count > 5) {
    void* library = dlopen(arguments[5], RTLD_NOW);
    if (!library || !dlsym(library, "JNI_OnLoad")) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
  }
  return 0;
}
