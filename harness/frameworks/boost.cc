#include "harness/frameworks/boost.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/frameworks/xml_report.h"

namespace proctor {
namespace {

constexpr std::string_view kRunTest = "--run_test=";
constexpr std::string_view kDisabled = "disabled";
constexpr std::string_view kOutside = "outside of its tests";  // of the tests: the program failed there
// bytes of names in one command, whose arguments are limited to 128 KiB
constexpr std::size_t kMostNamed = 100'000;
constexpr std::size_t kMostOfAll = 64 * 1024 * 1024;  // bytes of names in the commands of all cases

// ---- the command ----

// Options that Proctor sets itself, with their short forms. Boost.Test also accepts a prefix of a name.
struct BoostOption {
  std::string_view name;
  std::string_view letter;
};
constexpr BoostOption kOurs[] = {{"log_format", "-f"},
                                 {"log_level", "-l"},
                                 {"log_sink", "-k"},
                                 {"logger", ""},
                                 {"output_format", "-o"},
                                 {"report_sink", "-e"},
                                 {"catch_system_errors", "-s"},
                                 {"result_code", "-c"},
                                 {"color_output", "-x"},
                                 {"list_content", "-j"},
                                 {"list_labels", ""}};
constexpr BoostOption kFilter = {"run_test", "-t"};

bool is_option(const BoostOption& option, std::string_view word) {
  if (!word.starts_with("--")) return !option.letter.empty() && word == option.letter;
  const std::string_view name = word.substr(2, word.find('=') - 2);
  return name.size() > 2 && option.name.starts_with(name);
}

// Returns the command without these options, and with `more` before the program's own words.
std::vector<std::string> with_options(const Suite& suite, std::vector<std::string> more) {
  std::vector<std::string> words;
  std::size_t i = 0;
  for (; i < suite.command.size() && suite.command[i] != "--"; ++i) {
    const std::string& word = suite.command[i];
    const bool ours =
        std::ranges::any_of(kOurs, [&](const BoostOption& option) { return is_option(option, word); });
    if (ours && !word.starts_with("--")) ++i;  // skip its value too
    if (!ours) words.push_back(word);
  }
  words = with(std::move(words), std::move(more));
  for (; i < suite.command.size(); ++i) words.push_back(suite.command[i]);
  return words;
}

bool has_filter(const Suite& suite) {
  const auto end = std::ranges::find(suite.command, "--");
  return std::any_of(suite.command.begin(), end, [](const std::string& word) {
    return is_option(kFilter, word) || (word.starts_with(kFilter.letter) && !word.starts_with("--"));
  });
}

// ---- the list ----

// A suite or a test case of the graph.
struct Unit {
  std::string path;  // "suite/case"; "" for the program's own suite
  std::string name;
  std::string number;  // "tu65536"
  std::size_t parent = 0;
  bool is_suite = false;
  bool enabled = true;
  int expected_failures = 0;
  std::vector<std::string> labels = {};
  std::vector<std::size_t> needs = {};  // depends_on()
};

// Returns the text after the last `mark`, and removes both from the text; "" if the mark is missing.
std::string_view cut_from(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.rfind(mark);
  if (at == text.npos) return {};
  const std::string_view rest = text.substr(at + mark.size());
  text = text.substr(0, at);
  return rest;
}

// Returns the number after the last `mark`, and removes both; 0 if the text does not end with them.
int cut_number(std::string_view& text, std::string_view mark) {
  std::string_view before = text;
  const std::string_view digits = cut_from(before, mark);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return 0;
  text = before;
  return number;
}

// Returns true for "FILE(LINE)".
bool is_place(std::string_view text) {
  if (!text.ends_with(')')) return false;
  text.remove_suffix(1);
  const std::string_view line = text.substr(text.rfind('(') + 1);
  return line.size() < text.size() && !line.empty() &&
         std::ranges::all_of(line, [](char c) { return c >= '0' && c <= '9'; });
}

// Parses the graph that Boost.Test writes (boost/test/impl/unit_test_main.ipp, dot_content_reporter):
//
//   digraph G {rankdir=LR;
//   tu2[shape=Mrecord,...,color=green,label="NAME|FILE(LINE)|timeout=1|expected failures=2|labels: @a @b"];
//   tu1 -> tu2;                   the suite that contains it; missing for the first unit, the program's own suite
//   tu2 -> tu3[color=red,...];    tu2 depends on tu3
//   {                             the following units are in the suite before the bracket
//   }
//
// A list with any other line is refused: a name with a line break produces such lines, and could hide tests.
class Graph {
 public:
  // An error completes "`COMMAND` ...".
  Result<void> read(std::string_view text) {
    const std::size_t begin = text.find(kBegin);
    if (begin == text.npos) return Error::usage("did not print a Boost.Test test list");
    std::vector<std::string_view> lines = lines_of(text.substr(begin));
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const bool understood = ended_ ? !is_of_graph(lines[i]) : take(lines[i]);
      if (understood) continue;
      return Error::usage(fmt::format(
          "listed its tests with a line that no list of Boost.Test has: line {} is `{}`. A name with a line "
          "break has such lines",
          i + 1, clean_text(lines[i].substr(0, kShownOfLine))));
    }
    if (!ended_ || units_.empty()) return Error::usage("printed a Boost.Test test list without its end");
    return connect();
  }

