#include "harness/plan/kinds/xml_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

XmlDialect dialect() {
  return {.sections = {"Section"},
          .id = [](const XmlElement& test) { return test.attribute("name"); },
          .events = [](const XmlElement& test) { return std::vector<std::string>{"ended " + test.text}; }};
}

// Only what the tests tell apart: "start NAME", "step NAME", and what the dialect itself says.
std::vector<std::string> told(const std::vector<std::string>& pieces) {
  const auto translator = xml_translator(dialect());
  std::vector<std::string> words;
  for (const std::string& piece : pieces) {
    for (const std::string& line : translator->translate(piece)) {
      const auto event = nlohmann::json::parse(line, nullptr, false);
      if (!event.is_object()) {
        words.push_back(line);
      } else {
        const std::string type = event.at("event");
        words.push_back(type + " " + std::string(type == "start" ? event.at("case") : event.at("name")));
      }
    }
  }
  return words;
}

constexpr const char* kReport =
    "<?xml version=\"1.0\"?>\n<Catch name=\"x\">\n <Group name=\"<TestCase\">\n"
    "  <TestCase name=\"a &lt;b> &quot;c&quot;\" line=\"1\">\n   <Section name=\"s > t\">\n   </Section>\n   "
    "one\n"
    "  </TestCase>\n  <TestCase name=\"two\"/>\n <TestCases n=\"1\"/></Group>\n</Catch>\n";

TEST(XmlReport, ATestIsAStartItsStepsAndItsEnd) {
  EXPECT_THAT(told({kReport}),
              ElementsAre("start a <b> \"c\"", "step s > t", "ended one", "start two", "ended "));
}

// Whatever the pieces are in which it comes.
TEST(XmlReport, EveryCutTellsTheSame) {
  const std::string report = kReport;
  const auto whole = told({report});
  for (std::size_t cut = 0; cut <= report.size(); ++cut)
    ASSERT_EQ(told({report.substr(0, cut), report.substr(cut)}), whole) << cut;
  std::vector<std::string> bytes;
  for (const char c : report) bytes.emplace_back(1, c);
  EXPECT_EQ(told(bytes), whole);
}

TEST(XmlReport, WhatHasBegunIsToldBeforeItEnds) {
  EXPECT_THAT(told({"<Catch><TestCase name=\"hangs\">\n<Section name=\"in here\">\n<Info>half"}),
              ElementsAre("start hangs", "step in here"));
}

// Catch2 says in its first tag which tests were chosen: a line that is too long, with many tests.
TEST(XmlReport, ATagThatWasCutEndsBeforeTheNextOne) {
  EXPECT_THAT(told({"<Catch filters=\"&quot;a&quot;,&quo\n", "  <TestCase name=\"x\">one</TestCase>\n"}),
              ElementsAre("start x", "ended one"));
  EXPECT_THAT(told({"<TestCase name=\"x\"><Section name=\"cut\n</Section></TestCase><TestCase name=\"y\"/>"}),
              ElementsAre("start x", HasSubstr("cut"), "start y", "ended "));
}

TEST(XmlReport, WhatIsNoXmlIsNoEvent) {
  EXPECT_THAT(told({"<TestCase name=\"x\"><a x=1></a></TestCase>"}),
              ElementsAre("start x", HasSubstr("<a x=1>")));
  EXPECT_THAT(told({"chatter < of > the \" program\n", "1 < 2\n"}), IsEmpty());
}

// The output of a test may have no end, and its failures none.
TEST(XmlReport, MuchIsCutAndTheEndIsStillTold) {
  const auto translator =
      xml_translator({.sections = {}, .id = dialect().id, .events = [](const XmlElement& test) {
                        std::size_t bytes = 0;
                        for (const XmlElement& child : test.children) bytes += child.text.size();
                        return std::vector<std::string>{
                            "children " + std::to_string(test.children.size() > 10),
                            "bytes " + std::to_string(bytes < 5'000'000), test.child_text("Overall")};
                      }});
  std::vector<std::string> words;
  const auto tell = [&](const std::string& text) {
    for (std::string& line : translator->translate(text)) words.push_back(std::move(line));
  };
  tell("<TestCase name=\"x\">");
  for (int i = 0; i < 200'000; ++i) tell("<Failure>a message of some forty bytes, or so</Failure>\n");
  tell("<Overall><StdOut>");
  for (int i = 0; i < 1'000; ++i) tell(std::string(100'000, 'x') + "\n");
  tell("</StdOut>said last</Overall></TestCase>");
  ASSERT_EQ(words.size(), 4u);
  EXPECT_THAT(std::vector<std::string>(words.begin() + 1, words.end()),
              ElementsAre("children 1", "bytes 1", "said last"));
}

// What one section holds is kept as far as it is within the limit.
TEST(XmlReport, ALargeSectionKeepsItsFirstFailures) {
  std::size_t failures = 0;
  const auto translator =
      xml_translator({.sections = {}, .id = dialect().id, .events = [&](const XmlElement& test) {
                        failures = test.child("Section")->children.size();
                        return std::vector<std::string>{};
                      }});
  std::string text = "<TestCase name=\"x\"><Section name=\"s\">";
  for (int i = 0; i < 200'000; ++i) text += "  <Failure>a message of some forty bytes, or so</Failure>\n";
  translator->translate(text + "</Section></TestCase>");
  EXPECT_GT(failures, 10'000u);
  EXPECT_LT(failures, 150'000u);
}

TEST(XmlReport, WhatIsTooDeepOrNeverEndsIsNoEvent) {
  std::string deep = "<TestCase name=\"x\">";
  for (int i = 0; i < 500'000; ++i) deep += "<a>";
  for (int i = 0; i < 500'000; ++i) deep += "</a>";
  EXPECT_THAT(told({deep + "</TestCase>"}), ElementsAre("start x", testing::StartsWith("<TestCase")));
  EXPECT_THAT(told({"<TestCase name=\"x\"><b c=\"" + std::string(1'000'000, 'y')}),
              ElementsAre("start x", testing::StartsWith("<TestCase")));
  EXPECT_FALSE(parse_xml(deep.substr(deep.find("<a>"))));
}

TEST(ParseXml, TextAttributesAndChildren) {
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
