// The events and ends of the ranks of a case, as their supervisor (harness/process/ranks/rank_supervisor.h) reports
// them, and the verdict of the case. RunningAttempt uses it.
//
// The verdict of the case is the verdict of the rank that ended badly first, because it may have caused the failures of
// the others. This also holds if a limit ends the others. If a rank kills the supervisor before any rank ended badly,
// the verdict is crash(signal:N), the same as for a case without ranks. The case passes if every rank passed, or left
// in the way that its check had announced. It is a skip if all ranks skip for the same reason. If only some skip, they
// disagree about the machine: error(ranks_disagree).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/child_report.h"
#include "harness/journal/events.h"
#include "harness/runner/attempt/verdict.h"

namespace proctor {

// A process that ended by a signal.
struct CrashedProcessEnd {
  int pid = 0;  // in the PID namespace of the process
  int signal = 0;
  bool core_dumped = false;
};

class RankReports {
 public:
  RankReports(const std::string& case_name, const Kind& kind, std::size_t ranks, int skip_code = 0);

  void add_line(std::string_view line);

  // Returns the reports of all ranks as one. Failures and warnings begin with "rank R: ". All other facts are from the
  // first rank that failed, or from rank 0.
  ChildReport merged() const;
  // Call this when a limit or a stop ends the case. Ends of ranks after this call are caused by the runner.
  void interrupt();
  // `supervisor` has the end of the supervisor. If a limit ends the case after a rank ended badly, the verdict is from
  // this rank.
  Verdict judge(const AttemptEvidence& supervisor) const;
  // Returns the ends by rank. A rank that did not end by itself has no verdict.
  std::vector<RankEnd> ends() const;
  // Returns one sentence about the ranks that had not ended when the case was cut short, with their last steps. Returns
  // "" if all had ended.
  std::string who_is_left() const;
  // Returns one sentence about the rank that determines the verdict. Returns "" if there is no such rank, or if it
  // reported a failure itself.
  std::string who_answers() const;
  // Returns the process of this rank, if it ended by a signal that its check had not announced.
  std::optional<CrashedProcessEnd> crash_of_answer() const;
  // Returns the last output of this rank, or nothing if there is no such rank.
  struct Words {
    std::string out;
    std::string err;
  };
  std::optional<Words> describe_answer() const;

 private:
  struct Rank {
    ChildReport child;
    bool ended = false;
    bool interrupted = false;
    RankEnd end;
    std::optional<int> refused{};  // errno, if the rank could not be started
    int pid = 0;
    bool core_dumped = false;
    Words words{};
  };

  void end(Rank& rank, const nlohmann::json& event);
  // Returns the first rank with a bad end that the runner did not cause.
  const Rank* first_bad() const;
  // Returns the result of first_bad(), otherwise the first rank with a bad end that the runner caused.
  const Rank* answering() const;
  // Judges ranks whose supervisor ended by itself.
  Verdict judge_together(const AttemptEvidence& supervisor) const;
  Verdict judge_rank(const Rank& rank) const;
  Verdict judge_left(const Rank& rank) const;

  const Kind& kind_;
  const int skip_code_;  // Suite::skip_code
  std::vector<Rank> ranks_;
  std::vector<std::size_t> order_;  // the order of their ends
  std::string leaked_line_;         // the first line that belongs to no rank
};

}  // namespace proctor