  const std::vector<Unit>& units() const { return units_; }

  // Returns the paths of the tests that a process runs before the case, in the order of the list.
  std::vector<std::string> prerequisites(std::size_t of) const {
    std::set<std::size_t> reached;
    std::vector<std::size_t> open{of};
    std::set<std::size_t> seen;
    while (!open.empty()) {
      const std::size_t which = open.back();
      open.pop_back();
      if (!seen.insert(which).second) continue;
      for (const std::size_t need : units_[which].needs) {
        if (!reached.insert(need).second) continue;
        seen.erase(need);
        open.push_back(need);
      }
      if (which != 0) open.push_back(units_[which].parent);
      // If a suite is a prerequisite, the prerequisites of its members are included.
      if (reached.contains(which) && units_[which].is_suite) add_members(which, open);
    }
    reached.erase(of);
    std::vector<std::string> paths;
    for (const std::size_t which : reached) paths.push_back(units_[which].path);
    return paths;
  }

 private:
  static constexpr std::string_view kBegin = "digraph G {";
  static constexpr std::string_view kArrow = " -> ";
  static constexpr std::size_t kShownOfLine = 100;

  static bool is_of_graph(std::string_view line) {
    return line.size() > 2 && line.starts_with("tu") && line[2] >= '0' && line[2] <= '9';
  }

  void add_members(std::size_t suite, std::vector<std::size_t>& open) const {
    for (std::size_t i = suite + 1; i < units_.size() && units_[i].path.starts_with(units_[suite].path + "/");
         ++i)
      open.push_back(i);
  }

  bool take(std::string_view line) {
    if (!wanted_.empty()) return line == std::exchange(wanted_, {});
    if (line == "{") {
      if (!may_open_) return false;
      units_.back().is_suite = true;
      inside_.push_back(units_.size() - 1);
    } else if (line == "}") {
      ended_ = inside_.empty();
      if (!ended_) inside_.pop_back();
    } else {
      may_open_ =
          line.find(kArrow) != line.npos && line.find('"') == line.npos ? read_need(line) : read_unit(line);
      return may_open_;
    }
    may_open_ = false;
    return true;
  }

  bool read_unit(std::string_view line) {
    constexpr std::string_view kLabel = ",label=\"";
    const std::size_t label = line.find(kLabel);
    if (!is_of_graph(line) || label == line.npos || !line.ends_with("\"];")) return false;
    std::string_view text = line.substr(label + kLabel.size());
    text.remove_suffix(3);
    Unit unit{.path = {}, .name = {}, .number = std::string(line.substr(0, line.find('[')))};
    unit.enabled = line.substr(0, label).find("color=green") != line.npos;
    if (inside_.empty() != units_.empty() || !numbers_.emplace(unit.number, units_.size()).second)
      return false;
    if (!units_.empty() && !read_member(text, unit)) return false;
    unit.name = text;
    if (!inside_.empty()) unit.path += unit.name;
    units_.push_back(std::move(unit));
    return true;
  }

