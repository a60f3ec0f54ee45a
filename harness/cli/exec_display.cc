#include "harness/cli/exec_display.h"

#include <unistd.h>

#include <sstream>

#include "harness/core/text.h"
#include "reports/exec_end.h"
#include "reports/failure_summary.h"
#include "reports/run_model.h"

namespace proctor::cli {
namespace {

constexpr Milliseconds kDrainLimit{1000};

}  // namespace

ExecDisplay::ExecDisplay(std::string run_dir) : output_(STDERR_FILENO), run_dir_(std::move(run_dir)) {}

void ExecDisplay::say(const std::string& line) {
  spoke_ = true;
  output_.write("proctor: " + line + "\n");
}

void ExecDisplay::name_strays(const AttemptEnded& end) {
  if (end.termination.signal_sent != 0) return;  // then everything was ended, not left behind
  for (const Stray& stray : end.termination.strays) {
    say("left behind and killed: process " + std::to_string(stray.pid) + " (" + clean_text(stray.command) +
        ")");
  }
}

void ExecDisplay::on(const Event& event) {
  if (const auto* warning = std::get_if<Warning>(&event)) {
    say("warning: " + clean_text(warning->text));
  } else if (const auto* end = std::get_if<AttemptEnded>(&event)) {
    name_strays(*end);
  } else if (const auto* stop = std::get_if<StopRequested>(&event)) {
    const std::string signal = stop->signal != 0 ? " (signal " + std::to_string(stop->signal) + ")" : "";
    say("stopping: " + stop->reason + signal);
  }
}

void ExecDisplay::tick() { output_.write({}); }

void ExecDisplay::finish(const RunModel& model, int shell_code, const Result<void>& rendered) {
  if (const std::string& backend = model.plan().no_device_for; !backend.empty()) {
    const std::string simulate =
        std::string(", or simulate devices with --sim ") + (backend == "xpu" ? "xpu:2x2" : "cuda:4");
    say("no " + backend + " device was found here; next: `proctor doctor`" + simulate);
  }
  for (const CaseRecord& record : model.cases()) {
    const bool own_end = ended_by_itself(model);
    if (own_end && !spoke_ && shell_code == 0) continue;
    say(to_string(model.verdict(record)) + " · exit " + std::to_string(shell_code) + " · reports in " +
        clean_text(run_dir_));
    if (own_end) {  // its own words say the rest
      const Diagnosis* diagnosis = diagnosis_of(model, record);
      const std::string cause = cause_text(diagnosis);
      if (cause.empty()) continue;
      say("whose problem: " + std::string(to_string(diagnosis->problem)) + " · " + cause);
      say("next:          " + next_text(diagnosis));
      continue;
    }
    std::istringstream answers(summarize_failure(model, record));
    for (std::string line; std::getline(answers, line);) say(line);
  }
  if (!rendered) say("failed to " + clean_text(rendered.error().what) + "; the journal is in " + run_dir_);
  output_.drain(kDrainLimit);
}

}  // namespace proctor::cli
