#include "reports/exit_code.h"

#include "harness/core/exit_code.h"
#include "reports/exec_end.h"

namespace proctor {
namespace {

enum class Light { kGreen, kRed, kMachine, kIncomplete };

Light light_of(const Verdict& verdict, const std::string& kind) {
  switch (verdict.outcome) {
    case Outcome::kPass:
    case Outcome::kSkip:
    case Outcome::kXfail:
      return Light::kGreen;
    case Outcome::kFail:
    case Outcome::kCrash:
    case Outcome::kTimeout:
    case Outcome::kStall:
      return Light::kRed;
    case Outcome::kXpass:
      return kind == "proctor" ? Light::kRed : Light::kGreen;
    case Outcome::kError:
      return is_machine_outcome(verdict) ? Light::kMachine : Light::kRed;
    case Outcome::kDeviceLost:
      return Light::kMachine;
    case Outcome::kNotrun:
      return is_machine_outcome(verdict) ? Light::kMachine : Light::kIncomplete;
  }
  return Light::kMachine;
}

bool unkillable(const CaseRecord& record) {
  for (const Attempt& attempt : record.attempts) {
    if (attempt.end && attempt.end->termination.unreapable) return true;
  }
  return false;
}

}  // namespace

int exit_code(const RunModel& model) {
  bool red = false;
  bool machine = false;
  bool incomplete = !model.plan().no_device_for.empty();
  for (const CaseRecord& record : model.cases()) {
    const Light light = light_of(model.verdict(record), record.planned.kind);
    red = red || light == Light::kRed;
    machine = machine || light == Light::kMachine || unkillable(record);
    incomplete = incomplete || light == Light::kIncomplete;
  }
  if (red) return kExitRed;
  if (machine) return kExitMachine;
  const int executed = model.summary().executed();
  if (incomplete || executed == 0 || executed < model.plan().min_executed) return kExitIncomplete;
  return kExitGreen;
}

int ending_signal(const RunModel& model) {
  return model.plan().exec ? exec_end(model).signal : model.stop_signal();
}

int shell_exit_code(const RunModel& model) {
  if (const int signal = ending_signal(model); signal != 0) return 128 + signal;
  return model.plan().exec ? exec_end(model).code : exit_code(model);
}

}  // namespace proctor
