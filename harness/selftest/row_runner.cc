#include "harness/selftest/row_runner.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <filesystem>
#include <list>
#include <memory>
#include <optional>

#include "harness/base/argv.h"
#include "harness/frameworks/proctor.h"
#include "harness/journal/child_protocol.h"
#include "harness/journal/child_report.h"
#include "harness/process/contained_process.h"
#include "harness/process/ranks/rank_plan.h"
#include "harness/runner/attempt/rank_reports.h"
#include "harness/runner/attempt/verdict.h"
#include "harness/runner/machine/scratch.h"
#include "harness/selftest/kill.h"

namespace proctor {
namespace {

constexpr Milliseconds kRowTimeout{30'000};
constexpr Milliseconds kHangTimeout{5'000};  // for a check that is expected to hang
constexpr Milliseconds kGrace{500};
constexpr int kStrictUmask = 022;  // the same value as in a run

Verdict machine_error(const std::string& what) { return {Outcome::kError, {Reason::kSelftest, what}}; }

// Runs one case under one fault, from creating its directories to its verdict.
class RowAttempt {
 public:
  using OnDone = std::function<void(SelftestResult)>;

  RowAttempt(boost::asio::io_context& io, const RowRunnerSetup& setup, const SelftestRow& row,
             std::size_t index, std::size_t test, OnDone on_done)
      : setup_(setup), row_(row), test_(setup.plan->cases[test]), on_done_(std::move(on_done)) {
    result_.row = index;
    result_.test = test;
    result_.log = "logs/row" + std::to_string(index) + "." + std::to_string(test) + ".log";
    child_ = ChildReport(test_.name);
    auto spec = make_spec();
    if (!spec) {
      boost::asio::post(io, [this, error = spec.error()] { fail(error.what); });
      return;
    }
    process_ = ContainedProcess::start(io, *setup.containment, std::move(*spec),
                                       [this](const ProcessEnd& end) { finish(end); });
  }

 private:
  Result<ProcessSpec> make_spec() {
    auto directory = setup_.scratch->lease_directory();
    if (!directory) return directory.error();
    scratch_ = std::move(*directory);
    auto state = setup_.scratch->new_directory();
    if (!state) return state.error();
    session_.state = std::move(*state);
    session_.log = setup_.scratch->new_file_name();
    session_.faults = row_.fault;
    auto environment = make_environment(0);
    if (!environment) return environment.error();

    ProcessSpec spec;
    spec.argv = test_.argv;
    spec.env = std::move(*environment);
    spec.directory = scratch_;
    spec.umask = kStrictUmask;
    spec.log_path = setup_.out + "/" + result_.log;
    spec.events = true;
    const Milliseconds longest = test_.expects == "hang" ? kHangTimeout : kRowTimeout;
    spec.limits.timeout = std::min(test_.policy.timeout.value_or(longest), longest);
    spec.limits.grace = kGrace;
    spec.on_event_line = [this](std::string_view line) {
      ranks_ ? ranks_->add_line(line) : child_.add_line(line);
    };
    if (test_.ranks > 0) {
      if (auto made = make_rank_supervisor(spec); !made) return made.error();
    }
    return spec;
  }

  Result<std::vector<std::string>> make_environment(int rank) const {
    auto environment = setup_.environment(test_, session_, rank);
    if (!environment) return environment;
    set_variable(*environment, "TMPDIR", scratch_);
    set_variable(*environment, child::kCaseVariable, test_.id);
    set_variable(*environment, child::kAttemptVariable, "1");
    set_variable(*environment, child::kRunDirVariable, setup_.out);
    return environment;
  }

  // Replaces the process of the case by a supervisor of its ranks, as in a run.
  Result<void> make_rank_supervisor(ProcessSpec& spec) {
    ranks_.emplace(test_.name, proctor_kind(), static_cast<std::size_t>(test_.ranks));
    auto rendezvous = setup_.scratch->new_directory();
    if (!rendezvous) return rendezvous.error();
    rendezvous_ = *rendezvous;
    RankPlan plan{.argv = std::move(spec.argv),
                  .rendezvous = rendezvous_,
                  .events = true,
                  .skip_code = proctor_kind().traits().skip_code,
                  .grace = kGrace,
                  .ranks = {}};
    for (int rank = 0; rank < test_.ranks; ++rank) {
      auto environment = make_environment(rank);
      if (!environment) return environment.error();
      plan.ranks.push_back({.env = std::move(*environment), .log = rank_log(rank)});
    }
    rank_plan_ = setup_.scratch->new_file_name();
    spec.argv = supervisor_command(setup_.rank_supervisor, rank_plan_);
    return write_rank_plan(plan, rank_plan_);
  }

  std::string rank_log(int rank) const {
    const std::string log = setup_.out + "/" + result_.log;
    return log.substr(0, log.rfind('.')) + ".rank" + std::to_string(rank) + ".log";
  }

  void finish(const ProcessEnd& end) {
    AttemptEvidence evidence;
    evidence.kind = &proctor_kind();
    evidence.cause = end.cause;
    evidence.spawn_error = end.spawn_error;
    evidence.exit_code = end.exit_code;
    evidence.exit_signal = end.exit_signal;
    if (ranks_) child_ = ranks_->merged();
    evidence.child = child_;
    result_.verdict = ranks_ ? ranks_->judge(evidence) : judge(evidence);
    result_.warned = !child_.warnings().empty();
    result_.duration_ms = std::chrono::duration_cast<Milliseconds>(end.leader_ended - end.started).count();
    if (row_.fault.empty()) {
      judge_clean();
    } else if (auto firings = read_fault_log(session_.log); firings) {
      judge_faulted(std::move(*firings));
    } else {
      result_.verdict = machine_error("fault_log");
      result_.kill.message = "failed to " + firings.error().what;
    }
    clean_up();
    done();
  }

  void judge_clean() {
    if (!child_.failures().empty()) {
      result_.kill.message = child_.failures().front().message;
    } else if (result_.warned) {
      result_.kill.message = child_.warnings().front();
    }
  }

  void judge_faulted(std::vector<Firing> firings) {
    result_.kill = judge_kill({.fault = std::string(fault_name(row_.fault)),
                               .rule = test_.rule,
                               .expects = test_.expects,
                               .verdict = result_.verdict,
                               .failures = child_.failures(),
                               .set_up_ns = child_.set_up_ns(),
                               .first_failure_ns = child_.first_failure_ns(),
                               .firings = std::move(firings)});
  }

  void fail(const std::string& what) {
    result_.verdict = machine_error("setup");
    result_.kill.message = "failed to " + what;
    clean_up();
    done();
  }

  // Removes the directories of the case. A directory that cannot be removed now is removed with the scratch root, or by
  // the next run.
  void clean_up() {
    std::error_code ignored;
    if (!session_.state.empty()) static_cast<void>(setup_.scratch->remove(session_.state));
    if (!session_.log.empty()) std::filesystem::remove(session_.log, ignored);
    if (!rendezvous_.empty()) static_cast<void>(setup_.scratch->remove(rendezvous_));
    if (!rank_plan_.empty()) std::filesystem::remove(rank_plan_, ignored);
    if (scratch_.empty()) return;
    if (auto returned = setup_.scratch->give_back(scratch_); !returned)
      static_cast<void>(setup_.scratch->remove(scratch_));
  }

  void done() {
    const auto on_done = std::move(on_done_);
    on_done(std::move(result_));  // destroys this object
  }

  const RowRunnerSetup& setup_;
  const SelftestRow& row_;
  const Case& test_;
  OnDone on_done_;
  SelftestResult result_;
  ChildReport child_;
  std::optional<RankReports> ranks_;
  std::string rendezvous_, rank_plan_;
  SimSession session_;
  std::string scratch_;
  std::shared_ptr<ContainedProcess> process_;
};

class RowRunner {
 public:
  RowRunner(const RowRunnerSetup& setup, const std::vector<SelftestRow>& rows)
      : setup_(setup), rows_(rows), results_(rows.size()) {
    for (std::size_t i = 0; i < rows.size(); ++i) waiting_.push_back({i, 0});
  }

  std::vector<SelftestResult> run() {
    start_more();
    io_.run();
    return std::move(results_);
  }

 private:
  struct Next {
    std::size_t row;
    std::size_t candidate;  // index into SelftestRow::cases
  };

  void start_more() {
    while (!waiting_.empty() && static_cast<int>(running_.size()) < setup_.jobs) {
      const Next next = waiting_.front();
      waiting_.pop_front();
      start(next);
    }
  }

  void start(const Next& next) {
    const SelftestRow& row = rows_[next.row];
    const auto slot = running_.emplace(running_.end());
    *slot = std::make_unique<RowAttempt>(io_, setup_, row, next.row, row.cases[next.candidate],
                                         [this, next, slot](SelftestResult result) {
                                           take(next, std::move(result));
                                           // The attempt is still on the stack, so its removal is deferred.
                                           boost::asio::post(io_, [this, slot] {
                                             running_.erase(slot);
                                             start_more();
                                           });
                                         });
  }

  // A surviving parameter is not a result yet, because the next parameter may be killed.
  void take(const Next& next, SelftestResult result) {
    const SelftestRow& row = rows_[next.row];
    const bool tried_all = next.candidate + 1 == row.cases.size();
    if (row.purpose == RowPurpose::kListed && !result.kill.killed && !tried_all) {
      waiting_.push_front({next.row, next.candidate + 1});
      return;
    }
    if (setup_.on_result) setup_.on_result(row, result);
    results_[next.row] = std::move(result);
  }

  const RowRunnerSetup& setup_;
  const std::vector<SelftestRow>& rows_;
  std::vector<SelftestResult> results_;
  std::deque<Next> waiting_;
  std::list<std::unique_ptr<RowAttempt>> running_;
  boost::asio::io_context io_;
};

}  // namespace

std::vector<SelftestResult> run_rows(const RowRunnerSetup& setup, const std::vector<SelftestRow>& rows) {
  return RowRunner(setup, rows).run();
}

}  // namespace proctor
