/* A C program outside the tree: prints the digit that a model sees in a blank picture. */
#include <stdio.h>
#include <torchlet/c_api.h>

static float picture[3 * 32 * 32];

static int fail(void) {
  fprintf(stderr, "%s\n", torchlet_last_error());
  return 1;
}

int main(int argc, char** argv) {
  const int64_t sizes[] = {1, 3, 32, 32};
  torchlet_module* model = NULL;
  torchlet_tensor *input = NULL, *scores = NULL;
  torchlet_value *argument = NULL, *answer = NULL;
  const float* numbers;
  int64_t i, best = 0;
  if (argc != 2) return 2;
  if (torchlet_module_load(argv[1], NULL, &model) ||
      torchlet_tensor_from_memory(picture, TORCHLET_FLOAT32, sizes, NULL, 4, NULL, NULL, &input) ||
      torchlet_value_from_tensor(input, &argument) ||
      torchlet_module_forward(model, (const torchlet_value* const*)&argument, 1, &answer) ||
      torchlet_value_to_tensor(answer, &scores)) {
    return fail();
  }
  numbers = torchlet_tensor_data(scores);
  for (i = 1; i < torchlet_tensor_numel(scores); ++i) {
    if (numbers[i] > numbers[best]) best = i;
  }
  printf("%d\n", (int)best);
  torchlet_tensor_free(scores);
  torchlet_value_free(answer);
  torchlet_value_free(argument);
  torchlet_tensor_free(input);
  torchlet_module_free(model);
  return 0;
}
