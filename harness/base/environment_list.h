// The environment of a program as a list of NAME=VALUE, in which a name stands once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value);
void unset_variable(std::vector<std::string>& environment, std::string_view name);

}  // namespace proctor
