#include "harness/plan/config_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "harness/core/memory_size.h"
#include "harness/core/text.h"
#include "harness/core/version.h"
#include "harness/devices/masks/visibility_variables.h"
#include "harness/plan/batch.h"
#include "harness/plan/kinds/all_kinds.h"
#include "harness/plan/run_keys.h"
#include "harness/request/merge.h"

namespace proctor {

namespace {

constexpr int kMaxDevices = 1024;
constexpr int kMaxRetries = 100;
constexpr int kMaxExitCode = 255;
constexpr std::string_view kMarkerPrefix = "marker:";
// As config_keys() calls them, and as the file does.
constexpr std::pair<std::string_view, std::string_view> kTables[] = {
    {"run", "[run]"}, {"defaults", "[defaults]"}, {"suite", "[suite.NAME]"}, {"", "the top level"}};

using Keys = std::vector<std::string>;

Keys limit_keys(Keys more) {
  for (const char* key : {"timeout", "grace", "stall", "startup", "shutdown", "retries", "leaks", "group"})
    more.emplace_back(key);
  std::sort(more.begin(), more.end());
  return more;
}

Keys default_keys() {
  Keys keys = kind_names();
  keys.emplace_back("env");
  return limit_keys(std::move(keys));
}

void read_limits(TableReader& reader, Limits& limits) {
  reader.read("timeout", limits.timeout);
  reader.read("grace", limits.grace, true);
  reader.read("stall", limits.stall);
  reader.read("startup", limits.startup);
  reader.read("shutdown", limits.shutdown);
  reader.read("retries", limits.retries, 0, kMaxRetries);
  std::optional<std::string> leaks;
  reader.read_choice("leaks", leaks, {"warn", "fail"});
  if (leaks) limits.leaks_fail = *leaks == "fail";
}

// Whatever variable_problem() refuses by its name.
std::string env_form() {
  std::string names = "PROCTOR_.*";
  for (const VisibilityVariable& variable : visibility_variables())
    for (const std::string& name : all_names_of(variable)) names += "|" + name;
  return fmt::format(
      R"({{"type": "object", "propertyNames": {{"minLength": 1, "not": {{"pattern": "^({})$|="}}}}, )"
      R"("additionalProperties": {{"type": "string"}}}})",
      names);
}

void read_env(TableReader& reader, std::map<std::string, std::string>& env) {
  reader.tell("env", env_form());
  std::map<std::string, std::string> read;
  reader.read("env", read);
  for (auto& [name, value] : read) {
    if (const auto problem = variable_problem(name, value))
      return reader.fail("env", problem->what, problem->hint);
    env[name] = std::move(value);
  }
}

class FileReader {
 public:
  FileReader(const toml::table& root, const FileContext& file, Config& config,
             std::map<std::string, Profile>& profiles)
      : root_(root), file_(file), config_(config), profiles_(profiles) {}

  std::optional<Error> read() {
    // First of all: a file for a newer Proctor may have keys that this one cannot know.
    check_min_version();
    if (error_) return error_;
    TableReader top = reader_of(root_, "the top level", config_keys(""));
    top.tell("min_version", R"({"type": "string", "pattern": "^[0-9]"})");
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

  // A key that another table has.
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
    read_limits(reader, limits);
    config_.groups.read_key(reader, file_.name, limits.group);
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

  // A layer of this file: what it gives replaces what weaker files gave.
  void read_run(const toml::table& table, std::string title, RunRequest& run) {
    TableReader reader = reader_of(table, std::move(title), config_keys("run"));
    RunRequest layer;
    read_run_keys(reader, file_.directory, file_.of_user, layer);
    keep(reader.error());
    run = merge(std::move(layer), run);
  }

  void read_suites(const toml::table& suites) {
    // In order of appearance: a toml::table iterates by name.
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
      suite.suite.devices = -1;  // by backend, once all layers are read
      suite.suite.devices_by = DevicesBy::kAuto;
      suite.suite.origin = position(file_.name, table);
      read_into(reader, table, suite);
      config_.suites.push_back(std::move(suite));
    }
    keep(reader.error());
  }

  static void fail_built_in(TableReader& reader, const char* key, const SuiteConfig& config) {
    reader.fail(key,
                fmt::format("suite `{}` is built in: its `{}` cannot be changed", config.suite.name, key),
                "Give your own suite another name.");
  }

