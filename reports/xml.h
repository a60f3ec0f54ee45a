// A small XML 1.0 writer. Every string goes through clean_text() and is escaped: no input makes the output
// ill-formed. Elements are indented unless they hold text; never CDATA, because `]]>` would end it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

class XmlWriter {
 public:
  XmlWriter();

  XmlWriter& open(std::string_view element);  // a name of ours: not checked
  XmlWriter& attribute(std::string_view name, std::string_view value);
  XmlWriter& text(std::string_view value);
  XmlWriter& close();

  // Closes whatever is open and hands the document over.
  std::string finish();

 private:
  struct Level {
    std::string name;
    bool has_elements = false;
    bool has_text = false;
  };
  void end_start_tag();
  void indent();

  std::string out_;
  std::vector<Level> levels_;
  bool in_start_tag_ = false;
};

}  // namespace proctor
