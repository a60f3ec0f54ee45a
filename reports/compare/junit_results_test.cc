#include "reports/compare/junit_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "harness/base/temp_dir.h"
#include "harness/base/text.h"
#include "reports/formats/junit.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The output of each of these runners.
constexpr std::string_view kGoogleTest = R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" disabled="1" errors="0" time="0.001" timestamp="2026-02-24T10:00:00.123" name="AllTests">
  <testsuite name="Copy" tests="4" failures="1" disabled="1" skipped="1" errors="0" time="0.001">
    <testcase name="Works" file="copy_test.cc" line="3" status="run" result="completed" time="0.25" classname="Copy" />
    <testcase name="Fails" status="run" result="completed" time="0." classname="Copy">
      <failure message="copy_test.cc:9&#x0A;Expected equality&#x0A;  1&#x0A;  2" type=""><![CDATA[copy_test.cc:9
Expected equality]]></failure>
    </testcase>
    <testcase name="IsSkipped" status="run" result="skipped" time="0." classname="Copy">
      <skipped message="copy_test.cc:14&#x0A;no device"/>
    </testcase>
    <testcase name="DISABLED_IsOff" status="notrun" result="suppressed" time="0." classname="Copy" />
  </testsuite>
</testsuites>)";

constexpr std::string_view kCTest = R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-c++" tests="3" failures="1" disabled="1" skipped="0" hostname="" time="1" timestamp="2026-02-24T10:00:00">
	<testcase name="good" classname="good" time="0.002" status="run"><properties/><system-out>hello</system-out></testcase>
	<testcase name="bad" classname="bad" time="0.003" status="fail"><failure message="Failed"/><properties/></testcase>
	<testcase name="off" classname="off" time="0" status="disabled"><disabled message="Disabled"/></testcase>
</testsuite>)";

constexpr std::string_view kPytest =
    R"(<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="1" failures="1" skipped="2" tests="5" time="0.1" timestamp="2026-02-24T10:00:00.1+00:00" hostname="h"><testcase classname="tests.gpu.test_moe" name="test_ok[fp16-128]" time="0.001" /><testcase classname="tests.gpu.test_moe" name="test_bad" time="0.001"><failure message="AssertionError: assert 1 == 2">def test_bad():
&gt;       assert 1 == 2</failure></testcase><testcase classname="tests.gpu.test_moe" name="test_skip" time="0.000"><skipped type="pytest.skip" message="no gpu">t.py:9: no gpu</skipped></testcase><testcase classname="tests.gpu.test_moe" name="test_xfail" time="0.001"><skipped type="pytest.xfail" message="known" /></testcase><testcase classname="tests.gpu.test_moe" name="test_setup" time="0.001"><error message="failed on setup with &quot;x&quot;">...</error></testcase></testsuite></testsuites>)";

constexpr std::string_view kSurefire = R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="3.0" name="org.A" time="1,234.5" tests="3" errors="0" skipped="0" failures="1">
  <properties><property name="java.version" value="17"/></properties>
  <testcase name="slow" classname="org.A" time="1,234.5"/>
  <testcase name="flaky" classname="org.A" time="0.1">
    <flakyFailure message="once" type="java.lang.AssertionError"><stackTrace>at org.A</stackTrace></flakyFailure>
  </testcase>
  <testcase name="red" classname="org.A" time="0.1">
    <failure message="always" type="java.lang.AssertionError">at org.A</failure>
    <rerunFailure message="always" type="java.lang.AssertionError"><stackTrace>at org.A</stackTrace></rerunFailure>
  </testcase>
</testsuite>)";

constexpr std::string_view kNextest = R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="2" failures="1" errors="0" uuid="1" timestamp="2026-02-24T10:00:00.1+00:00" time="0.1">
    <testsuite name="core::bin/a" tests="2" disabled="0" errors="0" failures="1">
        <testcase name="mod::one" classname="core::bin/a" timestamp="2026-02-24T10:00:00.1+00:00" time="0.01"></testcase>
        <testcase name="mod::two" classname="core::bin/a" timestamp="2026-02-24T10:00:00.1+00:00" time="0.01">
            <failure message="thread panicked" type="test failure with exit code 101">stack</failure>
        </testcase>
    </testsuite>
</testsuites>)";

constexpr std::array kFiles = {kGoogleTest, kCTest, kPytest, kSurefire, kNextest};

RunResults read(std::string_view text) {
  auto results = parse_junit(std::string(text), "a.xml");
  EXPECT_TRUE(results) << results.error().what;
  return results ? *std::move(results) : RunResults();
}

std::string refusal(std::string text) {
  const auto results = parse_junit(std::move(text), "a.xml");
  return results ? "" : results.error().what;
}

std::vector<std::string> lines_of(const RunResults& results) {
  std::vector<std::string> lines;
  for (const CaseResult& result : results.cases)
    lines.push_back(result.id + ": " + to_string(result.verdict));
  return lines;
}

std::string nested(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += "<testsuite>";
  text += "<testcase name='deep'/>";
  for (int i = 0; i < depth; ++i) text += "</testsuite>";
  return text;
}