  void read_into(TableReader& reader, const toml::table& table, SuiteConfig& config) {
    if (config.built_in) {
      for (const char* key : {"kind", "command", "backend", "directory"}) {
        if (table.get(key) != nullptr) fail_built_in(reader, key, config);
      }
    }
    read_program(reader, table, config);
    Suite& suite = config.suite;
    read_directory(reader, suite);
    read_devices(reader, suite);
    std::optional<int> ranks;
    reader.read("ranks", ranks, 0, kMaxRanks);
    if (ranks) suite.ranks = *ranks;
    std::optional<std::string> mask;
    reader.read_choice("mask", mask, {"uuid", "index"});
    if (mask) suite.mask = *mask;
    std::optional<std::string> classname;
    reader.read_choice("junit_classname", classname, {"framework", "suite"});
    if (classname) config.junit_classname = *classname;
    std::optional<std::string> hierarchy;
    reader.read_choice("hierarchy", hierarchy, {"flat", "composite", "combined"});
    if (hierarchy) suite.hierarchy = *hierarchy;
    read_mem_cap(reader, suite);
    reader.read("host_pids", suite.host_pids);
    std::optional<int> skip_code;
    reader.read("skip_code", skip_code, 1, kMaxExitCode);
    if (skip_code) suite.skip_code = *skip_code;
    std::optional<std::vector<std::string>> labels;
    reader.read("labels", labels);
    if (labels) suite.labels = std::move(*labels);
    read_env(reader, suite.env);
    read_policy(reader, config.limits);
  }

  void read_mem_cap(TableReader& reader, Suite& suite) {
    reader.tell("mem_cap", R"({"type": "string", "pattern": "^[0-9]+([.][0-9]+)?[KMGT](iB)?$"})");
    std::optional<std::string> text;
    reader.read("mem_cap", text);
    if (!text) return;
    const auto bytes = parse_memory_size(*text);
    if (!bytes) {
      reader.fail("mem_cap", bytes.error().what, bytes.error().hint);
      return;
    }
    suite.mem_cap = *bytes;
  }

  // A number, or "marker:NAME": then the number is what a test without the marker needs, the default.
  void read_devices(TableReader& reader, Suite& suite) {
    reader.tell("gpus", fmt::format(R"({{"anyOf": [{{"type": "integer", "minimum": 0, "maximum": {}}}, )"
                                    R"({{"type": "string", "pattern": "^{}."}}]}})",
                                    kMaxDevices, kMarkerPrefix));
    const toml::node* node = reader.node("gpus");
    if (node == nullptr) return;
    if (const auto* text = node->as_string()) {
      const std::string marker =
          text->get().starts_with(kMarkerPrefix) ? text->get().substr(kMarkerPrefix.size()) : std::string();
      if (marker.empty()) {
        return reader.fail(
            "gpus", fmt::format("`gpus` is {}, but must be a number or \"marker:NAME\"", value_text(*node)));
      }
      suite.devices_marker = marker;
      return;
    }
    std::optional<int> devices;
    reader.read("gpus", devices, 0, kMaxDevices);
    if (!devices) return;
    suite.devices = *devices;
    suite.devices_marker.clear();
  }

  void read_program(TableReader& reader, const toml::table& table, SuiteConfig& config) {
    Suite& suite = config.suite;
    std::optional<std::string> kind;
    reader.read_choice("kind", kind, kind_names());
    if (kind) {
      config.kind = find_kind(*kind);
      suite.kind_reason = "config";
    }
    std::optional<std::string> backend;
    reader.read_choice("backend", backend, {"auto", "cuda", "xpu", "none"}, backend_hint);
    if (backend) {
      const bool is_auto = *backend == "auto";
      suite.devices_by = is_auto ? DevicesBy::kAuto : DevicesBy::kWritten;
      suite.backend = is_auto ? Backend::kNone : *parse_backend(*backend);
    }
    read_process(reader, config);
    read_command(reader, table, suite);
  }

  void read_process(TableReader& reader, SuiteConfig& config) {
    reader.tell("process", fmt::format(R"({{"type": "string", "pattern": "{}"}})", process_form()));
    std::optional<std::string> text;
    reader.read("process", text);
    if (!text) return;
    const auto choice = parse_process(*text, "`process`");
    if (!choice) return reader.fail("process", choice.error().what, choice.error().hint);
    if (config.built_in && !choice->unit.empty()) return fail_built_in(reader, "process", config);
    choose_process(*choice, config.suite);
  }

  void read_command(TableReader& reader, const toml::table& table, Suite& suite) {
    reader.tell("command", R"({"type": "array", "items": {"type": "string"}, "minItems": 1})");
    std::optional<std::vector<std::string>> command;
    reader.read("command", command);
    if (!command) return;
    if (command->empty() || command->front().empty()) {
      return reader.fail("command", "`command` does not name a program",
                         "Write command = [\"program\", \"argument\"].");
    }
    suite.command = std::move(*command);
    suite.directory = file_.directory;
    suite.origin = position(file_.name, table);
  }

