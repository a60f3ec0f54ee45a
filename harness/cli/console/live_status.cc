#include "harness/cli/console/live_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "harness/base/duration.h"
#include "harness/base/number_text.h"

namespace proctor::cli {
namespace {

std::string age(std::int64_t ms) {
  return ms < 60'000 ? std::to_string(ms / 1000) + " s" : human_duration(std::chrono::seconds(ms / 1000));
}

// It is a guess: no seconds behind minutes.
std::string rounded(std::int64_t ms) {
  const std::int64_t minutes = (ms + 59'999) / 60'000;
  if (ms < 60'000) return std::to_string(ms / 1000) + " s";
  if (minutes < 60) return std::to_string(minutes) + " min";
  return human_duration(std::chrono::minutes(minutes));
}

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

}  // namespace

bool is_slow(const RunningCase& running) {
  return running.timeout_ms > 0 && running.age_ms * 2 > running.timeout_ms;
}

std::int64_t eta_ms(const LiveState& state) {
  if (state.executed == 0) return -1;
  const std::int64_t mean = state.executed_ms / state.executed;
  std::int64_t left = mean * (state.planned - state.ended - static_cast<int>(state.running.size()));
  for (const auto& running : state.running) left += std::max<std::int64_t>(0, mean - running.age_ms);
  const std::int64_t least = state.running.empty() ? 0 : 1'000;  // what runs has not ended
  return std::max(least, left / std::max(1, state.jobs));
}

std::string elide(const std::string& text, int columns) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (starts_character(text[i])) starts.push_back(i);
  }
  const auto wanted = static_cast<std::size_t>(std::max(columns, 1));
  if (starts.size() <= wanted) return text;
  const std::size_t head = wanted / 2;
  const std::size_t tail = wanted - 1 - head;
  std::string elided = text.substr(0, starts[head]) + "…";
  if (tail > 0) elided += text.substr(starts[starts.size() - tail]);
  return elided;
}

std::string progress_text(const LiveState& state) {
  std::string text = fmt::format("[{}/{}]", thousands(state.ended), thousands(state.planned));
  if (state.bad > 0) text += fmt::format(" {} failed", thousands(state.bad));
  const auto eta = eta_ms(state);
  if (eta >= 0) text += (state.bad > 0 ? ", ETA " : " ETA ") + rounded(eta);
  return text;
}

std::string status_line(const LiveState& state, int columns) {
  std::string line = progress_text(state) + fmt::format(" · {} running", thousands(state.running.size()));
  const char* separator = ": ";
  for (const auto& running : state.running) {
    line += separator + elide(running.id, std::max(20, columns / 2)) + " " + age(running.age_ms);
    if (is_slow(running)) line += " SLOW";
    separator = ", ";
  }
  std::replace(line.begin(), line.end(), '\n', ' ');
  return elide(line, columns);
}

}  // namespace proctor::cli
