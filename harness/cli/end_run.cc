#include "harness/cli/end_run.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "harness/cli/console/messages.h"
#include "harness/core/exit_code.h"
#include "harness/run/record/find_runner.h"

namespace proctor::cli {
namespace {

constexpr Milliseconds kForTheEnd{500};

// What is being done, for the handler of the limit's signal.
std::atomic<const char*>& under_way() {
  static constinit std::atomic<const char*> what{"the record is read"};
  return what;
}

// A driver may hang whoever looks at its devices: then this process ends, and its helpers with it. Nothing
// here but what a signal handler may do.
void end_at_limit(int) {
  char text[200] = {};
  std::size_t size = 0;
  for (const char* part :
       {"proctor: the limit is over while ", under_way().load(), "; what is above was done\n"}) {
    const std::size_t length = std::min(std::strlen(part), sizeof text - size);
    std::memcpy(text + size, part, length);
    size += length;
  }
  static_cast<void>(!::write(STDERR_FILENO, text, size));
  ::_exit(kExitMachine);
}

}  // namespace

// The signal comes a little before the limit, so that the end is within it.
Limit::Limit(Milliseconds limit) : end_(Clock::now() + limit - std::min(limit / 10, kForTheEnd)) {
  struct sigaction action {};
  action.sa_handler = end_at_limit;
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm;  // whoever started this may have blocked it
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

Error still_alive(const std::string& run_dir, const FoundRunner& found) {
  return Error::refused("The runner of " + run_dir + " (pid " + std::to_string(found.process->pid()) +
                            ") is still alive, and its parent process, too",
                        "Use --stop to stop it: it ends its cases and writes its reports.");
}

// Its processes and devices are not here to be looked at, and it may be writing its own reports.
Error is_elsewhere(const std::string& run_dir, const RunRecord& record) {
  return {ErrorKind::kSystem,
          "finish " + run_dir + ": its runner was started on " +
              (record.host.empty() ? "a machine that its record does not name" : record.host) +
              " and cannot be looked at from here, " + host_name(),
          "Run finish there. If that machine is lost: proctor report render " + run_dir, 0};
}

}  // namespace

Result<bool> end_run(const std::string& run_dir, const RunRecord& record, bool stop, const Limit& limit) {
  limit.doing("its runner is looked for and ended");
  const FoundRunner found = find_runner(record);
  if (found.state == RunnerState::kElsewhere) return is_elsewhere(run_dir, record);
  std::vector<std::string> said;
  bool ended = true;
  if (record.boot_id != boot_id()) {
    said.push_back("the machine was restarted since: no process of the run is alive");
    if (is_confirmed(record)) ended = sweep_run(record, said);
    print_sentences(said);
    return ended;
  }
  if (found.state == RunnerState::kAlive) {
    if (!stop && !step_is_over(record)) return still_alive(run_dir, found);
    ended = stop_runner(*found.process, limit.left() / 2, said);
  } else if (found.state == RunnerState::kUnknown) {
    ended = false;
    said.push_back(
        "the runner is in another PID namespace, " + record.pid_namespace +
        ", which cannot be seen from here; run finish there, or as root outside of all containers");
  }
  if (ended) {
    limit.doing("what it left is killed");
    ended = kill_leftovers(record, limit.left() / 4, said);
    ended = sweep_run(record, said) && ended;
  }
  print_sentences(said);
  return ended;
}

}  // namespace proctor::cli
