// What stands for decode.cc where TORCHLET_CODECS is off.
#include <torchlet/image.h>

#include "base/error.h"

namespace torchlet {
namespace {

[[noreturn]] void refuse() {
  fail(ErrorCode::kUnsupported,
       "this library was built without JPEG and PNG (TORCHLET_CODECS=OFF); decode the picture by "
       "what the platform has (BitmapFactory on Android) and give its pixels");
}

}  // namespace

Image decode_image(std::span<const std::byte>) { refuse(); }
Image read_image(const std::string&) { refuse(); }

}  // namespace torchlet
