#include "harness/cli/end_run.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "harness/cli/console/messages.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/runner/record/dead_runs.h"
#include "harness/runner/record/find_runner.h"

namespace proctor::cli {
namespace {

constexpr Milliseconds kForTheEnd{500};

// The current step, for the handler of the limit's signal.
std::atomic<const char*>& under_way() {
  static constinit std::atomic<const char*> what{"reading the record"};
  return what;
}

// A driver can hang a process that queries its devices. The handler then ends this process and its helpers. Only
// async-signal-safe functions are used.
void end_at_limit(int) {
  char text[200] = {};
  std::size_t size = 0;
  for (const char* part : {"proctor: the time limit expired while ", under_way().load(),
                           "; the steps before it are complete\n"}) {
    const std::size_t length = std::min(std::strlen(part), sizeof text - size);
    std::memcpy(text + size, part, length);
    size += length;
  }
  static_cast<void>(!::write(STDERR_FILENO, text, size));
  ::_exit(kExitMachine);
}

}  // namespace

// The signal is set shortly before the limit, so that the end is within it.
Limit::Limit(Milliseconds limit) : end_(Clock::now() + limit - std::min(limit / 10, kForTheEnd)) {
  struct sigaction action {};
  action.sa_handler = end_at_limit;
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm;  // the caller may have blocked it
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
  const auto us = std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(end_ - Clock::now()).count(), 1);
  const itimerval timer{
      .it_interval = {},
      .it_value = {.tv_sec = us / 1'000'000, .tv_usec = static_cast<suseconds_t>(us % 1'000'000)}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

Milliseconds Limit::left() const {
  return std::max(Milliseconds(0), std::chrono::duration_cast<Milliseconds>(end_ - Clock::now()));
}

void Limit::doing(const char* what) const { under_way() = what; }

void print_sentences(const std::vector<std::string>& sentences) {
  for (const auto& sentence : sentences) std::printf("%s\n", shown(sentence).c_str());
  std::fflush(stdout);
}

namespace {

Error still_alive(const std::string& run_dir, const ProcessHandle& runner) {
  return Error::refused("The runner of " + run_dir + " (pid " + std::to_string(runner.pid()) +
                            ") is still alive, and so is its parent process",
                        "Use --stop to stop it. It then ends its cases and writes its reports.");
}

Error still_alive_elsewhere(const std::string& run_dir, const RunRecord& record) {
  return Error::refused("The runner of " + run_dir +
                            " is still alive, and /proc does not show it here (pid " +
                            std::to_string(record.pid) + " in PID namespace " + record.pid_namespace + ")",
                        "Use --stop where the run was started, or as root outside of all containers.");
}

// The runner may be alive and write its own reports.
Error not_proven(const std::string& run_dir, const RunRecord& record, const RunnerStatus& status) {
  const std::string host = record.host.empty() ? "a machine that its record does not name" : record.host;
  return {ErrorKind::kSystem,
          "finish " + run_dir + ": its runner was started on " + host +
              " and may be alive, which cannot be checked from here, " + host_name() + ": " + status.why,
          "Run finish there. If the runner is gone: proctor report render " + run_dir, 0};
}

struct Ending {
  const std::string& run_dir;  // as typed
  const RunRecord& record;
  bool stop;
  bool confirmed;  // false: the record may name a process that is not the runner
};

Result<bool> end_runner(const Ending& run, const Limit& limit, std::vector<std::string>& said) {
  const RunnerStatus status = examine_runner(run.record);
  if (status.state == RunnerState::kUnknown) return not_proven(run.run_dir, run.record, status);
  if (status.state == RunnerState::kEnded) return true;
  const auto runner = run.confirmed ? find_runner(run.record) : std::nullopt;
  if (!runner) return still_alive_elsewhere(run.run_dir, run.record);
  if (!run.stop && !step_is_over(run.record, *runner)) return still_alive(run.run_dir, *runner);
  return stop_runner(*runner, limit.left() / 2, said);
}

}  // namespace

Result<bool> end_run(const std::string& run_dir, const RunRecord& record, bool stop, const Limit& limit) {
  limit.doing("stopping the runner");
  std::vector<std::string> said;
  const Ending run{.run_dir = run_dir, .record = record, .stop = stop, .confirmed = is_confirmed(record)};
  auto ended = end_runner(run, limit, said);
  if (!ended) return ended;
  if (!run.confirmed) {
    said.push_back("the private copy of its record is missing: no process was searched for");
  } else if (*ended) {
    limit.doing("killing the remaining processes");
    ended = kill_leftovers(record, limit.left() / 4, said);
    ended = sweep_run(record, said) && *ended;
  }
  print_sentences(said);
  return ended;
}

}  // namespace proctor::cli
