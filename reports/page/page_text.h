// Converts arbitrary bytes into text that a page may show: visible text, HTML that is never markup, and addresses of
// files in a run directory or on the site of a repository.
#pragma once

#include <string>
#include <string_view>

namespace proctor {

struct RunPlanned;
struct Subject;

// Returns valid UTF-8 without control characters that change the text direction or hide text.
std::string page_text(std::string_view bytes);

// The same on one line. It is cut if there is a limit.
std::string page_line(std::string_view bytes, std::size_t limit = 400);
// Escapes a text for an element, or for an attribute value in quotes.
std::string html_escaped(std::string_view text);

// Percent-encodes a text for an address. stands_in_address() returns whether a character needs no encoding.
std::string in_address(std::string_view text);
bool stands_in_address(char c);

// Returns the relative address of a file below a run directory; "" if the file is not below it.
std::string file_address(const std::string& file);

// Returns "https://github.com/a/b/blob/COMMIT/src/x.cc#L7". Returns "" unless the repository has an http or https
// address of GitHub or GitLab, the commit is known and the file is below the checkout.
std::string source_address(const RunPlanned& plan, const std::string& file, int line);
// Return the address of a commit, and of the comparison of two commits; "" under the same conditions.
std::string commit_address(const Subject& subject);
std::string comparison_address(const Subject& before, const Subject& after);

std::string base64(std::string_view bytes);

// Returns 'sha256-...', by which a content security policy allows a script or a style.
std::string policy_digest(std::string_view text);

}  // namespace proctor
