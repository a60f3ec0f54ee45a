#include "harness/plan/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <variant>

#include "harness/base/digest.h"
#include "harness/base/json.h"
#include "harness/base/named_file.h"
#include "harness/devices/masks/visibility_variables.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/plan/limit_settings.h"
#include "harness/plan/shard.h"
#include "harness/plan/suite_settings.h"
#include "harness/plan/written_off.h"
#include "harness/request/option.h"

namespace proctor {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "proctor-plan";
constexpr const char* kStart = "${PROCTOR_START}";

// placeholder in the file -> directory on this machine
using Names = std::vector<std::pair<std::string, std::string>>;

// Returns the placeholders; the longest directory comes first.
Names names_of(const PlanDirectories& directories) {
  Names names = {{kStart, directories.start},
                 {"${PROCTOR_PROGRAMS}", directories.programs},
                 {"${PROCTOR_SHARED}", directories.shared}};
  std::erase_if(names, [](const auto& name) { return name.second.empty(); });
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return names;
}

// Returns whether text[at, end) is a whole path or the beginning of one.
bool is_path(std::string_view text, std::size_t at, std::size_t end) {
  const std::string_view before = "=:,;'\" ";
  const std::string_view after = "/:,;'\" ";
  return (at == 0 || before.find(text[at - 1]) != before.npos) &&
         (end == text.size() || after.find(text[end]) != after.npos);
}

void replace_all(std::string& text, const std::string& from, const std::string& to, bool paths) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at)) {
    if (paths && !is_path(text, at, at + from.size())) {
      ++at;
      continue;
    }
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

// Replaces directories by their placeholders. "/" is excluded, because every path is below it. Only a suite's
// own directory can be "/".
void put_names(std::string& text, const Names& names) {
  for (const auto& [name, directory] : names) {
    if (directory != "/") replace_all(text, directory, name, /*paths=*/true);
  }
}

void put_directories(std::string& text, const Names& names) {
  for (const auto& [name, directory] : names) {
    if (directory == "/") replace_all(text, name + "/", "/", /*paths=*/false);
    replace_all(text, name, directory, /*paths=*/false);
  }
}

// Applies `change` to every string value below `json`, but not to keys.
template <typename Change>
void for_each_string(Json& json, const Change& change) {
  if (json.is_string()) return change(json.get_ref<std::string&>());
  if (!json.is_structured()) return;
  for (Json& entry : json) for_each_string(entry, change);
}

// ---- Suites and limits, as their rows have them ----

// Rejects an unknown value of an enumeration in the same way as a missing member.
void require_known(bool is_known, const std::string& word) {
  if (!is_known) throw std::invalid_argument("unknown word `" + word + "`");
}

template <typename T>
Json member_json(const T& value) {
  return value;
}
Json member_json(const Kind* kind) { return kind->name(); }
Json member_json(Backend backend) { return to_string(backend); }

template <typename T>
void read_member(const Json& json, T& value) {
  value = json.get<T>();
}
void read_member(const Json& json, const Kind*& kind) {
  const std::string word = json;
  kind = find_kind(word);
  require_known(kind != nullptr, word);
}
void read_member(const Json& json, Backend& backend) {
  const std::string word = json;
  const auto read = parse_backend(word);
  require_known(read.has_value(), word);
  backend = *read;
}

Json limit_json(const std::optional<Milliseconds>& limit) { return limit ? Json(limit->count()) : Json(); }
Json limit_json(Milliseconds limit) { return limit.count(); }
Json limit_json(int limit) { return limit; }
Json limit_json(bool leaks_fail) { return leaks_fail ? "fail" : "warn"; }
Json limit_json(const std::string& group) { return group; }

void read_limit(const Json& json, std::optional<Milliseconds>& limit) {
  if (!json.is_null()) limit = Milliseconds(json.get<std::int64_t>());
}
void read_limit(const Json& json, Milliseconds& limit) { limit = Milliseconds(json.get<std::int64_t>()); }
void read_limit(const Json& json, int& limit) { limit = json.get<int>(); }
void read_limit(const Json& json, bool& leaks_fail) {
  const std::string word = json;
  require_known(word == "warn" || word == "fail", word);
  leaks_fail = word == "fail";
}
void read_limit(const Json& json, std::string& group) { group = json.get<std::string>(); }

Json policy_json(const CasePolicy& policy) {
  Json json = Json::object();
  for (const LimitSetting& setting : limit_settings()) {
    std::visit(
        [&](const auto& place) {
          const auto& limit = policy.*place.in_policy;
          if (setting.omitted_at_default && limit == CasePolicy{}.*place.in_policy) return;
          json[setting.in_plan] = limit_json(limit);
        },
        setting.value);
  }
  return json;
}

CasePolicy policy_from(const Json& json) {
  CasePolicy policy;
  for (const LimitSetting& setting : limit_settings()) {
    if (setting.omitted_at_default && !json.contains(setting.in_plan)) continue;
    std::visit([&](const auto& place) { read_limit(json.at(setting.in_plan), policy.*place.in_policy); },
               setting.value);
  }
  return policy;
}

void put_setting(const SuiteSetting& setting, const Suite& suite, Json& json) {
  with_member(setting, [&](auto member) {
    if (setting.omitted_at_default && suite.*member == Suite{}.*member) return;
    json[setting.in_plan] = member_json(suite.*member);
  });
}

void read_setting(const SuiteSetting& setting, const Json& json, Suite& suite) {
  if (setting.omitted_at_default && !json.contains(setting.in_plan)) return;
  with_member(setting, [&](auto member) { read_member(json.at(setting.in_plan), suite.*member); });
  const auto* place = std::get_if<std::string Suite::*>(&setting.member);
  if (place == nullptr || setting.choices.empty()) return;
  const std::string& word = suite.*(*place);
  require_known(
      word == Suite{}.*(*place) || std::ranges::find(setting.choices, word) != setting.choices.end(), word);
}

Json suite_json(const Suite& suite) {
  Json json = {{"devices_disabled", suite.devices_by == DevicesBy::kWritten && suite.devices == 0},
               {"policy", policy_json(suite.policy)}};
  for (const SuiteSetting& setting : suite_settings()) {
    if (!setting.in_plan.empty()) put_setting(setting, suite, json);
  }
  return json;
}

Suite suite_from(const Json& json) {
  Suite suite;
  for (const SuiteSetting& setting : suite_settings()) {
    if (!setting.in_plan.empty()) read_setting(setting, json, suite);
  }
  const bool written = suite.devices > 0 || json.at("devices_disabled").get<bool>();
  suite.devices_by = written ? DevicesBy::kWritten : DevicesBy::kRule;
  suite.process_chosen = true;
  suite.policy = policy_from(json.at("policy"));
  for (const auto& [name, value] : suite.env) {
    if (find_visibility_variable(name) != nullptr)
      throw std::invalid_argument("suite `" + suite.name + "` sets " + name);
  }
  return suite;
}

Json case_json(const Case& test) {
  Json json = {{"id", test.id},
               {"suite", test.suite},
               {"name", test.name},
               {"classname", test.classname},
               {"argv", test.argv},
               {"group", test.group},
               {"devices", test.devices},
               {"ranks", test.ranks},
               {"policy", policy_json(test.policy)},
               {"disabled", test.disabled},
               {"rule", test.rule},
               {"source", test.source},
               {"severity", test.severity.text()},
               {"needs", test.needs},
               {"sizes", test.sizes},
               {"sizes_unit", test.sizes_unit},
               {"faults", test.faults},
               {"expects", test.expects}};
  if (test.expected_failures != 0) json["expected_failures"] = test.expected_failures;
  if (test.config_skip) json["config_skip"] = to_members(*test.config_skip);
  if (test.shard != 0) json["shard"] = test.shard;
  return json;
}

std::shared_ptr<const WrittenOff> written_off_from(const Json& json) {
  if (!json.contains("config_skip")) return nullptr;
  auto entry = written_off_of(json["config_skip"].get<std::map<std::string, std::string>>());
  if (!entry) throw std::invalid_argument(entry.error().what);
  return std::make_shared<const WrittenOff>(*std::move(entry));
}

Case case_from(const Json& json, const Plan& plan) {
  Case test;
  test.id = json.at("id");
  test.suite = json.at("suite");
  if (test.suite >= plan.suites.size())
    throw std::invalid_argument("case `" + test.id + "` belongs to no suite");
  test.name = json.at("name");
  test.classname = json.at("classname");
  test.argv = json.at("argv");
  test.group = json.at("group");
  test.devices = json.at("devices");
  test.ranks = json.at("ranks");
  test.policy = policy_from(json.at("policy"));
  if (!test.policy.concurrency_group.empty() &&
      !plan.concurrency_groups.contains(test.policy.concurrency_group))
    throw std::invalid_argument("case `" + test.id + "` is in an unknown group");
  test.disabled = json.at("disabled");
  test.config_skip = written_off_from(json);
  test.expected_failures = json.value("expected_failures", 0);
  test.rule = json.at("rule");
  test.source = json.at("source");
  test.severity = SeverityWord::in_text(json.at("severity"));
  test.needs = json.at("needs");
  test.sizes = json.at("sizes").get<std::map<std::string, std::int64_t>>();
  test.sizes_unit = json.at("sizes_unit");
  test.faults = json.at("faults");
  test.expects = json.at("expects");
  test.shard = json.value("shard", 0);
  if (plan.shards == 0 ? test.shard != 0 : test.shard < 1 || test.shard > plan.shards)
    throw std::invalid_argument(
        fmt::format("case `{}` is in shard {} of {}", test.id, test.shard, plan.shards));
  return test;
}

Json run_json(const RunRequest& run) {
  Json json = Json::object();
  for (const Option& option : options()) {
    if (option.in_plan_file && is_given(option, run)) json[option.key] = text_of(option, run);
  }
  return json;
}

RunRequest run_from(const Json& json) {
  RunRequest run;
  for (const auto& [key, value] : json.items()) {
    const Option* option = find_key(key);
    if (option == nullptr || !option->in_plan_file) throw std::invalid_argument("unknown key `" + key + "`");
    if (const auto read = put(*option, value.get<std::string>(), run); !read)
      throw std::invalid_argument("`" + key + "` " + read.error().what);
  }
  return run;
}

// Keys are sorted and numbers are integers, so equal content has the same text.
std::string digest_of(const Json& content) { return sha256_hex(content.dump()); }

void put_extent(const Extent& extent, Json& json) {
  json["size"] = extent.size;
  if (extent.seed != 0) json["seed"] = extent.seed;
  if (!extent.point.empty()) json["point"] = extent.point;
}

void put_shards(const Plan& plan, Json& json) {
  json.erase("shards");
  if (plan.shards != 0) json["shards"] = plan.shards;
}

int shards_from(const Json& json) {
  if (!json.contains("shards")) return 0;
  const int shards = json["shards"].get<int>();
  if (shards < 1 || shards > kMostShards)
    throw std::invalid_argument(fmt::format("it has {} shards", shards));
  return shards;
}

std::map<std::string, int> groups_from(const Json& json) {
  if (!json.contains("groups")) return {};
  auto groups = json["groups"].get<std::map<std::string, int>>();
  for (const auto& [name, max] : groups) {
    if (max < 1) throw std::invalid_argument(fmt::format("group `{}` has max {}", name, max));
  }
  return groups;
}

void put_rest(const PlanFile& file, Json& json) {
  if (!file.rest) return;
  json["remaining"] = {{"runs", file.rest->runs},
                       {"plan", file.rest->plan},
                       {"plan_digest", file.rest->plan_digest},
                       {"planned", file.rest->planned},
                       {"shards", file.rest->shards}};
}

std::optional<PlannedRest> rest_from(const Json& json) {
  if (!json.contains("remaining")) return std::nullopt;
  const Json& rest = json["remaining"];
  return PlannedRest{.runs = rest.at("runs"),
                     .plan_digest = rest.at("plan_digest"),
                     .plan = rest.at("plan"),
                     .planned = rest.at("planned"),
                     .shards = rest.at("shards")};
}

// Returns the content of a plan that was read: its source, without the removed cases.
Json content_of_source(const PlanFile& file) {
  Json json = parse_json(file.source);
  std::map<std::string_view, int> shard_of_id;
  for (const Case& test : file.plan.cases) shard_of_id.emplace(test.id, test.shard);
  Json cases = Json::array();
  for (Json& test : json["cases"]) {
    const auto kept = shard_of_id.find(test["id"].get_ref<const std::string&>());
    if (kept == shard_of_id.end()) continue;
    test.erase("shard");
    if (kept->second != 0) test["shard"] = kept->second;
    cases.push_back(std::move(test));
  }
  json["cases"] = std::move(cases);
  put_extent(file.extent, json);
  put_shards(file.plan, json);
  put_rest(file, json);
  json["run"] = run_json(file.run);
  json["plan_digest"] = plan_digest(file.plan);
  return json;
}

Result<Json> content_of(const PlanFile& file, const PlanDirectories& directories) {
  if (!file.source.empty()) return content_of_source(file);
  Json json = {{"format", kFormat},
               {"version", kPlanFileVersion},
               {"proctor", PROCTOR_VERSION},
               {"run", run_json(file.run)},
               {"suites", Json::array()},
               {"cases", Json::array()},
               {"plan_digest", plan_digest(file.plan)}};
  if (!file.plan.concurrency_groups.empty()) json["groups"] = file.plan.concurrency_groups;
  put_extent(file.extent, json);
  put_shards(file.plan, json);
  put_rest(file, json);
  for (const Suite& suite : file.plan.suites) json["suites"].push_back(suite_json(suite));
  for (const Case& test : file.plan.cases) json["cases"].push_back(case_json(test));
  const Names names = names_of(directories);
  std::string taken;
  for_each_string(json, [&](std::string& text) {
    if (text.find("${PROCTOR_") != text.npos) taken = text;
    put_names(text, names);
  });
  for (Json& suite : json["suites"]) {
    if (directories.start == "/" && suite["directory"] == "/") suite["directory"] = kStart;
  }
  if (!taken.empty()) {
    return Error::usage(fmt::format(
        "write the plan: `{}` contains ${{PROCTOR_, which a plan reserves for directories", taken));
  }
  try {
    static_cast<void>(json.dump());
  } catch (const Json::exception&) {
    return Error::usage("write the plan: an id or a command in it is not UTF-8");
  }
  return json;
}

Error not_a_plan(const std::string& path, const std::string& why) {
  return Error::refused(fmt::format("{} is not a valid plan: {}", path, why),
                        "Write it with `proctor plan -o FILE`, and do not change it.");
}

Result<void> check_header(const Json& json, const std::string& path) {
  const auto text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>()
                                                                           : "";
  };
  if (json.is_discarded() || text("format") != kFormat) return not_a_plan(path, "it is not a Proctor plan");
  const bool has_version = json.contains("version") && json["version"].is_number_integer();
  if (!has_version || json["version"] != kPlanFileVersion) {
    return not_a_plan(path,
                      fmt::format("its format is version {}, and this is Proctor {}, which reads version {}",
                                  json.contains("version") ? json["version"].dump() : "none", PROCTOR_VERSION,
                                  kPlanFileVersion));
  }
  Json content = json;
  content.erase("digest");
  const std::string digest = digest_of(content);
  if (text("digest") == digest) return {};
  return not_a_plan(path,
                    fmt::format("its digest is {}, but its content has {}: it was changed after it was made",
                                text("digest").empty() ? "missing" : text("digest"), digest));
}

}  // namespace

