// What a checkout of git says of itself, read from its files: commit and branch as `HEAD` names them, through refs,
// packed refs, worktrees and the `.git` files of submodules. No git is started, which some machines with a checkout do
// not have. Example:
//
//   const auto checkout = find_git_checkout("/home/user/project/tests");
//   if (checkout) std::puts(read_git_head(*checkout).branch.c_str());
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/base/duration.h"
#include "harness/base/result.h"

namespace proctor {

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
