#include "device/specialise/rewriter.h"

namespace torchlet::device {

CallArgument add_call(SpecialisedSegment& segment, std::vector<Call>& calls, Call call) {
  const CallArgument& replaced = call.outputs[0];
  const CallArgument result = CallArgument::tensor(
      segment.add_tensor(segment.tensors[static_cast<size_t>(replaced.id())].value));
  call.outputs[0] = result;
  segment.describe_again(call);
  calls.push_back(std::move(call));
  return result;
}

}  // namespace torchlet::device
