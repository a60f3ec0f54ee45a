#include "harness/frameworks/catch2.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/frameworks/equal_names.h"
#include "harness/frameworks/xml_report.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

// Options about the place of the report. Proctor sets these itself, so they are removed with their values.
constexpr std::string_view kReporters = " -r --reporter -o --out ";
// Options that select tests. They apply to the list, and are removed from a process of one case.
constexpr std::string_view kChoices = " -f --input-file --shard-count --shard-index ";
// Options of Catch2 without a value. The word after any other option may be its value.
constexpr std::string_view kFlags =
    " -s --success -b --break -e --nothrow -i --invisibles -a --abort -# --filenames-as-tags "
    "--benchmark-no-analysis --skip-benchmarks --allow-running-no-tests -- ";

bool is_in(std::string_view words, std::string_view word) {
  return words.find(fmt::format(" {} ", word)) != words.npos;
}

// Returns the command without its reporter and, unless it is for the list, without words that select tests. A
// word that names an existing file is a program after a launcher such as valgrind.
std::vector<std::string> bare_command(const Suite& suite, bool for_list) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < suite.command.size(); ++i) {
    const std::string& word = suite.command[i];
    const std::string_view option = std::string_view(word).substr(0, word.find('='));
    const bool joined = option.size() < word.size();  // --option=value
    std::error_code none;                             // a path that cannot be read is not a program
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

// Returns true if the pattern matches the name. Case is ignored, and a '*' at either end matches any text.
bool selects(std::string_view pattern, std::string_view name) {
  const bool open_begin = pattern.starts_with('*');
  const bool open_end = pattern.size() > 1 && pattern.ends_with('*');
  if (open_begin) pattern.remove_prefix(1);
  if (open_end) pattern.remove_suffix(1);
  if (open_begin && open_end) return name.find(pattern) != name.npos;
  if (open_begin) return name.ends_with(pattern);
  return open_end ? name.starts_with(pattern) : name == pattern;
}

// Returns a pattern for the name. Catch2 reads `exclude:NAME`, even in quotes, as all tests except NAME, so
// the pattern leaves the first letter open.
std::string pattern_of(const std::string& name) {
  return name.starts_with("exclude:") ? "*" + name.substr(1) : name;
}

Choice choice_of(const std::string& pattern) {
  if (pattern.starts_with('*')) return {.begin = "", .whole = false};
  if (pattern.ends_with('*')) return {.begin = pattern.substr(0, pattern.size() - 1), .whole = false};
  return {.begin = pattern};
}

// Returns a specification of exactly this name. The quotes remove the meaning of '~' and '#' at its
// beginning.
std::string specification(const std::string& name) {
  std::string list;
  for (const std::string& spelling : spellings_of(name))
    list += (list.empty() ? "\"" : ",\"") + escaped(pattern_of(spelling), "\\,[\"") + "\"";
  return list;
}

// ---- the list ----

std::vector<std::string> tags_of(std::string_view text) {  // "[quick][math]"
  std::vector<std::string> tags;
  std::size_t close = 0;
  for (auto open = text.find('['); (close = text.find(']', open)) != text.npos; open = text.find('[', close))
    tags.emplace_back(text.substr(open + 1, close - open - 1));
  return tags;
}

// Reads the list of version 3.
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

// Version 2: returns the number of tests in the list for people, which ends with "3 test cases" or "1
// matching test case".
std::optional<std::size_t> count_in(std::string_view text) {
  std::optional<std::size_t> count;
  for (const std::string_view line : lines_of(text)) {
    const auto words = split(line, ' ');
    if (words.size() < 3 || !words.back().starts_with("case") || words[words.size() - 2] != "test") continue;
    if (const auto number = written_count(words.front()); number && *number >= 0)
      count = static_cast<std::size_t>(*number);
  }
  return count;
}

// Version 2: reads the names. Each line is a name, and the exit code is the number of names, up to 255.
// Catch2 ignores blanks around a name, and its report does not contain them.
Result<std::vector<Case>> read_names(const ListOutput& out, std::size_t count) {
  std::vector<std::string_view> lines = lines_of(out.stdout_text);
  if (lines.size() < count || out.exit_code != static_cast<int>(std::min<std::size_t>(count, 255))) {
    return Error::usage(fmt::format("listed {} tests, then {} names, and exited with {}", count, lines.size(),
                                    out.exit_code.value_or(-1)));
  }
  lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));  // removes a banner
  std::vector<Case> tests;
  for (const std::string_view line : lines) {
    std::string_view name = trimmed(line);
    if (name.starts_with("\"#") && name.ends_with('"')) name = name.substr(1, name.size() - 2);
    tests.emplace_back().name = name;
  }
  return tests;
}

