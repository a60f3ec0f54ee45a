// The XML reports of Catch2 and doctest, which are of one family, read while they are written:
//
//   <TestCase name="..."> <Section name="..."> <Expression ...>...</Expression> </Section> ... </TestCase>
//
// Each test becomes the events of one case: `start` when its element opens, a `step` for each section that is
// entered, and the rest when its element closes. What stands around the tests is passed over.
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

// None: it is no XML. Well-formed but for what stands outside of its elements.
std::optional<XmlElement> parse_xml(const std::string& text);

// A `fail` event at the place that the element names in `filename` and `line`.
std::string xml_failure(const XmlElement& element, const std::string& message);

struct XmlDialect {
  // An element around tests, whose name each of them has as its attribute `testsuite`; "" = there is none.
  std::string group = {};
  std::vector<std::string> sections;  // elements whose start is a step
  // The framework's own id of a case, from the attributes of its element.
  std::function<std::string(const XmlElement&)> id;
  // The events of a case that has ended, but for its `start`.
  std::function<std::vector<std::string>(const XmlElement&)> events;
};

std::unique_ptr<Translator> xml_translator(XmlDialect dialect);

}  // namespace proctor
