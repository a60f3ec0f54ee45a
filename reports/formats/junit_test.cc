#include "reports/formats/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;
using ::testing::Not;

class JunitSchemas : public ::testing::Test {
 protected:
  // Validates every file of the run against the schemas of Proctor, and against the
  // published schemas that are installed.
  void expect_valid(const ResolvedRun& run) {
    expect(junit_run(run), our_schema("junit-portable.xsd"), "junit-10.xsd");
    for (const JunitFile& file : junit_suites(run)) {
      expect(file.text, our_schema("junit-strict.xsd"), "junit-10.xsd");
      expect_published(file.text, "surefire-test-report.xsd");
    }
  }

  TempDir dir_;

 private:
  void expect(const std::string& xml, const std::filesystem::path& ours, const std::string& published) {
    write_file(dir_.path() / "x.xml", xml);
    EXPECT_EQ(xml_complaint(ours, dir_.path() / "x.xml"), "");
    expect_published(xml, published);
  }
  void expect_published(const std::string& xml, const std::string& name) {
    const auto schema = published_schemas() / name;
    if (!std::filesystem::exists(schema)) return;
    write_file(dir_.path() / "x.xml", xml);
    EXPECT_EQ(xml_complaint(schema, dir_.path() / "x.xml"), "");
  }
};

TEST_F(JunitSchemas, AcceptAllOutcomesAndHostileText) { expect_valid(resolved_of(rich_journal())); }

TEST_F(JunitSchemas, AcceptRunWithoutCases) { expect_valid(resolved_of({plan_of({})})); }

TEST_F(JunitSchemas, AcceptRunProblems) {
  RunPlanned plan = plan_of({planned("s/a")});
  plan.missing_backend = "cuda";
  plan.rules.min_executed = 7;
  expect_valid(resolved_of({plan, ended("s/a", {Outcome::kPass, ""}),
                            concluded("s/a", {Outcome::kPass, ""}, {Mark::kFlaky}),
                            Warning{WarningCode::kReportNotWritten, awkward_text()},
                            Warning{WarningCode::kJournalChanged, awkward_text()},
                            Warning{WarningCode::kMaskMismatch, awkward_text()},
                            Warning{WarningCode::kStackChanged, awkward_text()},
                            StopRequested{15, StopWord::in_text(awkward_text()), 5}}));
}

TEST_F(JunitSchemas, AcceptFileWithoutRun) {
  write_file(dir_.path() / "none.xml", junit_without_run(awkward_text()));
  EXPECT_EQ(xml_complaint(our_schema("junit-portable.xsd"), dir_.path() / "none.xml"), "");
}

TEST_F(JunitSchemas, HostileNamesAreValidAndUnique) {
  std::vector<PlannedCase> cases;
  for (int i = 0; i < 3; ++i) {
    PlannedCase odd = planned(awkward_text() + std::to_string(i));
    odd.suite = i == 2 ? "../" + awkward_text() : awkward_text();
    odd.backend = "none";
    odd.classname = std::string(5000, 'c');
    odd.name = awkward_text();
    cases.push_back(odd);
  }
  RunPlanned plan = plan_of(std::move(cases));
  plan.hostname = plan.run_id = awkward_text();
  plan.started = "yesterday";
  const ResolvedRun run = resolved_of({plan});
  expect_valid(run);
  const auto files = junit_suites(run);
  ASSERT_EQ(files.size(), 3u) << "two suites, and what is wrong with the run";
  for (const JunitFile& file : files) {
    EXPECT_EQ(file.name.find_first_of("/\\ \n"), std::string::npos) << file.name;
    EXPECT_NE(file.name[0], '.');
  }
  EXPECT_NE(files[0].name, files[1].name);
}

