#include "reports/page/panel_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/core/json.h"
#include "harness/core/named_file.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::size_t kKnownVersion = 1;

// The members of an object. The first that is missing, or is something else, is the mistake of the file, and what is asked
// for after it is empty.
class Members {
 public:
  Members(const json& object, std::string place, std::string& mistake)
      : object_(object), place_(std::move(place)), mistake_(mistake) {
    if (!object.is_object()) miss(place_.empty() ? "it is not an object" : place_ + " is not an object");
  }

  std::string text(const char* key) const {
    const json* found = find(key, &json::is_string, "text");
    return found != nullptr ? found->get<std::string>() : "";
  }

  std::size_t number(const char* key) const {
    const json* found = find(key, &json::is_number_unsigned, "number");
    return found != nullptr ? found->get<std::size_t>() : 0;
  }

  bool flag(const char* key) const {
    const json* found = find(key, &json::is_boolean, "true or false");
    return found != nullptr && found->get<bool>();
  }

  bool green() const {
    const std::string verdict = text("verdict");
    if (verdict != "green" && verdict != "red") miss(named("verdict") + " is neither green nor red");
    return verdict == "green";
  }

  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> all;
    const json* found = find(key, &json::is_array, "list");
    if (found == nullptr) return all;
    for (const json& one : *found) {
      if (!one.is_string()) miss(named(key) + " has something else than texts");
      all.push_back(one.is_string() ? one.get<std::string>() : "");
    }
    return all;
  }

  Members object(const char* key) const {
    static const json kNothing = json::object();
    const json* found = find(key, &json::is_object, "object");
    return {found != nullptr ? *found : kNothing, named(key), mistake_};
  }

  std::vector<Members> objects(const char* key) const {
    std::vector<Members> all;
    const json* found = find(key, &json::is_array, "list");
    if (found == nullptr) return all;
    for (std::size_t i = 0; i < found->size(); ++i)
      all.push_back({(*found)[i], fmt::format("{}[{}]", named(key), i), mistake_});
    return all;
  }

  void miss(const std::string& mistake) const {
    if (mistake_.empty()) mistake_ = mistake;
  }

 private:
  std::string named(const char* key) const { return place_.empty() ? key : place_ + "." + key; }

  const json* find(const char* key, bool (json::*is)() const noexcept, std::string_view what) const {
    const auto found = object_.is_object() ? object_.find(key) : object_.end();
    if (found != object_.end() && ((*found).*is)()) return &*found;
    miss(found == object_.end() ? named(key) + " is missing" : fmt::format("{} is no {}", named(key), what));
    return nullptr;
  }

  const json& object_;
  std::string place_;
  std::string& mistake_;
};

struct PanelFile {
  std::string_view name;
  std::string_view made_by;
};
constexpr PanelFile kGate{"gate.json", "`proctor gate --json FILE` writes one."};
constexpr PanelFile kCoverage{"list of what is covered", "`proctor list --coverage --json` prints one."};

Error no_such(const PanelFile& kind, const std::string& name, std::string_view mistake) {
  return Error::usage(fmt::format("read {}: it is not a {}: {}", name, kind.name, mistake),
                      std::string(kind.made_by));
}

// Reads the text into what `fill` makes of its members.
template <typename Content, typename Fill>
Result<Content> parse_panel_file(std::string_view text, const std::string& name, const PanelFile& kind,
                                 Fill fill) {
  if (text.size() > kMostPanelFileBytes)
    return no_such(kind, name, fmt::format("it has more than {} bytes", kMostPanelFileBytes));
  if (const std::string why = beyond_json_limits(text); !why.empty()) return no_such(kind, name, why);
  const json file = parse_json(text);
  if (file.is_discarded()) return no_such(kind, name, "it is not JSON");
  std::string mistake;
  const Members members(file, "", mistake);
  const std::size_t version = members.number("schema_version");
  if (mistake.empty() && version != kKnownVersion)
    members.miss(fmt::format("schema_version {} is not known here", version));
  Content content = fill(members);
  if (mistake.empty()) return content;
  return no_such(kind, name, mistake);
}

// All rules, and those that did not hold with what they say.
std::vector<PageGateState> read_rules(const Members& of, const std::string& cell,
                                      std::vector<PageGateRule>& red) {
  std::vector<PageGateState> states;
  for (const Members& rule : of.objects("rules")) {
    PageGateRule read{.cell = cell,
                      .rule = rule.text("rule"),
                      .limit = rule.text("limit"),
                      .value = rule.text("value"),
                      .says = rule.texts("says"),
                      .cases = rule.texts("cases")};
    states.push_back({read.rule, rule.flag("held"), read.value});
    if (!states.back().held) red.push_back(std::move(read));
  }
  return states;
}

PageGate gate_of(const Members& file) {
  PageGate gate{.green = file.green(), .at = file.text("evaluated_at")};
  const Members policy = file.object("policy");
  gate.policy = policy.text("file");
  gate.policy_sha256 = policy.text("sha256");
  for (const Members& one : policy.objects("weakenings"))
    gate.weakenings.push_back({one.number("line"), one.text("key"), one.text("value"), one.text("strict")});
  for (const Members& run : file.objects("runs")) gate.journals.insert(run.text("journal_sha256"));
  gate.rules = read_rules(file, "", gate.red);
  for (const Members& cell : file.objects("cells")) {
    gate.cells.push_back({.name = cell.text("name"),
                          .green = cell.green(),
                          .planned = cell.number("planned"),
                          .executed = cell.number("executed"),
                          .runs = cell.texts("runs")});
    const std::size_t before = gate.red.size();
    gate.cells.back().rules = read_rules(cell, gate.cells.back().name, gate.red);
    if (gate.cells.back().green != (gate.red.size() == before))
      file.miss("the verdict of a cell is not what its rules say");
  }
  if (gate.cells.empty()) file.miss("it has no cells");
  if (gate.green != gate.red.empty()) file.miss("its verdict is not what its rules say");
  return gate;
}

PageCoverage coverage_in(const Members& file) {
  PageCoverage coverage;
  for (const Members& rule : file.objects("rules")) {
    PageRule read{.id = rule.text("id"), .sources = rule.texts("sources")};
    for (const Members& check : rule.objects("checks"))
      read.checks.push_back({check.text("id"), check.texts("faults")});
    coverage.rules.push_back(std::move(read));
  }
  for (const Members& fault : file.objects("faults"))
    coverage.faults.push_back({fault.text("name"), "", fault.texts("checks"), ""});
  for (const Members& one : file.objects("functions"))
    coverage.functions.push_back(
        {one.text("name"), one.text("backend"), one.texts("called_by"), one.text("reason")});
  return coverage;
}

}  // namespace

Result<PageGate> parse_page_gate(std::string_view text, const std::string& name) {
  return parse_panel_file<PageGate>(text, name, kGate, gate_of);
}

Result<PageCoverage> parse_page_coverage(std::string_view text, const std::string& name) {
  return parse_panel_file<PageCoverage>(text, name, kCoverage, coverage_in);
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
