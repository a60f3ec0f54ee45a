// A small XML 1.0 writer. Every string goes through clean_text() and is escaped: no input makes the output
// ill-formed. Elements are indented unless they hold text; never CDATA, because `]]>` would end it. What is written is
// handed over in pieces, so that a report of 100,000 cases is never in memory.
//
// Why not a library: pugixml and TinyXML-2 make a tree before they write. The writers of libxml2 and of TinyXML-2
// (XMLPrinter) stream, but both take zero-terminated text, know nothing of characters that XML forbids (the one writes
// them, the other stops), and would still need the cleaning in front of them, which is most of what is here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reports/formats/text_output.h"

namespace proctor {

class XmlWriter {
 public:
  // A document.
  explicit XmlWriter(TextOutput& output);
  // A part of one, that lies `depth` elements deep, for insert().
  XmlWriter(TextOutput& output, std::size_t depth) : output_(output), depth_(depth) {}

  XmlWriter& open(std::string_view element);  // a name of ours: not checked
  XmlWriter& attribute(std::string_view name, std::string_view value);
  XmlWriter& text(std::string_view value);
  // Elements that another writer wrote at this depth.
  XmlWriter& insert(std::string_view elements);
  XmlWriter& close();

  // Closes whatever is open, and ends the document.
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
