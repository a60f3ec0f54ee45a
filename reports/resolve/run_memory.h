// What a runner remembers of its run, deflated. A ResolvedRun takes some 3 KB for each case that has ended, and nobody reads one
// before the run's end; this takes at most 300 bytes for a case that passed. A journal says the same, but the disk may be
// full, and a case may have changed the file: the reports of a run are made of what happened. Example:
//
//   RunMemory memory;
//   memory.on(RunPlanned{});
//   memory.on(RunEnded{});
//   const int planned = memory.resolve().summary.planned();  // 0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/journal/events.h"
#include "reports/resolve/deflated.h"
#include "reports/resolve/run_resolver.h"

namespace proctor {

class RunMemory : public EventSink {
 public:
  void on(const Event& event) override;

  bool was_stopped() const { return was_stopped_; }        // somebody asked for it
  std::int64_t elapsed_ms() const { return elapsed_ms_; }  // ResolvedRun::elapsed_ms
  std::size_t held() const { return records_.held(); }     // bytes for what has happened

  // The run so far. What happens from now on goes to it as well.
  const ResolvedRun& resolve();

 private:
  DeflatedText records_{kSmall};
  OutputLimit output_;
  bool was_stopped_ = false;
  std::int64_t elapsed_ms_ = 0;
  std::optional<RunResolver> resolver_;
};

}  // namespace proctor
