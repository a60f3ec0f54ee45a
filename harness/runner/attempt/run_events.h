// Passes on the events of a run, and has its start time. Many events have the time since then. Runner owns it.
#pragma once

#include <cstdint>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/journal/events.h"

namespace proctor {

class RunEvents : public EventSink {
 public:
  explicit RunEvents(EventSink& sink) : sink_(sink) {}

  void on(const Event& event) override { sink_.on(event); }
  Clock::time_point began() const { return began_; }
  std::int64_t ms_at(Clock::time_point time) const {
    return std::chrono::duration_cast<Milliseconds>(time - began_).count();
  }
  std::int64_t ms_now() const { return ms_at(Clock::now()); }

 private:
  EventSink& sink_;
  const Clock::time_point began_ = Clock::now();
};

}  // namespace proctor
