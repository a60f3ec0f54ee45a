#include "harness/frameworks/pytest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/journal/child_protocol.h"

namespace proctor {

namespace {

using nlohmann::json;

constexpr const char* kPlugin = "proctor_pytest";
constexpr std::string_view kOptions = "PYTEST_ADDOPTS";
constexpr std::string_view kPlugins = "PYTEST_PLUGINS";
constexpr const char* kBatchOption = "--proctor-cases=";

json parse_event(std::string_view line) { return parse_json(line); }

bool is_event(const json& event, std::string_view name) {
  if (!event.is_object()) return false;
  const auto version = event.find("v");
  const auto type = event.find("event");
  return version != event.end() && *version == child::kProtocolVersion && type != event.end() &&
         *type == name;
}

std::optional<int> first_number(const json& arguments) {
  if (!arguments.is_array() || arguments.empty() || !arguments[0].is_number_integer()) return std::nullopt;
  const auto value = arguments[0].get<std::int64_t>();
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(value);
}

std::vector<std::string> with_plugin(std::vector<std::string> command, std::string option) {
  command.insert(command.end(), {"-p", kPlugin, std::move(option)});
  return command;
}

}  // namespace

Result<PytestTest> parse_pytest_test(std::string_view line) {
  const json event = parse_event(line);
  if (!is_event(event, "case")) {
    return Error::usage(fmt::format("is not an event of type \"case\", version {}", child::kProtocolVersion));
  }
  PytestTest test{.nodeid = text_at(event, "case"),
                  .file = text_at(event, "file"),
                  .classname = text_at(event, "classname"),
                  .name = text_at(event, "name"),
                  .markers = {}};
  if (test.nodeid.empty() || test.nodeid != clean_text(test.nodeid)) {
    return Error::usage("has no readable name in \"case\"");
  }
  if (test.name.empty()) return Error::usage("has no \"name\"");
  const auto markers = event.find("markers");
  if (markers == event.end() || !markers->is_object()) return Error::usage("has no object in \"markers\"");
  for (const auto& [name, arguments] : markers->items()) test.markers[name] = first_number(arguments);
  return test;
}

namespace {

// Returns the messages of the `fail` events: files that could not be collected.
std::vector<std::string> collection_failures(const std::vector<std::string>& lines) {
  std::vector<std::string> messages;
  for (const auto& line : lines) {
    if (const json event = parse_event(line); is_event(event, "fail"))
      messages.push_back(text_at(event, "message"));
  }
  return messages;
}

// Returns true for "-k", and also for "-vx": the flags before the last letter take no value.
bool is_short_filter(std::string_view word) {
  for (const char letter : word.substr(1)) {
    if (std::string_view("kmx").find(letter) != std::string_view::npos) return true;
    if (std::string_view("vqslhV").find(letter) == std::string_view::npos) return false;
  }
  return false;
}

// Returns true if options of pytest leave out requested tests.
bool leaves_out(const std::vector<std::string>& words) {
  constexpr std::string_view kOptions[] = {"--deselect", "--ignore",      "--ignore-glob",
                                           "--lf",       "--last-failed", "--sw",
                                           "--stepwise", "--exitfirst",   "--maxfail"};
  return std::ranges::any_of(words, [&](std::string_view word) {
    if (word.size() > 1 && word[0] == '-' && word[1] != '-') return is_short_filter(word);
    return std::ranges::find(kOptions, word.substr(0, word.find('='))) != std::end(kOptions);
  });
}

bool is_pytest(const std::string& word) {
  const std::string program = std::filesystem::path(word).filename().string();
  return program == "pytest" || program == "py.test" || program.starts_with("pytest-3");
}

// Returns the words that pytest itself gets. The interpreter's `-m` selects no tests.
std::vector<std::string> words_for_pytest(const std::vector<std::string>& command) {
  const auto program = std::ranges::find_if(command, is_pytest);
  return {program == command.end() ? command.begin() + 1 : program + 1, command.end()};
}

// Returns how many tests an option or a plugin has left out, as pytest reports it.
int deselected_in(const json& options) {
  const auto count = options.find("deselected");
  return count != options.end() && count->is_number_integer() ? count->get<int>() : 0;
}

// Records options of the project that leave out tests, if the command of the suite does not leave any out.
// They become part of the plan, and one warning.
void take_filters(const json& options, Suite& suite, std::vector<Warning>& warnings) {
  std::vector<std::string> addopts;
  if (const auto words = options.find("addopts"); words != options.end() && words->is_array()) {
    for (const json& word : *words) {
      if (word.is_string()) addopts.push_back(word.get<std::string>());
    }
  }
  const int deselected = deselected_in(options);
  const std::string left_out = deselected == 0   ? "may exclude tests"
                               : deselected == 1 ? "1 test is excluded"
                                                 : fmt::format("{} tests are excluded", deselected);
  if (leaves_out(addopts)) {
    const std::string name = "addopts of " + clean_text(text_at(options, "file"));
    const std::string value = fmt::format("{}", fmt::join(addopts, " "));
    suite.filters[name] = value;
    warnings.push_back(
        {WarningCode::kPytestFilter, fmt::format("suite `{}` ({}): {}: `{}` in its {}", suite.name,
                                                 suite.origin, left_out, clean_text(value), name)});
  } else if (deselected > 0 && suite.filters.empty() && !leaves_out(words_for_pytest(suite.command))) {
    warnings.push_back(
        {WarningCode::kPytestFilter, fmt::format("suite `{}` ({}): {}, by a conftest.py or a plugin",
                                                 suite.name, suite.origin, left_out)});
  }
}

void take_gpu_modules(const json& event, Suite& suite) {
  const auto modules = event.find("modules");
  if (modules == event.end() || !modules->is_object()) return;
  for (const auto& [name, vendor] : modules->items()) {
    if (vendor.is_string()) suite.gpu_modules[clean_text(name)] = vendor.get<std::string>();
  }
}

// Treats a variable of the caller as an ordinary one. Processes still get it, but it is not part of the plan.
void leave_to_caller(Suite& suite, const std::string& variable) {
  if (suite.filters.erase(variable) > 0) suite.env.erase(variable);
}

// Returns how many devices a test needs: the number of its marker, or the suite's if the marker has none.
Result<int> devices_of(const Suite& suite, const PytestTest& test) {
  const auto marker = test.markers.find(suite.devices_marker);
  if (suite.devices_marker.empty() || marker == test.markers.end()) return suite.devices;
  if (!marker->second || *marker->second < 0 || *marker->second > 1024) {
    return Error::usage(fmt::format("has the marker `{}` without a number of devices: {}",
                                    suite.devices_marker, clean_text(test.nodeid)));
  }
  return *marker->second;
}

// Returns true if pytest's exit code (its documentation, "Exit codes") fits a case that did not fail. 5 is
// "no tests were collected", the result of a module that skips itself.
bool agrees(const CaseEnd& end) {
  constexpr int kTestsFailed = 1;
  constexpr int kNoTests = 5;
  if (end.went_on || end.exit_code == 0) return true;
  if (end.exit_code == kTestsFailed) return end.another_was_bad;
  return end.exit_code == kNoTests && end.child.result() == ChildResult::kSkip;
}

class PytestKind final : public Kind {
 public:
  PytestKind()
      : Kind({.name = "pytest",
              .framework = "tests of pytest",
              .processes = {"file", "case", "suite"},
              .markers_for_devices = true,
              .classnames = true,
              // Python modules often create, and skip, tests according to the devices that they see at
              // import.
              .lists_with_devices = true,
              .reporting_mode = ReportingMode::kEvents,
              .output = {"--proctor-captured={}"},
              .caller_options = {kOptions, kPlugins}}) {}