  // Reads a unit in a suite, and leaves its name in `text`.
  bool read_member(std::string_view& text, Unit& unit) {
    const std::string_view whole = text;
    std::string_view labels = cut_from(text, "|labels:");
    bool has_place = cut_details(text, unit);
    if (!has_place && !labels.empty()) {  // the mark is part of the name
      labels = {};
      has_place = cut_details(text = whole, unit);
    }
    if (!has_place) return false;
    const Unit& parent = units_[unit.parent = inside_.back()];
    unit.path = parent.path + (parent.path.empty() ? "" : "/");
    unit.labels = parent.labels;
    for (const std::string_view word : split(labels, ' ')) {
      if (word.starts_with('@')) unit.labels.emplace_back(word.substr(1));
    }
    wanted_ = fmt::format("{}{}{};", parent.number, kArrow, unit.number);
    return true;
  }

  static bool cut_details(std::string_view& text, Unit& unit) {
    unit.expected_failures = cut_number(text, "|expected failures=");
    cut_number(text, "|timeout=");
    return is_place(cut_from(text, "|"));
  }

  // Reads a dependency. Its target may come later in the list.
  bool read_need(std::string_view line) {
    const std::size_t arrow = line.find(kArrow);
    const std::string_view to = line.substr(arrow + kArrow.size());
    if (!line.ends_with("];") || units_.empty() || line.substr(0, arrow) != units_.back().number)
      return false;
    edges_.emplace_back(units_.size() - 1, to.substr(0, to.find('[')));
    return true;
  }

  Result<void> connect() {
    for (const auto& [from, to] : edges_) {
      const auto found = numbers_.find(to);
      if (found == numbers_.end())
        return Error::usage(fmt::format("listed a test that depends on one that is not in its list: `{}`",
                                        clean_text(units_[from].path)));
      units_[from].needs.push_back(found->second);
    }
    return {};
  }

  std::vector<Unit> units_;
  std::vector<std::size_t> inside_;  // the suites around the next line
  std::string wanted_;               // the only line that may be next; "": any
  bool may_open_ = false;            // the next line may begin the content of the last unit
  bool ended_ = false;
  std::map<std::string, std::size_t, std::less<>> numbers_;
  std::vector<std::pair<std::size_t, std::string>> edges_;
};

Result<std::vector<Case>> cases_in(const Suite& suite, const Graph& graph) {
  std::vector<Case> cases;
  std::size_t bytes = 0;
  for (std::size_t i = 1; i < graph.units().size(); ++i) {
    const Unit& unit = graph.units()[i];
    if (unit.is_suite) continue;
    std::vector<std::string> names = graph.prerequisites(i);
    names.push_back(unit.path);
    Case test;
    test.id = unit.path;
    test.name = unit.name;
    const std::string& in = graph.units()[unit.parent].path;
    test.classname = in.empty() ? suite.name : in;
    test.devices = suite.devices;
    test.disabled = !unit.enabled;
    test.tags = unit.labels;
    test.expected_failures = unit.expected_failures;
    std::string choice = fmt::format("{}{}", kRunTest, fmt::join(names, ":"));
    bytes += choice.size();
    if (choice.size() > kMostNamed || bytes > kMostOfAll) {
      return Error::usage(fmt::format("listed a test with more prerequisites than a command can name: `{}`",
                                      clean_text(test.id)));
    }
    test.argv = with_options(suite, {"--catch_system_errors=no", "--result_code=yes", "--color_output=no",
                                     "--log_format=XML", "--log_level=test_suite", std::move(choice)});
    cases.push_back(std::move(test));
  }
  return cases;
}

// ---- the report ----

// Returns a `fail` event, or none if the element is not a failure.
std::optional<std::string> failure_line(const XmlElement& element) {
  if (element.name != "Error" && element.name != "FatalError" && element.name != "Exception")
    return std::nullopt;
  std::string message = element.text;
  if (const XmlElement* context = element.child("Context")) {
    for (const XmlElement& frame : context->children) message += "\n" + frame.text;
  }
  const std::int64_t line = written_count(element.attribute("line")).value_or(0);
  if (line == 0) return event_line("fail", {{"message", message}});
  return event_line("fail", {{"file", element.attribute("file")}, {"line", line}, {"message", message}});
}

// The failures of a test in its element.
struct Deeds {
  std::vector<std::string> failures = {};  // event lines
  bool aborted = false;  // by a failed requirement or an exception, which are never expected failures
};

// Translates the XML log of one process into events.
class LogFile final : public Translator {
 public:
  explicit LogFile(const Case& test) : own_(framework_id(test)), expected_failures_(test.expected_failures) {
    for (const std::string& word : test.argv) {
      if (!word.starts_with(kRunTest)) continue;
      for (const std::string_view name : split(std::string_view(word).substr(kRunTest.size()), ':'))
        if (name != own_) prerequisites_.emplace_back(name);
    }
  }

