#include "harness/process/contained_process.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>

#include "harness/base/duration.h"
#include "harness/journal/child_protocol.h"
#include "harness/process/case_output.h"
#include "harness/process/containment.h"
#include "harness/process/fair_time.h"
#include "harness/process/guard/tree.h"
#include "harness/process/limit_clock.h"
#include "harness/process/proc_reader.h"
#include "harness/process/recipe.h"
#include "harness/process/sweep.h"

namespace proctor {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr Milliseconds kReapPoll{1};  // a guard can usually be reaped at the moment of its end
// Interval of checks on a guard that is silent, or that has ended and cannot be reaped yet. The guard counts as lost
// only if a check finds a reason.
constexpr Milliseconds kPollGuard{1'000};
// Most leaders leave no processes behind. The CPU use of a tree is measured only if processes are left after
// this time.
constexpr Milliseconds kQuickDrain{20};
constexpr int kQuickSweeps = 200;  // one per millisecond; later sweeps use the next interval
constexpr Milliseconds kSlowSweep{50};
constexpr int kBusyTextRetries = 3;  // a test binary that is still being written (ETXTBSY)
constexpr Milliseconds kBusyTextPause{20};

void set_foreground(pid_t group) {
  sigset_t ttou;
  sigset_t saved;
  sigemptyset(&ttou);
  sigaddset(&ttou, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &ttou, &saved);
  tcsetpgrp(STDIN_FILENO, group);
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
}

// Makes the runner's process group the foreground group again. A case that got the terminal (--no-capture,
// --debugger) had made its own group the foreground group.
void take_terminal_back() { set_foreground(getpgrp()); }

// The implementation: one guard with its pipes, limits and timers. The sections below follow the state
// machine in contained_process.h.
class GuardedProcess final : public ContainedProcess, public std::enable_shared_from_this<GuardedProcess> {
 public:
  GuardedProcess(asio::io_context& io, Containment& containment, ProcessSpec spec, OnEnd on_end)
      : io_(io),
        recipe_(containment.recipe()),
        spec_(std::move(spec)),
        on_end_(std::move(on_end)),
        control_(io),
        guard_watch_(io),
        step_timer_(io),
        answer_timer_(io),
        sweep_timer_(io) {}

  void begin() {
    end_.started = Clock::now();
    output_ = std::make_shared<CaseOutput>(io_, spec_, end_.started);
    if (const auto error = spawn()) {
      return fail_to_start(*error);
    }
    output_->watch([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->check_done();
    });
    watch_control();
    if (guard_watch_.is_open()) watch_guard();
    gauge_ = PressureGauge(leaf_ ? leaf_->path() : "", guard_pid_);
    before_ = gauge_.without_tree();
    throttled_before_ = recipe_.quota.throttled();
    frozen_before_ = recipe_.frozen->total();
    limit_clock_ =
        std::make_shared<LimitClock>(io_, output_, *recipe_.frozen, gauge_,
                                     [weak = weak_from_this()](EndCause cause, const Starvation& seen) {
                                       const auto self = weak.lock();
                                       if (self && self->phase_ == Phase::kRunning)
                                         self->hit_limit(cause, seen);
                                     });
    limit_clock_->start(spec_.limits, before_);
  }

  void stop(int signal, Milliseconds grace) override {
    if (phase_ == Phase::kRunning) {
      end_.cause = EndCause::kStopped;
      terminate(signal, grace);
    } else if (phase_ == Phase::kLimitHook) {
      terminate(signal, grace);
    } else if (phase_ == Phase::kDraining) {
      // Posted to the loop, because the caller may be iterating over a list of running processes.
      asio::post(io_, [self = shared_from_this()] {
        if (self->phase_ == Phase::kDraining) self->kill_everything();
      });
    } else if (phase_ == Phase::kPassingOn) {
      asio::post(io_, [self = shared_from_this()] { self->end(); });
    } else if (phase_ == Phase::kTerminating && Clock::now() + grace < step_timer_.expiry()) {
      arm_grace(grace);
    }
  }

  void restart_clock(const ProcessLimits& limits) override {
    if (phase_ != Phase::kRunning) return;
    spec_.limits = limits;
    if (limit_clock_) limit_clock_->start(spec_.limits, std::nullopt);
  }

  void freeze() override {
    if (phase_ != Phase::kRunning && phase_ != Phase::kTerminating) return;
    if (has_terminal()) take_terminal_back();
    holds_ = true;
    order(guard::CommandType::kFreeze, 1);
  }

  void thaw() override {
    if (phase_ != Phase::kRunning && phase_ != Phase::kTerminating) return;
    if (has_terminal()) {
      if (const int leader = leader_pid(); leader != 0) set_foreground(leader);
      order(guard::CommandType::kSignal, SIGCONT);
    }
    holds_ = false;
    order(guard::CommandType::kFreeze, 0);
  }

  int leader_pid() const override {
    return guard_exited_ || leader_status_ ? 0 : find_leader(guard_pid_, guard_children_.get());
  }

 private:
  enum class Phase { kRunning, kLimitHook, kDraining, kTerminating, kKilling, kPassingOn, kEnded };
  using Descriptor = asio::posix::stream_descriptor;

  bool has_terminal() const { return spec_.inherit_stdio && isatty(STDIN_FILENO) != 0; }

  // ---- start ----

  std::optional<SpawnError> spawn() {
    GuardSetup setup;
    setup.umask = spec_.umask;
    setup.core_limit = spec_.core_limit;
    setup.reach = spec_.reach;
    setup.terminal = has_terminal();
    setup.leases = spec_.leases;
    setup.inherited = spec_.inherited;
    CaseOutput::ChildEnds ends;
    if (auto error = output_->make_pipes(setup, ends)) return error;
    auto started = start_guard(recipe_, spec_.argv, environment(), spec_.directory, setup);
    if (auto* error = std::get_if<SpawnError>(&started)) return *error;
    adopt(std::get<GuardProcess>(std::move(started)));
    return std::nullopt;
  }

  std::vector<std::string> environment() const {
    std::vector<std::string> env = spec_.env;
    if (spec_.events) {
      env.push_back(std::string(child::kEventsFdVariable) + "=" + std::to_string(guard::kChildEventsFd));
    }
    return env;
  }

  void adopt(GuardProcess guard) {
    guard_pid_ = guard.process.pid;
    guard_exited_ = false;
    guard_children_ = UniqueFd(guard::open_children(guard_pid_));
    leaf_ = std::move(guard.leaf);
    watched_ = guard.watched;
    containment_id_ = std::move(guard.containment_id);
    control_.assign(guard.control.release());
    if (guard.process.pidfd) guard_watch_.assign(guard.process.pidfd.release());
  }

  void fail_to_start(SpawnError error) {
    if (error.err == ETXTBSY && busy_text_retries_++ < kBusyTextRetries && phase_ == Phase::kRunning) {
      waits_for_retry_ = true;
      step_timer_.expires_after(kBusyTextPause);
      step_timer_.async_wait([self = shared_from_this()](error_code ec) {
        if (!ec) self->restart();
      });
      return;
    }
    end_.spawn_error = std::move(error);
    end_.cause = EndCause::kSpawnFailed;
    asio::post(io_, [self = shared_from_this()] { self->finish(); });
  }

  void restart() {
    close_all();
    unanswered_ = sweeps_ = 0;
    held_ = swept_ = false;
    waits_for_retry_ = false;
    begin();
  }

  // ---- limits ----

  void hit_limit(EndCause cause, const Starvation& seen) {
    end_.cause = cause;
    if (leaf_ && !holds_ && leaf_->frozen()) {
      lose_cgroup("another process froze its cgroup (cgroup.freeze)");
      order(guard::CommandType::kFreeze, 0);
    }
    end_.at_limit = seen;
    end_.at_limit.throttled = recipe_.quota.throttled() > throttled_before_;
    if (!spec_.on_limit) return terminate(SIGTERM, spec_.limits.grace);
    phase_ = Phase::kLimitHook;
    step_timer_.expires_after(spec_.limit_hook);
    step_timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec) self->leave_limit_hook();
    });
    spec_.on_limit(guard_pid_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->leave_limit_hook();
    });
  }

  void leave_limit_hook() {
    if (phase_ != Phase::kLimitHook) return;
    terminate(SIGTERM, spec_.limits.grace);
    check_done();  // the case may have ended by itself in the meantime
  }

  // ---- termination: signal, grace, SIGKILL ----

  void terminate(int signal, Milliseconds grace) {
    phase_ = Phase::kTerminating;
    end_.termination.signal_sent = signal;
    if (grace.count() > 0) {
      order(guard::CommandType::kSignal, signal);
      order(guard::CommandType::kSignal, SIGCONT);  // a stopped process handles the signal only after SIGCONT
    }
    arm_grace(grace);
  }

  void arm_grace(Milliseconds grace) {
    grace_ends_ = recipe_.frozen->known_now() + grace;
    await_grace(grace);
  }

  void await_grace(Clock::duration wait) {
    step_timer_.expires_after(wait);
    step_timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (ec || self->phase_ != Phase::kTerminating) return;
      const auto now = self->recipe_.frozen->now();
      if (!now) return self->await_grace(FrozenTime::kAskAgain);
      if (*now < self->grace_ends_) return self->await_grace(self->grace_ends_ - *now);
      self->end_.termination.forced = true;
      self->kill_everything();
    });
  }

  // Gives the remaining processes time to end. They may not have had a CPU yet.
  void start_draining() {
    phase_ = Phase::kDraining;
    arm_drain(std::min(spec_.drain, kQuickDrain), [this] {
      check_done();
      if (phase_ != Phase::kDraining) return;
      fair_.emplace(gauge_, *recipe_.frozen);
      drain();
    });
  }

  void drain() {
    const Milliseconds left = fair_->left_of(spec_.drain - std::min(spec_.drain, kQuickDrain));
    if (left == Milliseconds(0)) return kill_everything();
    arm_drain(left, [this] { drain(); });
  }

  template <typename Then>
  void arm_drain(Milliseconds wait, Then then) {
    step_timer_.expires_after(wait);
    step_timer_.async_wait([self = shared_from_this(), then](error_code ec) {
      if (!ec && self->phase_ == Phase::kDraining) then();
    });
  }

  void kill_everything() {
    // the guard writes to the same file for its kill
    if (phase_ == Phase::kDraining) awaits_report_of_kill();
    if (guard_exited_) return finish();
    restore_limits(recipe_);
    end_.termination.leaked_processes = find_leaked_processes(
        recipe_.reader, guard_pid_, leader_status_ ? 0 : leader_pid(), guard_children_.get());
    start_killing();
    if (held_) return take_over();
    order(guard::CommandType::kKill, 0);
  }

  void start_killing() {
    phase_ = Phase::kKilling;
    killed_at_ = Clock::now();
    fair_.emplace(gauge_, *recipe_.frozen);
    await_killed(spec_.reap);
  }

  // Waits for the end of killed processes. Each needs a CPU to end, and the guard needs one to reap it.
  void await_killed(Milliseconds wait) {
    step_timer_.expires_after(wait);
    step_timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (ec || self->phase_ != Phase::kKilling) return;
      Milliseconds left = self->fair_->left_of(self->spec_.reap);
      if (self->patience_ && !self->patience_->is_over(self->spec_.reap)) left = std::max(left, kPollGuard);
      if (left > Milliseconds(0)) return self->await_killed(left);
      self->give_up_killing();
    });
  }

  void give_up_killing() {
    end_.termination.unkillable = true;
    recipe_.unfinished = true;
    if (sweep_ && !sweep_->suspicion().empty()) end_.termination.guard_lost += ", and " + sweep_->suspicion();
    if (!guard_exited_)
      add_leaked(find_leaked_processes(recipe_.reader, guard_pid_, 0, guard_children_.get()));
    finish();
  }

  // ---- orders to the guard ----

  void order(guard::CommandType type, int value) {
    if (guard_exited_) return;
    ::kill(guard_pid_, SIGCONT);  // a test of the same user may have stopped it
    const guard::Command command{type, value};
    if (control_.is_open()) (void)::send(control_.native_handle(), &command, sizeof(command), MSG_NOSIGNAL);
    if (unanswered_++ == 0) begin_to_wait();
  }

  void on_obeyed() {
    if (unanswered_ == 0) return;
    stop_waiting();
    if (--unanswered_ > 0) begin_to_wait();
  }

  void begin_to_wait() {
    asked_at_ = Clock::now();
    await_answer();
  }

  void stop_waiting() {
    answer_timer_.cancel();
    if (patience_)
      end_.guard_late =
          std::max(end_.guard_late, std::chrono::duration_cast<Milliseconds>(Clock::now() - asked_at_));
    patience_.reset();
  }

  void await_answer() {
    answer_timer_.expires_after(kPollGuard);
    answer_timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec && self->phase_ < Phase::kPassingOn) self->find_answer();
    });
  }

  // Checks a silent guard. It counts as waiting for a CPU, unless it is stopped or traced.
  void find_answer() {
    read_reports();  // the response may have come while this process was busy
    if (guard_exited_ || unanswered_ == 0) return;
    const std::string why = why_lost();
    if (why.empty()) return await_answer();
    miss_answer(why);
  }

  std::string why_lost() {
    if (std::string held = held_by(guard_pid_); !held.empty()) return held;
    if (!patience_) patience_.emplace();
    patience_->sample(guard_pid_);
    return patience_->is_over(spec_.reap) ? "it did nothing for " + format_duration(spec_.reap) : "";
  }

  // Treats the guard as lost, and sends the last ordered signals from the runner.
  void miss_answer(const std::string& why) {
    held_ = true;
    patience_.reset();
    lose_guard(why);
    if (phase_ == Phase::kKilling) {
      fair_.emplace(gauge_, *recipe_.frozen);
      await_killed(spec_.reap);
      return take_over();
    }
    if (phase_ != Phase::kTerminating) return;
    guard::signal_descendants(guard_pid_, end_.termination.signal_sent);
    guard::signal_descendants(guard_pid_, SIGCONT);
  }

  // ---- another process ended the case ----

  void lose_cgroup(const std::string& why) {
    end_.cause = EndCause::kGuardLost;
    end_.cgroup_lost = true;
    lose_guard(why);
  }

  // The kernel reports a write to cgroup.kill after the kill, so the end of the leader may come first.
  bool awaits_report_of_kill() {
    const bool killed =
        leader_status_ && WIFSIGNALED(*leader_status_) && WTERMSIG(*leader_status_) == SIGKILL;
    if (!leaf_ || !killed || end_.cause != EndCause::kExited) return false;
    if (recipe_.cgroup_watch->was_killed(watched_)) {
      lose_cgroup("another process killed its cgroup (cgroup.kill)");
      return false;
    }
    return Clock::now() - end_.leader_ended < kQuickDrain;
  }

  // ---- the runner ends the case, because the guard does not ----

  void lose_guard(const std::string& why) {
    if (end_.termination.guard_lost.empty()) end_.termination.guard_lost = why;
  }

  // Sweeps until no process is found, or the reap deadline is over.
  void take_over() {
    if (sweep_) return;
    if (phase_ != Phase::kKilling) start_killing();
    sweep_.emplace(recipe_, guard_pid_, leaf_ ? &*leaf_ : nullptr, containment_id_);
    sweep();
  }

  void sweep() {
    const bool clean = sweep_->round(guard_exited_);
    if (!guard_exited_) reap_guard();
    if (clean && guard_exited_) return end_sweep();
    sweep_timer_.expires_after(++sweeps_ < kQuickSweeps ? kReapPoll : kSlowSweep);
    sweep_timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec && self->phase_ == Phase::kKilling) self->sweep();
    });
  }

  void end_sweep() {
    swept_ = true;
    if (!sweep_->found().empty()) lose_guard("it reported that no process was left");
    check_done();
  }

  void add_leaked(const std::vector<LeakedProcess>& more) {
    auto& leaked_processes = end_.termination.leaked_processes;
    for (const LeakedProcess& found : more) {
      const auto same = [&found](const LeakedProcess& leaked) { return leaked.pid == found.pid; };
      if (std::none_of(leaked_processes.begin(), leaked_processes.end(), same))
        leaked_processes.push_back(found);
    }
  }

  // ---- the guard ----

  void watch_control() {
    control_.async_wait(Descriptor::wait_read, [self = shared_from_this()](error_code ec) {
      if (ec || self->phase_ >= Phase::kPassingOn) return;
      if (self->read_reports()) return self->watch_control();
      error_code ignored;
      self->control_.close(ignored);
      if (!self->guard_watch_.is_open()) self->poll_guard(Clock::now());
    });
  }

  // Returns false at end-of-file: the guard is ending.
  bool read_reports() {
    for (;;) {
      if (!control_.is_open()) return false;
      guard::Report report{};
      const ssize_t got = recv(control_.native_handle(), &report, sizeof(report), MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
      // The guard ended with an unread command of the runner (unix(7)). The error comes once, before the last
      // reports of the guard.
      if (got < 0 && errno == ECONNRESET) continue;
      if (got != sizeof(report)) return false;
      handle(report);
    }
  }

  void handle(const guard::Report& report) {
    switch (report.type) {
      case guard::ReportType::kSpawnFailed:
        spawn_failure_ =
            SpawnError{std::string(report.step, strnlen(report.step, sizeof(report.step))), report.value};
        return;
      case guard::ReportType::kLeaderExited:
        leader_status_ = report.value;
        end_.leader = report.leader;
        leader_usage_ = {report.cpu_us, report.peak_rss_kib};
        end_.leader_ended = Clock::now();
        if (phase_ == Phase::kRunning) start_draining();
        return;
      case guard::ReportType::kLeaderStopped:
        if (spec_.on_stopped) spec_.on_stopped();
        return;
      case guard::ReportType::kLeaderStarted:
        for (const int fd : std::exchange(spec_.inherited, {})) ::close(fd);
        return;
      case guard::ReportType::kObeyed:
        return on_obeyed();
    }
  }

  void watch_guard() {
    guard_watch_.async_wait(Descriptor::wait_read, [self = shared_from_this()](error_code ec) {
      if (ec || self->phase_ >= Phase::kPassingOn) return;
      self->poll_guard(Clock::now());
    });
  }

  // Polls for a guard that has ended. A traced guard can only be reaped after its tracer has ended.
  void poll_guard(Clock::time_point looked) {
    if (guard_exited_ || reap_guard()) return;
    if (!sweep_ && Clock::now() - looked > kPollGuard) {
      looked = Clock::now();
      if (const std::string why = why_lost(); !why.empty()) {
        lose_guard("it ended and cannot be reaped: " + why);
        take_over();
        if (guard_exited_) return;
      }
    }
    auto timer = std::make_shared<asio::steady_timer>(io_, kReapPoll);
    timer->async_wait([self = shared_from_this(), timer, looked](error_code ec) {
      if (!ec && self->phase_ < Phase::kPassingOn) self->poll_guard(looked);
    });
  }

  // Reaps the guard if it has ended. The call does not block, because end-of-file is only a hint of that end.
  bool reap_guard() {
    siginfo_t info{};
    const int got = waitid(P_PID, static_cast<id_t>(guard_pid_), &info, WEXITED | WNOHANG);
    if (got == 0 && info.si_pid == 0) return false;
    guard_exited_ = true;
    recipe_.guards.erase(guard_pid_);
    stop_waiting();
    read_reports();
    const bool word = got == 0 && info.si_code == CLD_EXITED && info.si_status == 0;
    if (!word) lose_guard(how_it_ended(got, info));
    on_guard_exit(word);
    return true;
  }

  static std::string how_it_ended(int got, const siginfo_t& info) {
    if (got != 0) return "another process reaped it";
    if (info.si_code == CLD_EXITED) return "it exited with " + std::to_string(info.si_status);
    return "it was killed by signal " + std::to_string(info.si_status);
  }

  // Ends the case if the guard reported a clean end (`word`) and the leaf, if there is one, is empty. Otherwise the
  // runner sweeps: as the nearest subreaper it has adopted the processes of a dead guard. If the guard was PID 1, the
  // kernel has ended all of its processes.
  void on_guard_exit(bool word) {
    if (spawn_failure_) return fail_to_start(*std::exchange(spawn_failure_, std::nullopt));
    if (!leader_status_ && end_.cause == EndCause::kExited) end_.cause = EndCause::kGuardLost;
    if (sweep_) return;  // the sweep continues until it finds no process
    const bool was_init = in_pid_namespace(recipe_, spec_.reach);
    if (!was_init && (!word || (leaf_ && !leaf_->empty()))) return take_over();
    check_done();
  }

  void check_done() {
    if (!guard_exited_ || phase_ >= Phase::kPassingOn || end_.spawn_error) return;
    if (sweep_ && !swept_) return;
    if (waits_for_retry_ || phase_ == Phase::kLimitHook) return;
    if (phase_ == Phase::kDraining && awaits_report_of_kill()) return;
    // ends at end-of-file, or after the drain time
    if (phase_ == Phase::kDraining && output_->is_open()) return;
    finish();
  }

  // ---- end ----

  void close_all() {
    error_code ignored;
    control_.close(ignored);
    guard_watch_.close(ignored);
    output_->close();
    if (limit_clock_) limit_clock_->stop();
    step_timer_.cancel();
    answer_timer_.cancel();
    sweep_timer_.cancel();
    sweep_.reset();
    if (leaf_) recipe_.cgroup_watch->end(watched_);
    leaf_.reset();
    guard_children_.reset();
  }

  // No further event of the case is expected. Its output may still wait for the reader of the runner's own
  // output.
  void finish() {
    if (phase_ == Phase::kPassingOn || phase_ == Phase::kEnded) return;
    phase_ = Phase::kPassingOn;
    if (sweep_) add_leaked(sweep_->found());
    if (output_->read_rest([self = shared_from_this()] { self->end(); })) return end();
    step_timer_.cancel();
    if (end_.cause == EndCause::kExited && !spec_.limits.timeout)
      return;  // it waits for its reader without a limit, as `cat` does
    const auto limit = end_.started + spec_.limits.timeout.value_or(Milliseconds(0));
    step_timer_.expires_at(std::max(limit, Clock::now() + spec_.limits.grace));
    step_timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec) self->end();
    });
  }

  void report_waits() {
    if (!limit_clock_) return;  // the command never ran
    add_waits(end_.usage, (leaf_ ? gauge_.now() : gauge_.without_tree()) - before_,
              recipe_.frozen->total() - frozen_before_);
    end_.usage.wait_source = leaf_ ? "cgroup" : "system";
  }

  void end() {
    if (phase_ == Phase::kEnded) return;
    phase_ = Phase::kEnded;
    restore_limits(recipe_);
    output_->abandon_readers();
    output_->finish(end_);
    end_.usage = cgroup_usage(leaf_ ? leaf_->path() : "");
    report_waits();
    if (leader_status_) end_.usage = with_leader(end_.usage, leader_usage_.first, leader_usage_.second);
    close_all();
    if (has_terminal()) take_terminal_back();
    end_.ended = Clock::now();
    if (!leader_status_) end_.leader_ended = end_.ended;
    if (killed_at_) end_.kill_to_empty = std::chrono::duration_cast<Milliseconds>(end_.ended - *killed_at_);
    if (leader_status_ && WIFEXITED(*leader_status_)) end_.exit_code = WEXITSTATUS(*leader_status_);
    if (leader_status_ && WIFSIGNALED(*leader_status_)) end_.exit_signal = WTERMSIG(*leader_status_);
    end_.containment_id = containment_id_;
    end_.core_dumped = leader_status_ && WIFSIGNALED(*leader_status_) && WCOREDUMP(*leader_status_);
    spec_.on_event_line = nullptr;
    spec_.on_output = nullptr;
    spec_.on_limit = nullptr;
    spec_.on_stopped = nullptr;
    std::exchange(on_end_, nullptr)(std::move(end_));
  }

  asio::io_context& io_;
  Recipe& recipe_;
  ProcessSpec spec_;
  OnEnd on_end_;
  Phase phase_ = Phase::kRunning;
  ProcessEnd end_;

  pid_t guard_pid_ = 0;
  bool guard_exited_ = true;
  UniqueFd guard_children_;  // opened before the case could lower the runner's limit of open files
  std::optional<int> leader_status_;
  std::pair<std::int64_t, std::int64_t> leader_usage_;  // microseconds, KiB
  std::optional<SpawnError> spawn_failure_;
  std::optional<Cgroup> leaf_;
  CgroupWatch::Leaf watched_;
  bool holds_ = false;  // freeze() was called, and thaw() not yet
  std::string containment_id_;
  int unanswered_ = 0;  // orders without a response
  bool held_ = false;   // the guard missed an order
  std::optional<Sweep> sweep_;
  int sweeps_ = 0;
  bool swept_ = false;
  int busy_text_retries_ = 0;
  bool waits_for_retry_ = false;

  Descriptor control_;
  Descriptor guard_watch_;
  asio::steady_timer step_timer_;
  asio::steady_timer answer_timer_;
  asio::steady_timer sweep_timer_;
  std::optional<Clock::time_point> killed_at_;
  std::optional<FairTime> fair_;      // since the end of the leader, or the kill
  std::optional<Patience> patience_;  // time that a silent guard has had
  Clock::time_point asked_at_{};
  Clock::time_point grace_ends_{};  // on the clock without frozen time
  PressureGauge gauge_;
  Pressure before_;
  Microseconds throttled_before_{0};
  Clock::duration frozen_before_{0};
  std::shared_ptr<CaseOutput> output_;
  std::shared_ptr<LimitClock> limit_clock_;  // null until the limits start
};

}  // namespace

std::shared_ptr<ContainedProcess> ContainedProcess::start(asio::io_context& io, Containment& containment,
                                                          ProcessSpec spec, OnEnd on_end) {
  auto process = std::make_shared<GuardedProcess>(io, containment, std::move(spec), std::move(on_end));
  process->begin();
  return process;
}

ProcessEnd run_contained(Containment& containment, ProcessSpec spec) {
  asio::io_context io(1);
  std::optional<ProcessEnd> result;
  const auto process = ContainedProcess::start(io, containment, std::move(spec),
                                               [&](ProcessEnd end) { result = std::move(end); });
  io.run();
  return *std::move(result);
}

}  // namespace proctor
