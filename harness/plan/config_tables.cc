#include "harness/plan/config_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/base/version.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/plan/suite_settings.h"
#include "harness/request/merge_requests.h"
#include "harness/request/option.h"
#include "harness/request/run_request.h"

namespace proctor {
namespace {

// The keys of [run] and [profile.NAME.run] come from the table of options (harness/request/option.h).

// Reads one key of a table into a request.
class KeyReader {
 public:
  KeyReader(TableReader& reader, const std::string& directory, const Option& option, RunRequest& run)
      : reader_(reader), directory_(directory), option_(option), key_(option.key.c_str()), run_(run) {}

  void read(bool of_user) {
    std::visit([this](const auto& type) { read(type); }, option_.value);
    if (option_.project_only && of_user && reader_.wanted(key_) != nullptr)
      reader_.fail(key_, fmt::format("`{}` cannot be in the user's own file", option_.key),
                   "It leaves cases out: write it in the proctor.toml of the project.");
  }

 private:
  void read(const FlagValue& flag) {
    bool value = false;
    reader_.read(key_, value);
    if (reader_.wanted(key_) != nullptr) put(flag.of, value);
  }

  void read(const NumberValue& number) {
    std::optional<int> value;
    if (number.if_flag)
      reader_.declare(
          key_,
          fmt::format(
              R"({{"anyOf": [{{"type": "boolean"}}, {{"type": "integer", "minimum": {}, "maximum": {}}}]}})",
              number.least, number.most));
    const toml::node* node = reader_.wanted(key_);
    if (number.if_flag && node != nullptr && node->is_boolean()) {
      value = node->as_boolean()->get() ? *number.if_flag : 0;
    } else {
      reader_.read(key_, value, number.least, number.most);
    }
    if (value) put(number.of, *value);
  }

  void read(const DurationValue& duration) {
    std::optional<Milliseconds> value;
    reader_.read(key_, value, duration.zero_allowed);
    if (value) put(duration.of, *value);
  }

  void read(const TextValue& text) {
    std::optional<std::string> value;
    if (!text.choices.empty()) {
      reader_.read_choice(key_, value, text.choices);
    } else {
      const std::string pattern = text.form.empty() ? "." : text.form;
      reader_.declare(key_, nlohmann::json({{"type", "string"}, {"pattern", pattern}}).dump());
      reader_.read(key_, value);
    }
    if (!value) return;
    if (value->empty()) return reader_.fail(key_, fmt::format("`{}` must not be empty", option_.key));
    if (text.check != nullptr) {
      if (const auto checked = text.check(*value); !checked)
        return reader_.fail(key_, fmt::format("`{}`: {}", option_.key, checked.error().what),
                            checked.error().hint);
    }
    if (text.is_path) value = (std::filesystem::path(directory_) / *value).lexically_normal().string();
    put(text.of, *std::move(value));
  }

  void read(const TextsValue& texts) {
    std::optional<std::vector<std::string>> value;
    reader_.read(key_, value);
    if (value) put(texts.of, *std::move(value));
  }

  template <typename AnyPlaces, typename Value>
  void put(const AnyPlaces& of, Value value) {
    std::visit([&](auto place) { place(run_) = std::move(value); }, of);
  }

  TableReader& reader_;
  const std::string& directory_;
  const Option& option_;
  const char* key_;
  RunRequest& run_;
};

// Returns the keys of [run], sorted.
std::vector<std::string> run_keys() {
  std::vector<std::string> keys;
  for (const Option& option : options()) {
    if (!option.key.empty()) keys.push_back(option.key);
  }
  std::ranges::sort(keys);
  return keys;
}

// Reads the keys of [run]. Paths are relative to `directory`. `of_user` is true for the user file, which
// cannot exclude cases. An error has file, line, value and the allowed values.
void read_run_keys(TableReader& reader, const std::string& directory, bool of_user, RunRequest& run) {
  for (const Option& option : options()) {
    if (!option.key.empty()) KeyReader(reader, directory, option, run).read(of_user);
  }
}

// The names of tables in config_keys(), and in the file.
constexpr std::pair<std::string_view, std::string_view> kTables[] = {
    {"run", "[run]"}, {"defaults", "[defaults]"}, {"suite", "[suite.NAME]"}, {"", "the top level"}};

using Keys = std::vector<std::string>;

Keys limit_keys(Keys more) {
  for (const LimitSetting& setting : limit_settings()) more.push_back(setting.key);
  std::ranges::sort(more);
  return more;
}

Keys suite_keys() {
  Keys keys;
  for (const SuiteSetting& setting : suite_settings()) {
    if (!setting.key.empty()) keys.push_back(setting.key);
  }
  return limit_keys(std::move(keys));
}

Keys default_keys() {
  Keys keys = kind_names();
  keys.emplace_back("env");
  return limit_keys(std::move(keys));
}

class FileReader {
 public:
  FileReader(const toml::table& root, const FileContext& file, Config& config,
             std::map<std::string, Profile>& profiles)
      : root_(root), file_(file), config_(config), profiles_(profiles) {}

