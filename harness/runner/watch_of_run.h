// WatchOfRun does the work beside a run: it syncs the journal, reads the programs of the suites and updates the display.
// After the last case it reports what the run changed on the machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/events.h"
#include "harness/runner/display.h"
#include "harness/runner/history_of_run.h"
#include "harness/runner/prepared.h"
#include "harness/runner/schedule/run_control.h"
#include "harness/runner/schedule/run_setup.h"
#include "reports/resolve/run_memory.h"

namespace proctor::runner {

class WatchOfRun : public RunWatcher, public OutputListener {
 public:
  WatchOfRun(Prepared& prepared, RunMemory& memory, HistoryOfRun& history, RunDisplay& display,
             EventSink& events, RunControl& control)
      : prepared_(prepared),
        memory_(memory),
        history_(history),
        display_(display),
        events_(events),
        control_(control) {}

  void on_tick() override;
  bool is_journal_full() const override { return prepared_.journal->nears_limit(); }
  void at_end() override;
  void on_output(const std::string& case_id, Stream stream, std::string_view bytes) override {
    display_.output(case_id, stream == Stream::kErr, bytes);
  }

 private:
  std::vector<Warning> end_rest();
  std::vector<Warning> look_at_the_end();
  void tell_hardware();
  void report_loss();

  Prepared& prepared_;
  RunMemory& memory_;
  HistoryOfRun& history_;
  RunDisplay& display_;
  EventSink& events_;
  RunControl& control_;
};

}  // namespace proctor::runner
