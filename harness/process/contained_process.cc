#include "harness/process/contained_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>

#include "harness/core/child_protocol.h"
#include "harness/process/capture.h"
#include "harness/process/line_splitter.h"
#include "harness/process/recipe.h"
#include "harness/process/strays.h"

namespace proctor {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 64 * 1024;        // per turn of the loop: a flood never starves a timer
constexpr std::size_t kLastReadBytes = 1024 * 1024;  // what is taken from a pipe after everything is dead
constexpr Milliseconds kSuspiciousLateness{5000};    // a timer this late means that the runner was stopped
constexpr Milliseconds kReapPoll{1};  // only without pidfds, only between guard's EOF and its reaping
constexpr int kBusyTextRetries = 3;   // a test binary that is still being written (ETXTBSY)
constexpr Milliseconds kBusyTextPause{20};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

std::optional<Pipe> make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return std::nullopt;
  Pipe pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
  fcntl(fds[0], F_SETFL, O_NONBLOCK);  // only our end: the case must see an ordinary pipe
  return pipe;
}

class Case final : public ContainedProcess, public std::enable_shared_from_this<Case> {
 public:
  Case(asio::io_context& io, Containment& containment, ProcessSpec spec, OnEnd on_end)
      : io_(io),
        recipe_(ContainmentAccess::recipe(containment)),
        spec_(std::move(spec)),
        on_end_(std::move(on_end)),
        control_(io),
        guard_watch_(io),
        limit_timer_(io),
        stall_timer_(io),
        step_timer_(io),
        out_(io),
        err_(io),
        events_(io),
        event_lines_(child::kMaxEventBytes) {}

  void begin() {
    end_.started = Clock::now();
    last_activity_ = end_.started;
    capture_.emplace(spec_.log_path, end_.started);
    if (const auto error = spawn()) {
      return fail_to_start(*error);
    }
    watch_control();
    if (guard_watch_.is_open()) watch_guard();
    if (spec_.timeout) arm_limit(end_.started + *spec_.timeout);
    if (spec_.stall) arm_stall();
  }

  void stop(int signal, Milliseconds grace) override {
    if (phase_ == Phase::kRunning) {
      end_.cause = EndCause::kStopped;
      terminate(signal, grace);
    } else if (phase_ == Phase::kDraining) {
      kill_everything();
    } else if (phase_ == Phase::kTerminating && Clock::now() + grace < step_timer_.expiry()) {
      arm_grace(grace);
    }
  }

  int leader_pid() const override { return guard_gone_ || leader_status_ ? 0 : find_leader(guard_pid_); }

 private:
  enum class Phase { kRunning, kDraining, kTerminating, kKilling, kEnded };
  enum class Source { kOut, kErr, kEvents };
  using Descriptor = asio::posix::stream_descriptor;

  // ---- start ----

