#include "harness/stack/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace proctor {
namespace {

// "${NAME}", "$NAME" or "${NAME:-default}" -> NAME; "" for anything else.
std::string variable_of(const std::string& word) {
  if (word.size() < 2 || word[0] != '$') return {};
  const bool braces = word[1] == '{';
  const auto begin = braces ? 2U : 1U;
  const auto end = std::min(word.find_first_of(braces ? ":}" : "/:@"), word.size());
  return word.substr(begin, end - begin);
}

bool is_root(const std::string& user) {
  const std::string name = user.substr(0, user.find(':'));
  return name == "root" || name == "0";
}

}  // namespace

void lint_images(const std::vector<DockerInstruction>& file, LintFindings& findings) {
  std::map<std::string, std::string> arguments;  // before the first FROM, with their defaults
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
      image =
          argument->second.empty() ? "scratch" : argument->second;  // without a default: the build names it
    }
    if (image != "scratch" && !stages.contains(image) && image.find("@sha256:") == std::string::npos) {
      findings.push_back(
          {instruction.line, "image-without-digest", fmt::format("`{}` is another image tomorrow", image),
           fmt::format("Write {}@sha256:..., which `docker buildx imagetools inspect {}` prints.", image,
                       image)});
    }
    stages.insert(instruction.words.size() >= 3 ? instruction.words.back().text : "");
  }
}

void lint_users(const std::vector<DockerInstruction>& file, LintFindings& findings) {
  const DockerInstruction* last = nullptr;  // of the stage
  const DockerInstruction* stage = nullptr;
  bool used = true;  // the last USER did something
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
  if (stage == nullptr) return;
  if (last == nullptr) {
    findings.push_back({stage->line, "root-user", "the image runs as whoever its base runs as, mostly root",
                        "End the last stage with USER 10001:10001."});
  } else if (is_root(last->words.front().text)) {
    findings.push_back(
        {last->line, "root-user", "the image runs as root", "End the last stage with USER 10001:10001."});
  }
}

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
