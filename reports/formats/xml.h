// A streaming writer of XML 1.0, for the JUnit files. Every string goes through clean_text() and is escaped, so no
// input makes the output ill-formed. Elements are indented unless they contain text. CDATA is never used, because `]]>`
// would end it. The text is passed on in pieces, so that a report of 100,000 cases is never in memory.
//
// No library is used. pugixml and TinyXML-2 build a tree before they write. The writers of libxml2 and of TinyXML-2
// (XMLPrinter) stream, but take zero-terminated text and do not handle characters that XML forbids: one writes them,
// the other stops. They would still need the cleaning, which is most of this code.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reports/formats/text_output.h"

namespace proctor {

class XmlWriter {
 public:
  // Writes a document.
  explicit XmlWriter(TextOutput& output);
  // Writes a part of a document at nesting depth `depth`, for insert().
  XmlWriter(TextOutput& output, std::size_t depth) : output_(output), depth_(depth) {}

  XmlWriter& open(std::string_view element);  // the name is not checked
  XmlWriter& attribute(std::string_view name, std::string_view value);
  XmlWriter& text(std::string_view value);
  // Inserts elements that another writer wrote at this depth.
  XmlWriter& insert(std::string_view elements);
  XmlWriter& close();

  // Closes all open elements, and ends the document.
  void finish();

 private:
  struct Level {
    std::string name;
    bool has_elements = false;
    bool has_text = false;
  };
  void end_start_tag();
  void indent();

  TextOutput& output_;
  std::size_t depth_ = 0;
  std::vector<Level> levels_;
  bool in_start_tag_ = false;
};

}  // namespace proctor
