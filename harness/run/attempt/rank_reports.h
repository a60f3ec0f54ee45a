// What the ranks of a case said, and how each ended, as their supervisor (harness/ranks/rank_supervisor.h)
// tells it.
//
// The case's verdict is that of the rank that ended badly first: the others' troubles may come from it. It is
// a pass when every rank passed or left as its check had announced, and a skip when all of them skip for the
// same reason; where only some do, they are not of one opinion about the machine: error(ranks_disagree).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/events.h"
#include "harness/run/attempt/child_report.h"
#include "harness/run/attempt/verdict.h"

namespace proctor {

class RankReports {
 public:
  RankReports(const std::string& case_name, SuiteKind kind, std::size_t ranks);

  void add_line(std::string_view line);

  // All of them as one: failures and warnings with "rank R: " before them, everything else of the first rank
  // that failed, or of rank 0.
  ChildReport merged() const;
  // A limit or a stop ends the case now: whoever has not ended does not end by itself any more.
  void interrupt();
  // For a process that ended by itself: `supervisor` is how the supervisor did.
  Verdict judge(const AttemptEvidence& supervisor) const;
  // By rank. A rank that had not ended by itself has no verdict.
  std::vector<RankEnd> ends() const;
  // Who had not ended when the case was cut short, and where it was, in one sentence; "": everybody had.
  std::string who_is_left() const;
  // The rank whose verdict is the case's, in one sentence; "": none is, or it says so itself.
  std::string who_answers() const;

 private:
  struct Rank {
    ChildReport child;
    bool ended = false;
    bool interrupted = false;
    RankEnd end;
    std::optional<int> refused{};  // errno of what could not be started
  };

  void end(Rank& rank, std::string_view line);
  // The first bad end that is not the runner's work, else the first that is.
  const Rank* answering() const;
  Verdict judge_rank(const Rank& rank) const;
  Verdict judge_left(const Rank& rank) const;

  SuiteKind kind_;
  std::vector<Rank> ranks_;
  std::vector<std::size_t> order_;  // in which they ended
  std::string stray_line_;          // the first that is of no rank
};

}  // namespace proctor
