// The list of all kinds: one for each test framework (kind.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/frameworks/kind.h"

namespace proctor {

// Returns all kinds, in the order in which a program that could be of several kinds is tried.
const std::vector<const Kind*>& all_kinds();
std::vector<std::string> kind_names();
// Returns null if no kind has this name.
const Kind* find_kind(std::string_view name);
// Returns the kind that follows from the words of a command alone; null if only its program can show the
// kind.
const Kind* kind_of_command(const std::vector<std::string>& command);

// Returns Kind::Traits::caller_filters of all kinds. A program whose kind is still unknown gets none of these
// variables from the caller.
std::vector<std::string> all_caller_filters();

}  // namespace proctor
