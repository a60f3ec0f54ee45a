#include "harness/frameworks/gtest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/frameworks/gtest_progress.h"
#include "harness/frameworks/gtest_results.h"

namespace proctor {

namespace {

using nlohmann::json;

// ---- the list of a program ----

constexpr std::string_view kIndent = "  ";
constexpr std::string_view kComment = "  # ";

// Returns true for a disabled test. GoogleTest runs no test whose name or group begins with DISABLED_, or has
// it after the '/' of an instantiation.
bool is_disabled(std::string_view name) {
  return name.starts_with("DISABLED_") || name.find("/DISABLED_") != std::string_view::npos;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && static_cast<unsigned char>(c) != 0x7f;
  });
}

std::string filter_of(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '-' || c == '*'; }, '?');
  return name;
}

// Returns the group that an unindented line opens, or "" for other output of the program. Only a typed suite,
// whose type follows in a comment, may have blanks in its name.
std::string_view group_of(std::string_view line) {
  const std::size_t comment = line.find(kComment);
  const bool typed = comment != line.npos && line.substr(comment).starts_with("  # TypeParam");
  std::string_view name = line.substr(0, comment);
  if (!name.ends_with('.')) return {};
  name.remove_suffix(1);
  return is_word(name) || (typed && name.find('/') != name.npos) ? name : std::string_view();
}

}  // namespace

Result<std::vector<GtestName>> parse_gtest_list(std::string_view text) {
  std::vector<GtestName> names;
  std::string group;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == text.npos ? text.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.starts_with(kIndent)) {
      if (const std::string_view opened = group_of(line); !opened.empty()) group = opened;
      continue;
    }
    std::string_view name = line.substr(kIndent.size());
    name = name.substr(0, name.find(kComment));
    if (!is_word(name))
      return Error::usage(fmt::format("line {} is not a test name: {}", number, clean_text(line)));
    if (group.empty()) {
      return Error::usage(
          fmt::format("line {} is a test without a test suite: {}", number, clean_text(line)));
    }
    names.push_back({group, std::string(name), is_disabled(group) || is_disabled(name)});
  }
  return names;
}

Result<std::string> gtest_filter_for(const std::string& name, const std::vector<std::string>& all) {
  const std::string filter = filter_of(name);
  if (filter.find('?') == std::string::npos) return filter;
  for (const std::string& other : all) {
    if (other.size() == filter.size() && other != name && glob_match(filter, other)) {
      return Error::usage(
          fmt::format("GoogleTest cannot distinguish `{}` from `{}` in a filter", name, other),
          "Rename one of them, or run the suite with process = \"suite\".");
    }
  }
  return filter;
}

bool announces_gtest_listener(const std::vector<std::string>& event_lines) {
  return std::any_of(event_lines.begin(), event_lines.end(), [](const std::string& line) {
    const json event = parse_json(line);
    return event.is_object() && text_at(event, "event") == "listener" && text_at(event, "name") == "gtest";
  });
}

namespace {

// Returns the list in the file, which contains no other output of the program. Returns none for GoogleTest
// before 1.10, which writes no file: its stdout has the list.
std::optional<std::vector<GtestName>> names_in_file(const std::string& text) {
  const json list = parse_gtest_json(text);
  if (!list.is_object() || !list.contains("testsuites")) return {};
  std::vector<GtestName> names;
  for (const auto& group : array_of(list, "testsuites")) {
    for (const auto& test : array_of(group, "testsuite")) {
      const std::string in = text_at(group, "name");
      const std::string name = text_at(test, "name");
      if (in.empty() || name.empty()) return {};
      names.push_back({in, name, is_disabled(in) || is_disabled(name)});
    }
  }
  return names;
}

// ---- the kind ----

constexpr std::string_view kFilterOption = "--gtest_filter=";
constexpr std::string_view kFailFastOption = "--gtest_fail_fast";
constexpr std::string_view kBriefOption = "--gtest_brief";
constexpr int kTestsFailed = 1;  // exit code of a main() with `return RUN_ALL_TESTS()`

// Returns true if the command has `--gtest_also_run_disabled_tests`, so that disabled tests run.
bool runs_disabled(const Suite& suite) {
  return std::any_of(suite.command.begin(), suite.command.end(), [](const std::string& word) {
    return word == "--gtest_also_run_disabled_tests" || word == "--gtest_also_run_disabled_tests=1" ||
           word == "--gtest_also_run_disabled_tests=true";
  });
}

std::string option_for_listener(const Suite& suite) {
  return fmt::format("target_link_libraries({} PRIVATE Proctor::gtest_listener)",
                     std::filesystem::path(suite.command.front()).filename().string());
}

// Environment variables that affect which tests run, and how. Source: googletest, src/gtest.cc: the flags,
// and the variables that replace them under Bazel.
struct Variable {
  std::string_view name;
  std::string_view harmless;  // value with which all tests run, as without the variable
  std::string_view instead;
};
constexpr Variable kVariables[] = {
    {"GTEST_FILTER", "*", "--filter, or --gtest_filter in its command"},
    {"TESTBRIDGE_TEST_ONLY", "*", "--filter, or --gtest_filter in its command"},
    {"GTEST_TOTAL_SHARDS", "1", "--shard"},
    {"GTEST_SHARD_INDEX", "0", "--shard"},
    {"GTEST_SHARD_STATUS_FILE", "", "--shard"},
    {"GTEST_REPEAT", "1", "--repeat"},
    {"GTEST_FAIL_FAST", "0", "--fail-fast"},
    {"TESTBRIDGE_TEST_RUNNER_FAIL_FAST", "0", "--fail-fast"},
    {"GTEST_ALSO_RUN_DISABLED_TESTS", "0", "--gtest_also_run_disabled_tests in its command"},
    {"GTEST_LIST_TESTS", "0", "`proctor list`"},
    {"GTEST_FLAGFILE", "", "the options in its command"},
};

std::vector<std::string_view> names_of_variables() {
  std::vector<std::string_view> names;
  for (const Variable& variable : kVariables) names.push_back(variable.name);
  return names;
}

class GtestKind final : public Kind {
 public:
  GtestKind()
      : Kind({.name = "gtest",
              .framework = "GoogleTest tests",
              .markers = {"gtest_list_tests", "libgtest.so"},
              .classnames = true,
              // The program's main() may query the driver before it reads its flags.
              .lists_with_devices = true,
              .list_file = "--gtest_output=json:",
              .reporting_mode = ReportingMode::kFile,
              .reporting_mode_of_several = ReportingMode::kFileOfSeveral,
              .output = {"--gtest_output=json:{}"},
              .caller_filters = names_of_variables()}) {}

