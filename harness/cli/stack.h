// Implements `proctor stack` (docs/how-to/stacks.md): one function for each subcommand.
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

// Returns DIRECTORY/stacks. Without a directory, it returns docker/stacks if that exists, or "" for the embedded locks.
std::string lock_directory(const std::string& directory);
Result<StackLock> find_lock(const std::string& directory, const std::string& name);

// Prints an error and returns its exit code: 2 for a usage error, 75 for a machine error.
int fail_stack(const Error& error);

}  // namespace proctor::cli
