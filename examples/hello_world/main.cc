// Classifies a picture.
//
//   hello_world models/digits_mobilenet_v2.pt models/samples/digit_7.png models/digits_labels.txt
#include <torchlet/preprocess.h>
#include <torchlet/torchlet.h>

#include <chrono>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: hello_world MODEL.pt PICTURE [LABELS.txt]\n");
    return 2;
  }
  try {
    const torchlet::Module model = torchlet::load(argv[1]);
    const auto steps = torchlet::preprocess_of(model).value_or(torchlet::Preprocess::imagenet());
    const torchlet::Tensor input = torchlet::load_image(argv[2], steps);  // [1, 3, 224, 224]

    const auto start = std::chrono::steady_clock::now();
    const torchlet::Tensor scores = model.forward({input}).to_tensor();  // [1, classes]
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;

    std::vector<std::string> labels = torchlet::labels_of(model);
    if (argc > 3) labels = torchlet::read_labels(argv[3]);
    for (const auto& [index, probability] : torchlet::top_classes(scores, 3)) {
      const auto at = static_cast<size_t>(index);
      const std::string label = at < labels.size() ? labels[at] : std::to_string(index);
      std::printf("%5.1f %%  %s\n", 100.0 * probability, label.c_str());
    }
    std::printf("in %.1f ms\n", took.count());
  } catch (const torchlet::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
