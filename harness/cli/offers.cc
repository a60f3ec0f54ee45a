#include "harness/cli/offers.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "harness/base/words.h"
#include "harness/cli/completion_words.h"
#include "harness/cli/help_formatter.h"

namespace proctor::cli {
namespace {

// "ACTION:{wait,fail}" is wait, fail; anything else has no list.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto open = type.find('{');
  const auto close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  std::vector<std::string> values;
  for (const std::string_view value : split(std::string_view(type).substr(open + 1, close - open - 1), ','))
    values.emplace_back(value);
  return values;
}

// What of the machine completes this option or argument (harness/cli/completion_words.h).
std::vector<std::string_view> kinds_of(const CLI::App& command, const CLI::Option& option) {
  if (command.get_name() == "explain" && option.get_positional()) return {"cases", "rules"};
  static const std::map<std::string_view, std::string_view> kKinds = {
      {"suites", "suites"},        {"--case", "cases"},     {"case", "cases"},     {"run", "runs"},
      {"run_dir", "runs"},         {"reports", "runs"},     {"DEVICE", "devices"}, {"--devices", "devices"},
      {"--containment", "layers"}, {"--kind", "frameworks"}};
  const auto found = kKinds.find(option.get_name(option.get_positional()));
  return found == kKinds.end() ? std::vector<std::string_view>() : std::vector{found->second};
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return is_shown(*option) && !option->get_positional(); });
}

// The one with that name that takes a value.
const CLI::Option* option_with_value(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : shown_options(command)) {
    const auto names = option_names(*option);
    if (std::ranges::find(names, name) == names.end()) continue;
    return option->get_items_expected_max() == 0 && values_of(*option).empty() ? nullptr : option;
  }
  return nullptr;
}

// The line up to the word that is being typed.
struct Place {
  const CLI::App* command;
  std::string last;  // the word before
  std::string run;   // the run that the line names
  bool own_command = false;
};

Place place_of(const CLI::App& app, const std::vector<std::string>& words) {
  Place place{.command = &app, .last = {}, .run = {}};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    place.last = words[i];
    place.own_command = place.own_command || words[i] == "--";
    std::error_code none;
    if (std::filesystem::exists(std::filesystem::path(words[i]) / "journal.jsonl", none))
      place.run = words[i];
    if (const CLI::App* below = command_named(*place.command, words[i])) place.command = below;
  }
  return place;
}

void add_words(const Place& place, const CLI::Option& option, std::vector<Offer>& found) {
  for (const std::string& value : values_of(option)) found.push_back({value, ""});
  for (const std::string_view kind : kinds_of(*place.command, option)) {
    for (std::string& word : completion_words(kind, place.run)) found.push_back({std::move(word), ""});
  }
}

void add_names(const Place& place, bool options, std::vector<Offer>& found) {
  for (const CLI::App* command : shown_commands(*place.command))
    found.push_back({command->get_name(), command->get_description()});
  const auto arguments = shown_arguments(*place.command);
  for (const CLI::Option* argument : arguments) add_words(place, *argument, found);
  if (!options && !(found.empty() && arguments.empty())) return;
  for (const CLI::Option* option : shown_options(*place.command)) {
    for (const std::string& name : option_names(*option)) found.push_back({name, option->get_description()});
  }
}

}  // namespace

std::vector<Offer> offers(const CLI::App& app, const std::vector<std::string>& words) {
  Place place = place_of(app, words);
  if (words.empty() || place.own_command) return {};
  const std::string& current = words.back();
  const auto equals = current.starts_with("--") ? current.find('=') : std::string::npos;
  const std::string before = equals == std::string::npos ? "" : current.substr(0, equals + 1);
  if (!before.empty()) place.last = current.substr(0, equals);
  std::vector<Offer> found;
  if (const CLI::Option* option = option_with_value(*place.command, place.last)) {
    add_words(place, *option, found);
    for (Offer& offer : found) offer.word.insert(0, before);
  } else {
    add_names(place, current.starts_with("-"), found);
  }
  std::erase_if(found, [&](const Offer& offer) { return !offer.word.starts_with(current); });
  return found;
}

}  // namespace proctor::cli
