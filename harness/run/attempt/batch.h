// Several cases in one process: what its child calls each, and how its command says which, in a file.
#pragma once

#include <string>
#include <vector>

#include "harness/plan/plan.h"

namespace proctor {

// A foreign framework's own id; of ours the name.
std::string name_for_child(const Suite& suite, const Case& test);

// What stands in the file.
std::string batch_file(const Suite& suite, const std::vector<const Case*>& cases);
// Whether it could be written.
bool write_batch_file(const std::string& path, const Suite& suite, const std::vector<const Case*>& cases);
// The command of the cases in `file`; `first` is one of them.
std::vector<std::string> batch_command(const Suite& suite, const Case& first, const std::string& file);

}  // namespace proctor
