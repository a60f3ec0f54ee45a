// proctor stack lint: our rules over Dockerfiles, and hadolint's where it is installed.
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <iostream>
#include <memory>

#include "harness/cli/stack.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "harness/core/toml_reader.h"
#include "harness/stack/lint.h"

namespace proctor::cli {
namespace {

constexpr int kNotFound = 127;

// What hadolint printed, and its exit status; the shell gives 127 where there is none.
struct HadolintAnswer {
  std::string text;
  int status = 0;
};

Result<HadolintAnswer> ask_hadolint(const std::string& file) {
  std::cout.flush();
  FILE* pipe = ::popen(("exec hadolint --no-color -- " + shell_quote(file) + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return Error::system("start a shell for hadolint", errno);
  HadolintAnswer answer;
  std::array<char, 4096> buffer{};
  while (const auto n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    answer.text.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return answer;
}

// Whether the file is clean.
Result<bool> lint(const std::string& file) {
  const auto text = read_text_file(file);
  if (!text) return text.error();
  const auto findings = lint_dockerfile(*text);
  for (const auto& finding : findings) {
    std::cout << clean_text(fmt::format("{}:{}: {}: {}\n  {}", file, finding.line, finding.rule, finding.what,
                                        finding.fix))
              << '\n';
  }
  const auto hadolint = ask_hadolint(file);
  if (!hadolint) return hadolint.error();
  if (hadolint->status == kNotFound) {
    std::cout << fmt::format("{}: hadolint is not installed; its rules were not checked\n", file);
    return findings.empty();
  }
  std::cout << clean_text(hadolint->text);
  return findings.empty() && hadolint->status == 0;
}

int run(const std::vector<std::string>& files) {
  bool clean = true;
  for (const auto& file : files) {
    const auto verdict = lint(file);
    if (!verdict) return fail_stack(verdict.error());
    clean = clean && *verdict;
  }
  return clean ? kExitGreen : kExitRed;
}

}  // namespace

void add_stack_lint(CLI::App& stack, Action& action) {
  CLI::App* command =
      stack.add_subcommand("lint", "what lets a Dockerfile drift or run unchecked code; exit 1");
  const auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("FILE", *files, "Dockerfiles")->required();
  command->callback([files, &action] { action = [files] { return run(*files); }; });
}

}  // namespace proctor::cli