TEST(JunitResultsTest, ReadsGoogleTest) {
  EXPECT_THAT(lines_of(read(kGoogleTest)),
              ElementsAre("Copy.Works: pass", "Copy.Fails: fail",
                          "Copy.IsSkipped: skip(copy_test.cc:14 no device)", "Copy.DISABLED_IsOff: skip"));
  EXPECT_EQ(read(kGoogleTest).cases[0].duration_ms, 250);
}

TEST(JunitResultsTest, ReadsCTest) {
  EXPECT_THAT(lines_of(read(kCTest)), ElementsAre("good: pass", "bad: fail", "off: skip"));
}

TEST(JunitResultsTest, ReadsPytest) {
  const RunResults results = read(kPytest);
  EXPECT_THAT(
      lines_of(results),
      ElementsAre("tests.gpu.test_moe.test_ok[fp16-128]: pass", "tests.gpu.test_moe.test_bad: fail",
                  "tests.gpu.test_moe.test_skip: skip(no gpu)", "tests.gpu.test_moe.test_xfail: xfail(known)",
                  "tests.gpu.test_moe.test_setup: error"));
  EXPECT_EQ(results.causes[results.cases[1].cause].text, "AssertionError: assert 1 == 2");
  EXPECT_EQ(results.exit_code, 1);
}

TEST(JunitResultsTest, CasesOfOneCauseKeepTheirMessages) {
  const RunResults results = read(
      "<testsuite><testcase name='137'><failure message='wrong at 137'/></testcase>"
      "<testcase name='637'><failure message='wrong at 637'/></testcase></testsuite>");
  ASSERT_EQ(results.causes.size(), 1u);
  EXPECT_EQ(describe(results, results.cases[1]), "wrong at 637");
}

TEST(JunitResultsTest, ReadsSurefire) {
  const RunResults results = read(kSurefire);
  EXPECT_THAT(lines_of(results), ElementsAre("org.A.slow: pass", "org.A.flaky: pass", "org.A.red: fail"));
  EXPECT_EQ(results.cases[0].duration_ms, 1'234'500);
  EXPECT_TRUE(results.cases[1].flaky);
  EXPECT_EQ(results.cases[2].attempts, 2);
  EXPECT_FALSE(results.cases[2].flaky);
}

std::string in_encoding(const std::string& encoding, const std::string& name) {
  return "<?xml version='1.0' encoding='" + encoding + "'?>\n<testsuite><testcase name=\"" + name +
         "\"/></testsuite>";
}

TEST(JunitResultsTest, ConvertsTheDeclaredEncoding) {
  EXPECT_THAT(lines_of(read(in_encoding("windows-1252",
                                        "gr\xF6\xDF"
                                        "er \x80"))),
              ElementsAre("größer €: pass"));
  EXPECT_THAT(lines_of(read(in_encoding("ISO-8859-15", "\xBC \xA4"))), ElementsAre("Œ €: pass"));
  EXPECT_THAT(lines_of(read(in_encoding("iso-8859-1", "\xF6"))), ElementsAre("ö: pass"));
  EXPECT_THAT(lines_of(read(in_encoding("UTF-8", "ö"))), ElementsAre("ö: pass"));
  EXPECT_THAT(lines_of(read(in_encoding("utf-16", "ö"))), ElementsAre("ö: pass")) << "as .NET writes strings";
  EXPECT_THAT(lines_of(read("\xEF\xBB\xBF" + in_encoding("utf-8", "ö"))), ElementsAre("ö: pass"));
  const auto unknown = parse_junit(in_encoding("Shift_JIS", "\x83\x65"), "a.xml");
  EXPECT_EQ(unknown.error().what, "read a.xml as JUnit: its encoding `Shift_JIS` is not known");
  EXPECT_EQ(unknown.error().hint, "Convert it to UTF-8 first: iconv -f Shift_JIS -t UTF-8.");
}

TEST(JunitResultsTest, ParsesTimesWithADecimalComma) {
  const RunResults german = read(
      "<testsuite><testcase name='a' time='0,25'/><testcase name='b' time='1,234'/><testcase name='c' "
      "time='x'/>"
      "</testsuite>");
  EXPECT_EQ(german.cases[0].duration_ms, 250);
  EXPECT_EQ(german.cases[1].duration_ms, 1234);
  EXPECT_EQ(german.cases[2].duration_ms, 0);
  EXPECT_EQ(read("<testsuite><testcase name='a' time='1.234'/></testsuite>").cases[0].duration_ms, 1234);
}

TEST(JunitResultsTest, ReadsNextest) {
  EXPECT_THAT(lines_of(read(kNextest)),
              ElementsAre("core::bin/a.mod::one: pass", "core::bin/a.mod::two: fail"));
}

