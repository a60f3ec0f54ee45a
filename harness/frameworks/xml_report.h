// Reads the XML reports of Catch2 and doctest, which have similar formats, while they are written:
//
//   <TestCase name="..."> <Section name="..."> <Expression ...>...</Expression> </Section> ... </TestCase>
//
// Each test becomes the events of one case: `start` when its element opens, and a `step` for each section
// that is entered. When its element closes, a `fail` for each failure follows, then its measures and output,
// and its `end`. Text outside of the tests is ignored.
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

// An element of an XML document.
struct XmlElement {
  std::string name;
  std::map<std::string, std::string, std::less<>> attributes;
  std::string text;  // without surrounding blanks
  std::vector<XmlElement> children;

  // Returns the value of an attribute; "" if it is missing.
  std::string attribute(std::string_view key) const;
  const XmlElement* child(std::string_view name) const;  // the first of that name, or null
  std::string child_text(std::string_view name) const;   // its text, or ""
};

// Parses a text. Returns none if it is not XML, or exceeds the limits of base/document_limits.h. Text outside
// of elements is allowed.
std::optional<XmlElement> parse_xml(const std::string& text);

// Returns the element of this name in the output of a program, with any text around it. Returns none if it is
// missing, or not XML.
std::optional<XmlElement> find_xml(const std::string& text, const std::string& name);

// The form in which a framework writes the report of a test.
struct XmlDialect {
  // A failure is expected if an attribute of the test or of its end contains this text. The result is then
  // xfail(reason), or fail(reason) if the test passed and had to fail.
  struct Mark {
    std::string_view attribute;
    std::string_view text;
    std::string_view reason;
  };
  // An element around tests. Its name becomes their attribute `testsuite`. "": the framework has none.
  std::string_view group = {};
  std::string_view section;  // an element in a test, which becomes a step
  std::string_view end;      // the element in a test with its result
  std::string_view success;  // the attribute of that element, "true" or "false"
  std::vector<Mark> expected = {};
};

// Returns the id of a case in its framework, from the element of its test: NAME or SUITE/NAME.
std::string xml_id(const XmlElement& test);

// The tests of one case. It has several if their names are equal.
struct EqualTests {
  int count = 1;              // the case ends with the last test, and has the worst result
  std::string any_case_of{};  // their name if the framework ignores case in it, else ""
};

// The dialect must outlive the translator.
std::unique_ptr<Translator> xml_translator(const XmlDialect& dialect, EqualTests tests);

}  // namespace proctor
