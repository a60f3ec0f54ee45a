#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "harness/base/digest.h"
#include "harness/base/named_file.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/plan/config.h"
#include "harness/plan/config_tables.h"
#include "harness/plan/suite_options.h"
#include "harness/request/merge_requests.h"

namespace proctor {

namespace {

constexpr const char* kProjectFile = "proctor.toml";
constexpr const char* kRepository = ".git";

// Returns whether the directory has an entry of that name. exists() follows links and would not see a
// dangling link.
bool has_entry(const std::filesystem::path& directory, const char* name) {
  std::error_code ec;
  return std::filesystem::symlink_status(directory / name, ec).type() !=
         std::filesystem::file_type::not_found;
}

// Returns whether the entry belongs to this user or to root. Other users may have write access to a directory
// above.
bool is_ours(const std::filesystem::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && (status.st_uid == ::geteuid() || status.st_uid == 0);
}

// Returns whether the file belongs to another user. If the file cannot be reached, the nearest accessible
// directory is checked.
bool is_of_another(std::filesystem::path path) {
  struct stat status {};
  while (::stat(path.c_str(), &status) != 0 && path != path.parent_path()) path = path.parent_path();
  return status.st_uid != ::geteuid();
}

// Searches `start` and the directories above it, up to the root of the repository. If there is no repository,
// only `start` counts, because other users can write to directories above. A file, its directory or a
// repository that belongs to another user is refused, because Proctor would execute the commands of the file.
Result<std::optional<std::filesystem::path>> find_project_file(const std::filesystem::path& start) {
  std::optional<std::filesystem::path> nearest;
  for (std::filesystem::path directory = start;; directory = directory.parent_path()) {
    if (!nearest && has_entry(directory, kProjectFile)) nearest = directory / kProjectFile;
    if (has_entry(directory, kRepository)) {
      if (!nearest || nearest->parent_path() == start) return nearest;
      for (const auto& path : {nearest->parent_path(), *nearest, directory / kRepository}) {
        if (is_ours(path)) continue;
        return Error::refused(
            nearest->string() + " is not read: " + path.string() + " belongs to another user",
            "To trust it, use --config " + nearest->string() + ".");
      }
      return nearest;
    }
    if (directory == directory.parent_path()) break;
  }
  if (nearest && nearest->parent_path() == start) return nearest;
  return std::optional<std::filesystem::path>();
}

// Collects the texts of all configuration files.
class FileFinder {
 public:
  explicit FileFinder(const ConfigOptions& where) : where_(where) { found_.where = where; }

  Result<ConfigFiles> find() {
    found_.texts.push_back({"defaults.toml", where_.directory, std::string(embedded_defaults())});
    if (auto error = add_user_file()) return *error;
    if (auto error = add_project_file()) return *error;
    return std::move(found_);
  }

 private:
  std::optional<Error> add_user_file() {
    const std::string& file = where_.user_file;
    std::error_code ec;
    if (file.empty() || !std::filesystem::exists(file, ec)) {
      // An unreadable directory in the path must be reported. It does not prove that the file is missing.
      if (!ec || ec == std::errc::no_such_file_or_directory || ec == std::errc::not_a_directory) return {};
    }
    const Result<std::string> text = read_found_file(file);
    if (!text && text.error().sys_errno == EACCES && is_of_another(file)) {
      found_.warnings.push_back(
          {WarningCode::kUserConfig, fmt::format("failed to {}: it belongs to another user and is ignored. "
                                                 "Set HOME or XDG_CONFIG_HOME to read your own configuration",
                                                 text.error().what)});
      return {};
    }
    return add(text, file, where_.directory, /*of_user=*/true);
  }

  std::optional<Error> add_project_file() {
    if (where_.text) {
      found_.texts.push_back({kProjectFile, where_.directory, *where_.text});
      return {};
    }
    const std::filesystem::path directory(where_.directory);
    if (!where_.config_file.empty()) {
      const std::filesystem::path file = directory / where_.config_file;
      return add(read_typed_file(file), where_.config_file, std::filesystem::absolute(file).parent_path());
    }
    const auto found = find_project_file(directory);
    if (!found) return found.error();
    if (!*found) return {};
    const std::filesystem::path& file = **found;
    return add(read_found_file(file), file.lexically_relative(directory).string(),
               file.parent_path().string());
  }

  std::optional<Error> add(const Result<std::string>& text, const std::string& name,
                           const std::string& directory, bool of_user = false) {
    if (!text) return text.error();
    found_.files.push_back({.file = name, .sha256 = sha256_hex(*text)});
    found_.texts.push_back({name, directory, *text, of_user});
    return {};
  }

  const ConfigOptions& where_;
  ConfigFiles found_{};
};

// Merges the layers. The first mistake ends the merge.
class Loader {
 public:
  Loader(const ConfigFiles& files, const std::vector<BuiltinSuite>& builtins)
      : files_(files), where_(files.where) {
    config_.directory = where_.directory;
    config_.files = files.files;
    config_.warnings = files.warnings;
    for (const BuiltinSuite& builtin : builtins) add_builtin(builtin);
  }

  Result<RunRequest> load_run() {
    if (auto error = add_texts(/*run_alone=*/true)) return *error;
    return merge(profiles_[where_.profile].run, config_.run);
  }

