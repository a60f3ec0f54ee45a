#include "harness/frameworks/xml_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr XmlDialect::Mark kMark = {"mark", "on", "known"};
const XmlDialect kDialect{.section = "Section", .end = "End", .success = "ok", .expected = {kMark}};

// Returns "start NAME", "step NAME", "end RESULT REASON", "fail MESSAGE"; a line that is not an event is
// returned unchanged.
std::vector<std::string> reported(const std::vector<std::string>& pieces) {
  const auto translator = xml_translator(kDialect, {});
  std::vector<std::string> words;
  for (const std::string& piece : pieces) {
    for (const std::string& line : translator->translate(piece)) {
      const auto event = nlohmann::json::parse(line, nullptr, false);
      std::string word = event.is_object() ? event.at("event") : nlohmann::json(line);
      for (const char* key : {"name", "result", "reason", "message"})
        if (event.is_object() && event.contains(key)) word += " " + std::string(event.at(key));
      if (word == "start") word += " " + std::string(event.at("case"));
      words.push_back(std::move(word));
    }
  }
  return words;
}

constexpr const char* kReport =
    "<?xml version=\"1.0\"?>\n<Catch name=\"x\">\n <Group name=\"<TestCase\">\n"
    "  <TestCase name=\"a &lt;b> &quot;c&quot;\" line=\"1\">\n   <Section name=\"s > t\">\n   </Section>\n   "
    "<End ok=\"true\"/>\n"
    "  </TestCase>\n  <TestCase name=\"two\"/>\n <TestCases n=\"1\"/></Group>\n</Catch>\n";

TEST(XmlReport, TranslatesStartStepsAndEnd) {
  EXPECT_THAT(reported({kReport}), ElementsAre("start a <b> \"c\"", "step s > t", "end pass", "start two"));
}

// The events do not depend on how the report is split into pieces.
TEST(XmlReport, ResultIsIndependentOfChunkBoundaries) {
  const std::string report = kReport;
  const auto whole = reported({report});
  for (std::size_t cut = 0; cut <= report.size(); ++cut)
    ASSERT_EQ(reported({report.substr(0, cut), report.substr(cut)}), whole) << cut;
  std::vector<std::string> bytes;
  for (const char c : report) bytes.emplace_back(1, c);
  EXPECT_EQ(reported(bytes), whole);
}

TEST(XmlReport, ReportsStartBeforeTestEnds) {
  EXPECT_THAT(reported({"<Catch><TestCase name=\"hangs\">\n<Section name=\"in here\">\n<Info>half"}),
              ElementsAre("start hangs", "step in here"));
}

// The first tag of Catch2 lists the selected tests, a line that can be too long.
TEST(XmlReport, TruncatedTagEndsBeforeNextTag) {
  EXPECT_THAT(reported({"<Catch filters=\"&quot;a&quot;,&quo\n",
                        "  <TestCase name=\"x\"><End ok=\"true\"/></TestCase>\n"}),
              ElementsAre("start x", "end pass"));
  EXPECT_THAT(
      reported({"<TestCase name=\"x\"><Section name=\"cut\n</Section></TestCase><TestCase name=\"y\"/>"}),
      ElementsAre("start x", HasSubstr("cut"), "start y"));
}

TEST(XmlReport, InvalidXmlBecomesNoEvent) {
  EXPECT_THAT(reported({"<TestCase name=\"x\"><a x=1></a></TestCase>"}),
              ElementsAre("start x", HasSubstr("<a x=1>")));
  EXPECT_THAT(reported({"chatter < of > the \" program\n", "1 < 2\n"}), IsEmpty());
}

