#include "harness/frameworks/doctest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/frameworks/equal_names.h"
#include "harness/frameworks/xml_report.h"

namespace proctor {
namespace {

constexpr std::string_view kNameOption = "-tc=";
constexpr std::string_view kNoSuite = "-tse=?*";  // excludes the tests of all suites
// bytes of names in one command, whose arguments are limited to 128 KiB
constexpr std::size_t kMostNames = 100'000;

// -nss: no report of tests that were not selected. -nc: the exit code shows whether a test failed. -cs: names
// are case-sensitive.
const std::vector<std::string>& our_options() {
  static const std::vector<std::string> kOptions{"-r=xml", "-nss=true", "-nc=false", "-cs=true"};
  return kOptions;
}

// Options about the place of the report and the exit code. Proctor sets these itself. doctest combines the
// values of the long and the short form of an option, so both forms are removed.
constexpr std::string_view kDoctestReporters = " reporters r out o no-exitcode nc ";
// Options that select tests. They apply to the list, and are removed from a process of one case.
constexpr std::string_view kDoctestChoices = " test-case tc test-suite ts ";

// Returns the command without its reporter and, unless it is for the list, without words that select tests.
std::vector<std::string> bare_doctest_command(const Suite& suite, bool for_list) {
  std::vector<std::string> words = suite.command;
  std::erase_if(words, [&](const std::string& word) {
    if (!word.starts_with('-')) return false;
    std::string option = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    option = option.substr(0, option.find('='));
    if (option.starts_with("dt-")) option.erase(0, 3);
    const auto is_in = [&](std::string_view list) { return list.find(" " + option + " ") != list.npos; };
    return is_in(kDoctestReporters) || (!for_list && is_in(kDoctestChoices));
  });
  return words;
}

std::string argument_of(const std::string& name) {
  std::string list;
  for (const std::string& spelling : spellings_of(name))
    list += (list.empty() ? "" : ",") + escaped(spelling, ",\\");
  return list;
}

const XmlDialect& doctest_dialect() {
  static const XmlDialect kDialect{.group = "TestSuite",
                                   .section = "SubCase",
                                   .end = "OverallResultsAsserts",
                                   .success = "test_case_success",
                                   .expected = {{"should_fail", "true", "should_fail"},
                                                {"may_fail", "true", "may_fail"},
                                                {"expected_failures", "", "expected_failures"}}};
  return kDialect;
}

// ---- the list ----

class DoctestKind final : public Kind {
 public:
  DoctestKind()
      : Kind({.name = "doctest",
              .framework = "doctest tests",
              .markers = {"dt-list-test-cases"},
              .classnames = true,
              .list_marks = {"<doctest binary="},
              .reporting_mode = ReportingMode::kStream,
              .output = {"-o={}"}}) {}

  std::vector<std::string> list_command(const Suite& suite) const override {
    return with(with(bare_doctest_command(suite, /*for_list=*/true), {"--list-test-cases", "-ns=true"}),
                our_options());
  }

  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask&,
                                      std::vector<Warning>& warnings) const override {
    const auto root = find_xml(out.stdout_text, "doctest");
    if (!root) return Error::usage("did not print a doctest test list");
    const bool runs_skipped = std::any_of(suite.command.begin(), suite.command.end(), [](const auto& word) {
      return word == "-ns" || word == "--no-skip" || word == "-ns=true" || word == "--no-skip=true";
    });
    const std::set<std::string> ambiguous = names_of_several_suites(*root);
    std::vector<Case> cases;
    std::size_t bytes = 0;
    for (const XmlElement& test : root->children) {
      if (test.name != "TestCase") continue;
      if (test.attribute("skipped").empty())
        return Error::usage(
            "was built with doctest older than 2.4.7, which does not list skipped tests; build it with 2.4.7 "
            "or later");
      cases.push_back(case_of(suite, test, ambiguous.contains(test.attribute("name"))));
      Case& made = cases.back();
      made.disabled = test.attribute("skipped") == "true" && !runs_skipped;
      bytes += made.argv.back().size();
      if (!made.group.empty()) made.group += std::to_string(bytes / kMostNames);
    }
    join_listed_names(
        cases, [](const Case& test) { return test.id + "\n" + test.argv.back(); }, kNameOption, suite,
        warnings);
    return cases;
  }

  // Checks that each name selects one test. doctest compares names, and also the suite if the command has an
  // option for it.
  Result<void> check_alone(const std::vector<Case>& cases) const override {
    std::vector<std::string> names;
    std::vector<Choice> choices;
    for (const Case& test : cases) {
      const std::size_t wildcard = test.name.find_first_of("*?");
      names.push_back(test.name);
      choices.push_back({.begin = test.name.substr(0, wildcard), .whole = wildcard == test.name.npos});
    }
    return check_each_alone(cases, names, choices, [&](std::size_t one, std::size_t other) {
      const bool in_suite = std::ranges::any_of(
          cases[one].argv, [](const auto& word) { return word.starts_with("-ts=") || word == kNoSuite; });
      return (!in_suite || cases[one].tags == cases[other].tags) &&
             glob_match(cases[one].name, cases[other].name);
    });
  }

  std::unique_ptr<Translator> translator(const Suite&, const Case& first) const override {
    return xml_translator(doctest_dialect(), {.count = tests_of(first, kNameOption)});
  }

  std::vector<std::string> batch_command(const std::vector<const Case*>& cases,
                                         const std::string&) const override {
    std::vector<std::string> command = cases.front()->argv;
    std::string& names = command.back();
    for (std::size_t i = 1; i < cases.size(); ++i)
      names += "," + cases[i]->argv.back().substr(kNameOption.size());
    return command;
  }

  Verdict judge(const CaseEnd& end) const override {
    constexpr int kTestsFailed = 1;
    return judge_reported(end, end.exit_code == kTestsFailed);
  }

 private:
  // Returns the names that occur in several suites. A command that selects such a name needs an option for
  // the suite.
  static std::set<std::string> names_of_several_suites(const XmlElement& root) {
    std::map<std::string, std::set<std::string>> suites;
    for (const XmlElement& test : root.children)
      suites[test.attribute("name")].insert(test.attribute("testsuite"));
    std::set<std::string> names;
    for (const auto& [name, of] : suites) {
      if (of.size() > 1) names.insert(name);
    }
    return names;
  }

  static Case case_of(const Suite& suite, const XmlElement& test, bool is_ambiguous) {
    const std::string of_suite = test.attribute("testsuite");
    Case made;
    made.id = xml_id(test);
    made.name = trimmed(test.attribute("name"));
    made.classname = of_suite.empty() ? suite.name : of_suite;
    if (!of_suite.empty()) made.tags = {of_suite};
    made.devices = suite.devices;
    made.group = is_ambiguous ? "" : group_of(suite);
    made.argv = with(with(bare_doctest_command(suite, /*for_list=*/false), our_options()), {"-ns=true"});
    if (!of_suite.empty() && made.group.empty()) made.argv.push_back("-ts=" + argument_of(of_suite));
    if (of_suite.empty() && is_ambiguous) made.argv.emplace_back(kNoSuite);
    made.argv.push_back(std::string(kNameOption) + argument_of(test.attribute("name")));
    return made;
  }
};

}  // namespace

const Kind& doctest_kind() {
  static const DoctestKind kKind;
  return kKind;
}

}  // namespace proctor
