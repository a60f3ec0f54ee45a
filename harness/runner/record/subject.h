// Finds the tested sources: commit, branch and repository, whether they were changed, and the CI job. A gate requires
// these facts, and a comparison of two runs begins with them. Each fact comes from the first source that has it:
// --subject NAME=VALUE, the variables of the CI system, the checkout in which Proctor was started (docs/how-to/ci.md).
// write_first_record() calls it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/journal/events.h"

namespace proctor {

using SaidSubject = std::map<std::string, std::string>;

// Parses words of the form NAME=VALUE. Each name may appear once: commit, dirty (true or false), branch, repository,
// build.
Result<SaidSubject> parse_subject(const std::vector<std::string>& words);

// The subject of a run, with warnings about contradictory sources.
struct FoundSubject {
  Subject subject;
  std::vector<Warning> warnings;  // the CI variables name another commit than the checkout
};

// `caller` is the environment in which Proctor was started, and `directory` is the directory.
FoundSubject find_subject(const SaidSubject& said, const std::map<std::string, std::string>& caller,
                          const std::filesystem::path& directory);

// Returns the address without the name, the password and the query that it may contain, because many people read
// `https://TOKEN@host/a`. The second function does this for the values of `--subject` in a command line.
std::string without_credentials(const std::string& address);
std::vector<std::string> without_credentials(std::vector<std::string> command_line);

// Reads facts from the files of a git checkout: commit and branch of `HEAD`, through refs, packed refs, worktrees and
// the `.git` files of submodules. It does not start git, because some machines with a checkout lack git. Example:
//
//   const auto checkout = find_git_checkout("/home/user/project/tests");
//   if (checkout) std::puts(read_git_head(*checkout).branch.c_str());

struct GitCheckout {
  std::filesystem::path root;    // root of the working tree
  std::filesystem::path git;     // the directory with the HEAD of this working tree
  std::filesystem::path common;  // the part that several working trees share: refs, configuration
};

// Returns the checkout that contains `start`.
std::optional<GitCheckout> find_git_checkout(const std::filesystem::path& start);

// The commit and the branch of a checkout.
struct GitHead {
  std::string commit{};         // "": why_no_commit has the reason
  std::string branch{};         // "": HEAD is detached, or cannot be read
  std::string why_no_commit{};  // "the branch main has no commit yet"
};
GitHead read_git_head(const GitCheckout& checkout);

// Returns the address of the remote `origin`, else of the first remote; "" if there are no remotes.
std::string git_remote(const GitCheckout& checkout);

// Returns whether a tracked file differs from the commit. Only git can determine this, so it is started, with `time` as
// its limit.
Result<bool> is_git_dirty(const GitCheckout& checkout, Milliseconds time);

}  // namespace proctor
