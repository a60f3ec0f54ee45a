#include "reports/resolve/resolved_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

const Verdict kNoEnd{Outcome::kNotrun, Reason::kInterrupted};

}  // namespace

std::vector<EnvironmentVariable> Attempt::environment() const {
  return unpack_environment(packed_environment, common->words);
}

TelemetryInfo Attempt::telemetry() const { return unpack_telemetry(packed_telemetry, common->words); }

std::vector<const PlannedDevice*> Attempt::devices() const {
  std::vector<const PlannedDevice*> known;
  for (const std::string& id : start.devices) {
    const auto device = std::ranges::find(common->devices, id, &PlannedDevice::id);
    if (device != common->devices.end()) known.push_back(&*device);
  }
  return known;
}

const Verdict& verdict_of(const Attempt& attempt) { return attempt.end ? attempt.end->verdict : kNoEnd; }

bool is_suspect(const Attempt& attempt) {
  return attempt.end && has_mark(attempt.end->marks, Mark::kDeviceSuspect);
}

bool counts(const Attempt& attempt) {
  return !is_suspect(attempt) && !(attempt.end && has_mark(attempt.end->marks, Mark::kUnproven));
}

bool passed_after_retry(const Attempt& attempt) {
  return attempt.end && has_mark(attempt.end->marks, Mark::kFlaky);
}

bool is_proven(const ResolvedCase& test) { return test.verdict.outcome != Outcome::kNotrun; }

int attempt_count(const ResolvedCase& test) {
  return static_cast<int>(std::ranges::count(test.attempts, false, &Attempt::confirmed_alone));
}

std::string telling_devices(const ResolvedCase& test) {
  return test.telling == nullptr ? "" : joined(test.telling->start.devices, "+");
}

const std::string& message_line(const ResolvedCase& test) {
  return test.flaky && test.telling != nullptr ? test.telling->headline : test.headline;
}

// A word with control characters, or bytes that are not UTF-8, needs a shell with $'...', such as bash.
std::string quoted_word(const std::string& word) {
  if (clean_text(word) == word) return shell_quote(word);
  std::string text = "$'";
  for (const char byte : word) {
    const bool is_plain = byte >= 0x20 && byte < 0x7f && byte != '\\' && byte != '\'';
    text += is_plain ? std::string(1, byte) : fmt::format("\\{:03o}", static_cast<unsigned char>(byte));
  }
  return text + '\'';
}

std::string RerunLine::of(const std::string& case_id) const {
  return after ? before + quoted_word(case_id) + *after : before;
}

std::string_view to_string(Suspect suspect) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "code", "device", "unclear"};
  return kNames[static_cast<std::size_t>(suspect)];
}

}  // namespace proctor