// Proves that the schemas can reject a file. Otherwise the tests above would prove nothing.
TEST_F(JunitSchemas, OwnSchemaRejectsLossyReports) {
  const auto file = dir_.path() / "x.xml";
  const auto expect_refused = [&](const std::string& from, const std::string& to) {
    std::string xml = junit_run(resolved_of(rich_journal()));
    const std::size_t at = xml.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_file(file, xml.replace(at, from.size(), to));
    EXPECT_NE(xml_complaint(our_schema("junit-portable.xsd"), file), "") << to;
  };
  expect_refused("skipped=\"", "ignored=\"");
  expect_refused("type=\"proctor.crash\"", "type=\"proctor.boom\"");
  expect_refused("message=\"proctor.skip: ", "message=\"why: ");
  expect_refused("Z\" hostname", "\" hostname");
  expect_refused("name=\"Every.fail\"", "name=\"Every.pass\"");
  expect_refused("time=\"1.250\"", "time=\"1,250\"");
  expect_refused("<properties>", "<properties/><properties>");
}

TEST(Junit, PublishedSchemasAreInstalled) {
  if (!std::filesystem::exists(published_schemas())) {
    GTEST_SKIP() << "no published schemas at " << published_schemas() << "; validated against ours only";
  }
  EXPECT_TRUE(std::filesystem::exists(published_schemas() / "junit-10.xsd"));
  EXPECT_TRUE(std::filesystem::exists(published_schemas() / "surefire-test-report.xsd"));
}

std::string junit_of(const Event& conclusion, const std::string& kind = "proctor") {
  return junit_run(resolved_of({plan_of({planned("memory.xpu/A.B", kind)}), conclusion}));
}