  std::optional<Error> read() {
    // The version comes first: a file for a newer Proctor can have keys that this version does not have.
    check_min_version();
    if (error_) return error_;
    TableReader top = reader_of(root_, "the top level", config_keys(""));
    top.declare("min_version", R"({"type": "string", "pattern": "^[0-9]"})");
    if (const toml::table* run = top.table("run")) read_run(*run, "[run]", config_.run);
    if (file_.run_alone) {
      if (const toml::table* profiles = top.table("profile")) read_runs_of_profiles(*profiles);
      keep(top.error());
      return error_;
    }
    if (const toml::table* defaults = top.table("defaults")) read_defaults(*defaults);
    if (const toml::table* suites = top.table("suite")) read_suites(*suites);
    for (const toml::table* entry : top.tables("override")) read_override(*entry);
    read_skips(top);
    if (const toml::table* groups = top.table("group")) read_groups(*groups);
    if (const toml::table* profiles = top.table("profile")) read_profiles(*profiles);
    keep(top.error());
    return error_;
  }

 private:
  TableReader reader_of(const toml::table& table, const std::string& title, const Keys& keys) {
    check_level(table, title, keys);
    return {file_.name, table, title, keys, file_.asked};
  }

  // Reports a key that belongs to another table.
  void check_level(const toml::table& table, const std::string& title, const Keys& keys) {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(keys, key.str()) != keys.end()) continue;
      for (const auto& [name, shown] : kTables) {
        const Keys others = config_keys(name);
        if (std::ranges::find(others, key.str()) == others.end()) continue;
        return keep(toml_error(file_.name, key.source(),
                               fmt::format("unknown key `{}` in {}", key.str(), title),
                               fmt::format("It is a key of {}.", shown)));
      }
    }
  }

  void keep(const std::optional<Error>& error) {
    if (!error_) error_ = error;
  }

  void check_min_version() {
    const toml::node* node = root_.get("min_version");
    if (node == nullptr) return;
    const auto* text = node->as_string();
    const Result<Version> wanted = Version::parse(text != nullptr ? text->get() : "");
    if (!wanted) {
      error_ = toml_error(
          file_.name, node->source(),
          fmt::format("`min_version` is {}, but must be a version such as \"0.1\"", value_text(*node)));
    } else if (compare(*wanted, *Version::parse(PROCTOR_VERSION)) > 0) {
      error_ = toml_error(
          file_.name, node->source(),
          fmt::format("`min_version` is {}, but this is proctor {}", value_text(*node), PROCTOR_VERSION),
          "Install a newer proctor, or use the configuration that belongs to this one.");
    }
  }

  void read_policy(TableReader& reader, Limits& limits) {
    read_limits(reader, file_.name, config_.groups, limits);
  }

  void read_defaults(const toml::table& table) {
    TableReader reader = reader_of(table, "[defaults]", config_keys("defaults"));
    DefaultsLayer layer;
    read_policy(reader, layer.limits);
    read_env(reader, config_.defaults_env);
    for (const std::string& kind : kind_names()) {
      const toml::table* of_kind = reader.table(kind.c_str());
      if (of_kind == nullptr) continue;
      TableReader kind_reader = reader_of(*of_kind, fmt::format("[defaults.{}]", kind), limit_keys({}));
      read_policy(kind_reader, layer.by_kind[find_kind(kind)]);
      keep(kind_reader.error());
    }
    keep(reader.error());
    config_.defaults.push_back(std::move(layer));
  }

  // Reads a layer of this file. Its values replace those of weaker files.
  void read_run(const toml::table& table, std::string title, RunRequest& run) {
    TableReader reader = reader_of(table, std::move(title), config_keys("run"));
    RunRequest layer;
    read_run_keys(reader, file_.directory, file_.of_user, layer);
    keep(reader.error());
    run = merge(std::move(layer), run);
  }

