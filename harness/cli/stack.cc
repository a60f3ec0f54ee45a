#include "harness/cli/stack.h"

#include <fmt/format.h>

#include <iostream>

#include "harness/core/exit_code.h"

namespace proctor::cli {

int fail_stack(const Error& error) {
  std::cerr << fmt::format("proctor: failed to {}\n", error.what);
  if (!error.hint.empty()) std::cerr << error.hint << '\n';
  return error.kind == ErrorKind::kUsage ? kExitUsage : kExitMachine;
}

void add_stack_command(CLI::App& app, Action& action) {
  CLI::App* stack =
      app.add_subcommand("stack", "the driver stack: lock files, Dockerfiles, what is installed");
  stack->require_subcommand(1);
  add_stack_capture(*stack, action);
  add_stack_render(*stack, action);
  add_stack_lint(*stack, action);
  add_stack_verify(*stack, action);
}

}  // namespace proctor::cli