  bool is_command(const std::vector<std::string>& command) const override {
    if (is_pytest(command.front())) return true;
    if (!std::filesystem::path(command.front()).filename().string().starts_with("python")) return false;
    // Options of the interpreter may precede -m. Words after the module or script do not belong to it.
    for (std::size_t i = 1; i + 1 < command.size() && command[i].starts_with('-'); ++i) {
      if (command[i] == "-m") return command[i + 1] == "pytest";
      if (command[i] == "-X" || command[i] == "-W") ++i;  // skip its value
    }
    return false;
  }

  // A plugin may leave out any test, so a variable with plugins counts.
  bool leaves_tests_out(std::string_view name, const std::string& value) const override {
    if (name == kPlugins) return !value.empty();
    const auto words = shell_words(value);  // pytest splits them in the same way, and refuses invalid ones
    return !words || leaves_out(*words);
  }

  // A plugin has other uses too, so only options have a replacement.
  std::string instead_of(std::string_view name, const std::string& value) const override {
    const auto words = shell_words(value);
    if (name != kOptions || !words || !leaves_out(*words)) return {};
    return "--filter, or write the options into its command";
  }

  // Python finds Proctor's plugin first, and all other modules where it found them before.
  Result<void> settle_environment(Suite& suite, const SearchPaths& paths) const override {
    if (paths.pytest_plugin.empty()) {
      return Error{ErrorKind::kSystem,
                   fmt::format("plan suite `{}` ({}): proctor_pytest.py is not in share/proctor/pytest next "
                               "to the proctor executable",
                               suite.name, suite.origin),
                   "Copy proctor together with its share directory.", 0};
    }
    std::string& python_path = suite.env.try_emplace("PYTHONPATH", paths.python_path).first->second;
    python_path = paths.pytest_plugin + (python_path.empty() ? "" : ":" + python_path);
    return {};
  }

