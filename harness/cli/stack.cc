#include "harness/cli/stack.h"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/journal/exit_code.h"
#include "harness/stack/embedded_locks.h"

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

}  // namespace proctor::cli
