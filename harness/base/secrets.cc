#include "harness/base/secrets.h"

#include <algorithm>

#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr std::string_view kOption = "--env";
constexpr std::string_view kSecretNames[] = {"*TOKEN", "*KEY", "*PASSW*", "*SECRET*", "*CREDENTIAL*"};

// NAME=VALUE within a word, from position `begin` on.
struct Setting {
  std::string& word;
  std::size_t begin = 0;

  std::size_t equals() const { return std::min(word.find('=', begin), word.size()); }
  std::string name() const { return word.substr(begin, equals() - begin); }
  std::string value() const { return equals() < word.size() ? word.substr(equals() + 1) : ""; }
  void put(std::string_view value) { word.replace(equals(), word.npos, "=" + std::string(value)); }
};

// Returns the settings of `--env`. Words after `--` belong to the command of the user.
std::vector<Setting> settings_in(std::vector<std::string>& words) {
  std::vector<Setting> found;
  const std::string joined_option = std::string(kOption) + "=";
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    if (word->starts_with(joined_option)) {
      found.push_back({*word, joined_option.size()});
    } else if (*word == kOption && word + 1 != words.end()) {
      found.push_back({*++word});
    }
  }
  return found;
}

}  // namespace

bool is_secret_name(std::string_view variable) {
  const std::string name = upper_case(variable);
  return std::ranges::any_of(kSecretNames, [&](std::string_view glob) { return glob_match(glob, name); });
}

std::vector<std::string> hide_secrets(std::vector<std::string> command_line) {
  for (Setting& setting : settings_in(command_line)) {
    if (is_secret_name(setting.name()) && !setting.value().empty()) setting.put(kHiddenValue);
  }
  return command_line;
}

Result<std::vector<std::string>> fill_in_secrets(
    std::vector<std::string> command_line,
    const std::function<std::optional<std::string>(const std::string& name)>& value_of) {
  for (Setting& setting : settings_in(command_line)) {
    if (setting.value() != kHiddenValue || !is_secret_name(setting.name())) continue;
    const auto value = value_of(setting.name());
    if (!value) {
      return Error::usage(
          "repeat --env " + setting.name() + ": its value looks like a secret and is not in the journal",
          "Set " + setting.name() + " where you call `proctor rerun`.");
    }
    setting.put(*value);
  }
  return command_line;
}

}  // namespace proctor
