#include "harness/plan/kinds/gtest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "harness/core/json_text.h"
#include "harness/core/text.h"

namespace proctor {

namespace {

using nlohmann::json;

// ---- its list ----

constexpr std::string_view kIndent = "  ";
constexpr std::string_view kComment = "  # ";

// GoogleTest runs no test whose name, or group, begins so; both may follow the '/' of an instantiation.
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

// The group that an unindented line opens, or "": then it is chatter of the program. Only a typed suite,
// whose type stands in a comment, may have blanks in its name.
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

const json& array_of(const json& object, const char* key) {
  static const json kEmpty = json::array();
  const auto it = object.find(key);
  return it != object.end() && it->is_array() ? *it : kEmpty;
}

// The list in the file, in which nothing stands that the program prints besides. None: GoogleTest before 1.10 writes
// none, and then its words on stdout are the list.
std::optional<std::vector<GtestName>> names_in_file(const std::string& text) {
  const json list = parse_json(text);
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

// ---- its result file ----

// The text starts with "FILE:LINE\n" where the failure has a place.
std::string failure_line(const std::string& text) {
  const auto end_of_line = text.find('\n');
  const auto colon = text.rfind(':', end_of_line);
  if (end_of_line == std::string::npos || colon == std::string::npos || colon == 0)
    return event_line("fail", {{"message", text}});
  int line = 0;
  const char* last = text.data() + end_of_line;
  const auto [end, error] = std::from_chars(text.data() + colon + 1, last, line);
  if (error != std::errc() || end != last) return event_line("fail", {{"message", text}});
  return event_line(
      "fail", {{"file", text.substr(0, colon)}, {"line", line}, {"message", text.substr(end_of_line + 1)}});
}

// The words of skips, from what GoogleTest prints of them: the file of 1.12 does not have them. One pass over the text.
//
//   [ RUN      ] Suite.Name
//   file.cc:69: Skipped
//   no such card
//   [  SKIPPED ] Suite.Name (0 ms)      GTEST_PRINT_TIME=0: without the time
//
// A test may print what another program printed, with marks of its own: what stands between those is not the test's.
class PrintedSkips {
 public:
  explicit PrintedSkips(std::string_view printed) : text_(clean_text(printed)) {  // without colours
    std::string_view rest = text_;
    while (!rest.empty()) read(take_line(rest), rest);
  }
  PrintedSkips(const PrintedSkips&) = delete;  // what it knows points into its text
  PrintedSkips& operator=(const PrintedSkips&) = delete;

  std::string of(const std::string& test) const {
    const auto known = words_.find(test);
    if (known != words_.end()) return std::string(known->second);
    // Where an environment skips all of them, there are no marks.
    return marked_ ? std::string() : std::string(open_.front().words.value_or(""));
  }

 private:
  struct Open {
    std::string_view name;
    std::optional<std::string_view> words = {};
  };

  static std::string_view take_line(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    return line;
  }

  void read(std::string_view line, std::string_view rest) {
    constexpr std::string_view kRun = "[ RUN      ] ";
    if (line.ends_with(": Skipped")) open_.back().words = rest.substr(0, rest.find('\n'));
    if (const std::size_t at = line.rfind(kRun); at != line.npos) {
      marked_ = true;
      open_.push_back({line.substr(at + kRun.size())});
    }
    for (const std::string_view mark : {"[  SKIPPED ] ", "[       OK ] ", "[  FAILED  ] "}) {
      // What the test printed last may have had no end of line.
      if (const std::size_t at = line.rfind(mark); at != line.npos) return end(line.substr(at + mark.size()));
    }
    in_summary_ = false;
  }

  void end(std::string_view what) {
    in_summary_ = in_summary_ || what.ends_with(", listed below:");
    if (in_summary_) return;
    const std::string_view name = what.substr(0, std::min(what.find(" ("), what.find(", where ")));
    const auto same =
        std::find_if(open_.rbegin(), open_.rend() - 1, [&](const Open& o) { return o.name == name; });
    // The beginning of one that is not open is lost, and what has none is its own.
    const auto first = same.base() - 1;
    std::string_view words;
    for (auto open = first; open != open_.end(); ++open) words = open->words.value_or(words);
    words_.insert_or_assign(name, words);
    open_.erase(first, open_.end());
    if (open_.empty()) open_.emplace_back();
    marked_ = true;
  }

  const std::string text_;
  std::vector<Open> open_ =
      std::vector<Open>(1);  // the tests that have no end yet, below what is outside of them
  std::map<std::string_view, std::string_view> words_;
  bool marked_ = false;      // a test has begun or ended
  bool in_summary_ = false;  // the names at the end, which have no test before them
};

// Later ones have them, below the place: "FILE:LINE\nWORDS".
std::string written_skip(const json& test) {
  for (const auto& entry : array_of(test, "skipped")) {
    const std::string text = text_at(entry, "message");
    return text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return {};
}

// When an environment's set-up says that nothing can run, GoogleTest still calls its tests completed; that
// they never began shows in their start, second 0 of its clock in local time.
bool never_began(const json& test) {
  const std::string start = text_at(test, "timestamp");
  return text_at(test, "result") == "COMPLETED" &&
         (start.starts_with("1970-01-01T") || start.starts_with("1969-12-31T"));
}

// What stands in a whole result file.
struct Results {
  struct Test {
    std::string name;  // "Group.Name"
    bool skipped = false;
    std::string skip_words = {};
    std::vector<std::string> recorded = {};  // event lines, as the next
    std::vector<std::string> failures = {};
  };
  std::vector<Test> ran;
  std::vector<std::string> failures;  // of groups and of what is around all tests, event lines
};

void add_failures(const json& holder, std::vector<std::string>& lines) {
  for (const auto& entry : array_of(holder, "failures")) {
    if (entry.is_object()) lines.push_back(failure_line(text_at(entry, "failure")));
  }
}

// What RecordProperty() left, beside GoogleTest's own keys: as words, and as a figure where it is a number.
std::vector<std::string> properties_of(const json& test) {
  static const std::set<std::string> kOwn = {"name",     "file",        "line",       "status",
                                             "result",   "timestamp",   "time",       "classname",
                                             "failures", "value_param", "type_param", "skipped"};
  std::vector<std::string> lines;
  for (const auto& [name, value] : test.items()) {
    if (kOwn.contains(name) || !value.is_string()) continue;
    const std::string text = value.get<std::string>();
    lines.push_back(event_line("property", {{"name", name}, {"value", text}}));
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number))
      lines.push_back(event_line("measure", {{"name", name}, {"value", number}}));
  }
  return lines;
}

// GoogleTest 1.12 forgets a comma before the group of what failed outside of its tests. No string has a line break.
std::string with_comma(std::string text) {
  constexpr std::string_view kForgotten = "\n    }    {\n";
  const std::size_t at = text.find(kForgotten);
  if (at != std::string::npos) text.insert(text.find('}', at) + 1, ",");
  return text;
}

std::optional<Results> read_results(std::string_view text) {
  const json report = parse_json(with_comma(std::string(text)));
  if (!report.is_object() || !report.contains("testsuites") || !report["testsuites"].is_array()) return {};
  Results results;
  for (const auto& group : report["testsuites"]) {
    add_failures(group, results.failures);
    for (const auto& test : array_of(group, "testsuite")) {
      if (text_at(test, "name").empty()) {  // what failed outside of any test, in an environment's set-up
        add_failures(test, results.failures);
        continue;
      }
      if (text_at(test, "status") != "RUN") continue;
      const bool skipped = text_at(test, "result") == "SKIPPED" || never_began(test);
      results.ran.push_back({text_at(group, "name") + "." + text_at(test, "name"), skipped});
      results.ran.back().recorded = properties_of(test);
      results.ran.back().skip_words = written_skip(test);
      add_failures(test, results.ran.back().failures);
    }
  }
  return results;
}

// Each test that ran is told of under its own name, so that a program that runs others than the one it was asked
// for, whatever its main() does with the filter, is found out.
std::vector<std::string> tell_each(const Results& results) {
  std::vector<std::string> lines;
  for (const auto& test : results.ran) {
    lines.push_back(event_line("start", {{"case", test.name}}));
    lines.insert(lines.end(), test.recorded.begin(), test.recorded.end());
    const bool failed = !test.failures.empty() || !results.failures.empty();
    for (const auto& failures : {results.failures, test.failures})
      lines.insert(lines.end(), failures.begin(), failures.end());
    const char* result = failed ? "fail" : test.skipped ? "skip" : "pass";
    json end = {{"case", test.name}, {"result", result}};
    if (!failed && test.skipped) end["reason"] = test.skip_words;
    lines.push_back(event_line("end", std::move(end)));
  }
  if (!results.ran.empty()) return lines;
  if (!results.failures.empty()) {  // it did not come to its tests
    lines = results.failures;
    lines.push_back(event_line("end", {{"result", "fail"}}));
    return lines;
  }
  lines.push_back(event_line("fail", {{"message", "no test ran: the result of the program contains none"}}));
  lines.push_back(event_line("end", {{"result", "error"}, {"reason", "result_mismatch"}}));
  return lines;
}

// The first line of what GTEST_SKIP() was told. What follows in the output may be the program's own.
std::string first_line(std::string_view words) {
  constexpr std::size_t kMaxReason = 200;
  words = words.substr(0, words.find('\n'));
  const std::size_t begin = words.find_first_not_of(" \t\r");
  if (begin == words.npos) return "framework";
  words = words.substr(begin, words.find_last_not_of(" \t\r") + 1 - begin);
  if (words.size() <= kMaxReason) return std::string(words);
  std::size_t end = kMaxReason;
  while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xc0) == 0x80) --end;  // no half of a character
  return std::string(words.substr(0, end));
}