TEST(Junit, MapsEachOutcomeToElement) {
  const auto of = [](Outcome outcome, const std::string& kind = "proctor") {
    return junit_of(concluded("memory.xpu/A.B", {outcome, reason_in_words("why:1")}), kind);
  };
  EXPECT_THAT(of(Outcome::kPass), HasSubstr("failures=\"0\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(of(Outcome::kPass),
              HasSubstr("<testcase name=\"A.B\" classname=\"proctor.memory.xpu\" time=\"0.000\"/>"));
  for (const Outcome outcome : {Outcome::kFail, Outcome::kXpass}) {
    EXPECT_THAT(of(outcome), HasSubstr("failures=\"1\" errors=\"0\" skipped=\"0\""));
    EXPECT_THAT(of(outcome), HasSubstr("type=\"proctor." + std::string(to_string(outcome)) + "\""));
  }
  for (const Outcome outcome : {Outcome::kError, Outcome::kTimeout, Outcome::kStall, Outcome::kCrash,
                                Outcome::kDeviceLost, Outcome::kNotrun}) {
    EXPECT_THAT(of(outcome), HasSubstr("failures=\"0\" errors=\"1\" skipped=\"0\""));
    EXPECT_THAT(of(outcome), HasSubstr("type=\"proctor." + std::string(to_string(outcome)) + "\""));
  }
  EXPECT_THAT(of(Outcome::kSkip), HasSubstr("<skipped message=\"proctor.skip: why:1\"/>"));
  EXPECT_THAT(of(Outcome::kXfail), HasSubstr("<skipped message=\"proctor.xfail: why:1\"/>"));
  EXPECT_THAT(of(Outcome::kXpass, "pytest"), HasSubstr("<skipped message=\"proctor.xpass: why:1\"/>"));
}

TEST_F(JunitSchemas, AcceptSkipWithoutPrintableReason) {
  for (const std::string reason : {"", "\x1b[31m", "\r\n", " "}) {
    const ResolvedRun run =
        resolved_of({plan_of({planned("memory.xpu/A.B")}),
                     concluded("memory.xpu/A.B", {Outcome::kSkip, reason_in_words(reason)})});
    expect_valid(run);
    EXPECT_THAT(junit_run(run), HasSubstr("<skipped message=\"proctor.skip: no reason\"/>"));
  }
}

TEST(Junit, WritesFlakyFailuresAndReruns) {
  const std::string xml = junit_run(resolved_of(rich_journal()));
  EXPECT_THAT(xml,
              HasSubstr("<flakyFailure message=\"killed by signal 11 (SIGSEGV)\" type=\"proctor.crash\">"));
  std::size_t reruns = 0;
  for (std::size_t at = xml.find("<rerunFailure"); at != xml.npos; at = xml.find("<rerunFailure", at + 1))
    ++reruns;
  EXPECT_EQ(reruns, 2u);
  EXPECT_THAT(xml, HasSubstr("type=\"proctor.timeout\">\n        <stackTrace>"));
}

TEST(Junit, RetryOfFrameworkIsFlakyFailure) {
  AttemptEnded end = ended("memory.xpu/A.B", {Outcome::kPass, ""});
  end.failures = {{"", "first try", "a.py", 7, "", "", ""}};
  end.marks = {Mark::kFlaky};
  const std::string xml =
      junit_run(resolved_of({plan_of({planned("memory.xpu/A.B")}), started("memory.xpu/A.B"), end,
                             concluded("memory.xpu/A.B", {Outcome::kPass, ""}, {Mark::kFlaky})}));
  EXPECT_THAT(xml, HasSubstr("<flakyFailure message=\"first try\" type=\"proctor.fail\">"));
}

TEST(Junit, WritesOutputOfFailedCasesOnly) {
  AttemptEnded end = ended("memory.xpu/A.B", {Outcome::kFail, ""});
  end.output = {end.output.log, 100'000, 7, false, "LAST WORDS", "stderr here"};
  end.failures = {{"", "boom", "a.cc", 9, "1", "2", ""}};
  const auto xml_of = [](const AttemptEnded& attempt) {
    return junit_run(resolved_of({plan_of({planned("memory.xpu/A.B")}), started("memory.xpu/A.B"), attempt}));
  };
  const std::string xml = xml_of(end);
  EXPECT_THAT(
      xml, HasSubstr("[proctor: 100000 bytes of output, its end is here, 7 bytes dropped from the log; log: "
                     "logs/0123456789abcdef.1.log]\nLAST WORDS</system-out>"));
  EXPECT_THAT(xml, HasSubstr("<system-err>stderr here</system-err>"));
  EXPECT_THAT(
      xml,
      HasSubstr("<failure message=\"boom\" type=\"proctor.fail\">a.cc:9: boom\n  expected: 1\n  got: 2\n"));
  EXPECT_THAT(
      xml, HasSubstr(
               "rerun: proctor run memory --backend xpu --devices xpu:0000:03:00.0 --case memory.xpu/A.B\n"));
  end.verdict = {Outcome::kPass, ""};
  EXPECT_THAT(xml_of(end), Not(HasSubstr("LAST WORDS")));
}

TEST(Junit, MarksSimulatedRuns) {
  RunPlanned plan = plan_of({planned("memory.xpu/A.B")});
  EXPECT_THAT(junit_run(resolved_of({plan})), HasSubstr("name=\"proctor.simulated\" value=\"false\""));
  plan.sim = SimInfo{"xpu:2x2", "intel"};
  const ResolvedRun run = resolved_of({plan});
  for (const std::string& xml : {junit_run(run), junit_suites(run).at(0).text}) {
    EXPECT_THAT(xml, HasSubstr("name=\"proctor.simulated\" value=\"true\""));
    EXPECT_THAT(xml, HasSubstr("name=\"proctor.sim.driver\" value=\"intel\""));
    EXPECT_THAT(xml, HasSubstr("name=\"proctor.containment\" value=\"pidns\""));
    EXPECT_THAT(xml, HasSubstr("name=\"stack.xpu.driver\" value=\"22.43.24595.41\""));
    EXPECT_THAT(xml, HasSubstr("name=\"proctor.run.id\""));
    EXPECT_THAT(xml, HasSubstr("name=\"proctor.backend\" value=\"xpu\""));
  }
  EXPECT_EQ(junit_suites(run).at(0).name, "memory.xpu.xml");
}

TEST(Junit, AppendsIdToDuplicateNames) {
  const std::string xml = junit_run(resolved_of(rich_journal()));
  EXPECT_THAT(xml, HasSubstr("name=\"test_big[fp16-128] [attention/tests/t.py::test_big[fp16-128]]\""));
  EXPECT_THAT(xml, HasSubstr("name=\"test_big[fp16-128] [attention/tests/u.py::test_big[fp16-128]]\""));
}

}  // namespace
}  // namespace proctor
