#include "harness/plan/suite_settings.h"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/devices/masks/visibility_variables.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/plan/batch.h"

namespace proctor {
namespace {

constexpr int kMaxDevices = 1024;
constexpr int kMaxExitCode = 255;
constexpr std::string_view kMarkerPrefix = "marker:";
constexpr const char* kWriteBackend = "Write backend = \"cuda\", \"xpu\" or \"auto\".";

// ---- Keys whose type is not sufficient ----

void refuse_in_built_in(const char* key, SuiteTable& table) {
  table.reader.fail(
      key, fmt::format("suite `{}` is built in: its `{}` cannot be changed", table.config.suite.name, key),
      "Give your own suite another name.");
}

void read_kind(const char* key, SuiteTable& table) {
  std::optional<std::string> kind;
  table.reader.read_choice(key, kind, kind_names());
  if (!kind) return;
  table.config.kind = find_kind(*kind);
  table.config.suite.kind_reason = "config";
}

void read_backend(const char* key, SuiteTable& table) {
  std::optional<std::string> backend;
  table.reader.read_choice(key, backend, {"auto", "cuda", "xpu", "none"}, backend_hint);
  if (!backend) return;
  const bool is_auto = *backend == "auto";
  table.config.suite.devices_by = is_auto ? DevicesBy::kAuto : DevicesBy::kWritten;
  table.config.suite.backend = is_auto ? Backend::kNone : *parse_backend(*backend);
}

void read_process(const char* key, SuiteTable& table) {
  table.reader.declare(key, fmt::format(R"({{"type": "string", "pattern": "{}"}})", process_form()));
  std::optional<std::string> text;
  table.reader.read(key, text);
  if (!text) return;
  const auto choice = parse_process(*text, "`process`");
  if (!choice) return table.reader.fail(key, choice.error().what, choice.error().hint);
  if (table.config.built_in && !choice->unit.empty()) return refuse_in_built_in(key, table);
  choose_process(*choice, table.config.suite);
}

void read_command(const char* key, SuiteTable& table) {
  table.reader.declare(key, R"({"type": "array", "items": {"type": "string"}, "minItems": 1})");
  std::optional<std::vector<std::string>> command;
  table.reader.read(key, command);
  if (!command) return;
  if (command->empty() || command->front().empty()) {
    return table.reader.fail(key, "`command` does not name a program",
                             "Write command = [\"program\", \"argument\"].");
  }
  Suite& suite = table.config.suite;
  suite.command = std::move(*command);
  suite.directory = table.directory;
  suite.origin = table.origin;
}

void read_directory(const char* key, SuiteTable& table) {
  std::optional<std::string> directory;
  table.reader.read(key, directory);
  if (!directory) return;
  table.config.suite.directory =
      (std::filesystem::path(table.directory) / *directory).lexically_normal().string();
}

// Reads a number, or "marker:NAME". With a marker, tests without it need the default number of devices.
void read_devices(const char* key, SuiteTable& table) {
  TableReader& reader = table.reader;
  Suite& suite = table.config.suite;
  reader.declare(key, fmt::format(R"({{"anyOf": [{{"type": "integer", "minimum": 0, "maximum": {}}}, )"
                                  R"({{"type": "string", "pattern": "^{}."}}]}})",
                                  kMaxDevices, kMarkerPrefix));
  const toml::node* node = reader.node(key);
  if (node == nullptr) return;
  if (const auto* text = node->as_string()) {
    const std::string marker =
        text->get().starts_with(kMarkerPrefix) ? text->get().substr(kMarkerPrefix.size()) : std::string();
    if (marker.empty()) {
      return reader.fail(
          key, fmt::format("`{}` is {}, but must be a number or \"marker:NAME\"", key, value_text(*node)));
    }
    suite.devices_marker = marker;
    return;
  }
  std::optional<int> devices;
  reader.read(key, devices, 0, kMaxDevices);
  if (!devices) return;
  suite.devices = *devices;
  suite.devices_marker.clear();
}

void read_classname(const char* key, SuiteTable& table) {
  std::optional<std::string> classname;
  table.reader.read_choice(key, classname, {"framework", "suite"});
  if (classname) table.config.junit_classname = *classname;
}

void read_memory_cap(const char* key, SuiteTable& table) {
  table.reader.declare(key, R"({"type": "string", "pattern": "^[0-9]+([.][0-9]+)?[KMGT](iB)?$"})");
  std::optional<std::string> text;
  table.reader.read(key, text);
  if (!text) return;
  const auto bytes = parse_memory_size(*text);
  if (!bytes) return table.reader.fail(key, bytes.error().what, bytes.error().hint);
  table.config.suite.mem_cap = *bytes;
}

// Returns the schema of names that variable_problem() does not refuse.
std::string env_form() {
  std::string names = "PROCTOR_.*";
  for (const VisibilityVariable& variable : visibility_variables())
    for (const std::string& name : all_names_of(variable)) names += "|" + name;
  return fmt::format(
      R"({{"type": "object", "propertyNames": {{"minLength": 1, "not": {{"pattern": "^({})$|="}}}}, )"
      R"("additionalProperties": {{"type": "string"}}}})",
      names);
}

// ---- Options ----

template <auto Member>
std::vector<std::string> texts_of(const SelectionOptions& options) {
  const auto& value = options.*Member;
  if constexpr (requires { value.begin(); }) {
    return value;
  } else if constexpr (requires { value->size(); }) {
    return value ? std::vector{*value} : std::vector<std::string>();
  } else if constexpr (requires { value.has_value(); }) {
    return value ? std::vector{std::to_string(*value)} : std::vector<std::string>();
  } else {
    return value ? std::vector<std::string>{"true"} : std::vector<std::string>();
  }
}

template <auto Member>
Result<void> put_member(const std::string& text, Suite& suite) {
  if constexpr (requires { suite.*Member = text; }) {
    suite.*Member = text;
  } else {
    suite.*Member = true;
  }
  return {};
}

Result<void> put_devices(const std::string& text, Suite& suite) {
  const int devices = std::stoi(text);
  if (devices < 0) return Error::refused(fmt::format("--gpus must not be negative (got {})", devices));
  suite.devices = devices;
  suite.devices_marker.clear();  // the number applies to all cases
  return {};
}

Result<void> put_memory_cap(const std::string& text, Suite& suite) {
  const auto bytes = parse_memory_size(text);
  if (!bytes) return Error::refused("--mem-cap: " + bytes.error().what, bytes.error().hint);
  suite.mem_cap = *bytes;
  return {};
}

Result<void> put_process(const std::string& text, Suite& suite) {
  const auto choice = parse_process(text, "--process");
  if (!choice) return choice.error();
  choose_process(*choice, suite);
  return {};
}

Result<void> put_variable(const std::string& text, Suite& suite) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos)
    return Error::refused(fmt::format("--env must be NAME=VALUE (got {})", shell_quote(text)));
  const std::string name = text.substr(0, equals);
  if (const auto problem = variable_problem(name, text.substr(equals + 1)))
    return Error::refused(fmt::format("--env {}: {}", shell_quote(text), problem->what), problem->hint);
  suite.env[name] = text.substr(equals + 1);
  return {};
}

