#include "harness/runner/attempt/unexplained_end.h"

#include <fmt/format.h>

#include "harness/base/text.h"
#include "harness/frameworks/kind.h"

namespace proctor {
namespace {

// Returns whether this exit code makes a good case bad and no earlier case explains the code.
bool is_unexplained(int code, const AttemptPlan& plan, const CaseTracker& cases) {
  CaseEnd end{.child = cases.child(), .went_on = true, .another_was_bad = cases.another_was_bad()};
  if (is_bad(plan.kind().judge(end).outcome)) return false;
  end.went_on = false;
  end.exit_code = code;
  return is_bad(plan.kind().judge(end).outcome);
}

std::string unexplained_exit(const ProcessEnd& end, const AttemptPlan& plan, const CaseTracker& cases) {
  if (!cases.open()->reported)
    return end.termination.leaked_processes.empty() ? ""
                                                    : "left processes when it ended in the middle of a case";
  if (end.exit_signal) return fmt::format("was ended by signal {} after the end of a case", *end.exit_signal);
  if (!end.exit_code || !is_unexplained(*end.exit_code, plan, cases)) return {};
  return fmt::format("exited with {}, which none of its cases explains", *end.exit_code);
}

}  // namespace

std::string unexplained_end(const ProcessEnd& end, const AttemptPlan& plan, const CaseTracker& cases) {
  if (!plan.is_batch() || !cases.open()) return {};
  if (end.cause == EndCause::kExited) return unexplained_exit(end, plan, cases);
  const bool at_limit = end.cause == EndCause::kTimeout || end.cause == EndCause::kStall;
  const bool is_last = cases.open()->reported && cases.not_begun().empty();
  return at_limit && is_last ? "did not exit after its last case" : "";
}

Warning unreliable_process(const AttemptPlan& plan, const CaseTracker& cases) {
  return {
      WarningCode::kBatchUnused,
      fmt::format("suite `{}`: a process of {} cases {}. Only the failures that it reported count; the other "
                  "cases that began in it run again, each alone",
                  plan.suite->name, plan.cases.size(), clean_text(cases.why_unreliable()))};
}

}  // namespace proctor
