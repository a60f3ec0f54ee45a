// Several cases in one process: the name of each for the child, and the command that names them in a file.
#pragma once

#include <string>
#include <vector>

#include "harness/plan/plan.h"

namespace proctor {

// The own id of a foreign framework; for our suites, the name.
std::string name_for_child(const Suite& suite, const Case& test);

// The contents of the file.
std::string batch_file(const Suite& suite, const std::vector<const Case*>& cases);
// Returns whether the file could be written.
bool write_batch_file(const std::string& path, const Suite& suite, const std::vector<const Case*>& cases);
// The command of the cases in `file`; `first` is one of them.
std::vector<std::string> batch_command(const Suite& suite, const Case& first, const std::string& file);

}  // namespace proctor
