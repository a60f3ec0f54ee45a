#include "harness/plan/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "harness/base/text.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/plan/config_tables.h"
#include "harness/plan/suite_options.h"

namespace proctor {

namespace {

constexpr const char* kLiteral = "--case";

std::string known(std::string_view word, const std::set<std::string>& candidates, std::string_view noun) {
  const std::vector<std::string> list(candidates.begin(), candidates.end());
  const std::string near = did_you_mean(word, list);
  std::string text = near.empty() ? near : near + " ";
  text += list.empty() ? fmt::format("There are no {}.", noun)
                       : fmt::format("Known {}: {}.", noun, fmt::join(list, ", "));
  return text;
}

// Returns the kind of the command, if its words show it. `python3 -m pytest` and its ids are named `pytest`.
std::string name_of_command(const std::vector<std::string>& command) {
  const Kind* kind = kind_of_command(command);
  return kind != nullptr ? std::string(kind->name()) : ad_hoc_name(command.front());
}

Result<std::vector<SuiteConfig>> ad_hoc_suite(const Config& config, const SelectionOptions& options,
                                              std::optional<Backend> backend) {
  if (!options.suites.empty()) {
    return Error::refused(
        fmt::format("Suite `{}` cannot be combined with a command after `--`", options.suites.front()),
        "Give either suites or a command.");
  }
  if (options.command.front().empty()) return Error::refused("The command after `--` is empty");
  if (options.backend == "all") {
    return Error::refused("--backend all cannot be combined with a command after `--`",
                          "Use cuda, xpu or none.");
  }
  if (!options.labels.empty()) {
    return Error::refused(
        fmt::format("--label {} cannot be combined with a command after `--`", options.labels.front()),
        "Labels belong to the suites of a configuration file.");
  }
  SuiteConfig suite;
  suite.suite.name = options.name ? *options.name : name_of_command(options.command);
  if (!is_suite_name(suite.suite.name)) {
    return Error::refused(fmt::format("{} is not a valid suite name", shell_quote(suite.suite.name)),
                          "Use letters, digits, `-` and `_`.");
  }
  if (options.kind) {
    suite.kind = find_kind(*options.kind);
    if (suite.kind == nullptr) {
      const auto kinds = kind_names();
      return Error::refused(fmt::format("--kind {} does not exist", *options.kind),
                            known(*options.kind, {kinds.begin(), kinds.end()}, "kinds"));
    }
    suite.suite.kind_reason = "--kind";
  }
  if (options.joined) suite.junit_classname = "suite";
  suite.suite.command = options.command;
  suite.suite.directory = config.directory;
  suite.suite.backend = backend.value_or(Backend::kNone);
  suite.suite.devices_by = backend ? DevicesBy::kWritten : DevicesBy::kAuto;
  suite.suite.devices = !backend ? -1 : *backend == Backend::kNone ? 0 : 1;
  suite.suite.origin = kCommandLineOrigin;
  suite.suite.env = config.defaults_env;
  for (const auto& [name, value] : config.profile_env) suite.suite.env[name] = value;
  return std::vector<SuiteConfig>{std::move(suite)};
}

Error unknown_suite(const std::string& name, const std::set<std::string>& all) {
  const std::string what = fmt::format("There is no suite `{}`", name);
  const std::size_t slash = name.find('/');
  const std::string suite = name.substr(0, std::min(slash, name.find('.')));
  if (slash != name.npos && all.contains(suite)) {
    return Error::refused(what, fmt::format("To run a case, write: proctor run {} --filter '{}'", suite,
                                            name.substr(slash + 1)));
  }
  const bool near = !near_miss(name, std::vector<std::string>(all.begin(), all.end())).empty();
  const std::string program = " To run a program, use `proctor run -- " + name + "`.";
  return Error::refused(what, known(name, all, "suites") + (near ? "" : program));
}

Error no_suite(const Config& config, const std::set<std::string>& built_in) {
  std::vector<std::string> files;
  for (const InputFile& read : config.files) files.push_back(read.file);
  const std::string why =
      files.empty() ? "no proctor.toml was found" : fmt::format("{} has none", fmt::join(files, ", "));
  const std::string names =
      built_in.empty() ? "" : fmt::format(" Built-in suites: {}.", fmt::join(built_in, ", "));
  return Error::refused(
      "No suites here: " + why,
      "Run `proctor init` to find the tests here, or give a suite or a command: `proctor run "
      "SUITE`, `proctor run -- COMMAND`." +
          names);
}

Result<std::vector<SuiteConfig>> named_suites(const Config& config, const SelectionOptions& options) {
  const std::vector<std::string>& names = options.suites;
  std::set<std::string> all;
  for (const SuiteConfig& suite : config.suites) all.insert(suite.suite.name);
  for (const std::string& name : names) {
    if (all.count(name) == 0) return unknown_suite(name, all);
  }
  const bool any_from_files = std::any_of(config.suites.begin(), config.suites.end(),
                                          [](const SuiteConfig& suite) { return !suite.built_in; });
  const bool is_narrowed =
      !options.filters.empty() || !options.cases.empty() || !options.labels.empty() || !options.tags.empty();
  const bool takes_built_in = !config.suites.empty() && (is_narrowed || !options.named_only);
  if (names.empty() && !any_from_files && !takes_built_in) return no_suite(config, all);
  std::vector<SuiteConfig> chosen;
  for (const SuiteConfig& suite : config.suites) {
    const bool named = std::find(names.begin(), names.end(), suite.suite.name) != names.end();
    if (names.empty() ? !(any_from_files && suite.built_in) : named) chosen.push_back(suite);
  }
  return chosen;
}

Result<void> check_labels(const std::vector<SuiteConfig>& suites, const std::vector<std::string>& labels) {
  std::set<std::string> all;
  for (const SuiteConfig& suite : suites) all.insert(suite.suite.labels.begin(), suite.suite.labels.end());
  for (const std::string& label : labels) {
    if (all.count(label) == 0) {
      return Error::refused(fmt::format("No suite has the label `{}`", label), known(label, all, "labels"));
    }
  }
  return {};
}

Result<void> check_tags(const std::vector<Case>& cases, const std::vector<std::string>& tags) {
  // the tag may belong to a case of the unlisted suite
  if (std::any_of(cases.begin(), cases.end(), is_unlisted)) return {};
  std::set<std::string> all;
  for (const Case& test : cases) all.insert(test.tags.begin(), test.tags.end());
  for (const std::string& tag : tags) {
    if (all.count(tag) == 0)
      return Error::refused(fmt::format("No case has the tag `{}`", tag), known(tag, all, "tags"));
  }
  return {};
}

// Returns whether `words` contains one of the `wanted` words, or `wanted` is empty.
bool has_any(const std::vector<std::string>& words, const std::vector<std::string>& wanted) {
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
           return std::find(words.begin(), words.end(), word) != words.end();
         });
}