  Result<Config> load(const LimitOptions& limits) {
    if (auto error = add_texts(/*run_alone=*/false)) return *error;
    if (auto error = config_.groups.problem()) return *error;
    if (auto error = choose_profile()) return *error;
    if (auto error = read_limit_options(limits, config_.options)) return *error;
    for (SuiteConfig& suite : config_.suites) {
      if (auto error = finish_suite(suite)) return *error;
    }
    return std::move(config_);
  }

 private:
  void add_builtin(const BuiltinSuite& builtin) {
    SuiteConfig suite;
    suite.built_in = true;
    suite.kind = builtin.kind;
    suite.suite.name = builtin.name;
    suite.suite.kind_reason = "built in";
    suite.suite.command = builtin.command;
    suite.suite.directory = where_.directory;
    suite.suite.backend = builtin.backend;
    suite.suite.devices = builtin.devices;
    suite.suite.labels = builtin.labels;
    suite.suite.env = builtin.env;
    suite.suite.origin = kBuiltInOrigin;
    config_.suites.push_back(std::move(suite));
  }

  std::optional<Error> add_texts(bool run_alone) {
    for (const ConfigText& one : files_.texts) {
      const Result<toml::table> root = parse_toml(one.text, one.name);
      if (!root) return root.error();
      const FileContext context{
          .name = one.name, .directory = one.directory, .run_alone = run_alone, .of_user = one.of_user};
      if (auto error = add_tables(*root, context, config_, profiles_)) return error;
    }
    return {};
  }

  std::optional<Error> choose_profile() {
    if (where_.profile.empty()) return {};
    const auto found = profiles_.find(where_.profile);
    if (found == profiles_.end()) {
      std::vector<std::string> names;
      for (const auto& [name, profile] : profiles_) names.push_back(name);
      const std::string hint = names.empty() ? "No configuration file has a [profile.NAME] table."
                                             : suggestion(where_.profile, names, "profiles");
      return Error::refused(fmt::format("--profile {} does not exist", where_.profile), hint);
    }
    config_.profile = found->second.limits;
    config_.profile_env = found->second.env;
    config_.run = merge(found->second.run, config_.run);
    return {};
  }

  // Checks conditions that depend on the merged suite.
  std::optional<Error> finish_suite(SuiteConfig& config) {
    Suite& suite = config.suite;
    const std::string where = fmt::format("{}: [suite.{}]", suite.origin, suite.name);
    if (suite.command.empty()) {
      return Error::refused(where + " needs the key `command`",
                            "Write command = [\"program\", \"argument\"].");
    }
    if (suite.devices_by == DevicesBy::kAuto) return finish_environment(suite);
    if (suite.devices < 0) suite.devices = suite.backend == Backend::kNone ? 0 : 1;
    if (!suite.devices_marker.empty() && suite.backend == Backend::kNone) {
      return Error::refused(fmt::format("{} needs devices (marker `{}`), but its backend is \"none\"", where,
                                        suite.devices_marker),
                            "Write backend = \"cuda\", \"xpu\" or \"auto\".");
    }
    if (suite.devices > 0 && suite.backend == Backend::kNone) {
      return Error::refused(
          fmt::format("{} needs {} devices, but its backend is \"none\"", where, suite.devices),
          "Write backend = \"cuda\", \"xpu\" or \"auto\".");
    }
    if (auto settled = settle_unused_settings(where, config); !settled) return settled.error();
    return finish_environment(suite);
  }

  std::optional<Error> finish_environment(Suite& suite) {
    std::map<std::string, std::string> env = config_.defaults_env;
    for (const auto& [name, value] : suite.env) env[name] = value;
    for (const auto& [name, value] : config_.profile_env) env[name] = value;
    suite.env = std::move(env);
    return {};
  }

  const ConfigFiles& files_;
  const ConfigOptions& where_;
  Config config_;
  std::map<std::string, Profile> profiles_;
};

}  // namespace

Result<ConfigFiles> read_config_files(const ConfigOptions& where) { return FileFinder(where).find(); }

Result<Config> config_of(const ConfigFiles& files, const LimitOptions& limits,
                         const std::vector<BuiltinSuite>& builtins) {
  return Loader(files, builtins).load(limits);
}

Result<Config> load_config(const ConfigOptions& where, const LimitOptions& limits,
                           const std::vector<BuiltinSuite>& builtins) {
  const auto files = read_config_files(where);
  return files ? config_of(*files, limits, builtins) : files.error();
}

Result<RunRequest> load_run_keys(const ConfigFiles& files) { return Loader(files, {}).load_run(); }

CasePolicy resolve_policy(const Config& config, const SuiteConfig& suite, const Kind* kind,
                          std::string_view id) {
  CasePolicy policy;
  for (const DefaultsLayer& layer : config.defaults) {
    overlay(layer.limits, policy);
    if (const auto found = layer.by_kind.find(kind); found != layer.by_kind.end())
      overlay(found->second, policy);
  }
  overlay(suite.limits, policy);
  if (!id.empty()) {
    for (const Override& entry : config.overrides) {
      if (glob_match(entry.match, id)) overlay(entry.limits, policy);
    }
  }
  overlay(config.profile, policy);
  overlay(config.options, policy);
  return policy;
}

std::string user_config_file(const char* xdg_config_home, const char* home) {
  if (xdg_config_home != nullptr && xdg_config_home[0] == '/') {
    return std::string(xdg_config_home) + "/proctor/proctor.toml";
  }
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.config/proctor/proctor.toml";
  return {};
}

}  // namespace proctor
