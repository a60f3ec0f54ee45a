#include "harness/runner/record/subject.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/base/outside_program.h"
#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr Milliseconds kTimeForGit{1'000};  // the first case waits for git
constexpr const char* kOption = "--subject";

const std::vector<std::string>& subject_names() {
  static const std::vector<std::string> names = {"commit", "dirty", "branch", "repository", "build"};
  return names;
}

Error bad_word(const std::string& word, const std::string& why, const std::string& hint) {
  return Error::usage(fmt::format("read {} {}: {}", kOption, word, why), hint);
}

bool is_hash(std::string_view text) {
  return text.size() >= 7 && text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

// The variables of the caller. An empty value counts as missing.
class Variables {
 public:
  explicit Variables(const Environment& caller) : caller_(caller) {}

  std::string value(const std::string& name) const {
    const auto found = caller_.find(name);
    return found == caller_.end() ? "" : found->second;
  }
  // Returns the first of these variables that is set.
  std::optional<SubjectFact> first_of(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      if (const std::string text = value(name); !text.empty()) return SubjectFact{text, name, ""};
    }
    return std::nullopt;
  }

 private:
  const Environment& caller_;
};

using Found = std::optional<SubjectFact>;

// Returns the commit from a variable of the CI system. Buildkite sets "HEAD" if it has no commit.
Found commit_of_ci(const Variables& ci) {
  for (const char* name : {"GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "GIT_COMMIT"}) {
    if (is_hash(ci.value(name))) return SubjectFact{ci.value(name), name, ""};
  }
  return std::nullopt;
}

// Returns the branch from a variable of the CI system. For a pull request it is the branch to be merged.
// GITHUB_REF_NAME may also be a tag or "12/merge".
Found branch_of_ci(const Variables& ci) {
  if (const Found pulled = ci.first_of({"GITHUB_HEAD_REF"})) return pulled;
  if (ci.value("GITHUB_REF_TYPE") == "branch" && !ci.value("GITHUB_REF_NAME").ends_with("/merge")) {
    if (const Found pushed = ci.first_of({"GITHUB_REF_NAME"})) return pushed;
  }
  return ci.first_of({"CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH", "BUILDKITE_BRANCH",
                      "GIT_BRANCH", "BRANCH_NAME"});
}

Found on_github(const Variables& ci, const std::string& below, const std::string& source) {
  const std::string server = ci.value("GITHUB_SERVER_URL");
  const std::string repository = ci.value("GITHUB_REPOSITORY");
  if (server.empty() || repository.empty()) return std::nullopt;
  return SubjectFact{server + "/" + repository + below, source, ""};
}

Found repository_of_ci(const Variables& ci) {
  if (const Found github = on_github(ci, "", "GITHUB_REPOSITORY")) return github;
  return ci.first_of({"CI_PROJECT_URL", "BUILDKITE_REPO", "GIT_URL"});
}

Found build_of_ci(const Variables& ci) {
  const std::string run = ci.value("GITHUB_RUN_ID");
  const Found github = run.empty() ? Found() : on_github(ci, "/actions/runs/" + run, "GITHUB_RUN_ID");
  return github ? github : ci.first_of({"CI_JOB_URL", "BUILDKITE_BUILD_URL", "BUILD_URL"});
}

SubjectFact unknown(const std::string& reason) { return {{}, "", reason}; }

SubjectFact known_or(const std::string& value, const std::string& source, const std::string& reason) {
  return value.empty() ? unknown(reason) : SubjectFact{value, source, ""};
}

SubjectFact dirty_of(const GitCheckout& checkout) {
  const auto dirty = is_git_dirty(checkout, kTimeForGit);
  if (!dirty) return unknown("failed to " + dirty.error().what);
  return {*dirty ? "true" : "false", "git status", ""};
}

// Returns the facts from the checkout.
Subject of_checkout(const std::optional<GitCheckout>& checkout, const std::filesystem::path& directory,
                    bool says_dirty) {
  Subject subject;
  subject.build = unknown("no CI variable contains it");
  if (!checkout) {
    const std::string none =
        "no CI variable contains it, and " + directory.string() + " is not in a git checkout";
    subject.commit = subject.dirty = subject.branch = subject.repository = unknown(none);
    subject.dirty.reason = directory.string() + " is not in a git checkout";
    return subject;
  }
  const GitHead head = read_git_head(*checkout);
  subject.checkout = checkout->root.string();
  subject.commit = known_or(head.commit, ".git", head.why_no_commit);
  subject.branch = known_or(head.branch, ".git", "HEAD is detached");
  subject.repository = known_or(git_remote(*checkout), ".git", "the checkout has no remote");
  if (says_dirty) subject.dirty = dirty_of(*checkout);
  return subject;
}

// Compares hashes. The beginning of a hash equals the hash.
bool same_commit(const std::string& one, const std::string& other) {
  const std::string a = lower_case(one);
  const std::string b = lower_case(other);
  return a.starts_with(b) || b.starts_with(a);
}

}  // namespace

