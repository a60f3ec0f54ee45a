// The display of `proctor run`: a Console on stdout.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cli/console/console.h"
#include "harness/cli/console/console_output.h"
#include "harness/cli/console/messages.h"
#include "harness/runner/display.h"

namespace proctor::cli {

class ConsoleDisplay : public RunDisplay {
 public:
  ConsoleDisplay();

  void waits(const std::string& why) override { report_wait(why); }
  void start(const RunStart& run) override;
  void on(const Event& event) override { console_->on(event); }
  bool wants_output() const override { return console_->wants_output(); }
  void output(const std::string& case_id, bool is_stderr, std::string_view bytes) override {
    console_->output(case_id, is_stderr, bytes);
  }
  void tick() override { console_->tick(); }
  std::string take_loss() override { return std::exchange(loss_, {}); }
  void finish(const RunFinish& finish) override;

 protected:
  virtual ConsoleOptions options_of(const RunStart& run) const;
  // Returns the lines below the header.
  virtual std::vector<std::string> notes_of(const RunStart& run) const;
  ConsoleOutput& out() { return output_; }

 private:
  ConsoleOutput output_;
  std::string loss_{};
  std::optional<CommandPause> pause_{};  // exists while the case writes to this terminal
  std::optional<Console> console_{};
};

// Returns how the kind of each suite was detected, and its number of cases.
std::vector<std::string> suite_notes(const PlannedRun& planned,
                                     const std::vector<std::string>& about_devices);

}  // namespace proctor::cli
