// How a rewrite changes a segment.
#pragma once

#include <utility>
#include <vector>

#include "device/specialise/specialised_segment.h"

namespace torchlet::device {

// A Rewriter of a segment has bool find(), whether there is anything to do, and void rewrite(),
// which may be Declined: then the segment stays as it was.
template <class Rewriter>
void rewrite_by(SpecialisedSegment& segment) {
  SpecialisedSegment other = segment;
  Rewriter rewriter(other);
  if (!rewriter.find()) return;
  try {
    rewriter.rewrite();
  } catch (const Declined&) {
    return;
  }
  segment = std::move(other);
}

// Adds the call to those of a rewrite with a new tensor in the place of its only result, which is
// returned. Declined if it cannot be described without a run.
CallArgument add_call(SpecialisedSegment& segment, std::vector<Call>& calls, Call call);

}  // namespace torchlet::device
