// A program outside the tree: prints the digit that a model sees in a blank picture.
#include <torchlet/torchlet.h>

#include <algorithm>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  torchlet::Module module = torchlet::load(argv[1]);
  std::vector<float> picture(3 * 32 * 32, 0.0f);
  torchlet::Tensor input = torchlet::from_blob(picture.data(), {1, 3, 32, 32});
  torchlet::Tensor scores = module.forward({input}).to_tensor();
  const float* first = scores.data_ptr<float>();
  std::printf("%zd\n", std::max_element(first, first + scores.numel()) - first);
}
