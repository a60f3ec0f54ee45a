#include "harness/runner/attempt/waits.h"

#include <fmt/format.h>

namespace proctor {
namespace {

// Returns "61" or "0.3": whole seconds from ten on.
std::string seconds(Microseconds time) {
  const double value = std::chrono::duration<double>(time).count();
  return value < 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

}  // namespace

std::vector<std::string> waits_at_limit(const Starvation& seen) {
  std::vector<std::string> texts;
  const auto add = [&](const char* what, Microseconds waited, const std::string& more) {
    texts.push_back(fmt::format("It waited for {} for {} of its {} s{}.", what, seconds(waited),
                                seconds(seen.window), more));
  };
  const auto long_enough = [&](Microseconds waited) {
    return seen.window.count() > 0 && 2 * waited >= seen.window;
  };
  const Pressure& during = seen.during;
  if (seen.is_starved())
    add("a CPU", during.cpu,
        fmt::format(" and got {} s{}", seconds(during.used),
                    seen.throttled ? "; a quota (cpu.max) throttled it" : ""));
  if (long_enough(during.memory)) add("memory", during.memory, "");
  if (long_enough(during.disk)) add("a disk", during.disk, "");
  return texts;
}

}  // namespace proctor