  std::optional<SpawnError> spawn() {
    GuardSetup setup;
    std::optional<Pipe> out;
    std::optional<Pipe> err;
    std::optional<Pipe> events;
    const UniqueFd null(spec_.inherit_stdio ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (spec_.inherit_stdio) {
      setup.in = STDIN_FILENO;
      setup.out = STDOUT_FILENO;
      setup.err = STDERR_FILENO;
      setup.terminal = isatty(STDIN_FILENO) != 0;
    } else {
      out = make_pipe();
      err = make_pipe();
      if (!null || !out || !err) return SpawnError{"pipe", errno};
      setup.in = null.get();
      setup.out = out->write.get();
      setup.err = err->write.get();
    }
    if (spec_.events) {
      events = make_pipe();
      if (!events) return SpawnError{"pipe", errno};
      setup.events = events->write.get();
    }
    setup.umask = spec_.umask;
    auto started = start_guard(recipe_, spec_.argv, environment(), spec_.directory, setup);
    if (auto* error = std::get_if<SpawnError>(&started)) return *error;
    adopt(std::get<GuardProcess>(std::move(started)));
    if (out) open_stream(out_, out->read, Source::kOut);
    if (err) open_stream(err_, err->read, Source::kErr);
    if (events) open_stream(events_, events->read, Source::kEvents);
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
    guard_gone_ = false;
    leaf_ = std::move(guard.leaf);
    control_.assign(guard.control.release());
    if (guard.process.pidfd) guard_watch_.assign(guard.process.pidfd.release());
  }

  void open_stream(Descriptor& descriptor, UniqueFd& fd, Source source) {
    descriptor.assign(fd.release());
    watch(descriptor, source);
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
    waits_for_retry_ = false;
    begin();
  }

  // ---- what the case writes ----

  void watch(Descriptor& descriptor, Source source) {
    descriptor.async_wait(Descriptor::wait_read,
                          [self = shared_from_this(), &descriptor, source](error_code ec) {
                            if (self->phase_ == Phase::kEnded || ec == asio::error::operation_aborted) return;
                            const ssize_t got = self->read_once(descriptor, source);
                            if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
                              return self->watch(descriptor, source);
                            descriptor.close(ec);
                            self->check_done();
                          });
  }

  // One turn's worth. The buffer lives on the stack: one per stream would have to be zeroed and faulted in
  // per case.
  ssize_t read_once(Descriptor& descriptor, Source source) {
    char buffer[kReadBytes];
    const ssize_t got = read(descriptor.native_handle(), buffer, sizeof(buffer));
    if (got > 0) take(source, {buffer, static_cast<std::size_t>(got)});
    return got;
  }

  void take(Source source, std::string_view bytes) {
    last_activity_ = Clock::now();
    if (source == Source::kEvents) {
      event_lines_.feed(bytes, [this](std::string_view line) { deliver(line); });
      return;
    }
    if (source == Source::kOut && spec_.keep_stdout) keep(bytes);
    capture_->append(source == Source::kOut ? Stream::kOut : Stream::kErr, bytes, last_activity_);
  }

  void deliver(std::string_view line) {
    if (spec_.on_event_line) spec_.on_event_line(line);
  }

  void keep(std::string_view bytes) {
    const std::size_t room = spec_.max_kept_stdout - end_.kept_stdout.size();
    end_.kept_stdout_cut |= bytes.size() > room;
    end_.kept_stdout.append(bytes.substr(0, room));
  }

  bool pipes_open() const { return out_.is_open() || err_.is_open() || events_.is_open(); }

  // After everything is dead the pipes hold at most what fits into them, unless somebody outside has an end.
  void drain_now(Descriptor& descriptor, Source source) {
    std::size_t total = 0;
    while (descriptor.is_open() && total < kLastReadBytes) {
      const ssize_t got = read_once(descriptor, source);
      if (got <= 0) return;
      total += static_cast<std::size_t>(got);
    }
  }

  // ---- limits ----

  void arm_limit(Clock::time_point deadline) {
    limit_timer_.expires_at(deadline);
    limit_timer_.async_wait([self = shared_from_this(), deadline](error_code ec) {
      if (ec || self->phase_ != Phase::kRunning) return;
      if (const auto late = self->runner_was_stopped(deadline)) return self->arm_limit(Clock::now() + *late);
      self->hit_limit(EndCause::kTimeout);
    });
  }

  void arm_stall() {
    const Clock::time_point deadline = last_activity_ + *spec_.stall;
    stall_timer_.expires_at(deadline);
    stall_timer_.async_wait([self = shared_from_this(), deadline](error_code ec) {
      if (ec || self->phase_ != Phase::kRunning) return;
      if (self->runner_was_stopped(deadline)) self->last_activity_ = Clock::now();
      if (self->last_activity_ + *self->spec_.stall > Clock::now()) return self->arm_stall();
      self->hit_limit(EndCause::kStall);
    });
  }

  // A runner that was stopped for a minute must not blame the case: the first late timer gives the time back.
  std::optional<Clock::duration> runner_was_stopped(Clock::time_point deadline) {
    const auto late = Clock::now() - deadline;
    if (late < kSuspiciousLateness || forgave_lateness_) return std::nullopt;
    forgave_lateness_ = true;
    return late;
  }

  void hit_limit(EndCause cause) {
    end_.cause = cause;
    if (spec_.on_limit) spec_.on_limit(leader_pid());
    terminate(SIGTERM, spec_.grace);
  }

  // ---- the ladder ----

  void send(guard::CommandType type, int value) {
    const guard::Command command{type, value};
    if (control_.is_open()) (void)::send(control_.native_handle(), &command, sizeof(command), MSG_NOSIGNAL);
  }

  void terminate(int signal, Milliseconds grace) {
    phase_ = Phase::kTerminating;
    end_.termination.signal_sent = signal;
    if (grace.count() > 0) {
      send(guard::CommandType::kSignal, signal);
      send(guard::CommandType::kSignal, SIGCONT);  // a stopped process sees the signal only when it goes on
    }
    arm_grace(grace);
  }

  void arm_grace(Milliseconds grace) {
    step_timer_.expires_after(grace);
    step_timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (ec || self->phase_ != Phase::kTerminating) return;
      self->end_.termination.forced = true;
      self->kill_everything();
    });
  }

  void start_draining() {
    phase_ = Phase::kDraining;
    step_timer_.expires_after(spec_.drain);
    step_timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec && self->phase_ == Phase::kDraining) self->kill_everything();
    });
  }

  void kill_everything() {
    if (guard_gone_) return finish();
    phase_ = Phase::kKilling;
    end_.termination.strays = find_strays(guard_pid_, leader_status_ ? 0 : leader_pid());
    killed_at_ = Clock::now();
    ::kill(guard_pid_, SIGCONT);  // a test of the same user may have stopped the guard
    send(guard::CommandType::kKill, 0);
    step_timer_.expires_after(spec_.reap);
    step_timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (ec || self->phase_ != Phase::kKilling) return;
      self->end_.termination.unreapable = true;
      self->finish();
    });
  }

  // ---- the guard ----

  void watch_control() {
    control_.async_wait(Descriptor::wait_read, [self = shared_from_this()](error_code ec) {
      if (ec || self->phase_ == Phase::kEnded) return;
      if (self->read_reports()) return self->watch_control();
      error_code ignored;
      self->control_.close(ignored);
      if (!self->guard_watch_.is_open()) self->poll_guard();
    });
  }

  // False at end-of-file: the guard is dying.
  bool read_reports() {
    for (;;) {
      if (!control_.is_open()) return false;
      guard::Report report{};
      const ssize_t got = recv(control_.native_handle(), &report, sizeof(report), MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
      // The guard ended with a command of ours unread (unix(7)): the error comes once, before its last
      // reports.
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
        end_.leader_ended = Clock::now();
        if (phase_ == Phase::kRunning) start_draining();
        return;
    }
  }

  void watch_guard() {
    guard_watch_.async_wait(Descriptor::wait_read, [self = shared_from_this()](error_code ec) {
      if (ec || self->phase_ == Phase::kEnded) return;
      if (!self->reap_guard()) self->watch_guard();
    });
  }

  void poll_guard() {
    if (guard_gone_ || reap_guard()) return;
    auto timer = std::make_shared<asio::steady_timer>(io_, kReapPoll);
    timer->async_wait([self = shared_from_this(), timer](error_code ec) {
      if (!ec && self->phase_ != Phase::kEnded) self->poll_guard();
    });
  }

  // Readiness is a hint only: the status is taken without blocking, and the watch is re-armed when there is
  // none.
  bool reap_guard() {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(guard_pid_), &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
      return false;
    guard_gone_ = true;
    recipe_.guards.erase(guard_pid_);
    read_reports();
    on_guard_gone();
    return true;
  }

  void on_guard_gone() {
    if (spawn_failure_) return fail_to_start(*std::exchange(spawn_failure_, std::nullopt));
    if (!leader_status_ && recipe_.layer != Layer::kPidns) lose_guard();
    if (!leader_status_ && end_.cause == EndCause::kExited) end_.cause = EndCause::kGuardLost;
    check_done();
  }

  // The guard died before its case did: a test killed it. What it held comes to the runner as its nearest
  // subreaper.
  void lose_guard() {
    if (leaf_) leaf_->kill();
    sweep_orphans(recipe_);
  }

  void check_done() {
    if (!guard_gone_ || phase_ == Phase::kEnded || end_.spawn_error || waits_for_retry_) return;
    if (phase_ == Phase::kDraining && pipes_open()) return;  // end-of-file, or the fixed window
    finish();
  }

  // ---- end ----

  void close_all() {
    error_code ignored;
    for (Descriptor* descriptor : {&control_, &guard_watch_, &out_, &err_, &events_})
      descriptor->close(ignored);
    limit_timer_.cancel();
    stall_timer_.cancel();
    step_timer_.cancel();
    leaf_.reset();
  }

  void finish() {
    if (phase_ == Phase::kEnded) return;
    drain_now(out_, Source::kOut);
    drain_now(err_, Source::kErr);
    drain_now(events_, Source::kEvents);
    event_lines_.finish([this](std::string_view line) { deliver(line); });
    phase_ = Phase::kEnded;
    close_all();
    if (spec_.inherit_stdio && isatty(STDIN_FILENO) != 0) take_terminal_back();
    end_.ended = Clock::now();
    if (!leader_status_) end_.leader_ended = end_.ended;
    if (killed_at_) end_.kill_to_empty = std::chrono::duration_cast<Milliseconds>(end_.ended - *killed_at_);
    if (leader_status_ && WIFEXITED(*leader_status_)) end_.exit_code = WEXITSTATUS(*leader_status_);
    if (leader_status_ && WIFSIGNALED(*leader_status_)) end_.exit_signal = WTERMSIG(*leader_status_);
    end_.output = capture_->finish();
    end_.events_too_long = event_lines_.too_long();
    spec_.on_event_line = nullptr;
    std::exchange(on_end_, nullptr)(std::move(end_));
  }

  static void take_terminal_back() {
    sigset_t ttou;
    sigset_t saved;
    sigemptyset(&ttou);
    sigaddset(&ttou, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &ttou, &saved);
    tcsetpgrp(STDIN_FILENO, getpgrp());
    pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  }

  asio::io_context& io_;
  Recipe& recipe_;
  ProcessSpec spec_;
  OnEnd on_end_;
  Phase phase_ = Phase::kRunning;
  ProcessEnd end_;

  pid_t guard_pid_ = 0;
  bool guard_gone_ = true;
  std::optional<int> leader_status_;
  std::optional<SpawnError> spawn_failure_;
  std::optional<CgroupLeaf> leaf_;
  int busy_text_retries_ = 0;
  bool waits_for_retry_ = false;

  Descriptor control_;
  Descriptor guard_watch_;
  asio::steady_timer limit_timer_;
  asio::steady_timer stall_timer_;
  asio::steady_timer step_timer_;
  bool forgave_lateness_ = false;
  Clock::time_point last_activity_;
  std::optional<Clock::time_point> killed_at_;

  Descriptor out_;
  Descriptor err_;
  Descriptor events_;
  std::optional<Capture> capture_;
  LineSplitter event_lines_;
};

}  // namespace

std::shared_ptr<ContainedProcess> ContainedProcess::start(asio::io_context& io, Containment& containment,
                                                          ProcessSpec spec, OnEnd on_end) {
  auto process = std::make_shared<Case>(io, containment, std::move(spec), std::move(on_end));
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
