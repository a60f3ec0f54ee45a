#include "harness/plan/kinds/boost.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "harness/core/text.h"
#include "harness/core/words.h"
#include "harness/core/written_number.h"
#include "harness/plan/kinds/xml_report.h"

namespace proctor {
namespace {

constexpr std::string_view kRunTest = "--run_test=";
constexpr std::string_view kDisabled = "disabled";
constexpr std::string_view kOutside = "outside of its tests";  // where the program failed, too
constexpr std::size_t kMostNamed = 100'000;  // bytes of names in one command: an argument has at most 128 KiB
constexpr std::size_t kMostOfAll = 64 * 1024 * 1024;  // and in those of all cases

// ---- the command ----

// Options of the command that are ours to say, with their short forms. Boost.Test takes the beginning of a name for it.
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

// `more` stands before what is the program's own.
std::vector<std::string> with_options(const Suite& suite, std::vector<std::string> more) {
  std::vector<std::string> words;
  std::size_t i = 0;
  for (; i < suite.command.size() && suite.command[i] != "--"; ++i) {
    const std::string& word = suite.command[i];
    const bool ours =
        std::ranges::any_of(kOurs, [&](const BoostOption& option) { return is_option(option, word); });
    if (ours && !word.starts_with("--")) ++i;  // with its value
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
  std::size_t parent = 0;
  bool is_suite = false;
  bool enabled = true;
  std::vector<std::string> labels = {};
  std::vector<std::size_t> needs = {};  // depends_on()
};

// What stands behind the last `mark` of the text, which is cut off with it; "" if there is none.
std::string_view cut_from(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.rfind(mark);
  if (at == text.npos) return {};
  const std::string_view rest = text.substr(at + mark.size());
  text = text.substr(0, at);
  return rest;
}

// The lines of the graph, as Boost.Test writes it (boost/test/impl/unit_test_main.ipp, dot_content_reporter):
//
//   tu2[shape=Mrecord,...,color=green,label="NAME|FILE(LINE)|timeout=1|expected failures=2|labels: @a @b"];
//   tu1 -> tu2;                   which suite it is in
//   tu3 -> tu2[color=red,...];    what it depends on
//   {                             what follows is in the suite before
class Graph {
 public:
  // Whether it came to its end.
  bool read(std::string_view text) {
    const std::size_t begin = text.find("digraph G {");
    if (begin == text.npos) return false;
    for (const std::string_view line : lines_of(text.substr(begin))) {
      if (line == "{" && !units_.empty()) {
        units_.back().is_suite = true;
        inside_.push_back(units_.size() - 1);
      } else if (line == "}") {
        if (inside_.empty()) return connect();
        inside_.pop_back();
      } else if (line.find(" -> ") != line.npos && line.find('"') == line.npos) {
        read_edge(line);
      } else if (line.starts_with("tu")) {
        read_unit(line);
      }
    }
    return false;
  }

  const std::vector<Unit>& units() const { return units_; }

  // The paths of what a process of the case runs before it, in the order of the list.
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
      // Of a suite that is needed, what each of its members needs.
      if (reached.contains(which) && units_[which].is_suite) add_members(which, open);
    }
    reached.erase(of);
    std::vector<std::string> paths;
    for (const std::size_t which : reached) paths.push_back(units_[which].path);
    return paths;
  }

 private:
  void add_members(std::size_t suite, std::vector<std::size_t>& open) const {
    for (std::size_t i = suite + 1; i < units_.size() && units_[i].path.starts_with(units_[suite].path + "/");
         ++i)
      open.push_back(i);
  }

  void read_unit(std::string_view line) {
    constexpr std::string_view kLabel = ",label=\"";
    const std::size_t label = line.find(kLabel);
    if (label == line.npos || !line.ends_with("\"];")) return;
    std::string_view text = line.substr(label + kLabel.size());
    text.remove_suffix(3);
    Unit unit{.path = {}, .name = {}};
    unit.enabled = line.substr(0, label).find("color=green") != line.npos;
    const std::string_view labels = cut_from(text, "|labels:");
    cut_from(text, "|expected failures=");
    cut_from(text, "|timeout=");
    if (!units_.empty()) cut_from(text, "|");  // the place
    unit.name = text;
    if (!inside_.empty()) {
      const Unit& parent = units_[unit.parent = inside_.back()];
      unit.path = parent.path + (parent.path.empty() ? "" : "/") + unit.name;
      unit.labels = parent.labels;
    }
    for (const std::string_view word : split(labels, ' ')) {
      if (word.starts_with('@')) unit.labels.emplace_back(word.substr(1));
    }
    numbers_[std::string(line.substr(0, line.find('[')))] = units_.size();
    units_.push_back(std::move(unit));
  }

  // What it depends on may come later in the list.
  void read_edge(std::string_view line) {
    if (!line.ends_with("];")) return;
    const std::size_t arrow = line.find(" -> ");
    const std::string_view to = line.substr(arrow + 4);
    edges_.emplace_back(line.substr(0, arrow), to.substr(0, to.find('[')));
  }

  bool connect() {
    for (const auto& [from, to] : edges_) {
      if (numbers_.contains(from) && numbers_.contains(to))
        units_[numbers_[from]].needs.push_back(numbers_[to]);
    }
    return !units_.empty();
  }

