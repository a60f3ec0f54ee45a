// Any bytes as what a page may show: as text that is what it seems, as HTML that is never markup, and as addresses that lead
// into a run directory or to the site of a repository.
#pragma once

#include <string>
#include <string_view>

namespace proctor {

struct RunPlanned;
struct Subject;

// Valid, and without what would turn its direction or hide a part of it.
std::string page_text(std::string_view bytes);

// The same on one line, cut; without a limit as it is.
std::string page_line(std::string_view bytes, std::size_t limit = 400);
// A text as that of an element, or within quotes as the value of an attribute.
std::string html_escaped(std::string_view text);

// A text as a part of an address, and whether a character of it stands for itself.
std::string in_address(std::string_view text);
bool stands_in_address(char c);

// A file below a run directory as a part of a relative address; "" for a file that is not below it.
std::string file_address(const std::string& file);

// "https://github.com/a/b/blob/COMMIT/src/x.cc#L7". "" unless the repository has an http or https address of GitHub or
// GitLab, the commit is known and the file is below the checkout.
std::string source_address(const RunPlanned& plan, const std::string& file, int line);
// The repository at its commit, and the comparison of two of its commits; "" as above.
std::string commit_address(const Subject& subject);
std::string comparison_address(const Subject& before, const Subject& after);

std::string base64(std::string_view bytes);

// 'sha256-...': how a policy names the only script and the only style that it allows.
std::string policy_digest(std::string_view text);

}  // namespace proctor
