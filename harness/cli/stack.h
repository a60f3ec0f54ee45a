// proctor stack: the driver stack as a value (docs/how-to/stacks.md). One function for each of its subcommands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/cli/commands.h"
#include "harness/stack/lock.h"

namespace proctor::cli {

void add_stack_render(CLI::App& stack, Action& action);
void add_stack_capture(CLI::App& stack, Action& action);
void add_stack_lint(CLI::App& stack, Action& action);
void add_stack_verify(CLI::App& stack, Action& action);

// DIRECTORY/stacks; without a directory docker/stacks if that is here, else "", the locks in this program.
std::string lock_directory(const std::string& directory);
Result<StackLock> find_lock(const std::string& directory, const std::string& name);

// Prints it and gives its exit code: 2 for a mistake of the user, 75 for the machine.
int fail_stack(const Error& error);

}  // namespace proctor::cli