  std::vector<std::string> list_command(const Suite& suite) const override {
    return with_plugin(suite.command, child::kListOption);
  }

  // pytest prints its collection errors at length on stdout. The plugin reports them in events.
  std::string list_problem(const ListOutput& out, std::string& said) const override {
    const std::vector<std::string> messages = collection_failures(out.event_lines);
    if (messages.empty()) return {};
    said = messages.front();
    return fmt::format("could not collect {} test files", messages.size());
  }

  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask&,
                                      std::vector<Warning>& warnings) const override {
    std::vector<Case> cases;
    bool deselected = false;
    for (std::size_t i = 0; i < out.event_lines.size(); ++i) {
      if (const json event = parse_event(out.event_lines[i]); is_event(event, "options")) {
        deselected = deselected || deselected_in(event) > 0;
        take_filters(event, suite, warnings);
        continue;
      } else if (is_event(event, "gpu_modules")) {
        take_gpu_modules(event, suite);
        continue;
      } else if (is_event(event, "warn")) {
        warnings.push_back(
            {WarningCode::kPytestFilter, fmt::format("suite `{}` ({}): {}", suite.name, suite.origin,
                                                     clean_text(text_at(event, "message")))});
        continue;
      }
      const Result<PytestTest> listed = parse_pytest_test(out.event_lines[i]);
      const Result<int> devices = listed ? devices_of(suite, *listed) : listed.error();
      if (!devices)
        return Error::usage(fmt::format("wrote event line {}, which {}", i + 1, devices.error().what));
      Case test;
      test.id = listed->nodeid;
      test.name = listed->name;
      test.classname = listed->classname;
      test.devices = *devices;
      test.group = suite.process == "file" ? listed->file : group_of(suite);
      test.argv = with_plugin(suite.command, child::kCaseOption + listed->nodeid);
      cases.push_back(std::move(test));
    }
    if (!deselected) leave_to_caller(suite, std::string(kPlugins));
    return cases;
  }

  std::vector<std::string> batch_command(const std::vector<const Case*>& cases,
                                         const std::string& file) const override {
    std::vector<std::string> command = cases.front()->argv;
    command.back() = kBatchOption + file;
    return command;
  }

  Verdict judge(const CaseEnd& end) const override {
    const ChildReport& child = end.child;
    const Verdict mismatch{Outcome::kError, Reason::kResultMismatch};
    if (!child.also_ran().empty()) return mismatch;
    if (child.violations() > 0) return {Outcome::kError, Reason::kProtocol};
    if (!child.result()) return {Outcome::kError, Reason::kNoResult};
    switch (*child.result()) {
      case ChildResult::kFail:
        return end.went_on || end.exit_code != 0 ? Verdict{Outcome::kFail, child.reason()} : mismatch;
      case ChildResult::kError:
        return {Outcome::kError, child.reason().empty() ? Reason::kReportedByTest : child.reason()};
      case ChildResult::kPass:
        return agrees(end) ? Verdict{Outcome::kPass, {}} : mismatch;
      case ChildResult::kSkip:
        return agrees(end) ? Verdict{Outcome::kSkip, child.reason()} : mismatch;
      case ChildResult::kXfail:
        return agrees(end) ? Verdict{Outcome::kXfail, child.reason()} : mismatch;
      case ChildResult::kXpass:
        return agrees(end) ? Verdict{Outcome::kXpass, child.reason()} : mismatch;
    }
    return mismatch;
  }
};

}  // namespace

const Kind& pytest_kind() {
  static const PytestKind kKind;
  return kKind;
}

}  // namespace proctor
