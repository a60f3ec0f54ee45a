// index.html: the page that people look at. One file without a network, which works from a disk, from the archive of a
// CI system and as an attachment, and reads well where scripts and styles are not allowed.
//
// No text of a run is ever markup: it is escaped in the page's own HTML, and the rest is data that the page's script shows
// as text. The page allows its own style and its own script, by their digests, and nothing else. Example:
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

// How a page in `page_dir` links to files of a run in `run_dir`.
std::optional<std::string> page_link(const std::filesystem::path& page_dir,
                                     const std::filesystem::path& run_dir);

}  // namespace proctor