// The output of a test, and its failures, can be endless.
TEST(XmlReport, TruncatesLargeOutputButReportsEnd) {
  const auto translator = xml_translator(kDialect, {});
  std::size_t failures = 0;
  std::size_t output = 0;
  std::string last;
  const auto feed = [&](const std::string& text) {
    for (std::string& line : translator->translate(text)) {
      failures += line.find("\"fail\"") == line.npos ? 0 : 1;
      output += line.find("\"output\"") == line.npos ? 0 : line.size();
      last = std::move(line);
    }
  };
  feed("<TestCase name=\"x\">");
  for (int i = 0; i < 200'000; ++i) feed("<Failure>a message of some forty bytes, or so</Failure>\n");
  feed("<End ok=\"true\"><StdOut>");
  for (int i = 0; i < 1'000; ++i) feed(std::string(100'000, 'x') + "\n");
  feed("</StdOut></End></TestCase>");
  EXPECT_GT(failures, 10U);
  EXPECT_LT(output, 5'000'000U);
  EXPECT_THAT(last, HasSubstr("\"result\":\"pass\""));
}

// The failures of one section are kept up to the limit.
TEST(XmlReport, LargeSectionKeepsFirstFailures) {
  std::vector<std::string> pieces{"<TestCase name=\"x\"><Section name=\"s\">"};
  pieces.insert(pieces.end(), 200'000, "  <Failure>a message of some forty bytes, or so</Failure>\n");
  pieces.emplace_back("</Section></TestCase>");
  const auto words = reported(pieces);
  EXPECT_GT(words.size(), 10'000u);
  EXPECT_LT(words.size(), 150'000u);
}

// Each failure has its place and its notes. Catch2 writes the notes before a failure, doctest inside it.
TEST(XmlReport, ReadsFailuresOfCatch2AndDoctest) {
  const std::string report =
      "<TestCase name=\"x\"><Info>noted</Info><Section name=\"s\">"
      "<Expression success=\"true\" type=\"CHECK\"><Original>b</Original></Expression>"
      "<Warning>before</Warning><Expression success=\"false\" type=\"CHECK\" filename=\"f\" line=\"7\">"
      "<Original>a</Original><Expanded>0</Expanded></Expression><Failure>said</Failure></Section>"
      "<Expression success=\"false\" type=\"WARN\"><Original>w</Original></Expression>"
      "<Expression success=\"false\" type=\"CHECK_THROWS_AS\"><Original>t</Original><Exception>e</Exception>"
      "<Expanded>no</Expanded><ExpectedException>E</ExpectedException><Info>within</Info></Expression>"
      "<Message type=\"WARNING\"><Text>w</Text></Message><Message type=\"ERROR\"><Text>m</Text></Message>"
      "<End ok=\"false\"/></TestCase>";
  EXPECT_THAT(
      reported({report}),
      ElementsAre("start x", "step s", "fail CHECK( a )\nwith expansion: 0\nbefore", "fail said",
                  "fail CHECK_THROWS_AS( t )\nthrew: e\nExpectedException: E\nwithin", "fail m", "end fail"));
  EXPECT_THAT(xml_translator(kDialect, {})->translate(report)[2],
              testing::AllOf(HasSubstr("\"file\":\"f\""), HasSubstr("\"line\":7")));
}

TEST(XmlReport, ReadsExpectedFailures) {
  const auto end = [](const std::string& passed, bool any_failure, const std::string& mark) {
    return reported({"<TestCase name=\"x\" mark=\"" + mark + "\">" + (any_failure ? "<Failure/>" : "") +
                     "<End ok=\"" + passed + "\"/></TestCase>"})
        .back();
  };
  EXPECT_EQ(end("true", true, "[on]"), "end xfail known");
  EXPECT_EQ(end("true", false, "[on]"), "end pass");
  EXPECT_EQ(end("false", false, "[on]"), "end fail known");
  EXPECT_EQ(end("false", true, "[on]"), "end fail");
  for (const char* none : {"", "off"}) {
    EXPECT_EQ(end("true", false, none), "end pass");
    EXPECT_EQ(end("false", true, none), "end fail");
  }
  EXPECT_THAT(reported({"<TestCase name=\"x\"><Failure/><End ok=\"true\" mark=\"on\"/></TestCase>"}),
              ElementsAre("start x", "fail ", "end xfail known"));
}

TEST(XmlReport, IgnoresTooDeepOrEndlessElements) {
  std::string deep = "<TestCase name=\"x\">";
  for (int i = 0; i < 500'000; ++i) deep += "<a>";
  for (int i = 0; i < 500'000; ++i) deep += "</a>";
  EXPECT_THAT(reported({deep + "</TestCase>"}), ElementsAre("start x", testing::StartsWith("<TestCase")));
  EXPECT_THAT(reported({"<TestCase name=\"x\"><b c=\"" + std::string(1'000'000, 'y')}),
              ElementsAre("start x", testing::StartsWith("<TestCase")));
  EXPECT_FALSE(parse_xml(deep.substr(deep.find("<a>"))));
}

// These constructs hide the nesting depth from a simple scan of the text.
TEST(ParseXml, RejectsTooDeepDocument) {
  for (const std::string hidden :
       {"<![CDATA[</a>]]>", "<!--</a>-->", "<?x </a>?>", "<b x='</a>'/>", "<b x=\"></a>\"/>", ""}) {
    const auto nested = [&](int depth) {
      std::string text = "<r>";
      for (int i = 1; i < depth; ++i) text += "<a>" + hidden;
      for (int i = 1; i < depth; ++i) text += "</a>";
      return text + "</r>";
    };
    EXPECT_TRUE(parse_xml(nested(99))) << hidden;
    EXPECT_FALSE(parse_xml(nested(101))) << hidden;
    EXPECT_FALSE(parse_xml(nested(60'000))) << hidden;
    EXPECT_FALSE(find_xml(nested(60'000), "r")) << hidden;
    EXPECT_THAT(reported({"<TestCase name=\"x\">" + nested(60'000) + "</TestCase>"}),
                ElementsAre("start x", testing::StartsWith("<")))
        << hidden;
  }
}

TEST(ParseXml, RejectsTooManyElements) {
  std::string many = "<r>";
  for (int i = 0; i < 4'000'000; ++i) many += "<a/>";
  EXPECT_FALSE(parse_xml(many + "</r>"));
}

TEST(ParseXml, JoinsTextFromEveryNodeType) {
  const auto element = parse_xml(
      "<?xml version=\"1.0\"?><!DOCTYPE a><a>\n one <b/> <![CDATA[<two>]]> &#x263a;&amp;\r\n</a><c/>");
  ASSERT_TRUE(element);
  EXPECT_EQ(element->text, "one  <two> \xE2\x98\xBA&");
  EXPECT_EQ(element->children.size(), 1u);
  EXPECT_EQ(parse_xml("<a>\xff\xfe</a>")->text, "\xff\xfe");
  EXPECT_FALSE(parse_xml(std::string("<a>\0</a>", 8)));
}

TEST(ParseXml, ReadsTextAttributesAndChildren) {
  const auto element = parse_xml("<a x=\"1 &amp; 2\">\n  text &lt;\n <!-- note --><b/><b y='z'>t</b></a>");
  ASSERT_TRUE(element);
  EXPECT_EQ(element->name, "a");
  EXPECT_EQ(element->attribute("x"), "1 & 2");
  EXPECT_EQ(element->attribute("none"), "");
  EXPECT_THAT(element->text, testing::StartsWith("text <"));
  ASSERT_EQ(element->children.size(), 2u);
  EXPECT_EQ(element->children[1].attribute("y"), "z");
  EXPECT_EQ(element->child("c"), nullptr);
  EXPECT_EQ(element->child_text("b"), "");
  for (const char* bad : {"", "text", "<a>", "<a x=1/>"}) EXPECT_FALSE(parse_xml(bad)) << bad;
}

}  // namespace
}  // namespace proctor