Result<SaidSubject> parse_subject(const std::vector<std::string>& words) {
  SaidSubject said;
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto& names = subject_names();
    if (std::ranges::find(names, name) == names.end()) {
      return bad_word(word, fmt::format("there is no `{}`", name), suggestion(name, names, "names"));
    }
    const std::string value = equals == word.npos ? "" : word.substr(equals + 1);
    if (value.empty()) return bad_word(word, "it has no value", "Write " + name + "=VALUE.");
    if (name == "dirty" && value != "true" && value != "false")
      return bad_word(word, fmt::format("`{}` is neither true nor false", value),
                      "Write dirty=true or dirty=false.");
    if (!said.emplace(name, value).second)
      return bad_word(word, fmt::format("`{}` is given twice", name), "Give it once.");
  }
  return said;
}

FoundSubject find_subject(const SaidSubject& said, const Environment& caller,
                          const std::filesystem::path& directory) {
  const Variables ci(caller);
  const auto checkout = find_git_checkout(directory);
  FoundSubject found{.subject = of_checkout(checkout, directory, !said.contains("dirty")), .warnings = {}};
  Subject& subject = found.subject;
  const std::string checked_out = subject.commit.value.value_or("");
  const auto take = [&](SubjectFact& fact, const std::string& name, const Found& of_ci) {
    if (of_ci) fact = *of_ci;
    if (const auto word = said.find(name); word != said.end()) fact = {word->second, kOption, ""};
  };
  take(subject.commit, "commit", commit_of_ci(ci));
  take(subject.dirty, "dirty", std::nullopt);
  take(subject.branch, "branch", branch_of_ci(ci));
  take(subject.repository, "repository", repository_of_ci(ci));
  take(subject.build, "build", build_of_ci(ci));
  for (SubjectFact* address : {&subject.repository, &subject.build}) {
    if (address->value) address->value = without_credentials(*address->value);
  }
  const bool by_ci = subject.commit.source != kOption && !checked_out.empty();
  if (by_ci && !same_commit(*subject.commit.value, checked_out)) {
    found.warnings.push_back(
        {WarningCode::kSubject,
         fmt::format("{} names commit {}, but {} is checked out in {}; set the tested commit with --subject "
                     "commit=...",
                     subject.commit.source, *subject.commit.value, checked_out, subject.checkout)});
  }
  return found;
}

std::string without_credentials(const std::string& whole) {
  const std::string address = whole.substr(0, whole.find('?'));  // queries can contain tokens
  const auto scheme = address.find("://");
  const auto begin = scheme == address.npos ? 0 : scheme + 3;
  const auto end = std::min(address.find('/', begin), address.size());
  const auto at = address.rfind('@', end);
  if (at == address.npos || at < begin || at >= end) return address;
  const bool only_a_name = address.find(':', begin) > at;  // the git@ of git@host:path is not secret
  if (scheme == address.npos && only_a_name) return address;
  return address.substr(0, begin) + address.substr(at + 1);
}

std::vector<std::string> without_credentials(std::vector<std::string> command_line) {
  for (std::string& word : command_line) {
    for (const std::string name : {"repository=", "build="}) {
      const std::string option = std::string(kOption) + "=" + name;
      const std::size_t before = word.starts_with(name) ? name.size() : option.size();
      if (word.starts_with(name) || word.starts_with(option))
        word = word.substr(0, before) + without_credentials(word.substr(before));
    }
  }
  return command_line;
}

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 64 << 20;  // of packed refs; every other file has one or two lines
constexpr int kMostLinks = 5;                    // the same limit as in git
constexpr std::string_view kRef = "ref: ";

// Returns "" for a file that is not regular or too large. Reading a pipe could block.
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

// Returns the directory of git for `.git`, which is this directory or, in a worktree or a submodule, a file that names
// it.
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

// Returns whether the name of a ref stays inside the directory.
bool is_ref_name(const std::string& name) {
  if (!name.starts_with("refs/")) return false;
  const fs::path path(name);
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

// The lines of packed-refs are "COMMIT NAME".
std::string in_packed_refs(const fs::path& common, const std::string& name) {
  const std::string text = text_of(common / "packed-refs");
  for (const std::string_view line : lines_of(text)) {
    const auto space = line.find(' ');
    if (space != line.npos && line.substr(space + 1) == name && is_commit(line.substr(0, space)))
      return std::string(line.substr(0, space));
  }
  return {};
}

// Returns the commit of a ref, which may refer to another ref; "": no commit.
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

// Returns the content of HEAD: a commit, or the name of a ref. In old repositories HEAD is a symbolic link to the file
// of the ref.
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
    // A `.git` file that names a missing directory ends the search: a directory above it belongs to another project.
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

// Returns whether this user owns the path. git checks the owner too, but accepts `sudo` and `safe.directory`. The
// configuration of a repository names programs that git starts.
bool is_ours(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid();
}

}  // namespace

Result<bool> is_git_dirty(const GitCheckout& checkout, Milliseconds time) {
  if (!is_ours(checkout.root) || !is_ours(checkout.git))
    return Error{ErrorKind::kSystem, "run git status: the checkout belongs to another user", {}, 0};
  // git must not write a file or start a watcher. Variables that a git hook has set refer to another tree, so they are
  // removed.
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
