#include "harness/classify/explain_rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/classify/culprit.h"
#include "harness/classify/rules.h"
#include "harness/classify/xid_meaning.h"

namespace proctor {
namespace {

constexpr std::string_view kOtherXid = "xid:other";

std::string group_of(const std::string& id) { return id.substr(0, id.find(':')); }

std::string becomes_text(const Rule& rule) {
  return rule.becomes ? fmt::format("a fail, crash, timeout or stall becomes {}", to_string(*rule.becomes))
                      : "";
}

// Returns the meaning of the rule's Xid; "" if the rule is not for a single Xid.
std::string meaning_text(const std::string& id) {
  const auto number = xid_number(id);
  if (!number) return "";
  const auto meaning = xid_meaning(*number);
  return meaning ? fmt::format("{} ({})", *meaning, kXidSource)
                 : fmt::format("Xid {} is not in NVIDIA's table ({})", *number, kXidSource);
}

// `id` is the id that the user gave. An Xid without its own rule uses `xid:other`.
std::string to_text(const Rule& rule, const std::string& id) {
  std::string text = id + "\n";
  const auto line = [&text](const char* name, std::string_view value) {
    if (!value.empty()) text += fmt::format("  {:<9} {}\n", name, value);
  };
  line("meaning", meaning_text(id));
  if (id != rule.id) line("rule", rule.id);
  line("class", rule.error_class);
  line("owner", to_string(rule.problem));
  line("culprit", culprits_of_class(rule.problem, rule.error_class));
  line("severity", std::string(to_string(rule.severity)));
  line("where", to_string(rule.where));
  line("outcome", becomes_text(rule));
  line("next", rule.next);
  line("source", rule.source);
  return text;
}

nlohmann::json to_json(const Rule& rule, const std::string& id) {
  const auto number = xid_number(id);
  const auto meaning = number ? xid_meaning(*number) : std::nullopt;
  return {{"rule", rule.id},
          {"meaning", meaning ? nlohmann::json(*meaning) : nlohmann::json(nullptr)},
          {"class", rule.error_class},
          {"owner", to_string(rule.problem)},
          {"culprit", culprits_of_class(rule.problem, rule.error_class)},
          {"severity", to_string(rule.severity)},
          {"where", to_string(rule.where)},
          {"vendor", rule.vendor},
          {"becomes", rule.becomes ? nlohmann::json(to_string(*rule.becomes)) : nlohmann::json(nullptr)},
          {"next", rule.next},
          {"source", rule.source}};
}

// A class has several rules, so each is shown with its own id.
std::string xid_or_rule(const std::string& id, const Rule& rule) {
  return rule.id == kOtherXid && xid_number(id) ? id : rule.id;
}

Error unknown_rule(const std::string& id) {
  std::vector<std::string> known;
  for (const Rule& rule : rules()) {
    if (group_of(rule.id) == group_of(id)) known.push_back(rule.id);
  }
  if (const auto number = xid_number(id))
    return Error::refused(fmt::format("Xid {} is not in the table of NVIDIA's Xid errors", *number),
                          "Its rule is `xid:other`: run `proctor explain xid:other`.");
  return Error::usage("find rule `" + id + "`", did_you_mean(id, known));
}

}  // namespace

Result<std::optional<std::string>> explain_rule(const std::string& id, bool json) {
  std::vector<const Rule*> found;
  bool group = false;
  for (const Rule& rule : rules()) {
    if (rule.id == id || rule.error_class == id) found.push_back(&rule);
    group = group || (id.find(':') != id.npos && group_of(rule.id) == group_of(id));
  }
  if (const auto number = xid_number(id); found.empty() && number && xid_meaning(*number))
    found.push_back(find_rule(rules(), kOtherXid));
  // The id of a case contains a slash or a dot; the id of a rule does not.
  if (found.empty() && group && id.find_first_of("/.") == id.npos) return unknown_rule(id);
  if (found.empty()) return std::optional<std::string>();
  if (json) {
    nlohmann::json document = {{"schema_version", 1}, {"rules", nlohmann::json::array()}};
    for (const Rule* rule : found) document["rules"].push_back(to_json(*rule, xid_or_rule(id, *rule)));
    return std::optional(document.dump(1) + "\n");
  }
  std::string text;
  for (const Rule* rule : found) text += to_text(*rule, xid_or_rule(id, *rule));
  return std::optional(std::move(text));
}

}  // namespace proctor