// Sets the backend from the option, if the suite has no configured backend.
void write_backend(Backend backend, Suite& suite) {
  if (suite.devices_by != DevicesBy::kAuto) return;
  suite.devices_by = DevicesBy::kWritten;
  suite.backend = backend;
  if (backend == Backend::kNone) suite.devices = 0;
  if (suite.devices < 0) suite.devices = 1;
}

Result<std::vector<SuiteConfig>> narrow(std::vector<SuiteConfig> suites, const SelectionOptions& options,
                                        std::optional<Backend> backend) {
  if (Result<void> labels = check_labels(suites, options.labels); !labels) return labels.error();
  std::erase_if(suites,
                [&](const SuiteConfig& suite) { return !has_any(suite.suite.labels, options.labels); });
  std::set<std::string> backends;
  for (const SuiteConfig& suite : suites) backends.emplace(to_string(suite.suite.backend));
  if (backend) {
    for (SuiteConfig& suite : suites) write_backend(*backend, suite.suite);
    std::erase_if(suites, [&](const SuiteConfig& suite) { return suite.suite.backend != *backend; });
  }
  if (suites.empty()) {
    return Error::refused(fmt::format("No selected suite has backend {}", to_string(*backend)),
                          known("", backends, "backends of the selected suites"));
  }
  return suites;
}

