// What a child said through its events descriptor
// (journal/child_protocol.h), line by line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/duration.h"
#include "harness/journal/events.h"

namespace proctor {

enum class ChildResult { kPass, kFail, kSkip, kXfail, kXpass, kError };

class ChildReport {
 public:
  ChildReport() = default;
  // Lines about another case than `case_name`, and anything that is not an event, count as violations;
  // unknown event names do not, because the protocol only grows. What is said of a case that also_ran() is not
  // counted.
  explicit ChildReport(std::string case_name) : case_name_(std::move(case_name)) {}

  void add_line(std::string_view line);

  // Combines the reports of the ranks of one case. It has the failures and warnings of all ranks, each with
  // its rank, and the trials of all ranks. The set-up ends with the first step of any rank. The rest is from the rank that failed first,
  // or from rank 0.
  static ChildReport of_ranks(const std::vector<const ChildReport*>& ranks);

  // The case that a `start` event is about, or none if the line is something else.
  static std::optional<std::string> started_case(std::string_view line);

  // The `end` event, or none before it comes.
  const std::optional<ChildResult>& result() const { return result_; }
  // The reason of `end`, else the one of the `skip` event or of the first `fail` event that had one.
  ReasonText reason() const;
  // The first case that began although nobody asked for it: another one, or this one once more. "" = none did.
  const std::string& also_ran() const { return also_ran_; }
  int violations() const { return violations_; }
  // The first line that broke the protocol, shortened.
  const std::string& first_violation() const { return first_violation_; }

  const std::vector<Failure>& failures() const { return failures_; }
  // Tries of the case that failed, after each of which its framework ran it again.
  const std::vector<Failure>& failed_tries() const { return failed_tries_; }
  const std::vector<Measure>& measures() const { return measures_; }
  const std::vector<std::pair<std::string, std::string>>& properties() const { return properties_; }
  // At most 4096.
  const std::vector<Trial>& trials() const { return trials_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // How this rank announced that it would end; "" if it did not.
  const std::string& leaves() const { return leaves_; }
  const std::string& last_step() const { return last_step_; }
  // The text of `output` events: what the framework captured, or long messages of its own. If it is long,
  // only its end is kept.
  const std::string& output() const { return output_; }
  // When the check's set-up was over, its first step or else its start, and when it first failed. On
  // CLOCK_MONOTONIC; 0 if unknown.
  std::int64_t start_ns() const { return start_ns_; }  // when it says that it began
  // How long the case took, as its framework measured it.
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
  bool in_another_run_ = false;  // what it says now is about a case that was not asked for
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