Result<std::string> plan_file_digest(const PlanFile& file, const PlanDirectories& directories) {
  const auto content = content_of(file, directories);
  return content ? Result<std::string>(digest_of(*content)) : content.error();
}

Result<std::string> plan_file_text(const PlanFile& file, const PlanDirectories& directories) {
  auto content = content_of(file, directories);
  if (!content) return content.error();
  const std::string digest = digest_of(*content);
  (*content)["digest"] = digest;
  return content->dump(1) + "\n";
}

Result<PlanFile> parse_plan_file(const std::string& text, const std::string& path,
                                 const PlanDirectories& directories) {
  Json json = parse_json(text);
  if (auto checked = check_header(json, path); !checked) return checked.error();
  json.erase("digest");
  PlanFile file;
  file.source = json.dump();
  const Names names = names_of(directories);
  std::string unknown;
  for_each_string(json, [&](std::string& value) {
    const std::string named = value;
    put_directories(value, names);
    if (value.find("${PROCTOR_") != value.npos) unknown = named;
  });
  if (!unknown.empty()) {
    return Error::refused(fmt::format("Plan {} uses `{}`, a directory that is missing here", path, unknown),
                          "Install Proctor completely: ${PROCTOR_SHARED} is share/proctor.");
  }
  try {
    file.extent = {.size = json.at("size"),
                   .seed = json.value("seed", std::uint64_t{0}),
                   .point = json.value("point", "")};
    file.run = run_from(json.at("run"));
    for (const Json& suite : json.at("suites")) file.plan.suites.push_back(suite_from(suite));
    file.rest = rest_from(json);
    file.plan.shards = shards_from(json);
    file.plan.concurrency_groups = groups_from(json);
    for (const Json& test : json.at("cases")) file.plan.cases.push_back(case_from(test, file.plan));
    return file;
  } catch (const std::exception& error) {
    return not_a_plan(path, error.what());
  }
}

}  // namespace proctor
