#include "reports/page/panel_files.h"

#include <fmt/format.h>

#include <utility>

#include "harness/base/json.h"
#include "harness/base/named_file.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::size_t kKnownVersion = 1;

// The members that a page reads, with one item of each list. A file may have more members.
json gate_shape() {
  json shape = parse_json(R"({"schema_version": 1, "verdict": "", "evaluated_at": "",
    "policy": {"file": "", "sha256": "", "relaxations": [{"line": 1, "key": "", "value": "", "strict": ""}]},
    "runs": [{"journal_sha256": ""}],
    "rules": [{"rule": "", "verdict": "", "limit": "", "value": "", "reasons": [""], "cases": [""]}],
    "cells": [{"name": "", "verdict": "", "planned": 1, "executed": 1, "runs": [""]}]})");
  shape["cells"][0]["rules"] = shape["rules"];
  return shape;
}

json coverage_shape() {
  return parse_json(R"({"schema_version": 1,
    "rules": [{"id": "", "sources": [""], "checks": [{"id": "", "faults": [""]}]}],
    "faults": [{"name": "", "checks": [""]}],
    "functions": [{"name": "", "backend": "", "called_by": [""], "reason": ""}]})");
}

std::string_view words_for(const json& shape) {
  if (shape.is_string()) return "a text";
  if (shape.is_number()) return "a whole number";
  if (shape.is_boolean()) return "true or false";
  return shape.is_array() ? "a list" : "an object";
}

// Returns the first member that is missing or has another type than in the shape; "" if there is none.
std::string mistake_in(const json& given, const json& shape, const std::string& place = "") {
  if (given.type() != shape.type())
    return fmt::format("{} is not {}", place.empty() ? "it" : place, words_for(shape));
  std::string mistake;
  if (shape.is_array()) {
    for (std::size_t i = 0; i < given.size() && mistake.empty(); ++i)
      mistake = mistake_in(given[i], shape.front(), fmt::format("{}[{}]", place, i));
  } else if (shape.is_object()) {
    for (auto member = shape.begin(); member != shape.end() && mistake.empty(); ++member) {
      const std::string name = place.empty() ? member.key() : place + "." + member.key();
      const auto found = given.find(member.key());
      mistake = found == given.end() ? name + " is missing" : mistake_in(*found, member.value(), name);
    }
  }
  return mistake;
}

bool has_passed(const json& of, std::string& mistake) {
  const std::string verdict = of["verdict"];
  if (verdict != "passed" && verdict != "failed") mistake = "a verdict is neither passed nor failed";
  return verdict == "passed";
}

// Returns all rules, and adds those that do not hold to `failed`.
std::vector<PageGateRule> read_rules(const json& rules, const std::string& cell,
                                     std::vector<PageGateRule>& failed, std::string& mistake) {
  std::vector<PageGateRule> all;
  for (const json& rule : rules) {
    all.push_back({.cell = cell,
                   .rule = rule["rule"],
                   .holds = has_passed(rule, mistake),
                   .limit = rule["limit"],
                   .value = rule["value"],
                   .reasons = rule["reasons"],
                   .cases = rule["cases"]});
    if (!all.back().holds) failed.push_back(all.back());
  }
  return all;
}

PageGate gate_of(const json& file, std::string& mistake) {
  const json& policy = file["policy"];
  PageGate gate{.passed = has_passed(file, mistake),
                .at = file["evaluated_at"],
                .policy = policy["file"],
                .policy_sha256 = policy["sha256"]};
  for (const json& one : policy["relaxations"]) {
    gate.relaxations.push_back(
        {.line = one["line"], .key = one["key"], .value = one["value"], .strict = one["strict"]});
  }
  for (const json& run : file["runs"]) gate.journals.insert(run["journal_sha256"].get<std::string>());
  gate.rules = read_rules(file["rules"], "", gate.failed, mistake);
  for (const json& cell : file["cells"]) {
    const std::size_t before = gate.failed.size();
    gate.cells.push_back({.name = cell["name"],
                          .passed = has_passed(cell, mistake),
                          .planned = cell["planned"],
                          .executed = cell["executed"],
                          .runs = cell["runs"],
                          .rules = read_rules(cell["rules"], cell["name"], gate.failed, mistake)});
    if (gate.cells.back().passed != (gate.failed.size() == before))
      mistake = "the verdict of a cell is not what its rules say";
  }
  if (gate.cells.empty()) mistake = "it has no cells";
  if (gate.passed != gate.failed.empty() && mistake.empty())
    mistake = "its verdict is not what its rules say";
  return gate;
}

PageCoverage coverage_of(const json& file, std::string&) {
  PageCoverage coverage;
  for (const json& rule : file["rules"]) {
    coverage.rules.push_back({.id = rule["id"], .sources = rule["sources"]});
    for (const json& check : rule["checks"])
      coverage.rules.back().checks.push_back({.id = check["id"], .faults = check["faults"]});
  }
  for (const json& fault : file["faults"])
    coverage.faults.push_back({.name = fault["name"], .by = fault["checks"]});
  for (const json& one : file["functions"]) {
    coverage.functions.push_back(
        {.name = one["name"], .backend = one["backend"], .by = one["called_by"], .reason = one["reason"]});
  }
  return coverage;
}

// Parses the text, checks its shape, and converts it with `fill`.
template <typename Content>
Result<Content> parse_panel_file(std::string_view text, const std::string& name, std::string_view kind,
                                 std::string_view made_by, const json& shape,
                                 Content (*fill)(const json&, std::string&)) {
  const auto refused = [&](std::string_view mistake) {
    return Error::usage(fmt::format("read {}: it is not a {}: {}", name, kind, mistake),
                        fmt::format("`proctor {}.", made_by));
  };
  if (text.size() > kMostPanelFileBytes)
    return refused(fmt::format("it has more than {} bytes", kMostPanelFileBytes));
  if (const std::string why = beyond_json_limits(text); !why.empty()) return refused(why);
  const json file = parse_json(text);
  if (file.is_discarded()) return refused("it is not JSON");
  const auto version = file.is_object() ? file.find("schema_version") : file.end();
  if (version != file.end() && version->is_number_unsigned() && *version != kKnownVersion)
    return refused(fmt::format("schema_version {} is not known here", version->get<std::size_t>()));
  std::string mistake = mistake_in(file, shape);
  if (!mistake.empty()) return refused(mistake);
  Content content = fill(file, mistake);
  if (mistake.empty()) return content;
  return refused(mistake);
}

}  // namespace

Result<PageGate> parse_page_gate(std::string_view text, const std::string& name) {
  return parse_panel_file(text, name, "gate.json", "gate --json FILE` writes one", gate_shape(), gate_of);
}

Result<PageCoverage> parse_page_coverage(std::string_view text, const std::string& name) {
  return parse_panel_file(text, name, "list of what is covered", "list --coverage --json` prints one",
                          coverage_shape(), coverage_of);
}

Result<PageGate> read_page_gate(const std::string& file) {
  const auto text = read_typed_file(file, kMostPanelFileBytes);
  return text ? parse_page_gate(*text, file) : text.error();
}

Result<PageCoverage> read_page_coverage(const std::string& file) {
  const auto text = read_typed_file(file, kMostPanelFileBytes);
  return text ? parse_page_coverage(*text, file) : text.error();
}

}  // namespace proctor
