// Several cases of a GoogleTest program in one process: whether it tells them apart,
// and how it is told which.
#pragma once

#include <string>
#include <vector>

namespace proctor {

// Whether, among the event lines of a program, our listener
// (gtest/proctor_gtest_listener.cc) announced itself.
bool announces_gtest_listener(const std::vector<std::string>& event_lines);

// From the command of one case to that of those in `flag_file`.
std::vector<std::string> gtest_batch_command(std::vector<std::string> case_command,
                                             const std::string& flag_file);
// What stands in that file: unlike an argument it has no limit of 128 KiB.
std::string gtest_batch_flags(const std::vector<std::vector<std::string>>& case_commands);

}  // namespace proctor
