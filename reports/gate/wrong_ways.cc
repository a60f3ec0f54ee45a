#include "reports/gate/wrong_ways.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "harness/base/read_file.h"
#include "harness/base/toml_reader.h"
#include "harness/base/words.h"
#include "harness/journal/events.h"

namespace proctor::testing_support {
namespace {

// ---- The table as JSON ----

Json json_of(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of(value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const toml::node& value : *array) list.push_back(json_of(value));
    return list;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  throw std::runtime_error("wrong_ways.toml has a value of another type");
}

std::string with_digests(std::string text) {
  for (auto at = text.find('@'); at != text.npos; at = text.find('@', at))
    text.replace(at, 2, std::string(64, text[at + 1]));
  return text;
}

// ---- Changes outside the runs ----

// Removes the lines of the policy that begin with one of these words.
void remove_keys(GateScene& scene, const Json& keys) {
  std::string kept;
  for (const std::string_view line : lines_of(scene.policy)) {
    const bool goes = std::ranges::any_of(split(std::string_view(keys.get_ref<const std::string&>()), ' '),
                                          [&](std::string_view key) { return line.starts_with(key); });
    if (!goes) kept += std::string(line) + "\n";
  }
  scene.policy = kept;
}

void start(GateScene& scene, const Json& name) {
  if (name == "hardware") {
    scene = hardware_scene();
  } else if (name == "sharded") {
    scene = sharded_scene();
  } else {
    throw std::runtime_error("there is no scene " + name.dump());
  }
}

void set_baseline(GateScene& scene, const Json& value) {
  scene.baseline = GateBaseline{value.at("name"), value.value("failed", std::set<std::string>()),
                                value.value("no_past", std::string())};
}

void set_lock(GateScene& scene, const Json& sha256) {
  scene.policy += "stack = \"xpu-rolling\"\n";
  scene.locks["xpu-rolling"] = GateLock{.sha256 = sha256, .differences = {}};
}

void set_signed(GateScene& scene, const Json& digests) {
  scene.signed_digests = digests.get<std::set<std::string>>();
  for (const std::string digest : digests) scene.files["digests.txt"] += digest + "  journal.jsonl\n";
}

void drop_run(GateScene& scene, const Json& number) {
  scene.runs.erase(scene.runs.begin() + number.get<int>() - 1);
}

// In the order in which the changes are applied.
constexpr std::pair<std::string_view, void (*)(GateScene&, const Json&)> kSceneChanges[] = {
    {"start", start},
    {"drop_run", drop_run},
    {"policy", [](GateScene& scene, const Json& text) { scene.policy = text; }},
    {"policy_without", remove_keys},
    {"gate", [](GateScene& scene, const Json& line) { add_gate_key(scene, line); }},
    {"skips",
     [](GateScene& scene, const Json& lines) { add_gate_key(scene, "[skips]\n" + std::string(lines)); }},
    {"cell", [](GateScene& scene, const Json& lines) { scene.policy += std::string(lines) + "\n"; }},
    {"at", [](GateScene& scene, const Json& moment) { scene.at = moment; }},
    {"commit",
     [](GateScene& scene, const Json& commit) {
       scene.subject.clear();
       if (commit != "") scene.subject["commit"] = commit;
     }},
    {"plan_file", [](GateScene& scene,
                     const Json& extent) { scene.files["plan.json"] = plan_text(scene.plan_ids, extent); }},
    {"known", expect_failures},
    {"lock", set_lock},
    {"baseline", set_baseline},
    {"signed", set_signed}};

// ---- Changes of a run ----

std::string full_id(const std::string& name) { return "memory.xpu/" + name; }

// Returns the ids that a name or "*" matches.
std::vector<std::string> ids_of(const SceneRun& run, const std::string& name) {
  std::vector<std::string> ids = {full_id(name)};
  if (name != "*") return ids;
  ids.clear();
  for (const Json& planned : run.records.front()["cases"]) ids.push_back(planned["id"]);
  return ids;
}

bool matches(const Json& record, const Json& where) {
  return std::ranges::all_of(where.items(), [&](const auto& item) {
    return record.contains(item.key()) && record[item.key()] == item.value();
  });
}

Json where_of(const Json& change) { return change.value("where", Json{{"type", "run_planned"}}); }

void set(SceneRun& run, const Json& values, const Json& change) {
  for (Json& record : run.records) {
    if (!matches(record, where_of(change))) continue;
    for (const auto& [pointer, value] : values.items()) record[Json::json_pointer(pointer)] = value;
  }
}

void unset(SceneRun& run, const Json& pointers, const Json& /*change*/) {
  for (const std::string pointer : pointers) run.records.front()[Json::json_pointer(pointer)] = nullptr;
}

void set_attempts(SceneRun& run, const Json& values, const Json& /*change*/) {
  for (const auto& [name, attempts] : values.items()) {
    for (const std::string& id : ids_of(run, name))
      set_case(run, id, attempts.get<std::vector<std::string>>());
  }
}

void set_ends(SceneRun& run, const Json& values, const Json& /*change*/) {
  for (const auto& [name, verdict] : values.items()) {
    for (const std::string& id : ids_of(run, name)) set_end(run, id, verdict);
  }
}

void set_device(SceneRun& run, const Json& values, const Json& /*change*/) {
  for (const auto& [name, device] : values.items()) {
    for (const std::string& id : ids_of(run, name))
      set(run, {{"/devices", {device}}}, {{"where", {{"type", "attempt_started"}, {"case", id}}}});
  }
}

void remove_plan(SceneRun& run, const Json& options, const Json& /*change*/) {
  Json& plan = run.records.front();
  plan["shard"] = nullptr;
  plan["command_line"] = {"proctor", "run", "memory"};
  plan["restrictions"] = {{"options", Json::array()}, {"variables", Json::array()}};
  for (const Json& option : options)
    plan["restrictions"]["options"].push_back(
        {{"option", option[0]}, {"value", option[1]}, {"covered_by", option[2]}});
}

// Each new case is a copy of the last one.
void add_cases(SceneRun& run, const Json& ids, const Json& /*change*/) {
  const Json last = run.records.front()["cases"].back();
  const std::vector<Json> records = run.records;
  for (const std::string id : ids) {
    Json planned = last;
    planned["id"] = id;
    planned["suite"] = id.substr(0, id.find('.'));
    run.records.front()["cases"].push_back(planned);
    for (Json record : records) {
      if (record.value("case", std::string()) != last["id"]) continue;
      record["case"] = id;
      run.records.insert(run.records.end() - 1, record);
    }
  }
}

void remove_cases(SceneRun& run, const Json& names, const Json& /*change*/) {
  for (const std::string name : names) remove_case(run, full_id(name));
}

Json record_of(const Json& members) {
  Json record = {{"v", kJournalVersion}};
  record.update(members);
  return record;
}

constexpr std::pair<std::string_view, void (*)(SceneRun&, const Json&, const Json& change)> kRunChanges[] = {
    {"without",
     [](SceneRun& run, const Json& where, const Json&) {
       std::erase_if(run.records, [&](const Json& record) { return matches(record, where); });
     }},
    {"without_cases", remove_cases},
    {"without_plan", remove_plan},
    {"without_last", [](SceneRun& run, const Json& count,
                        const Json&) { run.records.resize(run.records.size() - count.get<std::size_t>()); }},
    {"cases", set_attempts},
    {"ends", set_ends},
    {"device", set_device},
    {"new_cases", add_cases},
    {"unset", unset},
    {"set", set},
    {"add",
     [](SceneRun& run, const Json& records, const Json&) {
       for (const Json& record : records) run.records.insert(run.records.end() - 1, record_of(record));
     }},
    {"add_behind",
     [](SceneRun& run, const Json& records, const Json&) {
       for (const Json& record : records) run.records.push_back(record_of(record));
     }},
    {"second_plan", [](SceneRun& run, const Json&,
                       const Json&) { run.records.insert(run.records.begin(), Json(run.records.front())); }},
    {"lists_rendered", [](SceneRun& run, const Json& value, const Json&) { run.lists_rendered = value; }},
    {"file", [](SceneRun& run, const Json& file, const Json&) { run.files.push_back(file); }}};

// Adds copies of a run. A copy with `copy_as` has its own journal.
void copy(GateScene& scene, const Json& change, const SceneRun& run) {
  for (const char* key : {"copy_as", "same_as"}) {
    if (!change.contains(key)) continue;
    SceneRun again = run;
    again.directory = change[key];
    if (change.contains("copy_as")) again.records.front()["run_id"] = change[key];
    scene.runs.push_back(std::move(again));
  }
}

void check_keys(const Json& change) {
  for (const auto& [key, value] : change.items()) {
    const auto is = [&key = key](const auto& row) { return row.first == key; };
    const bool other =
        key == "run" || key == "where" || key == "copy_as" || key == "same_as" || key == "plan_again";
    if (!other && std::ranges::none_of(kSceneChanges, is) && std::ranges::none_of(kRunChanges, is))
      throw std::runtime_error("there is no change " + key);
  }
}

void apply(GateScene& scene, const Json& change) {
  check_keys(change);
  for (const auto& [key, make] : kSceneChanges) {
    if (const auto found = change.find(key); found != change.end()) make(scene, *found);
  }
  const std::size_t wanted = change.value("run", std::size_t{1});
  for (std::size_t i = 0; i < scene.runs.size(); ++i) {
    if (wanted != 0 && wanted != i + 1) continue;
    for (const auto& [key, make] : kRunChanges) {
      if (const auto found = change.find(key); found != change.end()) make(scene.runs[i], *found, change);
    }
  }
  if (change.contains("plan_again")) plan_again(scene);
  if (wanted != 0 && wanted <= scene.runs.size()) copy(scene, change, SceneRun(scene.runs[wanted - 1]));
}

}  // namespace

namespace {

// `text` is the table, or changes.
Json read_table(const std::string& text) {
  const auto table = parse_toml(with_digests(text), "wrong_ways.toml");
  if (!table) throw std::runtime_error(table.error().message());
  return json_of(*table);
}

Json read_ways() {
  return read_table(read_file_or_empty(std::string(PROCTOR_SOURCE_DIR) + "/reports/gate/wrong_ways.toml"));
}

// Returns the good scene after the changes of the row from index `begin` on.
GateScene scene_of(const Json& row, std::size_t begin) {
  GateScene scene = good_scene();
  for (std::size_t i = begin; i < row.size(); ++i) apply(scene, row[i]);
  return scene;
}

}  // namespace

GateScene scene_after(std::string_view changes) {
  return scene_of(read_table("changes = [" + std::string(changes) + "]")["changes"], 0);
}

std::vector<GoodWay> good_ways() {
  const Json table = read_ways();
  std::vector<GoodWay> ways;
  for (const Json& row : table["good_ways"]) ways.push_back({row[0], scene_of(row, 1)});
  return ways;
}

std::vector<WrongWay> wrong_ways() {
  const Json table = read_ways();
  std::vector<WrongWay> ways;
  for (const Json& row : table["ways"]) ways.push_back({row[0], row[1], scene_of(row, 4), row[2], row[3]});
  return ways;
}

}  // namespace proctor::testing_support
