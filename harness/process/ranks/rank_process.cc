#include "harness/process/ranks/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "harness/base/argv.h"
#include "harness/journal/child_protocol.h"
#include "harness/process/guard/protocol.h"

namespace proctor {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kTagBytes = 32;  // what is added to an event must still fit into one

// posix_spawn's two objects, which must be destroyed.
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

}  // namespace

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

// Bounded, because whoever it left behind may go on writing.
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

}  // namespace proctor
