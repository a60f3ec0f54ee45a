// The common fixture of the tests of kinds. It lists suites as a plan does, and runs and judges cases.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "harness/base/read_file.h"
#include "harness/frameworks/kind.h"
#include "harness/plan/discovery.h"
#include "harness/plan/test_support.h"

namespace proctor {

// Tests one kind with programs in a scratch directory.
class KindTest : public testing::Test {
 protected:
  explicit KindTest(const Kind& kind) : kind_(kind) {}

  Suite suite(std::vector<std::string> command) const {
    Suite made;
    made.name = "s";
    made.kind = &kind_;
    made.command = std::move(command);
    made.directory = scratch_.path();
    made.origin = "proctor.toml:1";
    return made;
  }

  static Result<std::vector<Case>> list(Suite suite) {
    std::vector<Warning> warnings;
    return discover(suite, 0, {.run = testing_support::run_listing}, std::nullopt, warnings);
  }

  static std::string refusal(const Suite& suite) {
    const auto cases = list(suite);
    return cases ? "accepted" : cases.error().what;
  }

  // Translates the report of a case.
  ChildReport said(const Case& test, const std::string& text) const {
    ChildReport report{std::string(framework_id(test))};
    const auto translator = kind_.translator({}, test);
    for (const auto& line : translator->translate(text)) report.add_line(line);
    return report;
  }

  // Runs a case. Returns its verdict, and its events in `report`.
  Verdict run(const Case& test, ChildReport& report) const {
    const std::string file = scratch_.path() + "/report";
    const auto out = testing_support::run_listing(
        {.argv = kind_.with_output(test.argv, file), .directory = scratch_.path()});
    const auto text = read_file(file);
    EXPECT_TRUE(out && text);
    report = said(test, *text);
    if (out->exit_signal) return {Outcome::kCrash, {Reason::kSignal, *out->exit_signal}};
    return kind_.judge({.child = report, .exit_code = out->exit_code.value_or(-1)});
  }

  // Runs each case alone. It must pass, or have the verdict that `others` contains for its id in the
  // framework.
  std::map<std::string, ChildReport> expect_verdicts(const std::vector<Case>& cases,
                                                     const std::map<std::string, std::string>& others) const {
    std::map<std::string, ChildReport> reports;
    for (const Case& test : cases) {
      const std::string name(framework_id(test));
      const auto other = others.find(name);
      ChildReport& report = reports[name];
      EXPECT_EQ(test.disabled ? "disabled" : to_string(run(test, report)),
                other == others.end() ? "pass" : other->second)
          << name;
    }
    return reports;
  }

  const Kind& kind_;
  testing_support::ScratchDirectory scratch_;
};

}  // namespace proctor
