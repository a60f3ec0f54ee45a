// The list of all kinds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/frameworks/kind.h"

namespace proctor {

// In the order in which a program that could be of several kinds is asked.
const std::vector<const Kind*>& all_kinds();
std::vector<std::string> kind_names();
// Null when there is none of that name.
const Kind* find_kind(std::string_view name);
// The kind that the words of a command alone tell; null where only its program could.
const Kind* kind_of_command(const std::vector<std::string>& command);

// Kind::Traits::caller_filters of all kinds: what a program gets from no caller that is asked what it is.
std::vector<std::string> all_caller_filters();

}  // namespace proctor
