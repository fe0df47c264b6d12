#include "prepare/explain/watch.h"

#include "device/placement.h"
#include "graph/graph.h"

namespace torchlet::prepare {
namespace {

bool is_move(const Event& event) {
  return event.kernel == kCopyEvent || event.kernel == kConvertEvent;
}

bool gives_tensor(const Node& node) {
  return !node.outputs().empty() && node.output()->type()->is(TypeKind::kTensor);
}

// Of a segment or a part, what it moved and what its driver told. What is moved before anything is
// computed goes in.
RunSample sample_of(const Event& whole, const std::vector<Event>& inner) {
  RunSample sample;
  sample.seconds = whole.end - whole.begin;
  sample.bytes = whole.bytes;
  sample.runs = 1;
  bool has_computed = false;
  for (const Event& event : inner) {
    if (event.begin < whole.begin) continue;
    sample.on_hardware += event.on_hardware;
    sample.in_driver += event.in_driver;
    has_computed |= !is_move(event);
    if (!is_move(event)) continue;
    Moved& moved = has_computed ? sample.out : sample.in;
    (event.kernel == kCopyEvent ? moved.copies : moved.conversions) += event.end - event.begin;
    moved.bytes += event.bytes;
  }
  return sample;
}

void add(Moved& to, const Moved& more) {
  to.copies += more.copies;
  to.conversions += more.conversions;
  to.bytes += more.bytes;
}

std::string name_of(const std::vector<const Node*>& operators) {
  if (operators.empty()) return "";
  std::string name = operators.front()->kind().str();
  if (operators.size() > 1) name += " to " + operators.back()->kind().str();
  return name;
}

}  // namespace

void RunSample::add(const RunSample& other) {
  seconds += other.seconds;
  prepare::add(in, other.in);
  prepare::add(out, other.out);
  on_hardware += other.on_hardware;
  in_driver += other.in_driver;
  bytes += other.bytes;
  runs += other.runs;
}

void SegmentsWatch::begin_run() {
  run_.clear();
  parts_.clear();
  inner_.clear();
  timeline_.clear();
  steps_.clear();
  wholes_.clear();
  grows_ = false;
  begin_ = event_clock();
}

void SegmentsWatch::record(const Event& event) {
  if (!event.node) return;
  if (event.kernel == kCompileEvent) {
    auto& [times, seconds] = compilations_[event.node];
    ++times;
    seconds += event.end - event.begin;
    return;
  }
  if (event.kernel == kSegmentEvent) {
    end_segment(event);
  } else if (event.kernel == kPartEvent) {
    end_part(event);
  } else if (event.device == std::string_view(kReferenceDevice)) {
    add_outside(event);
  } else {
    if (!is_move(event)) steps_[event.node] += event.end - event.begin;
    inner_.push_back(event);
    draw(event, event.kernel, *event.node);
  }
}

void SegmentsWatch::end_run() {
  for (auto& [place, sample] : run_) segments_[place].samples.push_back(sample);
}

std::pair<size_t, double> SegmentsWatch::compilations(const Node* segment) const {
  const auto found = compilations_.find(segment);
  return found == compilations_.end() ? std::pair<size_t, double>() : found->second;
}

void SegmentsWatch::end_segment(const Event& event) {
  wholes_[event.node] += event.end - event.begin;
  std::erase_if(parts_, [&](const Part& part) { return part.begin < event.begin; });
  if (parts_.empty()) {
    const auto operators = device::tensor_operators(*event.node->block(0));
    draw(event, name_of(operators), operators.empty() ? *event.node : *operators.front());
    add(place_of(event, event.node, operators, false), event);
  } else {
    for (const Part& part : parts_) segments_[part.place].segment = event.node;
    parts_.clear();
  }
  inner_.clear();
}

void SegmentsWatch::end_part(const Event& event) {
  const std::vector<const Node*> operators(event.operators.begin(), event.operators.end());
  draw(event, name_of(operators), *operators.front());
  const size_t place = place_of(event, nullptr, operators, true);
  parts_.push_back({place, event.begin});
  add(place, event);
  inner_.clear();
}

void SegmentsWatch::add_outside(const Event& event) {
  if (!gives_tensor(*event.node)) return;
  draw(event, event.kernel, *event.node);
  steps_[event.node] += event.end - event.begin;
  wholes_[event.node] += event.end - event.begin;
  const auto [at, is_new] = outside_.try_emplace(event.node, segments_.size());
  if (is_new) {
    if (grows_)
      at->second = segments_.size() - 1;
    else
      segments_.push_back({event.device, nullptr, {}, false, {}});
    segments_[at->second].operators.push_back(event.node);
    grows_ = true;
  }
  RunSample sample;
  sample.seconds = event.end - event.begin;
  sample.runs = event.node == segments_[at->second].operators.front();
  run_[at->second].add(sample);
}

void SegmentsWatch::add(size_t place, const Event& event) {
  run_[place].add(sample_of(event, inner_));
}

size_t SegmentsWatch::place_of(const Event& event, const Node* segment,
                               std::vector<const Node*> operators, bool is_part) {
  grows_ = false;
  const Key key(operators.empty() ? event.node : operators.front(),
                operators.empty() ? event.node : operators.back(), event.device);
  const auto [at, is_new] = places_.try_emplace(key, segments_.size());
  if (is_new) segments_.push_back({event.device, segment, std::move(operators), is_part, {}});
  return at->second;
}

void SegmentsWatch::draw(const Event& event, std::string what, const Node& node) {
  using Kind = TimelineSpan::Kind;
  Kind kind = Kind::kStep;
  if (event.kernel == kSegmentEvent || event.kernel == kPartEvent) kind = Kind::kSegment;
  if (event.kernel == kCopyEvent) kind = Kind::kCopy;
  if (event.kernel == kConvertEvent) kind = Kind::kConversion;
  timeline_.push_back({kind, event.device, std::move(what), device::place_of(node),
                       event.begin - begin_, event.end - begin_});
}

}  // namespace torchlet::prepare
