// What comes from the network, and whether anything compares it with what was meant.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/stack/lint.h"

namespace proctor {
namespace {

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
  const DockerCommand* source = nullptr;  // the download at the head of the pipeline
  for (const auto& command : run.commands) {
    if (!command.reads_pipe) source = downloads(command) ? &command : nullptr;
    if (command.reads_pipe && source != nullptr && interprets(command)) {
      findings.push_back({command.line(), "download-to-shell",
                          fmt::format("{} runs whatever the network sends", command.name()), kShellFix});
    }
    for (const auto& word : command.words) {
      if (!interprets(command) || !holds_download(word.text)) continue;
      findings.push_back({word.line, "download-to-shell",
                          fmt::format("{} runs whatever the network sends", command.name()), kShellFix});
    }
    if (downloads(command) && !any_compares(run)) {
      findings.push_back({command.line(), "unchecked-download",
                          fmt::format("nothing compares what {} fetches with what was meant", command.name()),
                          "Let `sha256sum --check` read its hash in the same RUN."});
    }
  }
}

// ADD URL is checked by its own flag, or by a later RUN of its stage.
bool is_checked(const std::vector<DockerInstruction>& file, std::size_t at) {
  for (const auto& flag : file[at].flags) {
    if (flag.text.starts_with("--checksum=")) return true;
  }
  for (std::size_t later = at + 1; later < file.size() && file[later].keyword != "FROM"; ++later) {
    if (file[later].keyword == "RUN" && any_compares(file[later])) return true;
  }
  return false;
}

}  // namespace

void lint_downloads(const std::vector<DockerInstruction>& file, LintFindings& findings) {
  for (std::size_t at = 0; at < file.size(); ++at) {
    if (file[at].keyword == "RUN") lint_run(file[at], findings);
    if (file[at].keyword != "ADD" || is_checked(file, at)) continue;
    for (const auto& word : file[at].words) {
      if (!word.text.starts_with("https://") && !word.text.starts_with("http://")) continue;
      findings.push_back({word.line, "unchecked-download",
                          fmt::format("nothing compares {} with what was meant", word.text),
                          "Write ADD --checksum=sha256:..., or RUN sha256sum --check in the same stage."});
    }
  }
}

}  // namespace proctor
