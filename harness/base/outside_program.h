// Runs a program of somebody else that helps us (curl, gpgv, xz, a linter): no shell in between, a deadline,
// and a limit on all that it may give us. It leads a process group, which is killed at the end, whichever
// that is: nothing of the group is left. Example:
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

struct OutsideProgram {
  std::vector<std::string> argv{};  // the first is looked for in PATH
  std::string package{};            // which has it; named where it is missing
  std::vector<std::string> env = environment_with({});
  std::string input{};  // what it finds on its stdin
  Milliseconds time{60'000};
  std::uint64_t output_limit = std::uint64_t{64} << 20;  // bytes
  std::uint64_t errors_limit = std::uint64_t{1} << 20;
  std::optional<std::uint64_t> file_limit{};  // bytes of each file that it writes
  std::function<bool()> is_unwanted{};        // called often; the program is killed when it returns true
};

struct OutsideAnswer {
  int exit_code = 0;
  std::string output{};  // its stdout
  std::string errors{};  // its stderr
};

// An answer when it exited, whatever its code. Error: it is not there or cannot be started, did not end in
// time, became unwanted, was ended by a signal, or gave more than it may.
Result<OutsideAnswer> run_outside_program(const OutsideProgram& program);

// Whether that error is that the program is not installed.
bool is_missing(const Error& error);

}  // namespace proctor
