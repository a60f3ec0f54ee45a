#include "harness/cli/add_options.h"

#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/cli/console/messages.h"

namespace proctor::cli {
namespace {

void put_typed(const Option& option, const std::string& text, TypedRequest& typed) {
  const auto read = put(option, text, typed.request);
  if (!read && !typed.mistake)
    typed.mistake =
        Error::refused(fmt::format("{}: {}", option.long_name(), read.error().what), read.error().hint);
}

// Returns a validator, whose error CLI11 reports at once. The text of CLI11's own validators differs between its
// versions.
CLI::Validator check_of(const Option& option, const std::vector<std::string>& choices) {
  const auto check = [&option](const std::string& text) -> std::string {
    RunRequest tried;
    const auto read = put(option, text, tried);
    return read ? std::string() : read.error().what;
  };
  // completion reads the choices
  return {check, choices.empty() ? "" : fmt::format("{{{}}}", fmt::join(choices, ","))};
}

CLI::Option* add_text(CLI::App& command, const Option& option, TypedRequest& typed) {
  return command.add_option_function<std::string>(
      option.name, [&option, &typed](const std::string& text) { put_typed(option, text, typed); },
      option.help);
}

// Adds a flag that can have a value: "--fail-on-skip=REASON".
CLI::Option* add_flag_with_value(CLI::App& command, const Option& option, const std::string& if_flag,
                                 TypedRequest& typed) {
  const auto place = std::make_shared<std::string>();  // CLI11 requires a variable
  CLI::Option* added = command.add_flag(fmt::format("{}{{{}}}", option.name, if_flag), *place, option.help);
  added->each([&option, &typed, place](const std::string& text) { put_typed(option, text, typed); });
  return added;
}

CLI::Option* add(CLI::App& command, const Option& option, const FlagValue& /*flag*/, TypedRequest& typed) {
  return command.add_flag_function(
      option.name,
      [&option, &typed](std::int64_t count) { put_typed(option, count > 0 ? "true" : "false", typed); },
      option.help);
}

CLI::Option* add(CLI::App& command, const Option& option, const NumberValue& number, TypedRequest& typed) {
  if (number.if_flag) {
    CLI::Option* added = add_flag_with_value(command, option, std::to_string(*number.if_flag), typed);
    return added->check(check_of(option, {}));
  }
  return add_text(command, option, typed)->check(check_of(option, {}));
}

CLI::Option* add(CLI::App& command, const Option& option, const DurationValue& /*duration*/,
                 TypedRequest& typed) {
  return add_text(command, option, typed);
}

CLI::Option* add(CLI::App& command, const Option& option, const TextValue& text, TypedRequest& typed) {
  if (!text.if_flag.empty()) return add_flag_with_value(command, option, text.if_flag, typed);
  CLI::Option* added = add_text(command, option, typed);
  return text.choices.empty() ? added : added->check(check_of(option, text.choices));
}

CLI::Option* add(CLI::App& command, const Option& option, const TextsValue& /*texts*/, TypedRequest& typed) {
  CLI::Option* added = command.add_option_function<std::vector<std::string>>(
      option.name,
      [&option, &typed](const std::vector<std::string>& all) {
        for (const std::string& text : all) put_typed(option, text, typed);
      },
      option.help);
  if (option.name.starts_with('-')) added->allow_extra_args(false);
  return added;
}

void add_exclusions(CLI::App& command, Command which) {
  CLI::Option* plan = which == kForRun ? command.get_option("--plan") : nullptr;
  for (const Option& option : options()) {
    if ((option.in & which) == 0) continue;
    CLI::Option* added = command.get_option(std::string(option.long_name()));
    if (plan != nullptr && option.fixed_by_plan) plan->excludes(added);
    for (const std::string& other : option.excludes) {
      if (CLI::Option* excluded = command.get_option_no_throw(other)) added->excludes(excluded);
    }
  }
}

}  // namespace

void add_options(CLI::App& command, Command which, TypedRequest& typed) {
  for (const Option& option : options()) {
    if ((option.in & which) == 0) continue;
    CLI::Option* added =
        std::visit([&](const auto& type) { return add(command, option, type, typed); }, option.value);
    if (added->get_expected_max() != 0) added->type_name(option.placeholder);
    if (!option.heading.empty()) added->group(std::string(option.heading));
  }
  add_exclusions(command, which);
  typed.request.command = which;
}

Result<PlanOptions> plan_options(TypedRequest& typed, const AfterDashes& after_dashes) {
  if (auto completed = complete(typed.request, after_dashes); !completed) return completed.error();
  if (typed.mistake) return *typed.mistake;
  auto options = plan_options(typed.request);
  if (options) options->on_wait = report_wait;
  return options;
}

}  // namespace proctor::cli