// ---- Conditions under which a value applies to a suite ----

bool may_use_devices(const Suite& suite, const std::string& /*text*/) {
  return suite.backend != Backend::kNone || suite.devices_by == DevicesBy::kAuto;
}

bool may_have_number(const Suite& suite, const std::string& text) {
  return text == "0" || may_use_devices(suite, text);
}

bool may_have_hierarchy(const Suite& suite, const std::string& /*text*/) {
  return suite.backend == Backend::kXpu || suite.devices_by == DevicesBy::kAuto;
}

bool may_have_mask(const Suite& suite, const std::string& text) {
  return may_use_devices(suite, text) && !(text == "uuid" && suite.backend == Backend::kXpu);
}

Result<void> check_uses_device(const std::string& option, const std::string& /*text*/, const Suite& suite) {
  if (suite.devices != 0) return {};
  return Error::refused(option + " requires a command that uses a device", "Add --gpus 1.");
}

Result<void> check_has_hierarchy(const std::string& option, const std::string& /*text*/, const Suite& suite) {
  if (suite.backend == Backend::kXpu) return {};
  return Error::refused(option + " requires a command that uses an xpu device");
}

Result<void> check_has_mask(const std::string& option, const std::string& text, const Suite& suite) {
  if (auto used = check_uses_device(option, text, suite); !used) return used;
  if (may_have_mask(suite, text)) return {};
  return Error::refused(option + " has no effect on an xpu device: ZE_AFFINITY_MASK has only numbers");
}

