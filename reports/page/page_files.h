// The page's own style and script, page.css and page.js, and its templates, as they were when this was built.
#pragma once

#include <string_view>

namespace proctor {

std::string_view page_style();
std::string_view page_script();
std::string_view page_html();
std::string_view table_html();
std::string_view cell_html();
std::string_view ids_html();
std::string_view badge_html();

}  // namespace proctor