  std::vector<std::string> translate(std::string_view text) override {
    const auto log = find_xml(std::string(text), "TestLog");
    if (!log) return {};
    for (const XmlElement& child : log->children) {
      if (child.name == "TestSuite") walk(child, "");
      if (auto failure = failure_line(child)) outside_.push_back(*std::move(failure));
    }
    std::vector<std::string> lines;
    for (const auto& [path, deeds] : ran_) write_result(path, deeds, lines);
    if (!ran_.empty()) return lines;
    if (!outside_.empty())
      return with(outside_, {event_line("end", {{"result", "fail"}, {"reason", kOutside}})});
    if (skipped_.empty()) return {};
    return {event_line("start", {{"case", own_}}),
            event_line("end", {{"case", own_}, {"result", "skip"}, {"reason", skipped_}})};
  }

 private:
  // Adds the events of one test. A failure of a global fixture counts for each test that ran.
  void write_result(const std::string& path, const Deeds& deeds, std::vector<std::string>& lines) const {
    lines.push_back(event_line("start", {{"case", path}}));
    lines.insert(lines.end(), deeds.failures.begin(), deeds.failures.end());
    lines.insert(lines.end(), outside_.begin(), outside_.end());
    if (!outside_.empty()) {
      lines.push_back(event_line("end", {{"case", path}, {"result", "fail"}, {"reason", kOutside}}));
    } else if (is_expected(deeds)) {
      lines.push_back(
          event_line("end", {{"case", path}, {"result", "xfail"}, {"reason", "expected_failures"}}));
    } else {
      lines.push_back(
          event_line("end", {{"case", path}, {"result", deeds.failures.empty() ? "pass" : "fail"}}));
    }
  }

  bool is_expected(const Deeds& deeds) const {
    return !deeds.failures.empty() && !deeds.aborted &&
           deeds.failures.size() <= static_cast<std::size_t>(std::max(0, expected_failures_));
  }

  void walk(const XmlElement& suite, const std::string& path) {
    for (const XmlElement& child : suite.children) {
      const std::string name = path + child.attribute("name");
      if (child.attribute("skipped") == "yes") {
        skip(name, child.attribute("reason"));
      } else if (child.name == "TestSuite") {
        walk(child, name + "/");
      } else if (child.name == "TestCase") {
        if (name == own_ || !is_prerequisite(name)) ran_.emplace_back(name, deeds_of(child));
      } else if (auto failure = failure_line(child)) {
        outside_.push_back(*std::move(failure));
      }
    }
  }

  // Records why the own test was skipped. Boost.Test also reports every test that was not selected as
  // skipped, with the reason `disabled`.
  void skip(const std::string& name, const std::string& reason) {
    const bool own = name == own_ || (own_.starts_with(name + "/") && reason != kDisabled);
    if (own && skipped_.empty()) skipped_ = reason;
  }

  bool is_prerequisite(const std::string& name) const {
    return std::ranges::any_of(prerequisites_, [&](const std::string& needed) {
      return name == needed || name.starts_with(needed + "/");
    });
  }

