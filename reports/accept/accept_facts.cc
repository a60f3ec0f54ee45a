#include <fmt/format.h>

#include <algorithm>

#include "reports/accept/accept_parts.h"

namespace proctor {
namespace {

using nlohmann::json;

// A rule of a management library, as action_for() knows it.
constexpr const char* kLink = "management/Inventory.LinkHasItsWidth";
constexpr const char* kSetting = "management/Inventory.Setting";
constexpr const char* kUncorrected = "management/Management.ErrorsUnderLoadAreCorrected";
constexpr const char* kRemap = "management/Inventory.NoRowIsWaitingToBeRemapped";
constexpr const char* kWorn = "management/Inventory.NoRemapFailed";
constexpr const char* kReset = "management/Inventory.NeedsNoReset";

void report(AcceptedDevice& device, const char* rule, const std::string& words) {
  device.findings.push_back({.step = "inventory",
                             .case_id = {},
                             .words = words,
                             .code = {},
                             .evidence = "accept.json",
                             .rule = action_for(rule, {Outcome::kFail, {}})});
}

const json* told(const FactsOfCards& facts, const std::string& id, const char* key) {
  const auto card = facts.find(id);
  return card == facts.end() ? nullptr : card->second.find(key);
}

// ---- What is wrong by itself ----

// A counter that rose while the device was judged.
struct Counter {
  const char* key;
  double most;  // so much it may rise
  const char* rule;
  const char* what;
};
constexpr Counter kCounters[] = {
    {"errors_uncorrected", 0, kUncorrected, "errors of its memory that were not corrected"},
    {"errors_corrected", 1000, kWorn, "errors of its memory that were corrected"},
    {"rows_remapped", 0, kRemap, "remapped rows"},
    {"replays", 100, kLink, "packets that its link repeated"},
};

void judge_counters(const AcceptQuestion& question, AcceptedDevice& device) {
  for (const Counter& counter : kCounters) {
    const json* before = told(question.before, device.id, counter.key);
    const json* after = told(question.after, device.id, counter.key);
    if (before == nullptr || after == nullptr || !before->is_number() || !after->is_number()) continue;
    if (after->get<double>() - before->get<double>() > counter.most)
      report(device, counter.rule,
             fmt::format("{}: {} before, {} after", counter.what, before->dump(), after->dump()));
  }
}

void judge_state(const AcceptQuestion& question, AcceptedDevice& device) {
  const auto is_true = [&](const char* key) {
    const json* value = told(question.after, device.id, key);
    return value != nullptr && value->is_boolean() && value->get<bool>();
  };
  if (is_true("remap_failed")) report(device, kWorn, "a row of its memory could not be remapped");
  if (is_true("remap_pending")) report(device, kRemap, "a row of its memory waits to be remapped");
  const json* reset = told(question.after, device.id, "reset_reason");
  if (reset != nullptr && reset->is_string() && !reset->get<std::string>().empty())
    report(device, kReset, "it asks for a reset: " + reset->get<std::string>());
}

// ---- What was expected ----

const char* rule_of(const std::string& key) {
  return key.starts_with("pcie") || key.starts_with("link") ? kLink : kSetting;
}

// An idle link is slow: of several answers the best.
const json* best_told(const AcceptQuestion& question, const std::string& id, const std::string& key) {
  const json* before = told(question.before, id, key.c_str());
  const json* after = told(question.after, id, key.c_str());
  if (before == nullptr || after == nullptr) return after == nullptr ? before : after;
  return before->is_number() && after->is_number() && *before > *after ? before : after;
}

void judge_expected(const ExpectedModel& expected, const AcceptQuestion& question, AcceptedDevice& device) {
  for (const auto& [key, wanted] : expected.facts) {
    const std::string name = key == "links" ? "links_up" : key;
    const json* got = best_told(question, device.id, name);
    if (got == nullptr) {
      device.gaps.push_back(fmt::format("`{}` is expected, and the card does not tell it", key));
      continue;
    }
    const bool less = wanted.is_number() && got->is_number() && got->get<double>() < wanted.get<double>();
    const bool same_form = wanted.is_number() == got->is_number();
    const bool good = wanted.is_number() ? same_form && !less : *got == wanted;
    if (!good)
      report(device, rule_of(key), fmt::format("`{}` is {}, expected {}", name, got->dump(), wanted.dump()));
  }
}

void add_missing(JudgedDevices& devices, const ExpectedModel& expected, const std::string& id,
                 const std::string& uuid, const std::string& words) {
  AcceptedDevice missing{.id = id, .model = expected.name, .uuid = uuid};
  report(missing, kLink, words);
  devices.emplace(id, std::move(missing));
}

// By their UUIDs where they are pinned, and by their number.
void judge_presence(const ExpectedMachine& machine, const ExpectedModel& expected, JudgedDevices& devices) {
  int here = 0;
  for (const auto& [id, device] : devices) here += device.model == expected.name ? 1 : 0;
  int missing = 0;
  for (const std::string& uuid : expected.uuids) {
    const bool found =
        std::ranges::any_of(devices, [&](const auto& entry) { return entry.second.uuid == uuid; });
    if (found) continue;
    ++missing;
    add_missing(devices, expected, "missing:" + uuid, uuid,
                fmt::format("{} of {} is not here", uuid, machine.file));
  }
  for (int number = here + missing + 1; number <= expected.count; ++number) {
    add_missing(devices, expected, fmt::format("missing:{}:{}", expected.name, number), "",
                fmt::format("{} of {} devices are here", here, expected.count));
  }
}

}  // namespace

void judge_facts(const RunModel& /*model*/, const AcceptQuestion& question, JudgedDevices& devices) {
  for (auto& [id, device] : devices) {
    judge_counters(question, device);
    judge_state(question, device);
    if (!question.expected) continue;
    if (const ExpectedModel* expected = question.expected->find(device.model)) {
      judge_expected(*expected, question, device);
    } else {
      device.gaps.push_back(fmt::format("{} does not expect a `{}`", question.expected->file, device.model));
    }
  }
  if (!question.expected) return;
  for (const ExpectedModel& expected : question.expected->models)
    judge_presence(*question.expected, expected, devices);
}

}  // namespace proctor
