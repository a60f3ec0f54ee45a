// The page's own style and script, page.css and page.js, as they were when this was built.
#pragma once

#include <string_view>

namespace proctor {

std::string_view page_style();
std::string_view page_script();

}  // namespace proctor
