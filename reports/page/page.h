// Writes index.html, the page of one or several runs. It is one file that loads nothing from a network. It works from a
// disk, from the archive of a CI system and as an attachment, and is readable without scripts and styles.
//
// No text of a run is ever markup. It is escaped in the HTML of the page, and all other text is data that the page's
// script shows as text. The page's content security policy allows only its own style and
// script, by their digests. Example:
//
//   std::string page_of(const ResolvedRun& run) {
//     PageRequest request;
//     request.runs.push_back({.resolved = run, .run_dir = "proctor-out/latest", .link = ""});
//     return text_of([&](TextOutput& output) { write_page(request, output); });
//   }
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "reports/formats/text_output.h"
#include "reports/page/page_request.h"

namespace proctor {

void write_page(const PageRequest& request, TextOutput& output);

// Returns the relative address by which a page in `page_dir` links to files of a run in
// `run_dir`; nothing if none exists.
std::optional<std::string> page_link(const std::filesystem::path& page_dir,
                                     const std::filesystem::path& run_dir);

}  // namespace proctor
