// The records of a run in the memory of its runner, deflated. A ResolvedRun takes about 3 KB for each finished case,
// and is only needed at the end. RunMemory takes at most 300 bytes for a passed case. The journal has the same records,
// but the disk may be full, and a case may have changed the file. Therefore the reports of a run are rendered from
// memory. Example:
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

// Stores the events of a run. A runner owns one.
class RunMemory : public EventSink {
 public:
  void on(const Event& event) override;

  bool was_stopped() const { return was_stopped_; }        // a stop was requested
  std::int64_t elapsed_ms() const { return elapsed_ms_; }  // ResolvedRun::elapsed_ms
  std::size_t held() const { return records_.held(); }     // bytes for the records

  // Returns the run so far. Later events are added to the same run.
  const ResolvedRun& resolve();

 private:
  DeflatedText records_{kSmall};
  OutputLimit output_;
  bool was_stopped_ = false;
  std::int64_t elapsed_ms_ = 0;
  std::optional<RunResolver> resolver_;
};

}  // namespace proctor
