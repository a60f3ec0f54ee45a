#include "harness/process/ranks/rank_supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/base/argv.h"
#include "harness/base/json.h"
#include "harness/base/result.h"
#include "harness/base/text.h"
#include "harness/base/unique_fd.h"
#include "harness/journal/child_protocol.h"
#include "harness/process/capture.h"
#include "harness/process/guard/protocol.h"
#include "harness/process/ranks/rank_plan.h"

namespace proctor {
namespace {

// One rank: the process, and the pipes that it writes to.
class RankProcess {
 public:
  enum Source { kOut, kErr, kEvents };
  // Called with a line that the rank wrote, without the newline.
  using OnLine = std::function<void(Source, std::string_view)>;

  RankProcess(std::string log, OnLine on_line);

  // Starts the rank in its own process group. Its descriptors are 0-2, the events, and those that the
  // supervisor itself inherited. Returns an errno value, or 0 if the rank runs.
  int start(const RankPlan& plan, const std::vector<std::string>& env);

  pid_t pid() const { return pid_; }
  const std::array<UniqueFd, 3>& pipes() const { return pipes_; }
  // Reads the available bytes, at most 64 KiB. Closes the pipe at end-of-file.
  void read(Source source);
  // Reads the remaining bytes of every pipe, after the end of the rank.
  void read_rest();
  // Sends SIGKILL to its process group.
  void kill() const;
  OutputInfo finish_log() { return log_.finish(); }

  // State that the supervisor records about the rank.
  std::optional<int> status;  // of waitpid, once the rank is reaped
  std::string leaves;         // the end that the rank announced
  bool killed = false;        // by the supervisor

 private:
  bool read_once(Source source);
  void take(Source source, std::string_view bytes);

  OnLine on_line_;
  Capture log_;
  pid_t pid_ = 0;
  std::array<UniqueFd, 3> pipes_;
  std::array<LineSplitter, 3> lines_;
};

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kTagBytes = 32;  // added to an event, which must still fit into one line

// The two objects of posix_spawn, which must be destroyed.
class SpawnOptions {
 public:
  SpawnOptions() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~SpawnOptions() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;

  void duplicate(int fd, int number) { posix_spawn_file_actions_adddup2(&actions_, fd, number); }
  void close(int number) { posix_spawn_file_actions_addclose(&actions_, number); }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

RankProcess::RankProcess(std::string log, OnLine on_line)
    : on_line_(std::move(on_line)),
      log_(std::move(log), Clock::now()),
      lines_{LineSplitter(kReadBytes), LineSplitter(kReadBytes),
             LineSplitter(child::kMaxEventBytes - kTagBytes)} {}

int RankProcess::start(const RankPlan& plan, const std::vector<std::string>& env) {
  SpawnOptions options;
  std::array<UniqueFd, 3> ends;
  const int numbers[] = {STDOUT_FILENO, STDERR_FILENO, guard::kChildEventsFd};
  for (const Source source : {kOut, kErr, kEvents}) {
    if (source == kEvents && !plan.events) {
      options.close(numbers[source]);
      continue;
    }
    int both[2];
    if (pipe2(both, O_CLOEXEC) != 0) return errno;
    pipes_[source] = UniqueFd(both[0]);
    ends[source] = UniqueFd(both[1]);
    if (fcntl(both[0], F_SETFL, O_NONBLOCK) != 0) return errno;
    options.duplicate(both[1], numbers[source]);
  }
  auto own_env = env;
  if (plan.events)
    own_env.push_back(std::string(child::kEventsFdVariable) + "=" + std::to_string(guard::kChildEventsFd));
  const auto argv = argv_of(plan.argv);
  const auto envp = argv_of(own_env);
  return posix_spawnp(&pid_, argv[0], options.actions(), options.attributes(), argv.data(), envp.data());
}

bool RankProcess::read_once(Source source) {
  const auto bytes = std::make_unique_for_overwrite<char[]>(kReadBytes);
  const ssize_t got = ::read(pipes_[source].get(), bytes.get(), kReadBytes);
  if (got < 0) return errno == EINTR;
  if (got == 0) {
    lines_[source].finish([&](std::string_view line) { on_line_(source, line); });
    pipes_[source].reset();
    return false;
  }
  take(source, {bytes.get(), static_cast<std::size_t>(got)});
  return true;
}

void RankProcess::take(Source source, std::string_view bytes) {
  if (source != kEvents) log_.append(source == kOut ? Stream::kOut : Stream::kErr, bytes, Clock::now());
  lines_[source].feed(bytes, [&](std::string_view line) { on_line_(source, line); });
}

void RankProcess::read(Source source) { (void)read_once(source); }

// The amount is limited, because a process that the rank left behind may continue to write.
void RankProcess::read_rest() {
  constexpr int kMostReads = 64;
  for (const Source source : {kOut, kErr, kEvents}) {
    for (int reads = 0; reads < kMostReads && pipes_[source] && read_once(source); ++reads) {
    }
    lines_[source].finish([&](std::string_view line) { on_line_(source, line); });
    pipes_[source].reset();
  }
}

void RankProcess::kill() const {
  if (pid_ > 0) ::killpg(pid_, SIGKILL);
}

using nlohmann::json;

constexpr const char* kEndedByRunner = "ended";  // value of `leave`

// Returns true if a status of waitpid is the end that `leaves` announced.
bool is_as_announced(int status, const std::string& leaves) {
  if (WIFSIGNALED(status)) return leaves == "signal:" + std::to_string(WTERMSIG(status));
  return leaves == "exit:" + std::to_string(WEXITSTATUS(status));
}

bool ended_well(int status, const std::string& leaves, int skip_code) {
  if (!leaves.empty()) return is_as_announced(status, leaves);
  return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == skip_code);
}

// Shortens the text so that both streams fit into one event, even if each byte needs an escape.
std::string end_of(const std::string& tail) {
  constexpr std::size_t kMost = 6'000;
  return clean_text(tail.size() > kMost ? tail.substr(tail.size() - kMost) : tail);
}

// Adds the containment id of this process (process/recipe.h) to the environment of a rank. The plan was made
// before this case got its id, which marks the processes that a rank leaves behind.
std::vector<std::string> marked_as_we_are(std::vector<std::string> env) {
  unset_variable(env, child::kContainmentVariable);
  if (const char* mark = ::getenv(child::kContainmentVariable))
    set_variable(env, child::kContainmentVariable, mark);
  return env;
}

class RankSupervisor {
 public:
  RankSupervisor(const RankPlan& plan, int events_fd) : plan_(plan), events_fd_(events_fd) {}
  ~RankSupervisor() { pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr); }
  RankSupervisor(const RankSupervisor&) = delete;
  RankSupervisor& operator=(const RankSupervisor&) = delete;

