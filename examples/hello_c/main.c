/* Classifies a picture, which is not resized: the model takes any size.
 *
 *   hello_c models/digits_mobilenet_v2.pt models/samples/digit_7.png
 */
#include <torchlet/c_api.h>

#include <stdio.h>

static int failed(torchlet_status status) {
  if (status != TORCHLET_OK) fprintf(stderr, "%s\n", torchlet_last_error());
  return status != TORCHLET_OK;
}

int main(int argc, char** argv) {
  static const float mean[] = {0.485f, 0.456f, 0.406f}, std[] = {0.229f, 0.224f, 0.225f};
  torchlet_module* model = NULL;
  torchlet_image* picture = NULL;
  torchlet_tensor *pixels = NULL, *scores = NULL;
  torchlet_value *input = NULL, *output = NULL;
  int status = 1;

  if (argc != 3) {
    fprintf(stderr, "usage: hello_c MODEL.pt PICTURE\n");
    return 2;
  }
  if (!failed(torchlet_module_load(argv[1], NULL, &model)) &&
      !failed(torchlet_image_read(argv[2], &picture)) &&
      !failed(torchlet_image_to_tensor(picture, TORCHLET_FLOAT32, TORCHLET_CONTIGUOUS, mean, std,
                                       &pixels)) &&
      !failed(torchlet_value_from_tensor(pixels, &input)) &&
      !failed(torchlet_module_forward(model, (const torchlet_value* const*)&input, 1, &output)) &&
      !failed(torchlet_value_to_tensor(output, &scores))) {
    const float* score = torchlet_tensor_data(scores);
    int64_t i, best = 0;
    for (i = 1; i < torchlet_tensor_numel(scores); ++i) {
      if (score[i] > score[best]) best = i;
    }
    printf("class %d, score %.9g\n", (int)best, score[best]);
    status = 0;
  }
  torchlet_value_free(output);
  torchlet_value_free(input);
  torchlet_tensor_free(scores);
  torchlet_tensor_free(pixels);
  torchlet_image_free(picture);
  torchlet_module_free(model);
  return status;
}