// ---- The rows ----

std::string memory_cap_in_digest(const Suite& suite) {
  return suite.mem_cap == 0 ? "" : "--mem-cap=" + format_memory_size(suite.mem_cap);
}

using Settings = std::vector<SuiteSetting>;

Settings program_settings() {
  return {{.member = &Suite::name, .in_plan = "name"},
          {.key = "kind",
           .member = &Suite::kind,
           .read = read_kind,
           .fixed_if_built_in = true,
           .in_plan = "kind"},
          {.member = &Suite::kind_reason, .in_plan = "kind_reason"},
          {.key = "backend",
           .member = &Suite::backend,
           .read = read_backend,
           .fixed_if_built_in = true,
           .in_plan = "backend"},
          {.key = "process",
           .member = &Suite::process,
           .read = read_process,
           .option = {.name = "--process", .typed = texts_of<&SelectionOptions::process>, .put = put_process},
           .in_plan = "process"},
          {.member = &Suite::batch, .in_plan = "batch", .omitted_at_default = true},
          {.member = &Suite::verify, .in_plan = "verify", .omitted_at_default = true},
          {.key = "command",
           .member = &Suite::command,
           .read = read_command,
           .fixed_if_built_in = true,
           .in_plan = "command"},
          {.key = "directory",
           .member = &Suite::directory,
           .read = read_directory,
           .fixed_if_built_in = true,
           .in_plan = "directory"},
          {.member = &Suite::listener, .in_plan = "listener"},
          {.member = &Suite::filters, .in_plan = "filters"},
          {.member = &Suite::origin, .in_plan = "origin"}};
}

Settings device_settings() {
  return {{.key = "gpus",
           .member = &Suite::devices,
           .read = read_devices,
           .counts = may_have_number,
           .option = {.name = "--gpus",
                      .typed = texts_of<&SelectionOptions::gpus>,
                      .put = put_devices,
                      .no_suite = "no selected suite has a backend",
                      .hint = "Add --backend cuda or --backend xpu."},
           .in_plan = "devices"},
          {.member = &Suite::devices_marker, .in_plan = "devices_marker"},
          {.key = "ranks", .member = &Suite::ranks, .most = kMaxRanks, .in_plan = "ranks"},
          {.key = "mask",
           .member = &Suite::mask,
           .choices = {"uuid", "index"},
           .counts = may_have_mask,
           .option = {.name = "--mask",
                      .typed = texts_of<&SelectionOptions::mask>,
                      .put = put_member<&Suite::mask>,
                      .no_suite = "no selected suite has such a mask",
                      .hint = "Add --backend cuda: Level Zero has only numbers.",
                      .check_command = check_has_mask},
           .in_plan = "mask"},
          {.key = "hierarchy",
           .member = &Suite::hierarchy,
           .choices = {"flat", "composite", "combined"},
           .counts = may_have_hierarchy,
           .hint_if_unused = "Write backend = \"xpu\": only Level Zero has a hierarchy.",
           .option = {.name = "--hierarchy",
                      .typed = texts_of<&SelectionOptions::hierarchy>,
                      .put = put_member<&Suite::hierarchy>,
                      .no_suite = "no selected suite has backend xpu",
                      .check_command = check_has_hierarchy},
           .in_plan = "hierarchy"},
          {.key = "mem_cap",
           .member = &Suite::mem_cap,
           .read = read_memory_cap,
           .counts = may_use_devices,
           .hint_if_unused = kWriteBackend,
           .option = {.name = "--mem-cap",
                      .typed = texts_of<&SelectionOptions::mem_cap>,
                      .put = put_memory_cap,
                      .no_suite = "no selected suite has a backend",
                      .hint = "Add --backend cuda or --backend xpu.",
                      .judged_last = true,
                      .check_command = check_uses_device},
           .in_plan = "mem_cap",
           .omitted_at_default = true,
           .in_digest = memory_cap_in_digest}};  // some checks need more memory than the limit
}

