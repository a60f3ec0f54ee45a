// What is tested: commit, branch and repository of the sources, whether they were changed, and the job of the CI. A
// gate needs it, and a comparison of two runs begins with it. Each fact is the first that somebody says:
// --subject NAME=VALUE, the CI's variables, the checkout in which Proctor was started (docs/how-to/ci.md).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

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

}  // namespace proctor
