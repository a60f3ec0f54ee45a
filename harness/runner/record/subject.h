// What is tested: commit, branch and repository of the sources, whether they were changed, and the job of the CI. A
// gate needs it, and a comparison of two runs begins with it. Each fact is the first that somebody says:
// --subject NAME=VALUE, the CI's variables, the checkout in which Proctor was started (docs/how-to/ci.md).
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

// NAME=VALUE each, a name at most once: commit, dirty (true or false), branch, repository, build.
Result<SaidSubject> parse_subject(const std::vector<std::string>& words);

struct FoundSubject {
  Subject subject;
  std::vector<Warning> warnings;  // the CI names another commit than the one that is checked out
};

// `caller`: the environment in which Proctor was started; `directory`: where.
FoundSubject find_subject(const SaidSubject& said, const std::map<std::string, std::string>& caller,
                          const std::filesystem::path& directory);

// Without the name and password that an address may have in it, and without its query: `https://TOKEN@host/a` is read by
// many. The same for what `--subject` says in a command line.
std::string without_credentials(const std::string& address);
std::vector<std::string> without_credentials(std::vector<std::string> command_line);

// What a checkout of git says of itself, read from its files: commit and branch as `HEAD` names them, through refs,
// packed refs, worktrees and the `.git` files of submodules. No git is started, which some machines with a checkout do
// not have. Example:
//
//   const auto checkout = find_git_checkout("/home/user/project/tests");
//   if (checkout) std::puts(read_git_head(*checkout).branch.c_str());

struct GitCheckout {
  std::filesystem::path root;    // of the working tree
  std::filesystem::path git;     // its own HEAD is here
  std::filesystem::path common;  // what several working trees share: refs, configuration
};

// The one that `start` lies in.
std::optional<GitCheckout> find_git_checkout(const std::filesystem::path& start);

struct GitHead {
  std::string commit{};         // ""; see why_no_commit
  std::string branch{};         // "": HEAD is detached, or cannot be read
  std::string why_no_commit{};  // "the branch main has no commit yet"
};
GitHead read_git_head(const GitCheckout& checkout);

// The address of the remote `origin`, else of the first one; "" if there is none.
std::string git_remote(const GitCheckout& checkout);

// Whether a file that git knows differs from the commit. Only git can tell: it is started, and has `time` for it.
Result<bool> is_git_dirty(const GitCheckout& checkout, Milliseconds time);

}  // namespace proctor
