#include "harness/runner/record/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/runner/record/git_checkout.h"

namespace proctor {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr Milliseconds kTimeForGit{1'000};  // the first case waits for it
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

// The caller's variables; an empty one says nothing.
class Variables {
 public:
  explicit Variables(const Environment& caller) : caller_(caller) {}

  std::string value(const std::string& name) const {
    const auto found = caller_.find(name);
    return found == caller_.end() ? "" : found->second;
  }
  // The first of these that is set.
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

// Buildkite says "HEAD" where it was told no commit.
Found commit_of_ci(const Variables& ci) {
  for (const char* name : {"GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "GIT_COMMIT"}) {
    if (is_hash(ci.value(name))) return SubjectFact{ci.value(name), name, ""};
  }
  return std::nullopt;
}

// Of a pull request, the branch that is to be merged. GitHub's GITHUB_REF_NAME may be a tag, or "12/merge".
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

// What the checkout says.
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

// The start of a hash means the hash.
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
  const std::string address = whole.substr(0, whole.find('?'));  // tokens stand there, too
  const auto scheme = address.find("://");
  const auto begin = scheme == address.npos ? 0 : scheme + 3;
  const auto end = std::min(address.find('/', begin), address.size());
  const auto at = address.rfind('@', end);
  if (at == address.npos || at < begin || at >= end) return address;
  const bool only_a_name = address.find(':', begin) > at;  // the git@ of git@host:path is no secret
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

}  // namespace proctor