Settings case_settings() {
  return {{.key = "host_pids",
           .member = &Suite::host_pids,
           .option = {.name = "--host-pids",
                      .typed = texts_of<&SelectionOptions::host_pids>,
                      .put = put_member<&Suite::host_pids>},
           .in_plan = "host_pids",
           .omitted_at_default = true},
          {.key = "skip_code",
           .member = &Suite::skip_code,
           .least = 1,
           .most = kMaxExitCode,
           .in_plan = "skip_code",
           .omitted_at_default = true},
          {.key = "junit_classname", .read = read_classname},
          {.key = "labels", .member = &Suite::labels, .in_plan = "labels"},
          {.key = "env",
           .member = &Suite::env,
           .read = [](const char*, SuiteTable& table) { read_env(table.reader, table.config.suite.env); },
           .option = {.name = "--env", .typed = texts_of<&SelectionOptions::env>, .put = put_variable},
           .in_plan = "env"}};
}

Settings all_settings() {
  Settings all = program_settings();
  for (Settings more : {device_settings(), case_settings()})
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return all;
}

template <typename... Functions>
struct OneOf : Functions... {
  using Functions::operator()...;
};

void read_setting(const SuiteSetting& setting, SuiteTable& table) {
  const char* key = setting.key.c_str();
  TableReader& reader = table.reader;
  Suite& suite = table.config.suite;
  if (setting.read != nullptr) return setting.read(key, table);
  std::visit(OneOf{[&](bool Suite::*flag) { reader.read(key, suite.*flag); },
                   [&](int Suite::*number) {
                     std::optional<int> value;
                     reader.read(key, value, setting.least, setting.most);
                     if (value) suite.*number = *value;
                   },
                   [&](std::string Suite::*word) {
                     std::optional<std::string> value;
                     reader.read_choice(key, value, setting.choices);
                     if (value) suite.*word = *std::move(value);
                   },
                   [&](std::vector<std::string> Suite::*words) {
                     std::optional<std::vector<std::string>> value;
                     reader.read(key, value);
                     if (value) suite.*words = *std::move(value);
                   },
                   [&](auto) { throw std::logic_error("the row of `" + setting.key + "` has no reader"); }},
             setting.member);
}

}  // namespace

const std::vector<SuiteSetting>& suite_settings() {
  static const Settings kSettings = all_settings();
  return kSettings;
}

void read_suite_settings(SuiteTable& table) {
  for (const SuiteSetting& setting : suite_settings()) {
    const char* key = setting.key.c_str();
    if (setting.key.empty()) continue;
    if (setting.fixed_if_built_in && table.config.built_in && table.reader.node(key) != nullptr)
      refuse_in_built_in(key, table);
    read_setting(setting, table);
  }
}

void read_env(TableReader& reader, std::map<std::string, std::string>& env) {
  reader.declare("env", env_form());
  std::map<std::string, std::string> read;
  reader.read("env", read);
  for (auto& [name, value] : read) {
    if (const auto problem = variable_problem(name, value))
      return reader.fail("env", problem->what, problem->hint);
    env[name] = std::move(value);
  }
}

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

}  // namespace proctor
