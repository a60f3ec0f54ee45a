// Fills templates/page.html (Mustache), in pieces. A name at the top of the template is asked of `sections` when the
// template comes to it, so that one section is held at a time; within a section a name is a field of the innermost object
// and of no other. Every text is cleaned, made one line and cut here, and the template escapes it: nothing that a section
// gives is markup. A number is written with its thousands, and what is empty or null is false. The first object of a list
// has the field `first`.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reports/formats/text_output.h"

namespace proctor {

struct PageFill {
  std::function<nlohmann::json(const std::string& name)> sections{};
  // What stands in the page as it is, or null: it is none of somebody else's.
  std::function<const std::string*(const std::string& name)> raw{};
};

// page.html with the files that it names in it.
std::string page_template();

// `written` grows with what the template gave so far.
void fill_page(const PageFill& fill, TextOutput& output, std::size_t& written);

}  // namespace proctor