// The program is one case: what it ran is its own affair, as long as it ran something.
std::vector<std::string> tell_whole(const Results& results) {
  std::vector<std::string> lines = results.failures;
  bool skipped = true;
  std::string words;  // why it is skipped: the first that says so speaks for all
  for (const auto& test : results.ran) {
    lines.insert(lines.end(), test.failures.begin(), test.failures.end());
    skipped = skipped && test.skipped;
    if (words.empty()) words = test.skip_words;
  }
  if (results.ran.empty() && lines.empty()) return lines;  // without an end nobody takes it for a result
  const char* result = !lines.empty() ? "fail" : skipped ? "skip" : "pass";
  json end = {{"result", result}};
  if (lines.empty() && skipped) end["reason"] = words;
  lines.push_back(event_line("end", std::move(end)));
  return lines;
}

class ResultFile final : public Translator {
 public:
  explicit ResultFile(bool whole) : whole_(whole) {}
  void hear(std::string_view output) override { printed_ = output; }
  std::vector<std::string> translate(std::string_view text) override {
    auto results = read_results(text);
    if (!results) return {};
    add_printed_words(*results);
    return whole_ ? tell_whole(*results) : tell_each(*results);
  }

 private:
  void add_printed_words(Results& results) const {
    const auto has_no_words = [](const Results::Test& test) {
      return test.skipped && test.skip_words.empty();
    };
    if (std::ranges::none_of(results.ran, has_no_words)) return;
    const PrintedSkips printed(printed_);
    for (auto& test : results.ran) {
      if (has_no_words(test)) test.skip_words = printed.of(test.name);
    }
  }

