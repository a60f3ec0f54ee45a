// The XML reports of Catch2 and doctest, which are of one family, read while they are written:
//
//   <TestCase name="..."> <Section name="..."> <Expression ...>...</Expression> </Section> ... </TestCase>
//
// Each test becomes the events of one case: `start` when its element opens, a `step` for each section that is
// entered, and when its element closes a `fail` for each failure in it, its measures and output, and its `end`. What
// stands around the tests is passed over.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/frameworks/kind.h"

namespace proctor {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string, std::less<>> attributes;
  std::string text;  // without what surrounds it
  std::vector<XmlElement> children;

  // The value of an attribute; "" when it is not there.
  std::string attribute(std::string_view key) const;
  const XmlElement* child(std::string_view name) const;  // the first of that name, or null
  std::string child_text(std::string_view name) const;   // its text, or ""
};

// None: it is no XML, or beyond base/document_limits.h. Well-formed but for what stands outside of its elements.
std::optional<XmlElement> parse_xml(const std::string& text);

// The element of this name in what a program printed, whatever stands around it. None: it is not there, or no XML.
std::optional<XmlElement> find_xml(const std::string& text, const std::string& name);

// How a framework writes the report of a test.
struct XmlDialect {
  // A failure is expected if an attribute of the test or of its end contains this text. The result is then xfail(reason), or
  // fail(reason) if the test passed and had to fail.
  struct Mark {
    std::string_view attribute;
    std::string_view text;
    std::string_view reason;
  };
  // An element around tests. Its name becomes their attribute `testsuite`. "" = the framework has none.
  std::string_view group = {};
  std::string_view section;  // an element in a test, which becomes a step
  std::string_view end;      // the element in a test with its result
  std::string_view success;  // the attribute of that element, "true" or "false"
  std::vector<Mark> expected = {};
};

// The id of a case in its framework, from the element of its test: NAME or SUITE/NAME.
std::string xml_id(const XmlElement& test);

// The tests of one case, which has several if their names are equal.
struct EqualTests {
  int count = 1;              // the case ends with the last test, and has the worst result
  std::string any_case_of{};  // their name if the framework ignores case in it, else ""
};

// The dialect lives longer.
std::unique_ptr<Translator> xml_translator(const XmlDialect& dialect, EqualTests tests);

}  // namespace proctor
