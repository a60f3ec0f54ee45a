#include "harness/plan/limit_settings.h"

#include <fmt/format.h>

#include "harness/base/text.h"
#include "harness/request/option.h"

namespace proctor {
namespace {

constexpr int kMaxRetries = 100;

// ---- A key of a table ----

struct LimitKey {
  TableReader& reader;
  const std::string& file;
  ConcurrencyGroups& groups;
  const char* key;
};

void read(const LimitKey& from, std::optional<std::optional<Milliseconds>>& out) {
  from.reader.read(from.key, out);
}

void read(const LimitKey& from, std::optional<Milliseconds>& out) { from.reader.read(from.key, out, true); }

void read(const LimitKey& from, std::optional<int>& out) { from.reader.read(from.key, out, 0, kMaxRetries); }

void read(const LimitKey& from, std::optional<bool>& leaks_fail) {
  std::optional<std::string> leaks;
  from.reader.read_choice(from.key, leaks, {"warn", "fail"});
  if (leaks) leaks_fail = *leaks == "fail";
}

void read(const LimitKey& from, std::optional<std::string>& group) {
  from.groups.read_key(from.reader, from.file, group);
}

// ---- An option ----

std::optional<Error> put(const std::string& option, const std::string& text, bool zero_allowed,
                         std::optional<Milliseconds>& out) {
  const Result<Milliseconds> duration = parse_duration(text);
  if (!duration)
    return Error::refused(fmt::format("{}: {}", option, duration.error().what), duration.error().hint);
  if (*duration == Milliseconds(0) && !zero_allowed)
    return Error::refused(fmt::format("`{}` must be greater than zero (got {})", option, text));
  out = *duration;
  return std::nullopt;
}

std::optional<Error> put(const std::string& option, const std::string& text,
                         std::optional<Milliseconds>& out) {
  return put(option, text, true, out);
}

// Parses a duration above zero, or "off".
std::optional<Error> put(const std::string& option, const std::string& text,
                         std::optional<std::optional<Milliseconds>>& out) {
  std::optional<Milliseconds> limit;
  if (text != "off") {
    if (auto error = put(option, text, false, limit)) {
      if (error->hint.empty()) error->hint = fmt::format("For no limit, use `{} off`.", option);
      return error;
    }
  }
  out = limit;
  return std::nullopt;
}

std::optional<Error> put(const std::string& option, const std::string& text, std::optional<int>& out) {
  const auto number = whole_number(text, 0, kMaxRetries);
  if (!number) {
    return Error::refused(fmt::format("{} must be a whole number from 0 to {} (got {})", option, kMaxRetries,
                                      shell_quote(text)));
  }
  out = *number;
  return std::nullopt;
}

std::optional<Error> put(const std::string& /*option*/, const std::string& text,
                         std::optional<bool>& leaks_fail) {
  leaks_fail = text == "fail";
  return std::nullopt;
}

std::optional<Error> put(const std::string& /*option*/, const std::string& text,
                         std::optional<std::string>& out) {
  out = text;
  return std::nullopt;
}

}  // namespace

const std::vector<LimitSetting>& limit_settings() {
  using TimeLimit = LimitPlace<std::optional<Milliseconds>>;
  static const std::vector<LimitSetting> kSettings = {
      {.key = "timeout",
       .value = TimeLimit{&Limits::timeout, &CasePolicy::timeout},
       .typed = &LimitOptions::timeout,
       .in_plan = "timeout_ms"},
      {.key = "grace",
       .value = LimitPlace<Milliseconds>{&Limits::grace, &CasePolicy::grace},
       .typed = &LimitOptions::grace,
       .in_plan = "grace_ms"},
      {.key = "stall",
       .value = TimeLimit{&Limits::stall, &CasePolicy::stall},
       .typed = &LimitOptions::stall,
       .in_plan = "stall_ms"},
      {.key = "startup",
       .value = TimeLimit{&Limits::startup, &CasePolicy::startup},
       .in_plan = "startup_ms",
       .omitted_at_default = true},
      {.key = "shutdown",
       .value = TimeLimit{&Limits::shutdown, &CasePolicy::shutdown},
       .in_plan = "shutdown_ms",
       .omitted_at_default = true},
      {.key = "retries",
       .value = LimitPlace<int>{&Limits::retries, &CasePolicy::retries},
       .typed = &LimitOptions::retries,
       .in_plan = "retries"},
      {.key = "leaks",
       .value = LimitPlace<bool>{&Limits::leaks_fail, &CasePolicy::leaks_fail},
       .typed = &LimitOptions::leaks,
       .in_plan = "leaks"},
      {.key = "group",
       .value = LimitPlace<std::string>{&Limits::group, &CasePolicy::concurrency_group},
       .in_plan = "group",
       .omitted_at_default = true}};
  return kSettings;
}

bool is_set(const LimitSetting& setting, const Limits& limits) {
  return std::visit([&](const auto& place) { return (limits.*place.in_table).has_value(); }, setting.value);
}

void overlay(const Limits& limits, CasePolicy& policy) {
  for (const LimitSetting& setting : limit_settings()) {
    std::visit(
        [&](const auto& place) {
          if (limits.*place.in_table) policy.*place.in_policy = *(limits.*place.in_table);
        },
        setting.value);
  }
}

void read_limits(TableReader& reader, const std::string& file, ConcurrencyGroups& groups, Limits& limits) {
  for (const LimitSetting& setting : limit_settings()) {
    const LimitKey from{reader, file, groups, setting.key.c_str()};
    std::visit([&](const auto& place) { read(from, limits.*place.in_table); }, setting.value);
  }
}

std::optional<Error> read_limit_options(const LimitOptions& options, Limits& limits) {
  for (const LimitSetting& setting : limit_settings()) {
    if (setting.typed == nullptr || !(options.*setting.typed)) continue;
    const std::string& text = *(options.*setting.typed);
    auto error =
        std::visit([&](const auto& place) { return put("--" + setting.key, text, limits.*place.in_table); },
                   setting.value);
    if (error) return error;
  }
  return std::nullopt;
}

}  // namespace proctor