  void read_directory(TableReader& reader, Suite& suite) {
    std::optional<std::string> directory;
    reader.read("directory", directory);
    if (directory)
      suite.directory = (std::filesystem::path(file_.directory) / *directory).lexically_normal().string();
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
      return top.fail(
          "skip", "[[skip]] is not allowed in the user's own file",
          "Write it in the proctor.toml of the project, where everyone who runs its tests sees it.");
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

std::optional<Error> read_retries_option(const std::optional<std::string>& text,
                                         std::optional<int>& retries) {
  if (!text) return std::nullopt;
  int value = -1;
  const char* const end = text->data() + text->size();
  if (std::from_chars(text->data(), end, value).ptr != end || value < 0 || value > kMaxRetries) {
    return Error::refused(fmt::format("--retries must be a whole number from 0 to {} (got {})", kMaxRetries,
                                      shell_quote(*text)));
  }
  retries = value;
  return std::nullopt;
}

std::optional<Error> read_duration_option(const char* option, const std::optional<std::string>& text,
                                          bool zero_allowed, std::optional<Milliseconds>& out) {
  if (!text) return {};
  const Result<Milliseconds> duration = parse_duration(*text);
  if (!duration)
    return Error::refused(fmt::format("{}: {}", option, duration.error().what), duration.error().hint);
  if (*duration == Milliseconds(0) && !zero_allowed) {
    return Error::refused(fmt::format("`{}` must be greater than zero (got {})", option, *text));
  }
  out = *duration;
  return {};
}

// A duration above zero, or "off".
std::optional<Error> read_limit_option(const char* option, const std::optional<std::string>& text,
                                       std::optional<std::optional<Milliseconds>>& out) {
  std::optional<Milliseconds> limit;
  if (text != "off") {
    if (auto error = read_duration_option(option, text, false, limit)) {
      if (error->hint.empty()) error->hint = fmt::format("For no limit, use `{} off`.", option);
      return error;
    }
  }
  if (text) out = limit;
  return {};
}

}  // namespace

std::optional<Error> variable_problem(const std::string& name, const std::string& value) {
  if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos)
    return Error::refused(fmt::format("`{}` is not a valid name of a variable", name));
  if (value.find('\0') != std::string::npos)
    return Error::refused(fmt::format("the value of `{}` contains a NUL byte", name));
  if (name.starts_with("PROCTOR_"))
    return Error::refused(fmt::format("`{}` cannot be set: Proctor sets it for each case", name));
  const VisibilityVariable* variable = find_visibility_variable(name);
  if (variable == nullptr) return {};
  return Error::refused(fmt::format("`{}` cannot be set: it {}", name, variable->why),
                        std::string(variable->instead));
}

bool is_suite_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::optional<Error> add_tables(const toml::table& root, const FileContext& file, Config& config,
                                std::map<std::string, Profile>& profiles) {
  return FileReader(root, file, config, profiles).read();
}

std::optional<Error> read_limit_options(const LimitOptions& options, Limits& limits) {
  if (auto error = read_limit_option("--timeout", options.timeout, limits.timeout)) return error;
  if (auto error = read_duration_option("--grace", options.grace, true, limits.grace)) return error;
  if (auto error = read_limit_option("--stall", options.stall, limits.stall)) return error;
  if (auto error = read_retries_option(options.retries, limits.retries)) return error;
  if (options.leaks) limits.leaks_fail = *options.leaks == "fail";
  return {};
}

Result<void> read_mem_cap_option(const std::string& typed, Suite& suite) {
  if (typed.empty()) return {};
  const auto bytes = parse_memory_size(typed);
  if (!bytes) return Error::refused("--mem-cap: " + bytes.error().what, bytes.error().hint);
  if (suite.backend == Backend::kNone && suite.devices_by != DevicesBy::kAuto) {
    return Error::refused(fmt::format("--mem-cap {} has no effect: no selected suite has a backend", typed),
                          "Add --backend cuda or --backend xpu.");
  }
  suite.mem_cap = *bytes;
  return {};
}

std::vector<std::string> config_keys(std::string_view table) {
  if (table == "defaults") return default_keys();
  if (table == "suite") {
    return limit_keys({"kind", "command", "directory", "backend", "gpus", "ranks", "process", "mask",
                       "hierarchy", "mem_cap", "host_pids", "skip_code", "env", "labels", "junit_classname"});
  }
  if (table == "override") return limit_keys({"match"});
  if (table == "skip") return written_off_keys();
  if (table == "group") return concurrency_group_keys();
  if (table == "profile") return limit_keys({"env", "run"});
  if (table == "run") return run_keys();
  return {"defaults", "group", "min_version", "override", "profile", "run", "skip", "suite"};
}

}  // namespace proctor
