#include "harness/stack/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "harness/base/words.h"
#include "harness/stack/dockerfile.h"
#include "harness/stack/lock_format.h"

namespace proctor {
namespace {

// ---- Images: reproducible base images ----

// Returns NAME of "${NAME}", "$NAME" or "${NAME:-default}"; "" for anything else.
std::string variable_of(const std::string& word) {
  if (word.size() < 2 || word[0] != '$') return {};
  const bool braces = word[1] == '{';
  const auto begin = braces ? 2U : 1U;
  const auto end = std::min(word.find_first_of(braces ? ":}" : "/:@"), word.size());
  return word.substr(begin, end - begin);
}

void lint_images(const std::vector<DockerInstruction>& file, LintFindings& findings) {
  std::map<std::string, std::string> arguments;  // ARGs before the first FROM, with their defaults
  std::set<std::string> stages;
  for (const auto& instruction : file) {
    if (instruction.keyword == "ARG" && stages.empty()) {
      for (const auto& word : instruction.words) {
        const auto equals = word.text.find('=');
        arguments[word.text.substr(0, equals)] =
            equals == std::string::npos ? "" : word.text.substr(equals + 1);
      }
    }
    if (instruction.keyword != "FROM" || instruction.words.empty()) continue;
    std::string image = instruction.words.front().text;
    if (const auto argument = arguments.find(variable_of(image)); argument != arguments.end()) {
      image = argument->second.empty() ? "scratch"
                                       : argument->second;  // without a default, the build supplies the image
    }
    if (image != "scratch" && !stages.contains(image) && image.find("@sha256:") == std::string::npos) {
      findings.push_back(
          {instruction.line, "image-without-digest",
           fmt::format("`{}` is a tag, which can move to another image", image),
           fmt::format("Write {}@sha256:..., which `docker buildx imagetools inspect {}` prints.", image,
                       image)});
    }
    stages.insert(instruction.words.size() >= 3 ? instruction.words.back().text : "");
  }
}

// ---- Users: the user that runs the image ----

void lint_users(const std::vector<DockerInstruction>& file, LintFindings& findings) {
  const DockerInstruction* last = nullptr;  // the last USER of the stage
  const DockerInstruction* stage = nullptr;
  bool used = true;  // false if the last USER had no effect
  for (const auto& instruction : file) {
    if (instruction.keyword == "FROM") {
      stage = &instruction;
      last = nullptr;
      used = true;
    } else if (instruction.keyword == "USER" && !instruction.words.empty()) {
      const bool same = last != nullptr && last->words.front().text == instruction.words.front().text;
      if (!used || same) {
        const auto& useless = same ? instruction : *last;
        findings.push_back({useless.line, "useless-user",
                            fmt::format("USER {} changes nothing", useless.words.front().text),
                            "Leave it out."});
      }
      last = &instruction;
      used = false;
    } else {
      used = true;
    }
  }
  if (stage != nullptr && last == nullptr) {
    findings.push_back({stage->line, "no-user", "the image runs as the user of its base image, usually root",
                        "End the last stage with USER 10001:10001."});
  }
}

// ---- Downloads: files from the network, and whether their content is verified ----

bool downloads(const DockerCommand& command) { return command.name() == "curl" || command.name() == "wget"; }

bool interprets(const DockerCommand& command) {
  static const std::set<std::string_view> kNames = {
      "sh", "bash", "dash", "zsh", "/bin/sh", "/bin/bash", "python3", "python", "perl", "ruby", "node"};
  return kNames.contains(command.name());
}

bool compares(const DockerCommand& command) {
  const bool sums = command.name() == "sha256sum" || command.name() == "sha512sum";
  return (sums && (command.has("--check") || command.has("-c"))) || command.name() == "gpgv" ||
         (command.name() == "gpg" && command.has("--verify"));
}

bool any_compares(const DockerInstruction& run) {
  return std::any_of(run.commands.begin(), run.commands.end(), compares);
}

bool holds_download(const std::string& word) {
  for (const char* text : {"$(curl ", "$(wget ", "<(curl ", "<(wget "}) {
    if (word.find(text) != std::string::npos) return true;
  }
  return false;
}

constexpr const char* kShellFix = "Fetch the file, compare it with sha256sum --check, then run it.";

void lint_run(const DockerInstruction& run, LintFindings& findings) {
  const DockerCommand* source = nullptr;  // the download at the start of the pipeline
  for (const auto& command : run.commands) {
    if (!command.reads_pipe) source = downloads(command) ? &command : nullptr;
    if (command.reads_pipe && source != nullptr && interprets(command)) {
      findings.push_back({command.line(), "download-to-shell",
                          fmt::format("{} runs unchecked code from the network", command.name()), kShellFix});
    }
    for (const auto& word : command.words) {
      if (!interprets(command) || !holds_download(word.text)) continue;
      findings.push_back({word.line, "download-to-shell",
                          fmt::format("{} runs unchecked code from the network", command.name()), kShellFix});
    }
    if (downloads(command) && !any_compares(run)) {
      findings.push_back({command.line(), "unchecked-download",
                          fmt::format("the files that {} fetches are not checked", command.name()),
                          "Let `sha256sum --check` read its hash in the same RUN."});
    }
  }
}

std::ptrdiff_t count_words(const std::vector<DockerInstruction>& file,
                           const std::function<bool(std::string_view)>& meant) {
  std::ptrdiff_t count = 0;
  for (const auto& instruction : file) {
    for (const auto& command : instruction.commands)
      count += std::ranges::count_if(command.words, [&](const DockerWord& word) { return meant(word.text); });
  }
  return count;
}

// Returns whether ADD fetches an apt key and every source is restricted to the fingerprint of a key. apt then ignores
// any other key in the file.
bool is_named_key(const std::vector<DockerInstruction>& file, const DockerInstruction& add) {
  const std::string to = add.words.empty() ? "" : add.words.back().text;
  const std::string place = "/etc/apt/trusted.gpg.d" + to.substr(std::min(to.rfind('/'), to.size()));
  constexpr std::string_view kSignedBy = "Signed-By: ";
  const auto sources = count_words(file, [](std::string_view word) { return word.starts_with("Types: "); });
  const auto named = count_words(file, [&](std::string_view word) {
    return word.starts_with(kSignedBy) && is_key_fingerprint(word.substr(kSignedBy.size()));
  });
  const auto of_one_line = count_words(file, [](std::string_view word) { return word.starts_with("deb "); });
  const auto places = count_words(file, [&](std::string_view word) { return word == place; });
  return places > 0 && sources > 0 && named == sources && of_one_line == 0;
}

// Returns whether ADD URL is verified by its --checksum or by a later RUN of its stage.
bool is_checked(const std::vector<DockerInstruction>& file, std::size_t at) {
  for (const auto& flag : file[at].flags) {
    if (flag.text.starts_with("--checksum=")) return true;
  }
  for (std::size_t later = at + 1; later < file.size() && file[later].keyword != "FROM"; ++later) {
    if (file[later].keyword == "RUN" && any_compares(file[later])) return true;
  }
  return false;
}

void lint_downloads(const std::vector<DockerInstruction>& file, LintFindings& findings) {
  for (std::size_t at = 0; at < file.size(); ++at) {
    if (file[at].keyword == "RUN") lint_run(file[at], findings);
    if (file[at].keyword != "ADD" || is_checked(file, at) || is_named_key(file, file[at])) continue;
    for (const auto& word : file[at].words) {
      if (!word.text.starts_with("https://") && !word.text.starts_with("http://")) continue;
      findings.push_back({word.line, "unchecked-download",
                          fmt::format("the file of {} is not compared with a checksum", word.text),
                          "Write ADD --checksum=sha256:..., or RUN sha256sum --check in the same stage."});
    }
  }
}

// ---- Debian packages: versions, sources and layers ----

bool is_apt(const DockerCommand& command) {
  return command.name() == "apt-get" || command.name() == "apt" || command.name() == "aptitude";
}

bool takes_value(const std::string& option) {
  return option == "-t" || option == "-o" || option == "-c" || option == "--target-release" ||
         option == "--option" || option == "--config-file";
}

// Returns the words that are neither options nor values of options. The first one is the subcommand.
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

bool is_redirection(const std::string& word) { return word.find_first_of("<>") != std::string::npos; }

bool is_loose(const std::string& word) {
  const auto equals = word.find('=');
  return equals != std::string::npos && (equals + 1 == word.size() || word.find('*') != std::string::npos);
}

void lint_versions(const DockerCommand& command, LintFindings& findings) {
  const auto all = arguments(command);
  for (std::size_t at = 1; at < all.size() && !is_redirection(all[at].text); ++at) {
    const std::string& word = all[at].text;
    if (!is_loose(word)) continue;
    const std::string name = word.substr(0, word.find('='));
    findings.push_back({all[at].line, "loose-version", fmt::format("`{}` selects the newest version", word),
                        fmt::format("Write {}=VERSION, which `apt-cache policy {}` prints, and let the "
                                    "repository be one of a date.",
                                    name, name)});
  }
}

void lint_layer(const DockerInstruction& run, LintFindings& findings) {
  int updated = 0;  // line of the update; 0: none
  bool installed = false;
  for (const auto& command : run.commands) {
    const std::string what = subcommand(command);
    if (what == "update" && updated == 0) updated = command.line();
    if (what == "install") {
      lint_versions(command, findings);
      if (updated == 0 && !installed) {
        findings.push_back({command.line(), "install-without-update",
                            "installs from package lists of a cached layer, which can be old",
                            "Put apt-get update and apt-get install into one RUN."});
      }
      installed = true;
    }
    if (what == "upgrade" || what == "dist-upgrade" || what == "full-upgrade") {
      findings.push_back({command.line(), "upgrade",
                          fmt::format("{} makes every build a different image", what),
                          "Take a newer base image, by digest."});
    }
  }
  if (updated != 0 && !installed) {
    findings.push_back({updated, "update-alone", "the package lists are cached in this layer and become old",
                        "Put apt-get update and apt-get install into one RUN."});
  }
}

// Checks words about trust anywhere in an instruction: options, source lists and files written by a heredoc.
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
                          fmt::format("`{}`: the repository is not authenticated", mark),
                          "Name its key: Signed-By with a file or a fingerprint."});
    }
  }
}

// In a heredoc, "Trusted: yes" has no quotes and is two words.
void lint_trusted_field(const DockerInstruction& instruction, LintFindings& findings) {
  for (std::size_t at = 1; at < instruction.words.size(); ++at) {
    if (lower_case(instruction.words[at - 1].text) != "trusted:" ||
        lower_case(instruction.words[at].text) != "yes")
      continue;
    findings.push_back({instruction.words[at].line, "unsigned-repository",
                        "`Trusted: yes`: the repository is not authenticated",
                        "Name its key: Signed-By with a file or a fingerprint."});
  }
}

void lint_apt(const std::vector<DockerInstruction>& file, LintFindings& findings) {
  for (const auto& instruction : file) {
    lint_trust(instruction, findings);
    lint_trusted_field(instruction, findings);
    if (instruction.keyword == "RUN") lint_layer(instruction, findings);
  }
}

}  // namespace

LintFindings lint_dockerfile(std::string_view text) {
  const auto file = parse_dockerfile(text);
  LintFindings findings;
  lint_images(file, findings);
  lint_users(file, findings);
  lint_downloads(file, findings);
  lint_apt(file, findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const auto& a, const auto& b) { return a.line < b.line; });
  return findings;
}

}  // namespace proctor