  Result<void> run() {
    if (::mkdir(plan_.rendezvous.c_str(), 0700) != 0 && errno != EEXIST)
      return Error::system("make " + plan_.rendezvous, errno);
    const auto port = reserve_port();
    if (!port) return port.error();
    if (!hold_signals()) return Error::system("watch the ranks", errno);
    start(*port);
    while (!all_ended()) {
      wait();
      reap();
      end_what_is_left();
    }
    return {};
  }

 private:
  // Also blocks the signals that end a case, because the guard sends them to the ranks as well.
  bool hold_signals() {
    sigset_t held;
    sigfillset(&held);
    if (pthread_sigmask(SIG_BLOCK, &held, &mask_before_) != 0) return false;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    child_ended_ = UniqueFd(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    return static_cast<bool>(child_ended_);
  }

  void start(int port) {
    const int world = static_cast<int>(plan_.ranks.size());
    for (int rank = 0; rank < world; ++rank) {
      const RankSpec& spec = plan_.ranks[static_cast<std::size_t>(rank)];
      RankProcess& process = ranks_.emplace_back(
          spec.log,
          [this, rank](RankProcess::Source source, std::string_view line) { pass_on(rank, source, line); });
      auto env = rank_environment(marked_as_we_are(spec.env), rank, world, port, plan_.rendezvous);
      const int error = process.start(plan_, env);
      if (error != 0) report_refused(rank, error);
    }
  }

  bool all_ended() const {
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [](const auto& rank) { return rank.status.has_value(); });
  }

  // ---- output of the ranks ----

  void write_line(int fd, const std::string& line) {
    std::string_view rest = line;
    while (!rest.empty()) {
      const ssize_t put = ::write(fd, rest.data(), rest.size());
      if (put < 0 && errno != EINTR) return;  // the reader has closed its end; the log has the line
      if (put > 0) rest.remove_prefix(static_cast<std::size_t>(put));
    }
  }

  void pass_on(int rank, RankProcess::Source source, std::string_view line) {
    if (source != RankProcess::kEvents) {
      const int fd = source == RankProcess::kOut ? STDOUT_FILENO : STDERR_FILENO;
      return write_line(fd, fmt::format("[{}] {}\n", rank, line));
    }
    note_leave(rank, line);
    write_line(events_fd_,
               fmt::format("{} {}\n", rank, line));  // the number shows that the line comes from a rank
  }

