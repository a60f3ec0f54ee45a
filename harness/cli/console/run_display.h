// What a person sees of a run while it lasts and at its end. A listener of the run's events, nothing more.
#pragma once

#include "harness/core/events.h"

namespace proctor {
class RunModel;
}

namespace proctor::cli {

class RunDisplay : public EventSink {
 public:
  // A few times a second.
  virtual void tick() = 0;
  // After the last event; `rendered`: whether the reports could be written.
  virtual void finish(const RunModel& model, int shell_code, const Result<void>& rendered) = 0;
};

}  // namespace proctor::cli
