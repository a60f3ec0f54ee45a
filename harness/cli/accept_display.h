// The console output of `proctor accept`: failures while the run lasts, and at the end the verdict on each device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/cli/console/console.h"
#include "harness/cli/steps/prepared.h"
#include "harness/request/run_request.h"
#include "reports/accept/accept_steps.h"
#include "reports/accept/judge_acceptance.h"

namespace proctor::cli {

// Of `accept` as typed: the level, what is done, and the command that repeats it; `--devices` may follow.
int accept_level_of(const AcceptRequest& accept);
ChosenSteps steps_of(const AcceptRequest& accept);
std::vector<std::string> words_of_acceptance(const RunRequest& request);

class AcceptDisplay : public RunDisplay {
 public:
  // Reads the facts of the management libraries before the first case.
  AcceptDisplay(const Checked& checked, const Prepared& prepared, ConsoleOutput& output);

  void on(const Event& event) override { console_.on(event); }
  bool wants_output() const override { return console_.wants_output(); }
  void output(const std::string& case_id, bool is_stderr, std::string_view bytes) override {
    console_.output(case_id, is_stderr, bytes);
  }
  void tick() override { console_.tick(); }
  // Reads the facts again, judges the devices, and writes accept.json, of which the reports are made. --json names a second
  // place for this file.
  void before_reports(const ResolvedRun& run) override;
  int judge(const ResolvedRun& run) override;
  void finish(const ResolvedRun& run, int shell_code, const Result<void>& rendered) override;

 private:
  FactsOfCards ask();
  void print(const std::string& text);
  void print_headline();
  void write_files(const std::string& text);
  // Drains what is rejected (--drain), and uses again what an earlier acceptance rejected and this one accepts.
  void settle_devices();

  const Checked& checked_;
  const Prepared& prepared_;
  ConsoleOutput& output_;
  Console console_;
  AcceptQuestion question_;
  AcceptReport report_;  // as accept.json has it
};

}  // namespace proctor::cli
