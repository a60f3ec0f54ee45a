// Several cases of a GoogleTest program in one process: whether the program reports each of them, and how it
// is told which to run.
#pragma once

#include <string>
#include <vector>

namespace proctor {

// Whether our listener (gtest/proctor_gtest_listener.cc) announced itself in the event lines of a program.
bool announces_gtest_listener(const std::vector<std::string>& event_lines);

// Turns the command of one case into the command for the cases in `flag_file`.
std::vector<std::string> gtest_batch_command(std::vector<std::string> case_command,
                                             const std::string& flag_file);
// The contents of that file. Unlike an argument, a file has no limit of 128 KiB.
std::string gtest_batch_flags(const std::vector<std::vector<std::string>>& case_commands);

}  // namespace proctor
