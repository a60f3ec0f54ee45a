#include "harness/cli/slurm_watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "harness/cli/console/messages.h"
#include "harness/core/text.h"

namespace proctor::cli {
namespace {

constexpr Milliseconds kLookAtShards{200};
// squeue, at first and later: a controller serves a whole site.
constexpr Milliseconds kAskSoon{1000};
constexpr Milliseconds kAskLater{5000};
constexpr Milliseconds kAtFirst{60'000};
// How long after a task's end its files may come: a client of NFS looks at a directory again after some seconds.
constexpr Milliseconds kLateFiles{10'000};
// How long a task's end must last: one that Slurm starts again may look like it for a moment.
constexpr Milliseconds kSettled{2000};
// After scancel: 30 s until KILL (KillWait), and as much for a slow node.
constexpr Milliseconds kCancelWait{60'000};

// The signal that came within kLookAtShards, or 0.
int wait_for_signal() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  const timespec limit{.tv_sec = 0, .tv_nsec = kLookAtShards.count() * 1'000'000};
  return std::max(0, ::sigtimedwait(&set, nullptr, &limit));
}

std::string nodes_text(const SlurmTask& task) {
  return task.nodes.empty() ? "" : " on " + clean_text(task.nodes);
}

bool is_waiting(const SlurmTask& task) { return task.state == "PENDING"; }

}  // namespace

ArrayWatch::ArrayWatch(SlurmJob job, const std::string& directory, int shards, Console& console)
    : job_(std::move(job)), console_(console), question_(job_), parent_(::getppid()) {
  for (int index = 1; index <= shards; ++index) journals_.emplace_back(directory, index);
}

int ArrayWatch::wait() {
  while (true) {
    read_journals();
    if (all_over() || Clock::now() >= give_up_) break;
    ask_queue();
    console_.tick();
    const bool orphaned = in_ci() && ::getppid() != parent_;
    const int signal = orphaned && signal_ == 0 ? SIGTERM : wait_for_signal();
    if (signal != 0 && !stop(signal)) break;
  }
  read_journals();
  return signal_;
}

SlurmTask ArrayWatch::task(int shard) const {
  const auto found = tasks_.find(shard);
  return found == tasks_.end() ? SlurmTask{} : found->second;
}

std::int64_t ArrayWatch::now_ms() const {
  return std::chrono::duration_cast<Milliseconds>(Clock::now() - started_).count();
}

void ArrayWatch::tell(const std::string& text) {
  if (!text.empty()) console_.say(fmt::format("slurm      {}", clean_text(text)));
}

void ArrayWatch::read_journals() {
  for (ShardJournal& journal : journals_) {
    const bool had_ended = journal.has_ended();
    const std::size_t runs = journal.directories().size();
    journal.read(now_ms(), [&](const Event& event) { console_.on(event); });
    if (!had_ended && journal.has_ended() && !journal.is_complete()) next_question_ = Clock::now();
    if (runs > 0 && journal.directories().size() > runs)
      tell(fmt::format("shard {}: its task was started again and runs the rest", journal.index()));
  }
}

bool ArrayWatch::all_over() {
  return std::ranges::all_of(journals_, [&](const ShardJournal& journal) { return is_over(journal); });
}

bool ArrayWatch::is_over(const ShardJournal& journal) {
  if (journal.is_complete()) return true;
  const auto since = over_since_.find(journal.index());
  if (since == over_since_.end()) return false;
  const SlurmTask last = task(journal.index());
  const bool never_ran = !journal.has_begun() && last.state == "CANCELLED" && last.nodes.empty();
  return never_ran || Clock::now() - since->second >= (journal.has_ended() ? kSettled : kLateFiles);
}

void ArrayWatch::ask_queue() {
  if (const auto answer = question_.answer()) {
    tell_controller(*answer ? "" : answer->error().message());
    if (*answer) take(**answer);
  }
  if (question_.is_open() || Clock::now() < next_question_) return;
  next_question_ = Clock::now() + (now_ms() < kAtFirst.count() ? kAskSoon : kAskLater);
  if (const auto asked = question_.ask(); !asked) tell_controller(asked.error().message());
}

// A task that is not listed was forgotten, some minutes after its end.
void ArrayWatch::take(const SlurmTasks& tasks) {
  for (const ShardJournal& journal : journals_) {
    const int shard = journal.index();
    const auto found = tasks.find(shard);
    const SlurmTask before = task(shard);
    const bool over = found == tasks.end() || cli::is_over(found->second.state);
    if (over) {
      over_since_.emplace(shard, Clock::now());
    } else {
      over_since_.erase(shard);
    }
    if (found == tasks.end()) continue;
    if (!journal.is_complete()) tell_change(shard, before, found->second);
    tasks_[shard] = found->second;
  }
  knows_tasks_ = true;
  tell_waiting();
}

void ArrayWatch::tell_change(int shard, const SlurmTask& before, const SlurmTask& now) {
  if (before.state == now.state || signal_ != 0) return;
  if (cli::is_over(now.state) && now.state != "COMPLETED")
    tell(fmt::format("shard {}: its task ended as {}{}", shard, now.state, nodes_text(now)));
  if (is_waiting(now) && knows_tasks_)
    tell(fmt::format("shard {}: its task was requeued and waits ({})", shard, now.reason));
}

// Once for each reason; not of those that begin at once.
void ArrayWatch::tell_waiting() {
  const auto first = std::ranges::find_if(tasks_, [](const auto& task) { return is_waiting(task.second); });
  if (first == tasks_.end() || signal_ != 0 || now_ms() < kAskSoon.count()) return;
  const std::string& reason = first->second.reason;
  if (reason == waiting_for_ || reason == "None") return;
  const auto count = std::ranges::count_if(tasks_, [](const auto& task) { return is_waiting(task.second); });
  tell(fmt::format("{} of {} tasks wait: {}", count, journals_.size(), reason));
  waiting_for_ = reason;
}

// Once, and once more when it is back.
void ArrayWatch::tell_controller(const std::string& silence) {
  if (silence.empty() == silence_.empty()) return;
  silence_ = silence;
  tell(silence.empty() ? "the controller answers again"
                       : fmt::format("the controller does not answer; the tasks go on ({})", silence));
}

bool ArrayWatch::stop(int signal) {
  if (signal_ != 0) {
    tell(fmt::format("job {} is left to Slurm", job_.id));
    return false;
  }
  signal_ = signal;
  tell(fmt::format("stopping (signal {}): job {} is cancelled{}", signal, job_.id,
                   signal == SIGINT ? "; Ctrl-C again does not wait for its reports" : ""));
  give_up_ = Clock::now() + kCancelWait;
  next_question_ = Clock::now();
  const auto cancelled = cancel_job(job_);
  if (cancelled) return true;
  tell(fmt::format("{}; it still runs: scancel {}", cancelled.error().message(), job_.id));
  return false;
}

}  // namespace proctor::cli
