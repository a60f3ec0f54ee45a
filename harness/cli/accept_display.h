// What `proctor accept` shows: what fails while the run lasts, and at the end its verdict on each device.
#pragma once

#include <memory>
#include <string>

#include "harness/cli/console/console.h"
#include "harness/cli/steps/prepared.h"
#include "reports/accept/acceptance.h"

namespace proctor::cli {

class AcceptDisplay : public RunDisplay {
 public:
  // Asks the management libraries, before the first case.
  AcceptDisplay(const Checked& checked, const Prepared& prepared, ConsoleOutput& output);

  void on(const Event& event) override { console_.on(event); }
  bool wants_output() const override { return console_.wants_output(); }
  void output(const std::string& case_id, bool is_stderr, std::string_view bytes) override {
    console_.output(case_id, is_stderr, bytes);
  }
  void tick() override { console_.tick(); }
  // Asks them again, and judges. The code is that of the verdict.
  int judge(const RunModel& model) override;
  // The verdicts, and their files: accept.json in the run directory and where --json says.
  void finish(const RunModel& model, int shell_code, const Result<void>& rendered) override;

 private:
  FactsOfCards ask();
  void print(const std::string& text);
  void write_files();
  // Drains what is rejected (--drain), and uses again what an earlier acceptance rejected and this one accepts.
  void settle_devices();

  const Checked& checked_;
  const Prepared& prepared_;
  ConsoleOutput& output_;
  Console console_;
  AcceptQuestion question_;
  Acceptance acceptance_;
};

}  // namespace proctor::cli
