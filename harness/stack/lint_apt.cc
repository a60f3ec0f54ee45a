// Debian packages: which versions, from whom, in which layer.
#include <fmt/format.h>

#include <algorithm>

#include "harness/core/words.h"
#include "harness/stack/lint.h"

namespace proctor {
namespace {

bool is_apt(const DockerCommand& command) {
  return command.name() == "apt-get" || command.name() == "apt" || command.name() == "aptitude";
}

bool takes_value(const std::string& option) {
  return option == "-t" || option == "-o" || option == "-c" || option == "--target-release" ||
         option == "--option" || option == "--config-file";
}

// What is neither an option nor the value of one; the first is the subcommand.
std::vector<DockerWord> arguments(const DockerCommand& command) {
  std::vector<DockerWord> all;
  for (std::size_t at = 1; at < command.words.size(); ++at) {
    const std::string& word = command.words[at].text;
    if (takes_value(word)) {
      ++at;
    } else if (!word.starts_with("-")) {
      all.push_back(command.words[at]);
    }
  }
  return all;
}

std::string subcommand(const DockerCommand& command) {
  const auto all = is_apt(command) ? arguments(command) : std::vector<DockerWord>();
  return all.empty() ? std::string() : all.front().text;
}

bool is_file(const std::string& word) {
  return word.find('/') != std::string::npos || word.ends_with(".deb");
}

bool is_redirection(const std::string& word) { return word.find_first_of("<>") != std::string::npos; }

bool is_pinned(const std::string& word) {
  const auto equals = word.find('=');
  return equals != std::string::npos && equals + 1 < word.size() && word.find('*') == std::string::npos;
}

void lint_install(const DockerCommand& command, LintFindings& findings) {
  const auto all = arguments(command);
  for (std::size_t at = 1; at < all.size(); ++at) {
    const std::string& word = all[at].text;
    if (is_redirection(word)) break;
    if (is_file(word) || is_pinned(word)) continue;
    const std::string name = word.substr(0, word.find('='));
    findings.push_back({all[at].line, "unpinned-package", fmt::format("`{}` is whatever is newest", word),
                        fmt::format("Write {}=VERSION, which `apt-cache policy {}` prints, and let the "
                                    "repository be one of a date.",
                                    name, name)});
  }
  if (!command.has("--no-install-recommends")) {
    findings.push_back({command.line(), "recommended-packages", "installs more than is named",
                        "Add --no-install-recommends."});
  }
}

bool removes_lists(const DockerCommand& command) {
  return command.name() == "rm" &&
         std::any_of(command.words.begin(), command.words.end(),
                     [](const auto& word) { return word.text.starts_with("/var/lib/apt/lists"); });
}

bool keeps_lists_outside(const DockerInstruction& run) {
  return std::any_of(run.flags.begin(), run.flags.end(), [](const auto& flag) {
    return flag.text.find("type=cache") != std::string::npos &&
           flag.text.find("/var/lib/apt") != std::string::npos;
  });
}

void lint_layer(const DockerInstruction& run, LintFindings& findings) {
  int updated = 0;  // its line
  bool installed = false;
  bool removed = keeps_lists_outside(run);
  for (const auto& command : run.commands) {
    const std::string what = subcommand(command);
    if (what == "update" && updated == 0) updated = command.line();
    if (what == "install") {
      lint_install(command, findings);
      if (updated == 0 && !installed) {
        findings.push_back({command.line(), "install-without-update",
                            "installs from lists of another layer, as old as the cache",
                            "Put apt-get update and apt-get install into one RUN."});
      }
      installed = true;
    }
    if (what == "upgrade" || what == "dist-upgrade" || what == "full-upgrade") {
      findings.push_back({command.line(), "upgrade", fmt::format("{} makes every build another image", what),
                          "Take a newer base image, by digest."});
    }
    removed = removed || removes_lists(command);
  }
  if (updated != 0 && !installed) {
    findings.push_back({updated, "update-alone", "the lists are cached and grow old in this layer",
                        "Put apt-get update and apt-get install into one RUN."});
  }
  if (updated != 0 && !removed) {
    findings.push_back({updated, "lists-kept", "the package lists stay in the image",
                        "End the same RUN with rm -rf /var/lib/apt/lists/*."});
  }
}

// Words that are about trust wherever they stand: options, source lists, files written by a heredoc.
void lint_trust(const DockerInstruction& instruction, LintFindings& findings) {
  for (const auto& word : instruction.words) {
    const std::string text = lower_case(word.text);
    if (text.starts_with("ppa:") || text.find("ppa.launchpad") != std::string::npos) {
      findings.push_back({word.line, "ppa",
                          fmt::format("`{}` lists only the newest version of each package", word.text),
                          "Take the files by address and sha256, or a mirror with dates."});
    }
    for (const char* mark : {"trusted=yes", "trusted: yes", "--allow-unauthenticated", "--force-yes",
                             "--allow-insecure-repositories"}) {
      if (text.find(mark) == std::string::npos) continue;
      findings.push_back({word.line, "unsigned-repository",
                          fmt::format("`{}`: anybody may be the repository", mark),
                          "Name its key: Signed-By with a file or a fingerprint."});
    }
  }
}

// "Trusted: yes" without quotes, as a heredoc has it, is two words.
void lint_trusted_field(const DockerInstruction& instruction, LintFindings& findings) {
  for (std::size_t at = 1; at < instruction.words.size(); ++at) {
    if (lower_case(instruction.words[at - 1].text) != "trusted:" ||
        lower_case(instruction.words[at].text) != "yes")
      continue;
    findings.push_back({instruction.words[at].line, "unsigned-repository",
                        "`Trusted: yes`: anybody may be the repository",
                        "Name its key: Signed-By with a file or a fingerprint."});
  }
}

}  // namespace

void lint_apt(const std::vector<DockerInstruction>& file, LintFindings& findings) {
  for (const auto& instruction : file) {
    lint_trust(instruction, findings);
    lint_trusted_field(instruction, findings);
    if (instruction.keyword == "RUN") lint_layer(instruction, findings);
  }
}

}  // namespace proctor
