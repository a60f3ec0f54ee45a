#include "harness/journal/child_report.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>

#include "harness/base/json.h"
#include "harness/journal/child_protocol.h"

namespace proctor {
namespace {

using nlohmann::json;

// The most failures, measures and warnings that are kept of one case: a loop must not use up the memory.
constexpr std::size_t kMaxKept = 1000;
constexpr std::size_t kMaxTrials = 4096;  // per case: 64 devices have 4032 ordered pairs
// of the lines of all failures, measures, properties, trials and warnings
constexpr std::size_t kMaxKeptBytes = 8 * 1024 * 1024;
constexpr std::size_t kViolationText = 200;
constexpr std::size_t kMaxOutput = 64 * 1024;

// Returns a scalar of any type as text: `expected` and `got` are often numbers.
std::string text_of(const json& event, const char* key) {
  const auto it = event.find(key);
  if (it == event.end() || it->is_null()) return {};
  return it->is_string() ? it->get<std::string>() : it->dump(-1, ' ', false, json::error_handler_t::replace);
}

double number_of(const json& event, const char* key, double fallback) {
  const auto it = event.find(key);
  return it != event.end() && it->is_number() ? it->get<double>() : fallback;
}

// Returns `fallback` for a number that the type cannot hold.
template <std::signed_integral T>
T number_of(const json& event, const char* key, T fallback) {
  const auto it = event.find(key);
  if (it == event.end()) return fallback;
  if (it->is_number_unsigned() && !std::in_range<T>(it->get<std::uint64_t>())) return fallback;
  if (it->is_number_integer()) {
    const auto number = it->get<std::int64_t>();
    return std::in_range<T>(number) ? static_cast<T>(number) : fallback;
  }
  const double number = number_of(event, key, std::numeric_limits<double>::infinity());
  const bool fits = std::abs(number) <= static_cast<double>(std::numeric_limits<T>::max() / 2);
  return fits ? static_cast<T>(number) : fallback;
}

std::optional<ChildResult> parse_result(const std::string& text) {
  if (text == "pass") return ChildResult::kPass;
  if (text == "fail") return ChildResult::kFail;
  if (text == "skip") return ChildResult::kSkip;
  if (text == "xfail") return ChildResult::kXfail;
  if (text == "xpass") return ChildResult::kXpass;
  if (text == "error") return ChildResult::kError;
  return std::nullopt;
}

Failure failure_of(const json& event) {
  return {.rule = text_of(event, "rule"),
          .message = text_of(event, "message"),
          .file = text_of(event, "file"),
          .line = number_of(event, "line", 0),
          .expected = text_of(event, "expected"),
          .got = text_of(event, "got"),
          .device = text_of(event, "device")};
}

Measure measure_of(const json& event) {
  return {.name = text_of(event, "name"),
          .value = number_of(event, "value", 0.0),
          .unit = text_of(event, "unit"),
          .n = number_of<std::int64_t>(event, "n", 1),
          .spread = number_of(event, "spread", 0.0)};
}

// A trial whose `ok` is missing or not true counts as failed.
Trial trial_of(const json& event) {
  Trial trial{.ok = event.contains("ok") && event["ok"] == true, .devices = {}};
  const auto devices = event.find("devices");
  if (devices == event.end() || !devices->is_array()) return trial;
  for (const json& device : *devices)
    if (device.is_object()) trial.devices.push_back({text_of(device, "role"), text_of(device, "device")});
  return trial;
}

// Appends to the list within the limits. The first item of a list is always kept: a lost failure would turn
// the case into a pass.
template <typename T>
void keep(std::vector<T>& list, T item, std::size_t bytes = 0, std::size_t most = kMaxKept) {
  if (list.empty() || (list.size() < most && bytes <= kMaxKeptBytes)) list.push_back(std::move(item));
}

}  // namespace

void ChildReport::violate(std::string_view line) {
  if (violations_++ == 0) first_violation_ = line.substr(0, kViolationText);
}

std::optional<std::string> ChildReport::started_case(std::string_view line) {
  if (line.find("start") == line.npos) return std::nullopt;  // Most lines end here. To parse them is slow.
  const json event = parse_json(line);
  if (!event.is_object() || text_of(event, "event") != "start") return std::nullopt;
  return text_of(event, "case");
}

// Returns true if the event belongs to a run of a case that was not requested. A program can run other cases than the
// requested one, or the requested one twice. It then reports them one after the other.
bool ChildReport::is_of_another_run(std::string_view event, const std::string& about) {
  if (event == "start") {
    in_another_run_ = began_ || (!about.empty() && about != case_name_);
    began_ = began_ || !in_another_run_;
    if (in_another_run_ && also_ran_.empty()) also_ran_ = about.empty() ? case_name_ : about;
  }
  return in_another_run_;
}

void ChildReport::add_line(std::string_view line) {
  const json event = parse_json(line);
  if (!event.is_object() || !event.contains("event") || number_of(event, "v", 0) != child::kProtocolVersion) {
    return violate(line);
  }
  const auto name = text_of(event, "event");
  const auto about = text_of(event, "case");
  if (is_of_another_run(name, about)) return;
  if (!about.empty() && about != case_name_) return violate(line);
  if (result_) return violate(line);  // nothing may follow `end`

  if (name == "start") {
    rule_ = text_of(event, "rule");
    source_ = text_of(event, "source");
    severity_ = SeverityWord::in_text(text_of(event, "severity"));
    start_ns_ = number_of<std::int64_t>(event, "t_ns", 0);
  } else if (name == "step") {
    last_step_ = text_of(event, "name");
    if (first_step_ns_ == 0) first_step_ns_ = number_of<std::int64_t>(event, "t_ns", 0);
  } else if (name == "measure") {
    keep(measures_, measure_of(event), kept_bytes_ += line.size());
  } else if (name == "property") {
    keep(properties_, std::pair(text_of(event, "name"), text_of(event, "value")), kept_bytes_ += line.size());
  } else if (name == "trial") {
    keep(trials_, trial_of(event), kept_bytes_ += line.size(), kMaxTrials);
  } else if (name == "skip") {
    skip_reason_ = text_of(event, "reason");
  } else if (name == "fail") {
    if (first_failure_ns_ == 0) first_failure_ns_ = number_of<std::int64_t>(event, "t_ns", 0);
    if (fail_reason_.empty()) fail_reason_ = text_of(event, "reason");
    keep(failures_, failure_of(event), kept_bytes_ += line.size());
  } else if (name == "retry") {
    keep(failed_tries_, failure_of(event), kept_bytes_ += line.size());
  } else if (name == "warn") {
    keep(warnings_, text_of(event, "message"), kept_bytes_ += line.size());
  } else if (name == "leave") {
    leaves_ = text_of(event, "how");
  } else if (name == "output") {
    output_ += text_of(event, "text");
    if (output_.size() > kMaxOutput) output_.erase(0, output_.size() - kMaxOutput);
  } else if (name == "end") {
    result_ = parse_result(text_of(event, "result"));
    end_reason_ = text_of(event, "reason");
    if (event.contains("took_ms")) took_ = Milliseconds(number_of<std::int64_t>(event, "took_ms", 0));
    if (!result_) violate(line);
  }
}

ChildReport ChildReport::of_ranks(const std::vector<const ChildReport*>& ranks) {
  const ChildReport* answers = ranks.front();
  for (const ChildReport* rank : ranks) {
    if (rank->first_failure_ns_ == 0) continue;
    if (answers->first_failure_ns_ == 0 || rank->first_failure_ns_ < answers->first_failure_ns_)
      answers = rank;
  }
  ChildReport all = *answers;
  for (const ChildReport* rank : ranks) {
    if (rank->set_up_ns() > 0) all.first_step_ns_ = std::min(all.set_up_ns(), rank->set_up_ns());
  }
  all.failures_.clear();
  all.failed_tries_.clear();
  all.trials_.clear();
  all.warnings_.clear();
  all.also_ran_.clear();
  all.violations_ = 0;
  all.first_violation_.clear();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::string who = "rank " + std::to_string(i) + ": ";
    const auto keep_all = [&who](const std::vector<Failure>& from, std::vector<Failure>& to) {
      for (Failure failure : from) {
        failure.message = who + failure.message;
        keep(to, std::move(failure));
      }
    };
    keep_all(ranks[i]->failures_, all.failures_);
    keep_all(ranks[i]->failed_tries_, all.failed_tries_);
    for (const Trial& trial : ranks[i]->trials_) keep(all.trials_, trial, 0, kMaxTrials);
    for (const std::string& warning : ranks[i]->warnings_) keep(all.warnings_, who + warning);
    if (all.also_ran_.empty()) all.also_ran_ = ranks[i]->also_ran_;
    if (all.violations_ == 0 && ranks[i]->violations_ > 0)
      all.first_violation_ = who + ranks[i]->first_violation_;
    all.violations_ += ranks[i]->violations_;
  }
  return all;
}

ReasonText ChildReport::reason() const {
  if (!end_reason_.empty()) return reason_in_words(end_reason_);
  return reason_in_words(result_ == ChildResult::kSkip ? skip_reason_ : fail_reason_);
}

}  // namespace proctor