Result<void> check_ad_hoc_options(const SelectionOptions& options) {
  if (!options.command.empty() || (!options.kind && !options.name)) return {};
  const auto [option, value] =
      options.kind ? std::pair("--kind", *options.kind) : std::pair("--name", *options.name);
  return Error::refused(fmt::format("{} {} requires a command after `--`", option, value),
                        "In proctor.toml, write [suite.NAME] and the key `kind`.");
}

// Normalises a text for near misses: differences in `-`, `_` and case are ignored.
std::string loose(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string_view after_prefix(std::string_view id) {
  const std::size_t slash = id.find('/');
  return slash == id.npos ? id : id.substr(slash + 1);
}

// Returns "Basic" for "*Basic.*".
std::string word_of(std::string_view pattern) {
  std::string text(pattern);
  std::erase(text, '*');
  while (!text.empty() && std::string_view("./:").find(text.back()) != std::string_view::npos)
    text.pop_back();
  return text;
}

// Returns the nearest id or pattern. `groups`: whether a pattern for the cases of a group is a suggestion.
std::string near_case(const std::string& pattern, const std::vector<Case>& cases, bool groups) {
  for (const std::string& variant : {loose(pattern), loose("*/" + pattern)}) {
    for (const Case& test : cases) {
      if (matches_case(variant, loose(test.id))) return test.id;
    }
  }
  std::vector<std::string> candidates;
  std::map<std::string, std::string> patterns;  // patterns of groups: "Basic" -> "Basic.*"
  for (const Case& test : cases) {
    const std::string_view tail = after_prefix(test.id);
    candidates.push_back(test.id);
    candidates.emplace_back(tail);
    const std::size_t separator = tail.find_last_of(".:");
    if (!groups || separator == tail.npos) continue;
    const std::string group = word_of(tail.substr(0, separator));
    if (patterns.emplace(group, fmt::format("{}*", tail.substr(0, separator + 1))).second)
      candidates.push_back(group);
  }
  const std::string near = near_miss(word_of(pattern), candidates);
  const auto group = patterns.find(near);
  return group == patterns.end() ? near : group->second;
}

// Returns the hint with the command that lists the ids.
std::string where_ids_are(const std::vector<std::string>& command) {
  std::string words = "proctor list";
  if (!command.empty()) words += " --";
  for (const std::string& word : command) words += " " + shell_quote(word);
  return fmt::format("`{}` shows the ids.", words);
}

Error matches_nothing(std::string_view option, const std::string& pattern, const std::vector<Case>& cases,
                      const SelectionOptions& options) {
  if (pattern.empty())
    return Error::refused(fmt::format("{} must not be empty (got '')", option),
                          where_ids_are(options.command));
  const std::string what =
      fmt::format("{} {} matches none of {} cases", option, shell_quote(pattern), cases.size());
  const std::string wider = "*" + pattern + "*";  // a typed word usually means the cases that contain it
  const auto contain =
      std::ranges::count_if(cases, [&](const Case& test) { return matches_case(wider, test.id); });
  if (option != kLiteral && pattern.find_first_of("*?") == pattern.npos && contain > 0)
    return Error::refused(what, fmt::format("Did you mean '{}'? It matches {}.", wider, contain));
  const std::string near = near_case(pattern, cases, option != kLiteral);
  return Error::refused(
      what, near.empty() ? where_ids_are(options.command) : fmt::format("Did you mean `{}`?", near));
}

// Returns whether `pattern` may match a case of a suite that could not be listed.
bool may_mean(std::string_view pattern, const Case& test) {
  const std::size_t slash = pattern.find('/');
  return is_unlisted(test) && (slash == pattern.npos || glob_match(pattern.substr(0, slash), test.id));
}

// Returns whether `pattern` is the id of the case, or the name of its suite. The latter is the id of the case
// of an unlisted suite.
bool is_id(std::string_view pattern, const Case& test) {
  if (pattern == test.id) return true;
  if (is_unlisted(test)) return pattern.starts_with(test.id + "/");
  return pattern.find('/') == pattern.npos && test.id.starts_with(std::string(pattern) + "/");
}

// Marks the cases that one of the patterns matches. Every pattern must match a case. An exception are
// patterns that may match a case of an unlisted suite.
template <typename Matches>
Result<void> mark(const char* option, const std::vector<std::string>& patterns,
                  const std::vector<Case>& cases, const SelectionOptions& options, Matches matches,
                  std::vector<bool>& marked) {
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const bool meant = matches(pattern, cases[i]);
      any = any || meant || may_mean(pattern, cases[i]);
      if (meant) marked[i] = true;
    }
    if (!any || pattern.empty()) return matches_nothing(option, pattern, cases, options);
  }
  return {};
}

}  // namespace