// Version 2: reads the tags from the list for people. A name follows two blanks and its own leading blanks.
// It continues on lines with four blanks, and a wrapped line can end with a hyphen. Tags follow six blanks.
// Both lists have the same order, so each line of a name is compared with the next part of a known name.
Result<void> read_tags(std::string_view text, std::vector<Case>& tests) {
  std::size_t at = 0;     // number of tests whose name has begun
  std::string_view rest;  // remaining part of the name of the last of them
  bool begun = false;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (!begun) {
      begun = line.ends_with(" test cases:");
      continue;
    }
    if (indent < 2 || indent == line.size()) continue;
    if (rest.empty() && indent >= 6 && line[indent] == '[' && at > 0) {
      for (std::string& tag : tags_of(line)) tests[at - 1].tags.push_back(std::move(tag));
      continue;
    }
    std::string_view part = trimmed(line);
    const bool begins = rest.empty() && at < tests.size();
    std::string_view name = begins ? std::string_view(tests[at].name) : rest;
    if (!name.starts_with(part) && part.ends_with('-')) part.remove_suffix(1);
    const bool fits = !part.empty() && name.starts_with(part);
    if (!fits && rest.empty() && indent >= 4) continue;  // a detail of `--verbosity high`
    at += begins ? 1 : 0;
    if (!fits) {
      return Error::usage(fmt::format("listed a test `{}`, whose name is not the line `{}`",
                                      clean_text(trimmed(line)),
                                      at == 0 ? "" : clean_text(tests[at - 1].name)));
    }
    rest = trimmed(name.substr(part.size()));
  }
  return {};
}

const XmlDialect& catch2_dialect() {
  static const XmlDialect kDialect{
      .section = "Section",
      .end = "OverallResult",
      .success = "success",
      .expected = {{"tags", "[!shouldfail]", "[!shouldfail]"}, {"tags", "[!mayfail]", "[!mayfail]"}}};
  return kDialect;
}

class Catch2Kind final : public Kind {
 public:
  Catch2Kind()
      : Kind({.name = "catch2",
              .framework = "Catch2 tests",
              .markers = {"--list-test-names-only", "--list-tests", "libCatch2.so"},
              .list_marks = {"<MatchingTests>", " test cases:\n"},
              .any_list_code = true,  // version 2 exits with the number of tests
              .reporting_mode = ReportingMode::kStream,
              .output = {"--out", "{}"},
              // Source: catchorg/Catch2, src/catch2/catch_config.cpp, under BAZEL_TEST.
              .caller_filters = {"TESTBRIDGE_TEST_ONLY", "TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX",
                                 "TEST_SHARD_STATUS_FILE"}}) {}

  std::vector<std::string> list_command(const Suite& suite) const override {
    return with(bare_command(suite, /*for_list=*/true), {"--list-tests", "--reporter", "xml"});
  }
  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask& ask,
                                      std::vector<Warning>& warnings) const override {
    if (const auto listed = read_xml_list(out.stdout_text)) {
      if (out.exit_code != 0) return Error::usage(fmt::format("exited with {}", out.exit_code.value_or(-1)));
      return cases_of(suite, *listed, warnings);
    }
    if (out.stdout_text.find(" test case") == std::string::npos)
      return Error::usage(
          fmt::format("did not print a Catch2 test list (exit code {})", out.exit_code.value_or(-1)));
    const auto names = ask(with(bare_command(suite, /*for_list=*/true), {"--list-test-names-only"}));
    if (!names) return names.error();
    const auto count = count_in(out.stdout_text);
    auto tests = read_names(*names, count.value_or(0));
    if (!tests) return tests;
    if (const auto read = read_tags(out.stdout_text, *tests); !read) return read.error();
    return cases_of(suite, *std::move(tests), warnings);
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

  std::unique_ptr<Translator> translator(const Suite&, const Case& first) const override {
    const int tests = tests_of(first, "");
    return xml_translator(catch2_dialect(),
                          {.count = tests, .any_case_of = tests > 1 ? std::string(framework_id(first)) : ""});
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

  // The exit code is the number of failed assertions. In version 3, 4 also means that all tests were skipped.
  Verdict judge(const CaseEnd& end) const override {
    constexpr int kAllSkipped = 4;
    CaseEnd judged = end;
    if (end.exit_code == kAllSkipped && end.child.result() == ChildResult::kSkip) judged.exit_code = 0;
    return judge_reported(judged, true);
  }

 private:
  static std::vector<Case> cases_of(const Suite& suite, std::vector<Case> tests,
                                    std::vector<Warning>& warnings) {
    for (Case& test : tests) {
      test.id = test.name;
      test.classname = suite.name;
      test.devices = suite.devices;
      test.group = group_of(suite);
      test.argv =
          with(bare_command(suite, /*for_list=*/false), {"--reporter", "xml", specification(test.name)});
    }
    join_listed_names(
        tests, [](const Case& test) { return lower_case(test.name); }, "", suite, warnings);
    return tests;
  }
};

}  // namespace

const Kind& catch2_kind() {
  static const Catch2Kind kKind;
  return kKind;
}

}  // namespace proctor
