// What a process told of several cases over a connection (Voice::kConnection), and what of it counts.
//
// A case that passed ends as it is told. One that did not waits for the end of the process: the result file says
// whether it was skipped, and has its failures in full; without that file it does not count, and runs again alone. None
// of them counts before the end of the process, because a process that a case forked could have said it in the
// program's name. At the end, the program's word is doubted if
//
//   nobody connected, or two did; what came is not what its framework sends, or not about the cases that it was given
//   it ended in another way than by its exit, although it had said that it was at its end
//   it exited between two cases, or with cases that it did not run, or with a code that no case explains
//   processes of it were left when it ended in mid-case
//   its result file is missing, or says something else of a case that ended
//
// Then no case of the process counts: each runs again, alone, and so does every other case of the suite. A failure that
// it reported counts nevertheless, unless another process may have said it: see failures_count(). A case of
// whose group something was told outside of all cases (Testimony::is_unclear) does not count either. A process that was
// quick to end may have closed its connection before somebody could look whose it was: then its result file counts, or,
// without one, no more than in which case it ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/child_report.h"
#include "harness/journal/events.h"
#include "harness/process/contained_process.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/case_tracker.h"
#include "harness/runner/attempt/result_connection.h"

namespace proctor {

class ToldCases {
 public:
  using OnCaseEnded = std::function<void(std::size_t which, const AttemptEnded& ended)>;
  struct Listener {
    std::function<void(std::string_view line)> on_event;  // of the child protocol
    std::function<void()> on_doubt;  // nothing counts any more: the process need not go on
  };

  // If nobody can connect, nothing counts.
  ToldCases(boost::asio::io_context& io, const AttemptPlan& plan, Listener listener);
  ~ToldCases();
  ToldCases(const ToldCases&) = delete;
  ToldCases& operator=(const ToldCases&) = delete;

  const std::string& address() const { return address_; }  // HOST:PORT to which the process is to connect
  void begin(std::function<bool(std::uint64_t inode)> holds_socket);

  // A case has ended, and its process has gone on. True: its end waits for the end of the process.
  bool keeps(std::size_t which, const AttemptEnded& ended);

  // Call this when the process has ended: passes on what is left to be told.
  void process_ended(const ProcessEnd& end, const CaseTracker& cases, const std::string& result_file);
  // Then decides what counts, and ends the cases that waited. The last case is still open.
  void settle(const ProcessEnd& end, const CaseTracker& cases, const OnCaseEnded& on_case_ended);
  // What the result file says of the last case, if it tells more than the process did; else null.
  const ChildReport* last_case(const CaseTracker& cases) const;
  // Nothing more will be known: ends the cases that waited as they were told, if anything counts.
  void abandon(const CaseTracker& cases, const OnCaseEnded& on_case_ended);

  // Whether nothing counts.
  bool is_doubted() const { return !doubt_.empty(); }
  // Whether failures count that were reported of cases that do not.
  bool failures_count() const { return !speaks_another_; }
  // The cases whose ends do not count, of those that began.
  const std::vector<std::size_t>& unproven() const { return unproven_; }
  bool is_unproven(std::size_t which) const;
  // What people must hear of it.
  std::vector<Warning> warnings() const;

 private:
  struct Told {
    std::size_t which;
    bool good;
    std::optional<AttemptEnded> waits;
  };

  void hear(std::string_view line);
  bool is_asked_for(const std::string& event);
  void pass_on(const std::string& event);
  void read_file(const std::string& path);
  std::vector<std::string> events_that_are_kept();
  void tell_what_is_kept(const std::vector<std::string>& events);
  void tell_of_file();
  std::string name_of(std::size_t which) const;
  const ChildReport* in_file(std::size_t which) const;
  struct Doubt {
    std::string why{};
    bool speaks_another = false;  // what was told may be of another process
  };
  Doubt doubt_at_end(const ProcessEnd& end, const CaseTracker& cases) const;
  Doubt doubt_of_exit(int code, const CaseTracker& cases) const;
  std::string doubt_of_file(std::size_t which, bool passed) const;
  bool is_unclear(const std::string& name) const;
  void doubt(const std::string& why);
  void release(const OnCaseEnded& on_case_ended);

  const AttemptPlan& plan_;
  Listener listener_;
  std::unique_ptr<Testimony> testimony_;
  std::set<std::string> asked_;
  std::string address_;
  std::shared_ptr<ResultConnection> connection_;  // null: nobody can connect
  std::vector<Told> told_;                        // the cases that ended before the last one
  std::vector<std::string> file_events_;
  std::map<std::string, ChildReport> file_;
  bool speaker_is_unknown_ = false;  // what is kept was told
  bool is_of_file_ = false;          // the cases are told by the file alone
  bool only_surroundings_ = false;   // what is around its cases let none of them begin
  std::string doubt_;
  bool speaks_another_ = false;
  std::vector<std::size_t> unproven_;
};

}  // namespace proctor
