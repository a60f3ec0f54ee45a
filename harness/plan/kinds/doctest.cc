#include "harness/plan/kinds/doctest.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/text.h"
#include "harness/core/words.h"
#include "harness/plan/kinds/xml_report.h"

namespace proctor {
namespace {

constexpr std::string_view kNameOption = "-tc=";
constexpr std::size_t kMostNames = 100'000;  // bytes of names in one command: an argument has at most 128 KiB

// Behind the caller's own options, of which the last one of a name counts. -nss: nothing about tests that were not
// chosen; -nc: the exit code says whether a test failed; -cs: names differ by case.
const std::vector<std::string>& our_options() {
  static const std::vector<std::string> kOptions{"-r=xml", "-nss=true", "-nc=false", "-cs=true"};
  return kOptions;
}

std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c == ',' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

// The macro SCENARIO puts blanks in front.
std::string shown_name(const XmlElement& test) { return std::string(trimmed(test.attribute("name"))); }

std::string id_of(const XmlElement& test) {
  const std::string suite = test.attribute("testsuite");
  return suite.empty() ? shown_name(test) : suite + "/" + shown_name(test);
}

// ---- the report ----

std::optional<std::string> failure_line(const XmlElement& element) {
  std::string message = element.text;
  if (element.name == "Expression") {
    if (element.attribute("success") != "false") return std::nullopt;
    message = fmt::format("{}( {} )", element.attribute("type"), element.child_text("Original"));
    if (const XmlElement* expanded = element.child("Expanded"))
      message += "\nwith expansion: " + expanded->text;
    for (const char* thrown : {"Exception", "ExpectedException", "ExpectedExceptionString"}) {
      if (const XmlElement* text = element.child(thrown))
        message += fmt::format("\n{}: {}", thrown, text->text);
    }
  } else if (element.name == "Exception") {
    message = "unexpected exception: " + message;
  } else if (element.name == "Message" && element.attribute("type") != "WARNING") {
    message = element.child_text("Text");
  } else {
    return std::nullopt;
  }
  for (const XmlElement& note : element.children) {
    if (note.name == "Info") message += "\n" + note.text;
  }
  return xml_failure(element, message);
}

void collect(const XmlElement& element, std::vector<std::string>& failures) {
  for (const XmlElement& child : element.children) {
    if (auto failure = failure_line(child)) failures.push_back(std::move(*failure));
    if (child.name == "SubCase") collect(child, failures);
  }
}

// Versions before 2.4.7 do not say whether a test as a whole was a success.
bool succeeded(const XmlElement& overall, bool any_failure) {
  const std::string said = overall.attribute("test_case_success");
  return said.empty() ? !any_failure : said == "true";
}

std::string decorator_of(const XmlElement& test) {
  for (const char* decorator : {"should_fail", "may_fail"}) {
    if (test.attribute(decorator) == "true") return decorator;
  }
  return {};
}

std::vector<std::string> events_of(const XmlElement& test) {
  std::vector<std::string> events;
  collect(test, events);
  const XmlElement* overall = test.child("OverallResultsAsserts");
  if (overall == nullptr) return events;  // no end: no result
  const bool any_failure = !events.empty();
  const std::string decorator = decorator_of(test);
  nlohmann::json end{{"result", "pass"}};
  if (!succeeded(*overall, any_failure)) {
    end["result"] = "fail";
    if (!any_failure && !decorator.empty()) end["reason"] = decorator;
  } else if (any_failure) {
    end = {{"result", "xfail"}, {"reason", decorator.empty() ? "expected_failures" : decorator}};
  }
  events.push_back(event_line("end", std::move(end)));
  return events;
}

// ---- the list ----

// What doctest compares: the name, and in a process of one case the suite too, if there is one.
std::string pattern_of(const XmlElement& test, bool together) {
  const std::string suite = test.attribute("testsuite");
  if (together) return test.attribute("name");
  return (suite.empty() ? "*" : suite) + "/" + test.attribute("name");
}

class DoctestKind final : public Kind {
 public:
  DoctestKind()
      : Kind({.name = "doctest", .framework = "doctest tests", .markers = {"dt-list-test-cases"}}) {}

  std::vector<std::string> list_command(const Suite& suite) const override {
    return with(with(suite.command, our_options()), {"-ns=true", "-ltc"});
  }

  // What a program prints before its list is passed over.
  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask&,
                                      std::vector<Warning>&) const override {
    const std::size_t begin = out.stdout_text.find("<doctest");
    const auto root = begin == std::string::npos ? std::nullopt : parse_xml(out.stdout_text.substr(begin));
    if (!root) return Error::usage("printed no list of doctest");
    const bool runs_skipped = std::any_of(suite.command.begin(), suite.command.end(), [](const auto& word) {
      return word == "-ns" || word == "--no-skip" || word == "-ns=true" || word == "--no-skip=true";
    });
    std::vector<Case> cases;
    std::vector<std::string> patterns;
    std::size_t bytes = 0;
    for (const XmlElement& test : root->children) {
      if (test.name != "TestCase") continue;
      cases.push_back(case_of(suite, test));
      Case& made = cases.back();
      made.disabled = test.attribute("skipped") == "true" && !runs_skipped;
      bytes += made.argv.back().size();
      if (!made.group.empty()) made.group += std::to_string(bytes / kMostNames);
      patterns.push_back(pattern_of(test, suite.process == "suite"));
    }
    if (const auto alone = check_alone(cases, patterns); !alone) return alone.error();
    return cases;
  }

  Voice voice(const Suite&) const override { return Voice::kStream; }
  std::vector<std::string> output_options(const std::string& file) const override { return {"-o=" + file}; }
  std::unique_ptr<Translator> translator() const override {
    return xml_translator({.group = "TestSuite", .sections = {"SubCase"}, .id = id_of, .events = events_of});
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
  static Case case_of(const Suite& suite, const XmlElement& test) {
    const std::string of_suite = test.attribute("testsuite");
    Case made;
    made.id = id_of(test);
    made.name = shown_name(test);
    made.classname = of_suite.empty() ? suite.name : of_suite;
    if (!of_suite.empty()) made.tags = {of_suite};
    made.devices = suite.devices;
    made.group = group_of(suite);
    made.argv = with(with(suite.command, our_options()), {"-ns=true"});
    if (!of_suite.empty() && made.group.empty()) made.argv.push_back("-ts=" + escaped(of_suite));
    made.argv.push_back(std::string(kNameOption) + escaped(test.attribute("name")));
    return made;
  }
};

}  // namespace

const Kind& doctest_kind() {
  static const DoctestKind kKind;
  return kKind;
}

}  // namespace proctor
