#include "reports/xml.h"

#include <gtest/gtest.h>

#include "reports/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;

TEST(Xml, EscapesAndIndents) {
  XmlWriter xml;
  xml.open("a").attribute("k", "<&>\"'\n\t\r").open("b").close().open("c").text("]]> & \r\n\t\"x\"").close();
  EXPECT_EQ(xml.finish(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<a k=\"&lt;&amp;&gt;&quot;'&#10;&#9;&#13;\">\n"
            "  <b/>\n"
            "  <c>]]&gt; &amp; &#13;\n\t&quot;x&quot;</c>\n"
            "</a>\n");
}

TEST(Xml, AnyBytesAreWellFormed) {
  TempDir dir;
  XmlWriter xml;
  xml.open("root");
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = std::string(1, static_cast<char>(byte)) + awkward_text();
    xml.open("e").attribute("a", text).text(text).close();
  }
  xml.open("long").text(std::string(1 << 20, '\0')).close();
  write_file(dir.path() / "x.xml", xml.finish());
  EXPECT_EQ(complaint_of({"xmllint", "--noout", "--nonet", (dir.path() / "x.xml").string()}), "");
}

TEST(Xml, TheJudgeNoticesAForbiddenCharacter) {
  TempDir dir;
  write_file(dir.path() / "x.xml", "<a>\x1b</a>");
  EXPECT_NE(complaint_of({"xmllint", "--noout", "--nonet", (dir.path() / "x.xml").string()}), "");
}

}  // namespace
}  // namespace proctor
