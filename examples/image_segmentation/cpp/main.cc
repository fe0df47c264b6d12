// Finds the things in a picture and colours them.
//
//   image_segmentation models/scenes_deeplabv3.ptl models/scenes/meadow.png overlay.png
#include <png.h>
#include <torchlet/image.h>
#include <torchlet/preprocess.h>
#include <torchlet/torchlet.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace {

struct Colour {
  const char* name;
  std::array<uint8_t, 3> rgb;
};

// Of class 1, 2, ...; class 0 is the background and stays as it is.
constexpr std::array<Colour, 8> kColours = {{{"blue", {0, 90, 255}},
                                             {"orange", {255, 140, 0}},
                                             {"magenta", {255, 0, 200}},
                                             {"yellow", {255, 230, 0}},
                                             {"cyan", {0, 220, 255}},
                                             {"red", {230, 0, 0}},
                                             {"green", {0, 160, 60}},
                                             {"violet", {120, 0, 220}}}};

const Colour& colour_of(int64_t label) {
  return kColours[static_cast<size_t>(label - 1) % kColours.size()];
}

// What the model says of its inputs (torchlet/preprocess.h), else as for ImageNet; in either case
// all of the picture.
torchlet::Preprocess steps_of(const torchlet::Module& model) {
  auto steps = torchlet::preprocess_of(model).value_or(torchlet::Preprocess::imagenet());
  steps.crop.clear();
  return steps;
}

// "out" of what torchvision's segmentation models answer: [1, classes, height, width].
torchlet::Tensor scores_of(const torchlet::Value& answer) {
  for (const auto& [key, value] : answer.to_dict()) {
    if (key.to_string() == "out") return value.to_tensor().contiguous();
  }
  throw torchlet::Error(torchlet::ErrorCode::kNotFound, "the model's answer has no \"out\"");
}

// The class of each pixel: the first of the highest scores.
std::vector<int64_t> class_map(const torchlet::Tensor& scores) {
  const int64_t classes = scores.size(1), pixels = scores.size(2) * scores.size(3);
  const float* score = scores.data_ptr<float>();
  std::vector<int64_t> labels(static_cast<size_t>(pixels), 0);
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    int64_t& best = labels[static_cast<size_t>(pixel)];
    for (int64_t c = 1; c < classes; ++c) {
      if (score[c * pixels + pixel] > score[best * pixels + pixel]) best = c;
    }
  }
  return labels;
}

// Three parts of the class's colour to two of the picture.
void draw(const std::vector<int64_t>& labels, torchlet::Image& picture) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == 0) continue;
    const auto& rgb = colour_of(labels[i]).rgb;
    for (size_t c = 0; c < 3; ++c) {
      uint8_t& value = picture.rgb[3 * i + c];
      value = static_cast<uint8_t>((2 * value + 3 * rgb[c]) / 5);
    }
  }
}

void write_png(const torchlet::Image& picture, const char* path) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(picture.width);
  png.height = static_cast<png_uint_32>(picture.height);
  png.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&png, path, 0, picture.rgb.data(), 0, nullptr)) {
    throw torchlet::Error(torchlet::ErrorCode::kIo, std::string(path) + ": " + png.message);
  }
}

// The classes that were found, each with its colour and its part of the picture.
void print_legend(const std::vector<int64_t>& labels, const std::vector<std::string>& names) {
  const int64_t classes = *std::max_element(labels.begin(), labels.end()) + 1;
  for (int64_t label = 1; label < classes; ++label) {
    const auto pixels = std::count(labels.begin(), labels.end(), label);
    if (pixels == 0) continue;
    const auto at = static_cast<size_t>(label);
    const std::string name = at < names.size() ? names[at] : std::to_string(label);
    std::printf("%5.1f %%  %-8s %s\n",
                100.0 * static_cast<double>(pixels) / static_cast<double>(labels.size()),
                colour_of(label).name, name.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: image_segmentation MODEL PICTURE OVERLAY.png [LABELS.txt]\n");
    return 2;
  }
  try {
    const torchlet::Module model = torchlet::load(argv[1]);
    torchlet::Image picture = torchlet::read_image(argv[2]);
    const torchlet::Tensor input = steps_of(model)(picture);
    const torchlet::Tensor scores =
        scores_of(model.forward({input}));  // [1, classes, height, width]

    const std::vector<int64_t> labels = class_map(scores);
    picture = torchlet::resize(picture, scores.size(2), scores.size(3));
    draw(labels, picture);
    write_png(picture, argv[3]);
    print_legend(labels, argc > 4 ? torchlet::read_labels(argv[4]) : torchlet::labels_of(model));
  } catch (const torchlet::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
