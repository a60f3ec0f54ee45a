#include "harness/plan/kinds/catch2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "harness/core/text.h"
#include "harness/core/words.h"
#include "harness/plan/kinds/xml_report.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

// What the command may say, and its value with it: of where a report goes, which is ours to say, ...
constexpr std::string_view kReporters = " -r --reporter -o --out ";
// ... and of which tests are meant, which holds for the list and not for a process of one case.
constexpr std::string_view kChoices = " -f --input-file --shard-count --shard-index ";
// Options of Catch2 without a value. The word behind any other option may be its value.
constexpr std::string_view kFlags =
    " -s --success -b --break -e --nothrow -i --invisibles -a --abort -# --filenames-as-tags "
    "--benchmark-no-analysis --skip-benchmarks --allow-running-no-tests -- ";

bool is_in(std::string_view words, std::string_view word) {
  return words.find(fmt::format(" {} ", word)) != words.npos;
}

// The command without its reporter and, but for the list, without what chooses tests. A word that names a file is
// a program behind another one, such as valgrind.
std::vector<std::string> bare_command(const Suite& suite, bool for_list) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < suite.command.size(); ++i) {
    const std::string& word = suite.command[i];
    const std::string_view option = std::string_view(word).substr(0, word.find('='));
    const bool joined = option.size() < word.size();  // --option=value
    std::error_code none;                             // what cannot be looked at is no program
    if (is_in(kReporters, option) || (!for_list && is_in(kChoices, option))) {
      i += joined ? 0 : 1;
    } else if (word.size() > 1 && word.front() == '-') {
      words.push_back(word);
      const bool may_have_value = !joined && !is_in(kFlags, option) && i + 1 < suite.command.size();
      if (may_have_value && !suite.command[i + 1].starts_with('-')) words.push_back(suite.command[++i]);
    } else if (for_list || i == 0 || fs::exists(fs::path(suite.directory) / word, none)) {
      words.push_back(word);
    }
  }
  return words;
}

// Without regard to case; a '*' at either end stands for anything.
bool selects(std::string_view pattern, std::string_view name) {
  const bool open_begin = pattern.starts_with('*');
  const bool open_end = pattern.size() > 1 && pattern.ends_with('*');
  if (open_begin) pattern.remove_prefix(1);
  if (open_end) pattern.remove_suffix(1);
  if (open_begin && open_end) return name.find(pattern) != name.npos;
  if (open_begin) return name.ends_with(pattern);
  return open_end ? name.starts_with(pattern) : name == pattern;
}

// Catch2 takes a name that begins so, quoted or not, for all tests but the rest of it: its first letter is left open.
std::string pattern_of(const std::string& name) {
  return name.starts_with("exclude:") ? "*" + name.substr(1) : name;
}

Choice choice_of(const std::string& pattern) {
  if (pattern.starts_with('*')) return {.begin = "", .whole = false};
  if (pattern.ends_with('*')) return {.begin = pattern.substr(0, pattern.size() - 1), .whole = false};
  return {.begin = pattern};
}

// A specification of exactly this name. Quotes keep '~' and '#' at its beginning from having a meaning.
std::string specification(const std::string& name) {
  return "\"" + escaped(pattern_of(name), "\\,[\"") + "\"";
}

// ---- the list ----

std::vector<std::string> tags_of(std::string_view text) {  // "[quick][math]"
  std::vector<std::string> tags;
  std::size_t close = 0;
  for (auto open = text.find('['); (close = text.find(']', open)) != text.npos; open = text.find('[', close))
    tags.emplace_back(text.substr(open + 1, close - open - 1));
  return tags;
}

// Version 3.
std::optional<std::vector<Case>> read_xml_list(const std::string& text) {
  const auto root = find_xml(text, "MatchingTests");
  if (!root) return std::nullopt;
  std::vector<Case> tests;
  for (const XmlElement& test : root->children) {
    if (test.name != "TestCase") continue;
    tests.emplace_back().name = test.child_text("Name");
    tests.back().tags = tags_of(test.child_text("Tags"));
  }
  return tests;
}

// Version 2, for people: a name stands behind two blanks and its tags behind six; what stands behind four goes on
// with the line before, which may end in a hyphen for it. What is read of a name is how it begins.
std::vector<Case> read_text_list(std::string_view text) {
  std::vector<Case> tests;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (indent == 2 && line.size() > indent) {
      const std::string_view name = line.substr(indent);
      tests.emplace_back().name = name.substr(0, name.size() - (name.ends_with('-') ? 1 : 0));
    }
    if (indent < 6 || tests.empty()) continue;
    for (std::string& tag : tags_of(line)) tests.back().tags.push_back(std::move(tag));
  }
  return tests;
}

// Version 2: the names stand alone, each on a line, and the exit code says how many there are, up to 255. `tests`
// has how they begin. Blanks around a name count for nothing, and its report leaves them out.
Result<void> read_names(const ListOutput& out, std::vector<Case>& tests) {
  std::vector<std::string_view> lines = lines_of(out.stdout_text);
  if (lines.size() < tests.size() ||
      out.exit_code != static_cast<int>(std::min<std::size_t>(tests.size(), 255))) {
    return Error::usage(fmt::format("listed {} tests, then {} names, and exited with {}", tests.size(),
                                    lines.size(), out.exit_code.value_or(-1)));
  }
  lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(tests.size()));  // a banner
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view name = trimmed(lines[i]);
    if (name.starts_with("\"#") && name.ends_with('"')) name = name.substr(1, name.size() - 2);
    if (!name.starts_with(trimmed(tests[i].name))) {
      return Error::usage(fmt::format("listed a test `{}`, whose name is not the line `{}`",
                                      clean_text(tests[i].name), clean_text(name)));
    }
    tests[i].name = name;
  }
  return {};
}

