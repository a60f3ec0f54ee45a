#include "harness/classify/explain_rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/classify/culprit.h"
#include "harness/classify/rules.h"

namespace proctor {
namespace {

std::string group_of(const std::string& id) { return id.substr(0, id.find(':')); }

std::string becomes_text(const Rule& rule) {
  return rule.becomes ? fmt::format("a fail, crash, timeout or stall becomes {}", to_string(*rule.becomes))
                      : "";
}

std::string to_text(const Rule& rule) {
  std::string text = rule.id + "\n";
  const auto line = [&text](const char* name, std::string_view value) {
    if (!value.empty()) text += fmt::format("  {:<9} {}\n", name, value);
  };
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

nlohmann::json to_json(const Rule& rule) {
  return {{"rule", rule.id},
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

Error unknown_rule(const std::string& id) {
  std::vector<std::string> known;
  for (const Rule& rule : rules()) {
    if (group_of(rule.id) == group_of(id)) known.push_back(rule.id);
  }
  // Every Xid has a meaning: those that are not listed are the machine's.
  if (group_of(id) == "xid")
    return Error::usage("find rule `" + id + "`",
                        "It is judged as `xid:other`: `proctor explain xid:other`.");
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
  // A case has a slash or a dot; a rule never has.
  if (found.empty() && group && id.find_first_of("/.") == id.npos) return unknown_rule(id);
  if (found.empty()) return std::optional<std::string>();
  if (json) {
    nlohmann::json document = {{"schema_version", 1}, {"rules", nlohmann::json::array()}};
    for (const Rule* rule : found) document["rules"].push_back(to_json(*rule));
    return std::optional(document.dump(1) + "\n");
  }
  std::string text;
  for (const Rule* rule : found) text += to_text(*rule);
  return std::optional(std::move(text));
}

}  // namespace proctor
