// The XML reports of Catch2 and doctest, which are of one family, read while they are written:
//
//   <TestCase name="..."> <Section name="..."> <Expression ...>...</Expression> </Section> ... </TestCase>
//
// Each test becomes the events of one case: `start` when its element opens, a `step` for each section that is
// entered, and when its element closes a `fail` for each failure in it and what the framework has besides. What
// stands around the tests is passed over.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/kinds/kind.h"

namespace proctor {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  // without what surrounds it
  std::vector<XmlElement> children;

  // The value of an attribute; "" when it is not there.
  std::string attribute(const std::string& key) const;
  const XmlElement* child(std::string_view name) const;  // the first of that name, or null
  std::string child_text(std::string_view name) const;   // its text, or ""
};

// None: it is no XML, or beyond core/document_limits.h. Well-formed but for what stands outside of its elements.
std::optional<XmlElement> parse_xml(const std::string& text);

// The element of this name in what a program printed, whatever stands around it. None: it is not there, or no XML.
std::optional<XmlElement> find_xml(const std::string& text, const std::string& name);

// The `end` event of a test that the framework calls passed, or not. `expected`: the framework's word for a failure that
// is expected, "" = none is. Then a test that failed is an xfail, and one that had to fail and did not is red with it.
std::string xml_end(bool passed, bool any_failure, const std::string& expected);

struct XmlDialect {
  // An element around tests, whose name each of them has as its attribute `testsuite`; "" = there is none.
  std::string group = {};
  std::string section;  // an element in a test whose start is a step
  // The framework's own id of a case, from the attributes of its element.
  std::function<std::string(const XmlElement&)> id;
  // The last events of a case that has ended, with its `end`.
  std::function<std::vector<std::string>(const XmlElement&, bool any_failure)> events;
  // The number of tests of the case: more than one if they have the same name. The last one ends the case, with the worst
  // result of all.
  int tests = 1;
};

std::unique_ptr<Translator> xml_translator(XmlDialect dialect);

}  // namespace proctor