// ---- the report ----

std::string measure_line(const XmlElement& benchmark) {
  const auto figure = [&](std::string_view name) {
    const XmlElement* child = benchmark.child(name);
    return child == nullptr ? 0.0 : std::atof(child->attribute("value").c_str());
  };
  return event_line("measure", {{"name", benchmark.attribute("name")},
                                {"value", figure("mean")},
                                {"unit", "ns"},
                                {"n", std::atoll(benchmark.attribute("samples").c_str())},
                                {"spread", figure("standardDeviation")}});
}

void collect(const XmlElement& element, std::vector<std::string>& events, std::string& skipped) {
  for (const XmlElement& child : element.children) {
    if (child.name == "Skip") skipped = child.text.empty() ? "framework" : child.text;
    if (child.name == "BenchmarkResults") events.push_back(measure_line(child));
    if (child.name == "StdOut" || child.name == "StdErr")
      events.push_back(event_line("output", {{"text", child.text + "\n"}}));
    if (child.name == "Section" || child.name == "OverallResult") collect(child, events, skipped);
  }
}

// The tag by which a failure of the test is expected; "" = none.
std::string expected_failure(const XmlElement& test) {
  const std::string tags = test.attribute("tags");
  for (const char* tag : {"[!shouldfail]", "[!mayfail]"})
    if (tags.find(tag) != tags.npos) return tag;
  return "";
}

std::vector<std::string> events_of(const XmlElement& test, bool any_failure) {
  std::vector<std::string> events;
  std::string skip;
  collect(test, events, skip);
  const XmlElement* overall = test.child("OverallResult");
  if (overall == nullptr) return events;  // no end: no result
  const bool passed = overall->attribute("success") == "true";
  const bool skipped = passed && !any_failure && !skip.empty();
  return with(events, {skipped ? event_line("end", {{"result", "skip"}, {"reason", skip}})
                               : xml_end(passed, any_failure, expected_failure(test))});
}

class Catch2Kind final : public Kind {
 public:
  Catch2Kind()
      : Kind({.name = "catch2",
              .framework = "Catch2 tests",
              .markers = {"--list-test-names-only", "--list-tests", "libCatch2.so"},
              .list_marks = {"<MatchingTests>", " test cases:\n"},
              .any_list_code = true,  // version 2: the number of tests
              .voice = Voice::kStream,
              .output = {"--out", "{}"},
              // Source: catchorg/Catch2, src/catch2/catch_config.cpp, under BAZEL_TEST.
              .caller_filters = {"TESTBRIDGE_TEST_ONLY", "TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX",
                                 "TEST_SHARD_STATUS_FILE"}}) {}

  std::vector<std::string> list_command(const Suite& suite) const override {
    return with(bare_command(suite, /*for_list=*/true), {"--list-tests", "--reporter", "xml"});
  }
  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask& ask,
                                      std::vector<Warning>&) const override {
    if (const auto listed = read_xml_list(out.stdout_text)) {
      if (out.exit_code != 0) return Error::usage(fmt::format("exited with {}", out.exit_code.value_or(-1)));
      return cases_of(suite, *listed);
    }
    if (out.stdout_text.find(" test case") == std::string::npos)
      return Error::usage(
          fmt::format("did not print a Catch2 test list (exit code {})", out.exit_code.value_or(-1)));
    const auto names = ask(with(bare_command(suite, /*for_list=*/true), {"--list-test-names-only"}));
    if (!names) return names.error();
    std::vector<Case> tests = read_text_list(out.stdout_text);
    if (const auto read = read_names(*names, tests); !read) return read.error();
    return cases_of(suite, tests);
  }

  Result<void> check_alone(const std::vector<Case>& cases) const override {
    std::vector<std::string> names;
    std::vector<Choice> choices;
    for (const Case& test : cases) {
      names.push_back(lower_case(test.name));
      choices.push_back(choice_of(pattern_of(names.back())));
    }
    return check_each_alone(cases, names, choices, [&](std::size_t one, std::size_t other) {
      return selects(pattern_of(names[one]), names[other]);
    });
  }

  std::unique_ptr<Translator> translator(const Suite&, const Case&) const override {
    return xml_translator({.section = "Section",
                           .id = [](const XmlElement& test) { return test.attribute("name"); },
                           .events = events_of});
  }

  std::string batch_file(const std::vector<const Case*>& cases) const override {
    std::string text;
    for (const Case* test : cases) text += test->argv.back() + "\n";
    return text;
  }
  std::vector<std::string> batch_command(const std::vector<const Case*>& cases,
                                         const std::string& file) const override {
    std::vector<std::string> command = cases.front()->argv;
    command.back() = "--input-file";
    return with(std::move(command), {file});
  }

  // Its exit code is the number of failed assertions, of version 3 also 4: all tests were skipped.
  Verdict judge(const CaseEnd& end) const override {
    constexpr int kAllSkipped = 4;
    CaseEnd judged = end;
    if (end.exit_code == kAllSkipped && end.child.result() == ChildResult::kSkip) judged.exit_code = 0;
    return judge_reported(judged, true);
  }

 private:
  static std::vector<Case> cases_of(const Suite& suite, std::vector<Case> tests) {
    for (Case& test : tests) {
      test.id = test.name;
      test.classname = suite.name;
      test.devices = suite.devices;
      test.group = group_of(suite);
      test.argv =
          with(bare_command(suite, /*for_list=*/false), {"--reporter", "xml", specification(test.name)});
    }
    return tests;
  }
};

}  // namespace

const Kind& catch2_kind() {
  static const Catch2Kind kKind;
  return kKind;
}

}  // namespace proctor
