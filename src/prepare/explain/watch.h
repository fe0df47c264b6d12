// Hears where the time of a run goes, segment by segment.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "graph/event_sink.h"
#include "prepare/explain/explain.h"

namespace torchlet::prepare {

// One run of a segment, a part or an operator outside of them.
struct RunSample {
  double seconds = 0;
  Moved in, out;
  double on_hardware = 0, in_driver = 0;
  size_t bytes = 0;
  size_t runs = 0;

  void add(const RunSample& other);
};

// What ran as a whole, over all runs.
struct WatchedSegment {
  std::string device;
  const Node* segment = nullptr;       // the prim::Segment, of which this may be a part
  std::vector<const Node*> operators;  // in order
  bool is_part = false;
  std::vector<RunSample> samples;  // by runs of the method in which it ran
};

// Listens, where an EventScope says so, to one run of the method after the other. The nodes are a
// graph's that lives longer.
class SegmentsWatch : public EventSink {
 public:
  void begin_run();
  void record(const Event& event) override;
  void end_run();

  // In the order in which they ran first.
  const std::vector<WatchedSegment>& segments() const { return segments_; }
  // Compilations of a segment: how often, and seconds.
  std::pair<size_t, double> compilations(const Node* segment) const;
  // Of the last run, in the order in which they ended.
  const std::vector<TimelineSpan>& timeline() const { return timeline_; }
  // Seconds in the last run of the processor's steps and of operators outside of segments, by the
  // last node that each computed; and of whole segments and those operators, by their nodes.
  const std::unordered_map<const Node*, double>& steps() const { return steps_; }
  const std::unordered_map<const Node*, double>& wholes() const { return wholes_; }

 private:
  using Key = std::tuple<const Node*, const Node*, std::string>;
  struct Part {
    size_t place;
    double begin;
  };

  void end_segment(const Event& event);
  void end_part(const Event& event);
  void add_outside(const Event& event);
  void add(size_t place, const Event& event);
  size_t place_of(const Event& event, const Node* segment, std::vector<const Node*> operators,
                  bool is_part);
  void draw(const Event& event, std::string what, const Node& node);

  std::vector<WatchedSegment> segments_;
  std::map<Key, size_t> places_;                     // in segments_: by first and last operator
  std::unordered_map<const Node*, size_t> outside_;  // operators of no segment
  std::map<size_t, RunSample> run_;                  // of this run
  std::vector<Part> parts_;                          // of the segment that runs
  std::vector<Event> inner_;                         // that no segment or part has taken yet
  bool grows_ = false;  // nothing ran since the last of segments_, which is outside of segments
  std::map<const Node*, std::pair<size_t, double>> compilations_;
  std::vector<TimelineSpan> timeline_;
  std::unordered_map<const Node*, double> steps_, wholes_;
  double begin_ = 0;
};

}  // namespace torchlet::prepare
