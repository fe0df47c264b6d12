/* A program on a small libtorchlet.so, which reads no pictures:
 *
 *   run_model --pixels PICTURE OUT       on a whole one: a picture as float32 [3, height, width], in a file
 *   run_model MODEL PIXELS HEIGHT WIDTH  prints the scores, one a line
 */
#include <torchlet/c_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(torchlet_status status) {
  if (status == TORCHLET_OK) return;
  fprintf(stderr, "%s\n", torchlet_last_error());
  exit(1);
}

static int write_pixels(const char* picture, const char* path) {
  static const float mean[] = {0.485f, 0.456f, 0.406f}, std[] = {0.229f, 0.224f, 0.225f};
  torchlet_image* image = NULL;
  torchlet_tensor* pixels = NULL;
  FILE* file = fopen(path, "wb");
  size_t count;
  if (!file) return 1;
  require(torchlet_image_read(picture, &image));
  require(torchlet_image_to_tensor(image, TORCHLET_FLOAT32, TORCHLET_CONTIGUOUS, mean, std, &pixels));
  count = (size_t)torchlet_tensor_numel(pixels);
  if (fwrite(torchlet_tensor_data(pixels), sizeof(float), count, file) != count) return 1;
  torchlet_tensor_free(pixels);
  torchlet_image_free(image);
  return fclose(file) != 0;
}

int main(int argc, char** argv) {
  torchlet_module* model = NULL;
  torchlet_tensor *pixels = NULL, *scores = NULL;
  torchlet_value *input = NULL, *output = NULL;
  int64_t sizes[4] = {1, 3, 0, 0}, i;
  size_t count;
  FILE* file;

  if (argc == 4 && strcmp(argv[1], "--pixels") == 0) return write_pixels(argv[2], argv[3]);
  if (argc != 5) return 2;
  sizes[2] = atoi(argv[3]);
  sizes[3] = atoi(argv[4]);
  require(torchlet_module_load(argv[1], NULL, &model));
  require(torchlet_tensor_new(TORCHLET_FLOAT32, sizes, 4, TORCHLET_CONTIGUOUS, &pixels));
  count = (size_t)torchlet_tensor_numel(pixels);
  file = fopen(argv[2], "rb");
  if (!file || fread(torchlet_tensor_data(pixels), sizeof(float), count, file) != count) return 1;
  fclose(file);
  require(torchlet_value_from_tensor(pixels, &input));
  require(torchlet_module_forward(model, (const torchlet_value* const*)&input, 1, &output));
  require(torchlet_value_to_tensor(output, &scores));
  for (i = 0; i < torchlet_tensor_numel(scores); ++i) {
    printf("%.9g\n", ((const float*)torchlet_tensor_data(scores))[i]);
  }
  torchlet_value_free(output);
  torchlet_value_free(input);
  torchlet_tensor_free(scores);
  torchlet_tensor_free(pixels);
  torchlet_module_free(model);
  return 0;
}
