// What the ranks of a case said, and how each ended, as their supervisor (harness/process/ranks/rank_supervisor.h)
// reports it.
//
// The case's verdict is that of the rank that ended badly first: the failures of the others may come from it.
// That holds as well when a limit ends the others. If a rank kills the supervisor as well, before any rank ended badly, it
// is crash(signal:N), like that of a case without ranks. It is a pass when every rank passed or left as its check had announced, and a skip when all of them skip
// for the same reason; if only some skip, they disagree about the machine: error(ranks_disagree).
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

// A process that a signal ended.
struct CrashedProcessEnd {
  int pid = 0;  // as it saw itself
  int signal = 0;
  bool core_dumped = false;
};

class RankReports {
 public:
  RankReports(const std::string& case_name, const Kind& kind, std::size_t ranks, int skip_code = 0);

  void add_line(std::string_view line);

  // The reports of all ranks as one: failures and warnings with "rank R: " before them, everything else from
  // the first rank that failed, or from rank 0.
  ChildReport merged() const;
  // Call this when a limit or a stop ends the case: a rank that has not ended yet does not end by itself any
  // more.
  void interrupt();
  // `supervisor` says how the supervisor ended. A limit of the case ends only those that had not ended badly
  // before.
  Verdict judge(const AttemptEvidence& supervisor) const;
  // By rank. A rank that had not ended by itself has no verdict.
  std::vector<RankEnd> ends() const;
  // Which ranks had not ended when the case was cut short, and where they were, in one sentence; "" if all
  // had ended.
  std::string who_is_left() const;
  // The rank whose verdict is the case's, in one sentence; "" if there is none, or if that rank reported a
  // failure itself.
  std::string who_answers() const;
  // The process of that rank, if a signal ended it that it had not announced.
  std::optional<CrashedProcessEnd> crash_of_answer() const;
  // The end of what that rank wrote; none if there is no such rank.
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
  // The first rank with a bad end that the runner did not cause.
  const Rank* first_bad() const;
  // The same, else the first with a bad end that it did.
  const Rank* answering() const;
  // Of ranks whose supervisor ended by itself.
  Verdict judge_together(const AttemptEvidence& supervisor) const;
  Verdict judge_rank(const Rank& rank) const;
  Verdict judge_left(const Rank& rank) const;

  const Kind& kind_;
  const int skip_code_;  // Suite::skip_code
  std::vector<Rank> ranks_;
  std::vector<std::size_t> order_;  // the order in which they ended
  std::string leaked_line_;         // the first line that belongs to no rank
};

}  // namespace proctor
