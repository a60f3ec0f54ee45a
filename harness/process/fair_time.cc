#include "harness/process/fair_time.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "harness/base/read_file.h"
#include "harness/process/proc_reader.h"

namespace proctor {
namespace {

constexpr Milliseconds kLongestPoll{1'000};

std::string read_of(pid_t pid, const char* name) {
  return read_file_or_empty("/proc/" + std::to_string(pid) + "/" + name);
}

// Returns the first number of schedstat: the time on a CPU, in nanoseconds.
Microseconds ran_for(pid_t pid) {
  const std::string text = read_of(pid, "schedstat");
  std::int64_t nanoseconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), nanoseconds);
  return Microseconds(nanoseconds / 1000);
}

bool wants_processor(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat && stat->state == 'R';
}

}  // namespace

FairTime::FairTime(const PressureGauge& gauge, const FrozenTime& frozen)
    : gauge_(gauge), frozen_(frozen), begin_(frozen.known_now()), before_(gauge.now()) {}

Milliseconds FairTime::left_of(Milliseconds limit) const {
  const auto now = frozen_.now();
  if (!now) return FrozenTime::kAskAgain;
  const auto real = std::chrono::duration_cast<Microseconds>(*now - begin_);
  if (real >= kMostPatience * limit) return Milliseconds(0);
  const Pressure during = gauge_.now() - before_;
  const Microseconds counted = std::min(real, std::max(real - during.cpu, during.used));
  return std::chrono::ceil<Milliseconds>(std::max(limit - counted, Microseconds(0)));
}

void Patience::sample(pid_t pid) {
  const Clock::time_point now = Clock::now();
  const Clock::duration real = std::clamp<Clock::duration>(now - last_, Clock::duration(0), kLongestPoll);
  const Microseconds ran = ran_for(pid);
  const Microseconds more = pid == pid_ ? ran - ran_ : Microseconds(0);
  idle_ += pid == 0 || wants_processor(pid) ? std::min<Clock::duration>(real, more) : real;
  real_ += real;
  pid_ = pid;
  ran_ = ran;
  last_ = now;
}

bool KillWait::is_over(const std::vector<pid_t>& left) {
  const Clock::time_point now = Clock::now();
  const Clock::duration real = std::clamp<Clock::duration>(now - last_, Clock::duration(0), kLongestPoll);
  last_ = now;
  real_ += real;
  const bool on_its_way = !left.empty() && std::all_of(left.begin(), left.end(), wants_processor);
  if (!on_its_way) idle_ += real;
  return idle_ >= limit_ || real_ >= kMostPatience * limit_;
}

std::string held_by(pid_t pid) {
  constexpr std::string_view kTracer = "TracerPid:\t";
  const std::string status = read_of(pid, "status");
  if (const auto at = status.find(kTracer); at != std::string::npos) {
    const std::string tracer =
        status.substr(at + kTracer.size(), status.find('\n', at) - at - kTracer.size());
    if (tracer != "0") return "process " + tracer + " traces it";
  }
  const auto stat = read_stat(pid);
  return stat && (stat->state == 'T' || stat->state == 't') ? "it is stopped" : "";
}

}  // namespace proctor
