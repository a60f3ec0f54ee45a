#include "harness/cli/shared_options.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "harness/plan/config.h"
#include "harness/request/option.h"
#include "harness/request/suite_arguments.h"

namespace proctor::cli {
namespace {

void add_as_in_run(CLI::App& command, const char* name, std::string& place) {
  const Option& option = *find_option(name);
  command.add_option(name, place, option.help)->type_name(option.placeholder);
}

}  // namespace

CLI::Validator one_of(std::vector<std::string> choices) {
  const std::string known = fmt::format("{{{}}}", fmt::join(choices, ","));  // completion reads this form
  const auto check = [choices = std::move(choices)](const std::string& text) -> std::string {
    const auto checked = check_choice(text, choices);
    return checked ? "" : checked.error().what;
  };
  return {check, known};
}

CLI::Validator from_to(int least, int most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    const auto number = whole_number(text, least, most);
    return number ? "" : number.error().what;
  };
  return {check, ""};
}

void add_simulation_option(CLI::App& command, MachineOptions& options) {
  add_as_in_run(command, "--sim", options.sim);
}

void add_devices_option(CLI::App& command, MachineOptions& options) {
  add_as_in_run(command, "--devices", options.devices);
}

void add_suite_arguments(CLI::App& command, std::vector<std::string>& typed,
                         const std::vector<std::string>& names) {
  command
      .add_option(
          kSuiteArgument, typed,
          fmt::format("Argument of the built-in tests; repeatable. Names: {}", fmt::join(names, ", ")))
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

Result<void> complete(ConfigOptions& config) {
  std::error_code error;
  config.directory = std::filesystem::current_path(error).string();
  if (error) return Error::system("find the current directory", error.value());
  config.user_file = user_config_file(std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME"));
  return {};
}

Result<void> complete(RunRequest& request, const AfterDashes& after_dashes) {
  if (auto completed = complete(request.config); !completed) return completed;
  if (!after_dashes) return {};
  if (after_dashes->empty()) return Error::refused("There is no command after `--`");
  request.selection.command = *after_dashes;
  return {};
}

}  // namespace proctor::cli
