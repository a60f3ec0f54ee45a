// The exit codes of `proctor run` (docs/reference/outcomes.md). They are public: a number never gets another meaning.
#pragma once

namespace proctor {

inline constexpr int kExitGreen = 0;
inline constexpr int kExitRed = 1;         // the code is red
inline constexpr int kExitUsage = 2;       // usage or plan refused; nothing was started
inline constexpr int kExitIncomplete = 3;  // something planned was not run
inline constexpr int kExitMachine = 75;    // the machine is red: retry elsewhere

// `exec` passes the command's own code through, except for these.
inline constexpr int kExecTimeout = 124;
inline constexpr int kExecInternal = 125;
inline constexpr int kExecNotExecutable = 126;
inline constexpr int kExecNotFound = 127;

}  // namespace proctor
