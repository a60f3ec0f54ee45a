// Values that a command line may hold and no journal, report or console may show: those of `--env` whose names look like
// secrets.
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

// *TOKEN, *KEY, *PASSW*, *SECRET*, *CREDENTIAL*, in any case.
bool is_secret_name(std::string_view variable);

std::vector<std::string> hide_secrets(std::vector<std::string> command_line);

// The other way round, with the values of variables of these names. A usage error where one is not set.
Result<std::vector<std::string>> fill_in_secrets(
    std::vector<std::string> command_line,
    const std::function<std::optional<std::string>(const std::string& name)>& value_of);

}  // namespace proctor