  // Sets variables that replace values of the plan's environment. If sharding is on, a process for one test could
  // run none and report success. The runner determines whether other tests run after a failure. It also needs
  // the lines of the program.
  Result<void> settle_environment(Suite& suite, const SearchPaths&) const override {
    suite.env.emplace("GTEST_TOTAL_SHARDS", "1");
    suite.env.emplace("GTEST_SHARD_INDEX", "0");
    suite.env.emplace("GTEST_FAIL_FAST", "0");
    suite.env.insert_or_assign("GTEST_BRIEF", "0");
    return {};
  }

  std::string instead_of(std::string_view name, const std::string& value) const override {
    const auto variable = std::ranges::find(kVariables, name, &Variable::name);
    if (variable == std::end(kVariables) || value == variable->harmless) return {};
    return std::string(variable->instead);
  }

  std::vector<std::string> list_command(const Suite& suite) const override {
    return with(suite.command, {"--gtest_list_tests"});
  }

  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask&,
                                      std::vector<Warning>&) const override {
    std::optional<std::vector<GtestName>> in_file = names_in_file(out.file_text);
    const bool has_file = in_file.has_value();
    const Result<std::vector<GtestName>> names =
        has_file ? Result(*std::move(in_file)) : parse_gtest_list(out.stdout_text);
    if (!names) return Error::usage("wrote a list that cannot be read: " + names.error().what);
    // A main() may have ended before it ran its tests.
    if (!has_file && names->empty()) return Error::usage("did not print a GoogleTest test list");
    suite.listener = suite.process == "suite" && announces_gtest_listener(out.event_lines);
    return cases_of(suite, *names);
  }

  Result<void> check_alone(const std::vector<Case>& cases) const override {
    std::vector<std::string> all;
    for (const Case& test : cases) all.push_back(test.id);
    for (const std::string& name : all) {
      if (const auto filter = gtest_filter_for(name, all); !filter)
        return Error::usage("listed a test that cannot be run alone: " + filter.error().what);
    }
    return {};
  }

  std::unique_ptr<Translator> translator(const Suite&, const Case&) const override {
    return gtest_result_file();
  }
  std::unique_ptr<ProgressReader> progress_reader() const override { return gtest_progress(); }
  std::string way_of_reporting(const Suite& suite) const override {
    if (suite.process != "suite") return {};
    return suite.listener ? "by Proctor's listener" : "in GoogleTest's result file";
  }
  std::string how_to_share(const Suite& suite) const override {
    return "this line of CMake lets them share one: " + option_for_listener(suite);
  }

  // Returns one filter for all cases. Unlike an argument, a file has no limit of 128 KiB. The filter names
  // each case once. The command has no result file, which each process would overwrite.
  std::string batch_file(const std::vector<const Case*>& cases) const override {
    std::string text(kFilterOption);
    for (const Case* test : cases) {
      if (!text.ends_with('=')) text += ':';
      text += std::string_view(test->argv.back()).substr(kFilterOption.size());
    }
    return text + "\n--gtest_repeat=1\n--gtest_output=\n";
  }
  std::vector<std::string> batch_command(const std::vector<const Case*>& cases,
                                         const std::string& file) const override {
    std::vector<std::string> command = cases.front()->argv;
    command.back() = "--gtest_flagfile=" + file;
    // The runner determines whether other tests run after a failure. The file cannot contain this flag, which
    // GoogleTest before 1.11 refuses. If the program prints no lines, the running test is unknown.
    std::erase_if(command, [](const std::string& word) {
      return word.starts_with(kFailFastOption) || word.starts_with(kBriefOption);
    });
    return command;
  }

  Verdict judge(const CaseEnd& end) const override {
    const auto result = end.child.result();  // GoogleTest has no tests that are expected to fail
    if (result == ChildResult::kXfail || result == ChildResult::kXpass)
      return {Outcome::kError, Reason::kProtocol};
    Verdict verdict = judge_reported(end, end.exit_code == kTestsFailed);
    if (verdict.outcome == Outcome::kSkip)
      verdict.reason = reason_in_words(gtest_skip_reason(verdict.reason.text()));
    return verdict;
  }

 private:
  static std::vector<Case> cases_of(const Suite& suite, const std::vector<GtestName>& names) {
    std::vector<Case> cases;
    for (const GtestName& name : names) {
      Case test;
      test.id = name.group + "." + name.name;
      test.name = name.name;
      test.classname = name.group;
      test.devices = suite.devices;
      test.disabled = name.disabled && !runs_disabled(suite);
      test.group = group_of(suite);
      test.argv = with(suite.command, {std::string(kFilterOption) + filter_of(test.id)});
      cases.push_back(std::move(test));
    }
    return cases;
  }
};

}  // namespace

const Kind& gtest_kind() {
  static const GtestKind kKind;
  return kKind;
}

}  // namespace proctor
