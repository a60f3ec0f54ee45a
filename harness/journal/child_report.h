// The results that a child reported through its events descriptor (journal/child_protocol.h). The runner adds
// the lines one by one. The class only collects: harness/runner/attempt/verdict.h determines the outcome.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/duration.h"
#include "harness/journal/events.h"

namespace proctor {

// The result in an `end` event.
enum class ChildResult { kPass, kFail, kSkip, kXfail, kXpass, kError };

// Collects the events of one case (see the top of this file).
class ChildReport {
 public:
  ChildReport() = default;
  // Lines about another case than `case_name` count as violations, and so does everything that is not an
  // event. Unknown event names do not, because the protocol only grows. Lines about a case that also_ran()
  // returns do not count either.
  explicit ChildReport(std::string case_name) : case_name_(std::move(case_name)) {}

  void add_line(std::string_view line);

  // Combines the reports of the ranks of one case. The result has the failures and warnings of all ranks,
  // each with its rank, and the trials of all ranks. The setup ends with the first step of any rank. The
  // remaining fields are those of the rank that failed first, or of rank 0.
  static ChildReport of_ranks(const std::vector<const ChildReport*>& ranks);

  // The case of a `start` event, or none if the line is something else.
  static std::optional<std::string> started_case(std::string_view line);

  // The `end` event, or none before the child sent it.
  const std::optional<ChildResult>& result() const { return result_; }
  // The reason of `end`, else that of the `skip` event or of the first `fail` event with a reason.
  ReasonText reason() const;
  // The first case that began without a request: another case, or the requested one a second time. "": there
  // none.
  const std::string& also_ran() const { return also_ran_; }
  int violations() const { return violations_; }
  // The first line that violated the protocol, shortened.
  const std::string& first_violation() const { return first_violation_; }

  const std::vector<Failure>& failures() const { return failures_; }
  // Failed tries of the case. After each one, the test framework ran the case again.
  const std::vector<Failure>& failed_tries() const { return failed_tries_; }
  const std::vector<Measure>& measures() const { return measures_; }
  const std::vector<std::pair<std::string, std::string>>& properties() const { return properties_; }
  // At most 4096.
  const std::vector<Trial>& trials() const { return trials_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // The end of this rank as the rank announced it; "" if it announced none.
  const std::string& leaves() const { return leaves_; }
  const std::string& last_step() const { return last_step_; }
  // The text of `output` events: output that the framework captured, or long messages of the framework. Only
  // the end of a long text is kept.
  const std::string& output() const { return output_; }
  // Times on CLOCK_MONOTONIC; 0 if unknown. The setup of a check ends at its first step, or else at its
  // start.
  std::int64_t start_ns() const { return start_ns_; }  // from the `start` event
  // The duration of the case as its framework measured it.
  std::optional<Milliseconds> took() const { return took_; }
  std::int64_t set_up_ns() const { return first_step_ns_ != 0 ? first_step_ns_ : start_ns_; }
  std::int64_t first_failure_ns() const { return first_failure_ns_; }
  const std::string& rule() const { return rule_; }
  const std::string& source() const { return source_; }
  const SeverityWord& severity() const { return severity_; }

 private:
  void violate(std::string_view line);
  bool is_of_another_run(std::string_view event, const std::string& about);

  std::string case_name_;
  std::optional<ChildResult> result_;
  std::string end_reason_;
  std::string skip_reason_;
  std::string fail_reason_;
  bool began_ = false;
  bool in_another_run_ = false;  // the current lines are about a case that was not requested
  std::string also_ran_;
  int violations_ = 0;
  std::string first_violation_;
  std::vector<Failure> failures_;
  std::vector<Failure> failed_tries_;
  std::vector<Measure> measures_;
  std::vector<std::pair<std::string, std::string>> properties_;
  std::vector<Trial> trials_;
  std::vector<std::string> warnings_;
  std::size_t kept_bytes_ = 0;  // of the lines of failures, measures, properties, trials and warnings
  std::string last_step_;
  std::string leaves_;
  std::string output_;
  std::int64_t start_ns_ = 0;
  std::optional<Milliseconds> took_{};
  std::int64_t first_step_ns_ = 0;
  std::int64_t first_failure_ns_ = 0;
  std::string rule_;
  std::string source_;
  SeverityWord severity_;
};

}  // namespace proctor