  void read_suites(const toml::table& suites) {
    // The suites are read in order of appearance. A toml::table iterates by name.
    std::vector<std::pair<const toml::key*, const toml::node*>> entries;
    for (const auto& [key, node] : suites) entries.emplace_back(&key, &node);
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.first->source().begin < b.first->source().begin; });
    for (const auto& [key, node] : entries) {
      const std::string name(key->str());
      if (!is_suite_name(name)) {
        keep(toml_error(file_.name, key->source(), fmt::format("`{}` is not a valid suite name", name),
                        "Use letters, digits, `-` and `_`."));
      } else if (!node->is_table()) {
        keep(toml_error(file_.name, node->source(),
                        fmt::format("`suite.{0}` must be a table, [suite.{0}]", name)));
      } else {
        read_suite(name, *node->as_table());
      }
      if (error_) return;
    }
  }

  void read_suite(const std::string& name, const toml::table& table) {
    TableReader reader = reader_of(table, fmt::format("[suite.{}]", name), config_keys("suite"));
    bool found = false;
    for (SuiteConfig& suite : config_.suites) {
      if (suite.suite.name != name) continue;
      found = true;
      read_into(reader, table, suite);
    }
    if (!found) {
      SuiteConfig suite;
      suite.suite.name = name;
      suite.suite.devices = -1;  // resolved from the backend after all layers are read
      suite.suite.devices_by = DevicesBy::kAuto;
      suite.suite.origin = position(file_.name, table);
      read_into(reader, table, suite);
      config_.suites.push_back(std::move(suite));
    }
    keep(reader.error());
  }

  void read_into(TableReader& reader, const toml::table& table, SuiteConfig& config) {
    const std::string origin = position(file_.name, table);
    SuiteTable suite{.reader = reader, .origin = origin, .directory = file_.directory, .config = config};
    read_suite_settings(suite);
    read_policy(reader, config.limits);
  }

  void read_override(const toml::table& table) {
    TableReader reader = reader_of(table, "[[override]]", config_keys("override"));
    Override entry;
    reader.require("match");
    reader.read("match", entry.match);
    read_policy(reader, entry.limits);
    entry.origin = position(file_.name, table);
    keep(reader.error());
    config_.overrides.push_back(std::move(entry));
  }

  void read_groups(const toml::table& groups) {
    for (const auto& [key, node] : groups) {
      const std::string name(key.str());
      const std::string title = fmt::format("[group.{}]", name);
      if (!is_suite_name(name) || name == kNoConcurrencyGroup) {
        return keep(toml_error(file_.name, key.source(),
                               fmt::format("`{}` is not a valid name of a group", name),
                               "Use letters, digits, `-` and `_`. `off` means no group."));
      }
      if (!node.is_table()) return keep(toml_error(file_.name, node.source(), title + " must be a table"));
      TableReader reader = reader_of(*node.as_table(), title, config_keys("group"));
      config_.groups.read_group(reader, name, position(file_.name, node));
      keep(reader.error());
    }
  }

  void read_skips(TableReader& top) {
    if (file_.of_user && top.node("skip") != nullptr) {
      return top.fail("skip", "[[skip]] is not allowed in the user's own file",
                      "Write it in the proctor.toml of the project, where all users of its tests see it.");
    }
    for (const toml::table* entry : top.tables("skip")) {
      TableReader reader = reader_of(*entry, "[[skip]]", config_keys("skip"));
      config_.skips.push_back(read_written_off(reader, position(file_.name, *entry)));
      keep(reader.error());
    }
  }

  void read_profiles(const toml::table& profiles) {
    for (const auto& [key, node] : profiles) {
      const std::string title = fmt::format("[profile.{}]", key.str());
      if (!node.is_table()) return keep(toml_error(file_.name, node.source(), title + " must be a table"));
      TableReader reader = reader_of(*node.as_table(), title, config_keys("profile"));
      Profile& profile = profiles_[std::string(key.str())];
      read_policy(reader, profile.limits);
      read_env(reader, profile.env);
      if (const toml::table* run = reader.table("run"))
        read_run(*run, fmt::format("[profile.{}.run]", key.str()), profile.run);
      keep(reader.error());
    }
  }

  void read_runs_of_profiles(const toml::table& profiles) {
    for (const auto& [key, node] : profiles) {
      const toml::table* run = node.is_table() ? node.as_table()->get_as<toml::table>("run") : nullptr;
      if (run != nullptr)
        read_run(*run, fmt::format("[profile.{}.run]", key.str()), profiles_[std::string(key.str())].run);
    }
  }

  const toml::table& root_;
  const FileContext& file_;
  Config& config_;
  std::map<std::string, Profile>& profiles_;
  std::optional<Error> error_;
};

}  // namespace

bool is_suite_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::optional<Error> add_tables(const toml::table& root, const FileContext& file, Config& config,
                                std::map<std::string, Profile>& profiles) {
  return FileReader(root, file, config, profiles).read();
}

std::vector<std::string> config_keys(std::string_view table) {
  if (table == "defaults") return default_keys();
  if (table == "suite") return suite_keys();
  if (table == "override") return limit_keys({"match"});
  if (table == "skip") return written_off_keys();
  if (table == "group") return concurrency_group_keys();
  if (table == "profile") return limit_keys({"env", "run"});
  if (table == "run") return run_keys();
  return {"defaults", "group", "min_version", "override", "profile", "run", "skip", "suite"};
}

}  // namespace proctor