  static Deeds deeds_of(const XmlElement& test) {
    Deeds deeds;
    for (const XmlElement& child : test.children) {
      auto failure = failure_line(child);
      if (!failure) continue;
      deeds.failures.push_back(*std::move(failure));
      deeds.aborted = deeds.aborted || child.name != "Error";
    }
    return deeds;
  }

  const std::string own_;
  const int expected_failures_;
  std::vector<std::string> prerequisites_;
  std::vector<std::pair<std::string, Deeds>> ran_;
  std::vector<std::string> outside_;  // failures outside of all tests
  std::string skipped_;               // why the own test was skipped
};

// ---- the kind ----

class BoostKind final : public Kind {
 public:
  BoostKind()
      : Kind({.name = "boost",
              .framework = "Boost.Test tests",
              .markers = {"BOOST_TEST_LIST_CONTENT", "libboost_unit_test_framework"},
              .processes = {"case"},
              .classnames = true,
              .list_marks = {"digraph G {rankdir=LR;\ntu1["},
              .reporting_mode = ReportingMode::kFile,
              .output = {"--log_sink={}"},
              .dashes_end_options = true,
              // Source: boostorg/test, boost/test/impl/unit_test_parameters.ipp: such a variable is the
              // default of each option. Two of them take precedence over the options for the place of the
              // report.
              .caller_filters = {"BOOST_TEST_RUN_FILTERS", "BOOST_TESTS_TO_RUN", "BOOST_TEST_LIST_CONTENT",
                                 "BOOST_TEST_LIST_LABELS", "BOOST_TEST_LOGGER",
                                 "BOOST_TEST_OUTPUT_FORMAT"}}) {}

  std::vector<std::string> list_command(const Suite& suite) const override {
    return with_options(suite, {"--report_sink=stdout", "--list_content=DOT"});
  }

  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask&,
                                      std::vector<Warning>&) const override {
    if (has_filter(suite))
      return Error::usage(
          "lists all of its tests even with --run_test; select them with --filter, --case or --tag");
    Graph graph;
    if (const auto read = graph.read(out.stdout_text); !read) return read.error();
    return cases_in(suite, graph);
  }

  Result<void> check_alone(const std::vector<Case>& cases) const override {
    std::vector<std::string> names;
    std::vector<Choice> choices;
    for (const Case& test : cases) {
      // Later versions of Boost.Test replace these characters in each name.
      if (test.id.find_first_of(":*@+!,") != test.id.npos) {
        return Error::usage(fmt::format(
            "listed a test that cannot be run alone: `{}`: `:*@+!,` are special characters of --run_test",
            clean_text(test.id)));
      }
      names.push_back(test.id);
      choices.push_back({.begin = test.id});
    }
    return check_each_alone(cases, names, choices, [](std::size_t, std::size_t) { return true; });
  }

  std::unique_ptr<Translator> translator(const Suite&, const Case& first) const override {
    return std::make_unique<LogFile>(first);
  }

  Verdict judge(const CaseEnd& end) const override {
    // Exit codes of boost/cstdlib.hpp for a failed and an aborted test. They also occur if only a
    // prerequisite failed.
    constexpr int kFailedCodes[] = {200, 201};
    const auto result = end.child.result();
    CaseEnd judged = end;
    if (result == ChildResult::kSkip &&
        std::ranges::find(kFailedCodes, end.exit_code) != std::end(kFailedCodes))
      judged.exit_code = 0;
    // The program compares failures outside of its tests with all of its expected failures, including those
    // of other tests. Its exit code is therefore meaningless for such a failure.
    const bool is_outside = result == ChildResult::kFail && end.child.reason().text() == kOutside;
    if (is_outside && end.child.also_ran().empty() && end.child.violations() == 0)
      return {Outcome::kFail, {}};
    return judge_reported(judged, false);
  }
};

}  // namespace

const Kind& boost_kind() {
  static const BoostKind kKind;
  return kKind;
}

}  // namespace proctor