TEST(JunitResultsTest, OwnReportMatchesJournal) {
  const ResolvedRun run = resolved_of(rich_journal());
  const RunResults expected = results_of(run);
  const RunResults results = read(junit_run(run));
  ASSERT_GE(results.cases.size(), expected.cases.size());  // the suite proctor.run follows them
  for (std::size_t i = 0; i < expected.cases.size(); ++i) {
    EXPECT_EQ(results.cases[i].verdict.outcome, expected.cases[i].verdict.outcome) << results.cases[i].id;
    EXPECT_EQ(results.cases[i].result_class, expected.cases[i].result_class) << results.cases[i].id;
    EXPECT_EQ(results.cases[i].flaky, expected.cases[i].flaky) << results.cases[i].id;
  }
}

TEST(JunitResultsTest, DuplicateNamesGetUniqueIds) {
  const RunResults results = read(
      "<testsuites><testsuite><testcase name='a' classname='c'/><testcase name='a' classname='c'/>"
      "<testcase name='a #2' classname='c'/></testsuite><testcase classname='c' "
      "name='a'/><testcase/></testsuites>");
  EXPECT_THAT(lines_of(results),
              ElementsAre("c.a: pass", "c.a #2: pass", "c.a #2 #2: pass", "c.a #3: pass", ": pass"));
}

TEST(JunitResultsTest, ErrorNamesFileAndReason) {
  EXPECT_THAT(refusal(""), HasSubstr("a.xml"));
  EXPECT_THAT(refusal("no xml"), HasSubstr("No document element"));
  EXPECT_THAT(refusal("<html><testcase/></html>"), HasSubstr("begins with <html>"));
  EXPECT_THAT(refusal("<testsuite><testcase name='a'"), HasSubstr("at byte"));
  EXPECT_THAT(refusal("<!DOCTYPE testsuite [<!ENTITY a 'b'>]><testsuite/>"), HasSubstr("entities"));
  EXPECT_EQ(refusal("<!DOCTYPE testsuite><testsuite/>"), "");
}

TEST(JunitResultsTest, RejectsConcatenatedFiles) {
  for (const std::string_view declaration : {"", "<?xml version='1.0'?>"}) {
    std::string text = "<testsuite><testcase name='a'/></testsuite>\n";
    text += std::string(declaration) + "<testsuite><testcase name='b'><failure/></testcase></testsuite>";
    EXPECT_THAT(refusal(text), HasSubstr("second element at its top"));
  }
  EXPECT_EQ(refusal("<?xml version='1.0'?><!-- a --><testsuite/><!-- b -->\n"), "");
}

TEST(JunitResultsTest, RejectsEntityExpansion) {
  std::string text = "<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY lol 'lol'>";
  for (int i = 1; i < 10; ++i)
    text += "<!ENTITY lol" + std::to_string(i) + " '&lol" + std::to_string(i - 1) + ";&lol" +
            std::to_string(i - 1) + ";'>";
  text += "]><testsuite><testcase name='&lol9;'/></testsuite>";
  EXPECT_THAT(refusal(text), HasSubstr("entities"));
}

TEST(JunitResultsTest, RejectsExcessiveDepthElementsAndBytes) {
  EXPECT_THAT(refusal(nested(kMostJunitDepth + 1)), HasSubstr("deep"));
  EXPECT_EQ(refusal(nested(kMostJunitDepth)), "");
  std::string many = "<testsuite>";
  for (std::size_t i = 0; i < kMostJunitElements; ++i) many += "<a/>";
  EXPECT_THAT(refusal(many + "</testsuite>"), HasSubstr("elements"));
  EXPECT_THAT(refusal(std::string(kMostJunitBytes + 1, ' ')), HasSubstr("bytes"));
}

TEST(JunitResultsTest, TruncatesHugeFailureText) {
  const std::string text(100'000'000, 'x');
  const RunResults results =
      read("<testsuite><testcase name='a'><failure>" + text + "</failure></testcase></testsuite>");
  EXPECT_THAT(lines_of(results), ElementsAre("a: fail"));
  EXPECT_LT(results.causes[0].text.size(), 1000);
}

TEST(JunitResultsTest, RejectsMissingAndIrregularFiles) {
  const TempDir dir;
  for (const std::string& path :
       {dir.path().string(), (dir.path() / "none.xml").string(), std::string("/dev/zero")})
    EXPECT_FALSE(load_junit(path)) << path;
  write_file(dir.path() / "a.xml", std::string(kCTest));
  EXPECT_TRUE(load_junit(dir.path() / "a.xml"));
}

TEST(JunitResultsTest, MutatedFilesGiveCleanIds) {
  std::mt19937 random(20260822);
  constexpr std::string_view kMarks = "<>/\"'=&;![]?- \n";
  int read_whole = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string text(kFiles[random() % kFiles.size()]);
    for (std::size_t n = 1 + random() % 8; n > 0; --n) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text[at] = kMarks[random() % kMarks.size()];
          break;
        case 2:
          text.erase(at, 1 + random() % 40);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 200));
      }
      if (text.empty()) text = " ";
    }
    const auto results = parse_junit(std::move(text), "a.xml");
    if (!results) continue;
    ++read_whole;
    for (const CaseResult& result : results->cases) EXPECT_EQ(clean_text(result.id), result.id);
  }
  EXPECT_GT(read_whole, 100);  // some changed files are still valid, and are read
}

}  // namespace
}  // namespace proctor
