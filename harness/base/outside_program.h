// Runs an external helper program (curl, gpgv, xz, a linter) without a shell. The run has a deadline, and its
// output has a size limit. The program leads a process group, which is killed at the end in all cases. Test
// programs are not started here. Example:
//
//   const auto done = run_outside_program({.argv = {"xz", "-dc"}, .package = "xz-utils", .input = "..."});
//   if (!done) std::puts(done.error().what.c_str());  // run xz: it was ended by SIGSEGV
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/child_process.h"
#include "harness/base/duration.h"
#include "harness/base/result.h"

namespace proctor {

// The parameters of a run.
struct OutsideProgram {
  std::vector<std::string> argv{};  // argv[0] is searched in PATH
  std::string package{};  // the package that contains the program; named in the error if it is missing
  std::vector<std::string> env = environment_with({});
  std::string input{};  // the program's stdin
  Milliseconds time{60'000};
  std::uint64_t output_limit = std::uint64_t{64} << 20;  // bytes
  std::uint64_t errors_limit = std::uint64_t{1} << 20;
  std::optional<std::uint64_t> file_limit{};  // limit for each file that it writes, in bytes
  std::function<bool()> is_unwanted{};  // polled every 100 ms; if it returns true, the program is killed
};

// The exit code and the output of a program.
struct OutsideAnswer {
  int exit_code = 0;
  std::string output{};  // stdout
  std::string errors{};  // stderr
};

// Returns the output if the program exited, with any exit code. Error: the program is missing, could not be
// started, exceeded its time or output limit, became unwanted, or was ended by a signal.
Result<OutsideAnswer> run_outside_program(const OutsideProgram& program);

// Returns whether the error means that the program is not installed.
bool is_missing(const Error& error);

}  // namespace proctor