  void note_leave(int rank, std::string_view line) {
    if (line.find("\"leave\"") == line.npos) return;
    const json event = parse_json(line);
    if (!event.is_object() || event.value("event", json()) != "leave") return;
    const json how = event.value("how", json());
    if (how.is_string()) ranks_[static_cast<std::size_t>(rank)].leaves = how.get<std::string>();
  }

  void report_value(int rank, json fields) {
    fields["v"] = child::kProtocolVersion;
    fields["event"] = "rank_end";
    fields["rank"] = rank;
    write_line(events_fd_, fields.dump() + "\n");
  }

  void report_refused(int rank, int error) {
    ranks_[static_cast<std::size_t>(rank)].status = 0;
    limit_the_rest();
    report_value(rank, {{"step", "exec"}, {"errno", error}});
  }

  // ---- end of the ranks ----

  void wait() {
    std::vector<pollfd> fds = {{child_ended_.get(), POLLIN, 0}};
    std::vector<std::pair<RankProcess*, RankProcess::Source>> sources = {{nullptr, RankProcess::kOut}};
    for (RankProcess& rank : ranks_) {
      for (const auto source : {RankProcess::kOut, RankProcess::kErr, RankProcess::kEvents}) {
        if (!rank.pipes()[source]) continue;
        fds.push_back({rank.pipes()[source].get(), POLLIN, 0});
        sources.emplace_back(&rank, source);
      }
    }
    if (poll(fds.data(), fds.size(), poll_timeout()) < 0) return;
    signalfd_siginfo info;
    while (::read(child_ended_.get(), &info, sizeof(info)) > 0) {
    }
    for (std::size_t i = 1; i < fds.size(); ++i) {
      if (fds[i].revents != 0) sources[i].first->read(sources[i].second);
    }
  }

  // Returns the milliseconds until the deadline of the remaining ranks, -1 without a deadline.
  int poll_timeout() const {
    if (!others_until_) return -1;
    const auto left = std::chrono::ceil<Milliseconds>(*others_until_ - Clock::now());
    return static_cast<int>(std::clamp<Milliseconds::rep>(left.count(), 0, 60'000));
  }

  void reap() {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      RankProcess& rank = ranks_[i];
      int status = 0;
      if (rank.status || waitpid(rank.pid(), &status, WNOHANG) != rank.pid()) continue;
      rank.status = status;
      rank.read_rest();
      const bool badly = !rank.killed && !ended_well(status, rank.leaves, plan_.skip_code);
      if (badly) limit_the_rest();
      const OutputInfo output = rank.finish_log();
      json fields = {{"exit", WIFEXITED(status) ? json(WEXITSTATUS(status)) : json()},
                     {"signal", WIFSIGNALED(status) ? json(WTERMSIG(status)) : json()},
                     {"pid", rank.pid()},
                     {"core", WIFSIGNALED(status) && WCOREDUMP(status)},
                     {"stopped_by_proctor", rank.killed},
                     {"bytes", output.bytes},
                     {"dropped_bytes", output.dropped_bytes}};
      if (badly) {
        fields["out"] = end_of(output.stdout_tail);
        fields["err"] = end_of(output.stderr_tail);
      }
      report_value(static_cast<int>(i), std::move(fields));
    }
  }

  void limit_the_rest() {
    if (!others_until_) others_until_ = Clock::now() + plan_.grace;
  }

  void end_what_is_left() {
    const auto any = [this](const auto& holds) {
      return std::any_of(ranks_.begin(), ranks_.end(),
                         [&](const RankProcess& rank) { return !rank.status && holds(rank); });
    };
    const bool waits_for_one = any([](const RankProcess& rank) { return rank.leaves != kEndedByRunner; });
    // A rank that announced another end may need time to reach it.
    if (waits_for_one && !any([](const RankProcess& rank) { return rank.leaves.empty(); })) limit_the_rest();
    const bool time_is_over = others_until_ && Clock::now() >= *others_until_;
    if (waits_for_one && !time_is_over) return;
    others_until_.reset();
    for (RankProcess& rank : ranks_) {
      if (rank.status || rank.killed) continue;
      rank.killed = true;
      rank.kill();
    }
  }

  const RankPlan& plan_;
  int events_fd_;
  sigset_t mask_before_{};  // set by hold_signals()
  UniqueFd child_ended_;
  std::deque<RankProcess> ranks_;
  std::optional<Clock::time_point> others_until_;  // deadline of the remaining ranks
};

}  // namespace

Result<void> supervise_ranks(const RankPlan& plan, int events_fd) {
  return RankSupervisor(plan, events_fd).run();
}

}  // namespace proctor
