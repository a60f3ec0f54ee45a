#include "harness/cli/slurm_watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <set>
#include <utility>

#include "harness/base/surroundings.h"
#include "harness/cli/caller_signals.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"

namespace proctor::cli {
namespace {

// Pauses between calls of squeue, at first and later. They are long because a controller serves a whole site.
constexpr Milliseconds kAskSoon{1000};
constexpr Milliseconds kAskLater{5000};
constexpr Milliseconds kAtFirst{60'000};
// Time for files to appear after a task's end. An NFS client reads a directory again after some seconds.
constexpr Milliseconds kLateFiles{10'000};
// All tasks must be over for this time, because a task that Slurm restarts may look over for a moment.
constexpr Milliseconds kSettled{2000};
// Time after scancel: 30 s until KILL (KillWait), and the same for a slow node.
constexpr Milliseconds kCancelWait{60'000};
// Limit of scancel after a second stop signal. It is enough if the controller responds.
constexpr Milliseconds kHastyCancel{3000};

// Returns the signal that arrived within the time, or 0.
int wait_for_signal(Milliseconds time) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  const timespec limit{.tv_sec = time.count() / 1000, .tv_nsec = time.count() % 1000 * 1'000'000};
  return std::max(0, ::sigtimedwait(&set, nullptr, &limit));
}

bool is_waiting(const SlurmTask& task) { return task.state == "PENDING"; }

void print_status(const std::string& text) {
  std::printf("slurm      %s\n", shown(text).c_str());
  std::fflush(stdout);
}

}  // namespace

ArrayWatch::ArrayWatch(SlurmJob job, std::string directory, int shards)
    : job_(std::move(job)), directory_(std::move(directory)), shards_(shards), parent_(::getppid()) {}

int ArrayWatch::wait() {
  while (Clock::now() < give_up_) {
    ask();
    if (is_over() || is_complete()) break;
    const bool orphaned = in_ci() && ::getppid() != parent_ && signal_ == 0;
    const int signal = orphaned ? SIGTERM : wait_for_signal(pause());
    if (signal != 0 && !stop(signal)) break;
  }
  return signal_;
}

SlurmTask ArrayWatch::task(int shard) const {
  const auto found = tasks_.find(shard);
  return found == tasks_.end() ? SlurmTask{} : found->second;
}

Milliseconds ArrayWatch::pause() const {
  return over_since_ || Clock::now() - started_ < kAtFirst ? kAskSoon : kAskLater;
}

bool ArrayWatch::is_over() const {
  return over_since_ && Clock::now() - *over_since_ >= (has_all_reports() ? kSettled : kLateFiles);
}

// The reports are read too, because a controller that was killed can still list ended tasks.
bool ArrayWatch::is_complete() {
  for (int shard = 1; shard <= shards_; ++shard) {
    if (complete_.contains(shard)) continue;
    if (!has_report(directory_, shard) || !read_shard(directory_, shard).is_complete) return false;
    complete_.insert(shard);
  }
  return true;
}

// A task that was cancelled before it had a node writes no report.
bool ArrayWatch::has_all_reports() const {
  for (int shard = 1; shard <= shards_; ++shard) {
    const SlurmTask last = task(shard);
    const bool never_ran = last.state == "CANCELLED" && last.nodes.empty();
    if (!never_ran && !has_report(directory_, shard)) return false;
  }
  return true;
}

void ArrayWatch::ask() {
  const auto tasks = ask_queue(job_, stop_signal_waits);
  if (!tasks && stop_signal_waits()) return;
  const bool answers = static_cast<bool>(tasks);
  if (answers == is_silent_)
    print_status(answers ? "the controller responds again"
                         : fmt::format("the controller does not respond; the tasks continue ({})",
                                       tasks.error().message()));
  is_silent_ = !answers;
  if (answers) take(*tasks);
}

// Stores the tasks. squeue lists a task for some minutes after its end, so a missing task is over.
void ArrayWatch::take(const SlurmTasks& tasks) {
  bool all_over = true;
  for (int shard = 1; shard <= shards_; ++shard) {
    const auto found = tasks.find(shard);
    if (found == tasks.end()) continue;
    all_over = all_over && cli::is_over(found->second.state);
    if (signal_ == 0) report_change(shard, task(shard), found->second);
    tasks_[shard] = found->second;
  }
  knows_tasks_ = true;
  if (!all_over) over_since_.reset();
  if (all_over && !over_since_) over_since_ = Clock::now();
  if (signal_ == 0) report_counts();
}

void ArrayWatch::report_change(int shard, const SlurmTask& before, const SlurmTask& now) const {
  if (before.state == now.state) return;
  if (cli::is_over(now.state) && now.state != "COMPLETED" && now.state != "FAILED")
    print_status(fmt::format("shard {}: its task ended as {}{}{}", shard, now.state,
                             now.nodes.empty() ? "" : " on ", now.nodes));
  if (is_waiting(now) && knows_tasks_)
    print_status(fmt::format("shard {}: its task was requeued and waits ({})", shard, now.reason));
}

// Prints the counts. A reason of "None" means that the task begins at once.
void ArrayWatch::report_counts() {
  const auto ended =
      std::ranges::count_if(tasks_, [](const auto& task) { return cli::is_over(task.second.state); });
  const auto waiting =
      std::ranges::count_if(tasks_, [](const auto& task) { return is_waiting(task.second); });
  const auto first = std::ranges::find_if(
      tasks_, [](const auto& task) { return is_waiting(task.second) && task.second.reason != "None"; });
  std::string counts = fmt::format("{} of {} tasks have ended", ended, shards_);
  if (first != tasks_.end()) counts += fmt::format(", {} wait: {}", waiting, first->second.reason);
  if (ended + (first != tasks_.end() ? 1 : 0) > 0 && counts != counts_) print_status(counts);
  counts_ = counts;
}

bool ArrayWatch::stop(int signal) {
  if (signal_ != 0) {
    print_status(fmt::format("job {} continues under Slurm", job_.id));
    return false;
  }
  signal_ = signal;
  print_status(fmt::format("stopping (signal {}): job {} is cancelled{}", signal, job_.id,
                           signal == SIGINT ? "; Ctrl-C again does not wait for its reports" : ""));
  const auto now = Clock::now();
  give_up_ = now + kCancelWait;
  const auto cancelled =
      cancel_job(job_, [&] { return stop_signal_waits() && Clock::now() - now >= kHastyCancel; });
  if (cancelled) return true;
  print_status(fmt::format("{}; it still runs: scancel {}", cancelled.error().message(), job_.id));
  return false;
}

namespace {

namespace fs = std::filesystem;

std::vector<std::string> directories_of(const std::string& parent, int index) {
  std::vector<std::string> all;
  std::string place = fmt::format("{}/shard-{}", parent, index);
  std::error_code none;
  while (fs::exists(place, none)) {
    all.push_back(place);
    place = fmt::format("{}/shard-{}.{}", parent, index, all.size() + 1);
  }
  return all;
}

// Returns true also if the file exists but cannot be read.
bool has_journal(const std::string& directory) {
  std::error_code none;
  return fs::status(directory + "/journal.jsonl", none).type() != fs::file_type::not_found;
}

}  // namespace

ShardRuns read_shard(const std::string& parent, int index) {
  ShardRuns runs{.index = index};
  std::set<std::string> left;  // ids of the remaining cases
  for (const std::string& directory : directories_of(parent, index)) {
    const auto run = load_run(directory);
    if (!run && has_journal(directory)) runs.unreadable.push_back(run.error().message());
    if (!run) continue;
    runs.directories.push_back(directory);
    for (const ResolvedCase& test : run->cases) {
      left.insert(test.planned.id);
      if (test.verdict.outcome != Outcome::kNotrun) left.erase(test.planned.id);
    }
    runs.is_complete = left.empty() && run->ended;
  }
  return runs;
}

bool has_report(const std::string& parent, int index) {
  const auto all = directories_of(parent, index);
  std::error_code none;
  return !all.empty() && fs::exists(all.back() + "/report.json", none);
}

}  // namespace proctor::cli
