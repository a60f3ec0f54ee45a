// Hides the values of `--env` whose names look like secrets. A command line may contain them, but no journal,
// report or console shows them. For example:
//
//   hide_secrets({"run", "--env", "API_TOKEN=x", "--", "./t"})   // {"run", "--env", "API_TOKEN=***", "--", "./t"}
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

inline constexpr std::string_view kHiddenValue = "***";

// Returns whether the name matches *TOKEN, *KEY, *PASSW*, *SECRET* or *CREDENTIAL*, in any case.
bool is_secret_name(std::string_view variable);

std::vector<std::string> hide_secrets(std::vector<std::string> command_line);

// Reverses hide_secrets(): inserts the values that `value_of` returns for these names. A variable that is not
// set is a usage error.
Result<std::vector<std::string>> fill_in_secrets(
    std::vector<std::string> command_line,
    const std::function<std::optional<std::string>(const std::string& name)>& value_of);

}  // namespace proctor