std::string ad_hoc_name(const std::string& program) {
  std::string name = std::filesystem::path(program).filename().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
  }
  return name.empty() ? "command" : name;
}

Result<std::optional<Backend>> parse_backend_option(const std::optional<std::string>& text) {
  if (!text || text == "all") return std::optional<Backend>();
  if (const auto backend = parse_backend(*text)) return std::optional<Backend>(*backend);
  return Error::refused(fmt::format("--backend {} does not exist", *text), backend_hint(*text));
}

Result<std::vector<SuiteConfig>> select_suites(const Config& config, const SelectionOptions& options) {
  const Result<std::optional<Backend>> backend = parse_backend_option(options.backend);
  if (!backend) return backend.error();
  if (Result<void> checked = check_ad_hoc_options(options); !checked) return checked.error();
  Result<std::vector<SuiteConfig>> suites =
      options.command.empty() ? named_suites(config, options) : ad_hoc_suite(config, options, *backend);
  if (!suites) return suites;
  if (options.command.empty()) suites = narrow(std::move(*suites), options, *backend);
  if (!suites) return suites;
  if (Result<void> applied = apply_suite_options(options, *suites); !applied) return applied.error();
  return suites;
}

bool matches_case(std::string_view pattern, std::string_view id) {
  if (glob_match(pattern, id)) return true;
  return pattern.find('/') == pattern.npos && glob_match(pattern, after_prefix(id));
}

bool matches_all_of(std::string_view pattern, const Case& test) {
  return matches_case(pattern, test.id) || (is_unlisted(test) && pattern == test.id + "/*");
}

Result<std::vector<Case>> select_cases(std::vector<Case> cases, const SelectionOptions& options) {
  const bool all = options.filters.empty() && options.cases.empty();
  std::vector<bool> wanted(cases.size(), all);
  std::vector<bool> excluded(cases.size(), false);
  const auto by_pattern = [](const std::string& pattern, const Case& test) {
    return matches_case(pattern, test.id) || may_mean(pattern, test);
  };
  if (auto r = mark("--filter", options.filters, cases, options, by_pattern, wanted); !r) return r.error();
  if (auto r = mark(kLiteral, options.cases, cases, options, is_id, wanted); !r) return r.error();
  if (auto r = mark("--exclude", options.excludes, cases, options, matches_all_of, excluded); !r)
    return r.error();
  if (auto r = check_tags(cases, options.tags); !r) return r.error();
  std::vector<Case> selected;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool tagged = is_unlisted(cases[i]) || has_any(cases[i].tags, options.tags);
    if (wanted[i] && !excluded[i] && tagged) selected.push_back(std::move(cases[i]));
  }
  if (selected.empty() && !options.may_be_empty) {
    return Error::refused(options.tags.empty()
                              ? "No case is selected: --exclude excludes all of them"
                              : "No case is selected: --exclude and --tag exclude all of them",
                          where_ids_are(options.command));
  }
  return selected;
}

}  // namespace proctor