  std::vector<Unit> units_;
  std::vector<std::size_t> inside_;  // the suites around the next line
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::pair<std::string, std::string>> edges_;
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

// A `fail` event; none: the element is no failure.
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

class LogFile final : public Translator {
 public:
  explicit LogFile(const Case& test) : own_(framework_id(test)) {
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
    for (const auto& [path, failures] : ran_) tell(path, failures, lines);
    if (!ran_.empty()) return lines;
    if (!outside_.empty())
      return with(outside_, {event_line("end", {{"result", "fail"}, {"reason", kOutside}})});
    if (skipped_.empty()) return {};
    return {event_line("start", {{"case", own_}}),
            event_line("end", {{"case", own_}, {"result", "skip"}, {"reason", skipped_}})};
  }

 private:
  // Of a global fixture's failure each test knows that ran.
  void tell(const std::string& path, const std::vector<std::string>& failures,
            std::vector<std::string>& lines) const {
    lines.push_back(event_line("start", {{"case", path}}));
    lines.insert(lines.end(), failures.begin(), failures.end());
    lines.insert(lines.end(), outside_.begin(), outside_.end());
    if (outside_.empty()) {
      lines.push_back(event_line("end", {{"case", path}, {"result", failures.empty() ? "pass" : "fail"}}));
    } else {
      lines.push_back(event_line("end", {{"case", path}, {"result", "fail"}, {"reason", kOutside}}));
    }
  }

  void walk(const XmlElement& suite, const std::string& path) {
    for (const XmlElement& child : suite.children) {
      const std::string name = path + child.attribute("name");
      if (child.attribute("skipped") == "yes") {
        skip(name, child.attribute("reason"));
      } else if (child.name == "TestSuite") {
        walk(child, name + "/");
      } else if (child.name == "TestCase") {
        if (name == own_ || !is_prerequisite(name)) ran_.emplace_back(name, failures_of(child));
      } else if (auto failure = failure_line(child)) {
        outside_.push_back(*std::move(failure));
      }
    }
  }

  // All that is not asked for is skipped too, as disabled.
  void skip(const std::string& name, const std::string& reason) {
    const bool own = name == own_ || (own_.starts_with(name + "/") && reason != kDisabled);
    if (own && skipped_.empty()) skipped_ = reason;
  }

  bool is_prerequisite(const std::string& name) const {
    return std::ranges::any_of(prerequisites_, [&](const std::string& needed) {
      return name == needed || name.starts_with(needed + "/");
    });
  }

  static std::vector<std::string> failures_of(const XmlElement& test) {
    std::vector<std::string> lines;
    for (const XmlElement& child : test.children) {
      if (auto failure = failure_line(child)) lines.push_back(*std::move(failure));
    }
    return lines;
  }

  const std::string own_;
  std::vector<std::string> prerequisites_;
  std::vector<std::pair<std::string, std::vector<std::string>>> ran_;  // tests, and their failures
  std::vector<std::string> outside_;                                   // failures of no test
  std::string skipped_;                                                // why the own test is
};

// ---- the kind ----

class BoostKind final : public Kind {
 public:
  BoostKind()
      : Kind(
            {.name = "boost",
             .framework = "Boost.Test tests",
             .markers = {"BOOST_TEST_LIST_CONTENT", "libboost_unit_test_framework"},
             .processes = {"case"},
             .classnames = true,
             .list_marks = {"digraph G {rankdir=LR;\ntu1["},
             .voice = Voice::kFile,
             .output = {"--log_sink={}"},
             .dashes_end_options = true,
             // Source: boostorg/test, boost/test/impl/unit_test_parameters.ipp: each option's default is such a
             // variable. Two of them outweigh the options that say where the report goes.
             .caller_filters = {"BOOST_TEST_RUN_FILTERS", "BOOST_TESTS_TO_RUN", "BOOST_TEST_LIST_CONTENT",
                                "BOOST_TEST_LIST_LABELS", "BOOST_TEST_LOGGER", "BOOST_TEST_OUTPUT_FORMAT"}}) {
  }

  std::vector<std::string> list_command(const Suite& suite) const override {
    return with_options(suite, {"--report_sink=stdout", "--list_content=DOT"});
  }

  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask&,
                                      std::vector<Warning>&) const override {
    if (has_filter(suite))
      return Error::usage(
          "lists all of its tests even with --run_test; select them with --filter, --case or --tag");
    Graph graph;
    if (!graph.read(out.stdout_text)) return Error::usage("did not print a Boost.Test test list");
    return cases_in(suite, graph);
  }

  Result<void> check_alone(const std::vector<Case>& cases) const override {
    std::vector<std::string> names;
    std::vector<Choice> choices;
    for (const Case& test : cases) {
      // Later versions replace these in each name.
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
    // boost/cstdlib.hpp: a test failed, or was aborted. Also where it is only a prerequisite that did.
    constexpr int kFailedCodes[] = {200, 201};
    const auto result = end.child.result();
    CaseEnd judged = end;
    if (result == ChildResult::kSkip &&
        std::ranges::find(kFailedCodes, end.exit_code) != std::end(kFailedCodes))
      judged.exit_code = 0;
    const Verdict verdict = judge_reported(judged, false);
    if (result != ChildResult::kFail || end.went_on || !end.child.also_ran().empty() ||
        end.child.violations() > 0)
      return verdict;
    // The program counts all of its expected failures, those of other tests too, against one outside of its tests.
    if (end.child.reason().text() == kOutside) return {Outcome::kFail, {}};
    if (end.exit_code == 0) return {Outcome::kXfail, Reason::kExpectedFailures};
    return verdict;
  }
};

}  // namespace

const Kind& boost_kind() {
  static const BoostKind kKind;
  return kKind;
}

}  // namespace proctor
