#include "harness/runner/record/git_checkout.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

#include "harness/base/outside_program.h"
#include "harness/base/read_file.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 64 << 20;  // of packed refs; every other file has a line or two
constexpr int kMostLinks = 5;                    // as git follows them
constexpr std::string_view kRef = "ref: ";

// "" for what is no file of a sane size: a pipe would be waited for.
std::string text_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMostBytes || error) return {};
  return read_file_or_empty(path.string());
}

std::string line_in(const fs::path& path) {
  const std::string text = text_of(path);
  return std::string(trimmed(std::string_view(text).substr(0, text.find('\n'))));
}

bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// The directory that a `.git` names, which is one itself, or the file of a worktree or a submodule.
std::optional<fs::path> git_directory(const fs::path& entry) {
  std::error_code error;
  if (fs::is_directory(entry, error)) return entry;
  constexpr std::string_view kWord = "gitdir:";
  const std::string line = line_in(entry);
  if (!line.starts_with(kWord)) return std::nullopt;
  return entry.parent_path() / fs::path(trimmed(std::string_view(line).substr(kWord.size())));
}

fs::path common_directory(const fs::path& git) {
  const std::string line = line_in(git / "commondir");
  return line.empty() ? git : git / line;
}

// Nothing that a name of a ref says leads out of the directory.
bool is_ref_name(const std::string& name) {
  if (!name.starts_with("refs/")) return false;
  const fs::path path(name);
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

// Lines are "COMMIT NAME".
std::string in_packed_refs(const fs::path& common, const std::string& name) {
  const std::string text = text_of(common / "packed-refs");
  for (const std::string_view line : lines_of(text)) {
    const auto space = line.find(' ');
    if (space != line.npos && line.substr(space + 1) == name && is_commit(line.substr(0, space)))
      return std::string(line.substr(0, space));
  }
  return {};
}

// The commit of a ref, which may name another one; "" if there is none.
std::string commit_of(const GitCheckout& checkout, std::string name) {
  for (int links = 0; links < kMostLinks && is_ref_name(name); ++links) {
    std::string line = line_in(checkout.git / name);
    if (line.empty()) line = line_in(checkout.common / name);
    if (is_commit(line)) return line;
    if (!line.starts_with(kRef)) return in_packed_refs(checkout.common, name);
    name = trimmed(std::string_view(line).substr(kRef.size()));
  }
  return {};
}

// What HEAD says: a commit, or the name of a ref. Old ones are links to the file of the ref.
std::string head_of(const GitCheckout& checkout) {
  std::error_code error;
  const fs::path head = checkout.git / "HEAD";
  if (fs::is_symlink(fs::symlink_status(head, error)))
    return std::string(kRef) + fs::read_symlink(head, error).string();
  return line_in(head);
}

}  // namespace

std::optional<GitCheckout> find_git_checkout(const fs::path& start) {
  std::error_code error;
  for (fs::path directory = fs::absolute(start, error).lexically_normal();;
       directory = directory.parent_path()) {
    const auto git = git_directory(directory / ".git");
    const bool whole =
        git && (fs::exists(*git / "HEAD", error) || fs::is_symlink(fs::symlink_status(*git / "HEAD", error)));
    // A file that names a directory which is not here ends the search: what lies above is another project.
    if (whole || (git && fs::is_regular_file(directory / ".git", error)))
      return GitCheckout{directory, *git, common_directory(*git)};
    if (directory == directory.parent_path()) return std::nullopt;
  }
}

GitHead read_git_head(const GitCheckout& checkout) {
  constexpr std::string_view kBranches = "refs/heads/";
  const std::string head = head_of(checkout);
  if (is_commit(head)) return {.commit = head};
  if (!head.starts_with(kRef)) return {.why_no_commit = (checkout.git / "HEAD").string() + " cannot be read"};
  const std::string ref(trimmed(std::string_view(head).substr(kRef.size())));
  if (ref == "refs/heads/.invalid")
    return {.why_no_commit = "its refs are in a reftable, which only git reads"};
  GitHead found{.commit = commit_of(checkout, ref)};
  if (ref.starts_with(kBranches)) found.branch = ref.substr(kBranches.size());
  if (found.commit.empty()) found.why_no_commit = ref + " has no commit yet";
  return found;
}

std::string git_remote(const GitCheckout& checkout) {
  std::string url;
  std::string section;
  const std::string text = text_of(checkout.common / "config");
  for (const std::string_view untrimmed : lines_of(text)) {
    const std::string_view line = trimmed(untrimmed);
    if (line.starts_with('[')) section = line.substr(0, line.find(']') + 1);
    const auto equals = line.find('=');
    if (!section.starts_with("[remote ") || equals == line.npos || trimmed(line.substr(0, equals)) != "url")
      continue;
    const bool origin = section == "[remote \"origin\"]";
    if (url.empty() || origin) url = trimmed(trimmed(line.substr(equals + 1)), "\"");
    if (origin) break;
  }
  return url;
}

namespace {

// git itself asks who owns it, but takes the word of `sudo` and of `safe.directory`; and its configuration names programs.
bool is_ours(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid();
}

}  // namespace

Result<bool> is_git_dirty(const GitCheckout& checkout, Milliseconds time) {
  if (!is_ours(checkout.root) || !is_ours(checkout.git))
    return Error{ErrorKind::kSystem, "run git status: the checkout belongs to another user", {}, 0};
  // Nothing is written, no watcher is started, and what a hook of git has set is about another tree.
  const auto done = run_outside_program(
      {.argv = {"git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", checkout.root.string(),
                "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=none"},
       .package = "git",
       .env = environment_with({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "SUDO_UID", "LC_ALL=C"}),
       .time = time});
  if (!done) return done.error();
  if (done->exit_code == 0) return !done->output.empty();
  const std::string said(trimmed(std::string_view(done->errors).substr(0, done->errors.find('\n'))));
  return Error{
      ErrorKind::kSystem, fmt::format("run git status: it exited with {}: {}", done->exit_code, said), {}, 0};
}

}  // namespace proctor