  bool whole_;           // the whole program is one case
  std::string printed_;  // its last words
};

// ---- the kind ----

constexpr std::string_view kFilterOption = "--gtest_filter=";
constexpr std::string_view kFailFastOption = "--gtest_fail_fast";
constexpr int kTestsFailed = 1;  // its main: `return RUN_ALL_TESTS()`

// `--gtest_also_run_disabled_tests` in the command means that they are to be run.
bool runs_disabled(const Suite& suite) {
  return std::any_of(suite.command.begin(), suite.command.end(), [](const std::string& word) {
    return word == "--gtest_also_run_disabled_tests" || word == "--gtest_also_run_disabled_tests=1" ||
           word == "--gtest_also_run_disabled_tests=true";
  });
}

Warning has_no_listener(const Suite& suite) {
  return {WarningCode::kGtestListener,
          fmt::format("suite `{}` ({}) is one case, because its program does not report its cases; this line "
                      "of CMake gives each its own verdict: "
                      "target_link_libraries({} PRIVATE Proctor::gtest_listener)",
                      suite.name, suite.origin,
                      std::filesystem::path(suite.command.front()).filename().string())};
}

// What in an environment says which tests run, and how. Source: googletest, src/gtest.cc, the flags and what stands in
// for them under Bazel.
struct Variable {
  std::string_view name;
  std::string_view harmless;  // the value by which all tests run, as without it
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
              // Its main() may ask the driver before it looks at its flags.
              .lists_with_devices = true,
              .list_file = "--gtest_output=json:",
              .voice = Voice::kFile,
              .output = {"--gtest_output=json:{}"},
              .caller_filters = names_of_variables()}) {}

  // Also where the environment of a plan is all that a program gets: a sharding would make a process that is asked
  // for one test run none, and call that a success; whether others run after a failure, we decide.
  Result<void> settle_environment(Suite& suite, const SearchPaths&) const override {
    suite.env.emplace("GTEST_TOTAL_SHARDS", "1");
    suite.env.emplace("GTEST_SHARD_INDEX", "0");
    suite.env.emplace("GTEST_FAIL_FAST", "0");
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
                                      std::vector<Warning>& warnings) const override {
    std::optional<std::vector<GtestName>> in_file = names_in_file(out.file_text);
    const bool has_file = in_file.has_value();
    const Result<std::vector<GtestName>> names =
        has_file ? Result(*std::move(in_file)) : parse_gtest_list(out.stdout_text);
    if (!names) return Error::usage("wrote a list that cannot be read: " + names.error().what);
    // A main() may have ended before it came to its tests.
    if (!has_file && names->empty()) return Error::usage("did not print a GoogleTest test list");
    const bool together = suite.process == "suite";
    suite.listener = together && announces_gtest_listener(out.event_lines);
    if (together && !suite.listener && !names->empty()) {
      warnings.push_back(has_no_listener(suite));
      return std::vector<Case>{whole_command(suite)};
    }
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

  std::unique_ptr<Translator> translator(const Suite& suite, const Case&) const override {
    return std::make_unique<ResultFile>(suite.process == "suite");
  }

  // One filter of all cases: unlike an argument, a file has no limit of 128 KiB. Each case once, and no result
  // file that each process would write over the others'.
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
    // Whether others run after a failure, the runner decides. No flag of the file: GoogleTest < 1.11 would
    // refuse it.
    std::erase_if(command, [](const std::string& word) { return word.starts_with(kFailFastOption); });
    return command;
  }

  Verdict judge(const CaseEnd& end) const override {
    const auto result = end.child.result();  // it has no tests that are expected to fail
    if (result == ChildResult::kXfail || result == ChildResult::kXpass)
      return {Outcome::kError, Reason::kProtocol};
    Verdict verdict = judge_reported(end, end.exit_code == kTestsFailed);
    if (verdict.outcome == Outcome::kSkip)
      verdict.reason = reason_in_words(first_line(verdict.reason.text()));
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
