// Tells what a picture shows.
//
//   image_classification models/digits_mobilenet_v2.pt models/samples/digit_7.png
//   models/digits_labels.txt
#include <torchlet/image.h>
#include <torchlet/preprocess.h>
#include <torchlet/torchlet.h>

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: image_classification MODEL PICTURE [LABELS.txt]\n");
    return 2;
  }
  try {
    const torchlet::Module model = torchlet::load(argv[1]);
    // What the model says of its inputs and classes, if it does (torchlet/preprocess.h).
    const auto steps = torchlet::preprocess_of(model).value_or(torchlet::Preprocess::imagenet());
    const auto labels = argc > 3 ? torchlet::read_labels(argv[3]) : torchlet::labels_of(model);

    const torchlet::Tensor input = torchlet::load_image(argv[2], steps);
    const torchlet::Tensor scores = model.forward({input}).to_tensor();  // [1, classes]
    for (const auto& [index, probability] : torchlet::top_classes(scores, 3)) {
      const auto at = static_cast<size_t>(index);
      const std::string label = at < labels.size() ? labels[at] : std::to_string(index);
      std::printf("%5.1f %%  %s\n", 100.0 * probability, label.c_str());
    }
  } catch (const torchlet::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
