#include "harness/process/frozen_time.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace proctor {
namespace {

constexpr Milliseconds kBeat{100};
constexpr int kSilentBeats = 3;  // the thread counts as not awake after these

// Returns how long the calling thread has waited for a CPU. The kernel counts this without gaps.
Clock::duration waited_for_processor(const UniqueFd& schedstat) {
  std::array<char, 96> text{};
  if (pread(schedstat.get(), text.data(), text.size() - 1, 0) <= 0) return Clock::duration(0);
  char* second = nullptr;
  std::strtoull(text.data(), &second, 10);
  return std::chrono::nanoseconds(std::strtoll(second, nullptr, 10));
}

// Returns a value that grows while the machine is suspended (clock_gettime(2)).
Clock::duration suspended_so_far() {
  timespec boot{};
  timespec monotonic{};
  if (clock_gettime(CLOCK_BOOTTIME, &boot) != 0 || clock_gettime(CLOCK_MONOTONIC, &monotonic) != 0)
    return Clock::duration(0);
  return std::chrono::seconds(boot.tv_sec - monotonic.tv_sec) +
         std::chrono::nanoseconds(boot.tv_nsec - monotonic.tv_nsec);
}

}  // namespace

void FrozenTime::watch() {
  beat_ = UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  if (!beat_) return;
  last_beat_ = Clock::now();
  blind_ = false;
  sigset_t all;
  sigset_t saved;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &saved);  // signals are for the main thread
  std::promise<void> ready;
  thread_ = std::thread([this, &ready] { run(ready); });
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  ready.get_future().wait();  // the thread opens its files before a case can lower the limit of open files
}

FrozenTime::~FrozenTime() {
  if (!thread_.joinable()) return;
  stop_ = true;
  const itimerspec at_once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 1}};
  timerfd_settime(beat_.get(), 0, &at_once, nullptr);
  thread_.join();
}

void FrozenTime::run(std::promise<void>& ready) {
  const UniqueFd schedstat(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  ready.set_value();
  Clock::duration waited = waited_for_processor(schedstat);
  Clock::duration suspended = suspended_so_far();
  // The kernel counts the expirations of a timerfd, because the clock that this process sees may jump. The
  // loop uses read() and not poll(), because a test may lower the runner's limit of open files, which poll()
  // checks.
  const timespec beat{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kBeat).count()};
  const itimerspec each{.it_interval = beat, .it_value = beat};
  timerfd_settime(beat_.get(), 0, &each, nullptr);
  std::uint64_t beats = 0;
  while ((::read(beat_.get(), &beats, sizeof beats) > 0 || errno == EINTR) && !stop_) {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    const Clock::duration gap = now - last_beat_;
    const Clock::duration waited_now = waited_for_processor(schedstat);
    const Clock::duration suspended_now = suspended_so_far();
    // The whole interval counts as frozen, including the part before the freeze. A case thus gets slightly
    // too much time, never too little.
    const Clock::duration frozen = gap - (waited_now - waited);
    if (frozen >= kBeat + kNotable || gap < Clock::duration(0)) skipped_ += frozen;
    if (suspended_now - suspended >= kNotable) suspended_ += suspended_now - suspended;
    waited = waited_now;
    suspended = suspended_now;
    last_beat_ = now;
  }
  const std::lock_guard lock(mutex_);
  blind_ = true;
}

std::optional<Clock::time_point> FrozenTime::now() const {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (blind_) return now - skipped_;
  if (now < last_beat_ || now - last_beat_ > kSilentBeats * kBeat) return std::nullopt;
  return now - skipped_;
}

Clock::time_point FrozenTime::known_now() const {
  const std::lock_guard lock(mutex_);
  return Clock::now() - skipped_;
}

Clock::duration FrozenTime::total() const {
  const std::lock_guard lock(mutex_);
  // A case may end before the thread has measured again.
  const Clock::duration gap = blind_ ? Clock::duration(0) : Clock::now() - last_beat_;
  const Clock::duration unseen = gap >= kBeat + kNotable ? gap : Clock::duration(0);
  return std::max(skipped_, Clock::duration(0)) + suspended_ + unseen;
}

Milliseconds FrozenTime::take_notable() {
  const Clock::duration all = total();
  const auto rest = std::chrono::duration_cast<Milliseconds>(all - taken_);
  if (rest < kNotable) return Milliseconds(0);
  taken_ = all;
  return rest;
}

}  // namespace proctor
