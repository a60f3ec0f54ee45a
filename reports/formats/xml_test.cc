#include "reports/formats/xml.h"

#include <gtest/gtest.h>

#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;

TEST(Xml, EscapesAndIndents) {
  const auto write = [](TextOutput& output) {
    XmlWriter xml(output);
    xml.open("a")
        .attribute("k", "<&>\"'\n\t\r")
        .open("b")
        .close()
        .open("c")
        .text("]]> & \r\n\t\"x\"")
        .close();
    xml.finish();
  };
  EXPECT_EQ(text_of(write),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<a k=\"&lt;&amp;&gt;&quot;'&#10;&#9;&#13;\">\n"
            "  <b/>\n"
            "  <c>]]&gt; &amp; &#13;\n\t&quot;x&quot;</c>\n"
            "</a>\n");
}

TEST(Xml, InsertedPartMatchesDirectOutput) {
  const auto part = [](TextOutput& output) { XmlWriter(output, 1).open("b").attribute("k", "v").close(); };
  const auto whole = [&](TextOutput& output) {
    XmlWriter xml(output);
    xml.open("a").insert(text_of(part)).finish();
  };
  const auto at_once = [](TextOutput& output) {
    XmlWriter xml(output);
    xml.open("a").open("b").attribute("k", "v").finish();
  };
  EXPECT_EQ(text_of(whole), text_of(at_once));
}

TEST(Xml, AnyBytesAreWellFormed) {
  TempDir dir;
  const auto write = [](TextOutput& output) {
    XmlWriter xml(output);
    xml.open("root");
    for (int byte = 0; byte < 256; ++byte) {
      const std::string text = std::string(1, static_cast<char>(byte)) + awkward_text();
      xml.open("e").attribute("a", text).text(text).close();
    }
    xml.open("long").text(std::string(1 << 20, '\0')).close();
    xml.finish();
  };
  write_file(dir.path() / "x.xml", text_of(write));
  EXPECT_EQ(complaint_of({"xmllint", "--noout", "--nonet", (dir.path() / "x.xml").string()}), "");
}

TEST(Xml, XmllintRejectsForbiddenCharacter) {
  TempDir dir;
  write_file(dir.path() / "x.xml", "<a>\x1b</a>");
  EXPECT_NE(complaint_of({"xmllint", "--noout", "--nonet", (dir.path() / "x.xml").string()}), "");
}

}  // namespace
}  // namespace proctor
