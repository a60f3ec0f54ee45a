#include "harness/request/repeats.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>
#include <vector>

#include "harness/base/text.h"

namespace proctor {
namespace {

constexpr int kMostTimes = 1'000'000;
constexpr std::string_view kUntilFail = "until-fail";
constexpr std::string_view kNew = "new:";
constexpr std::string_view kForms = "For example 25, 2h, 99%:1%, until-fail or new:50.";

enum class Form { kTimes, kTurns, kExclusion, kUntilFail, kNew };

bool go_together(Form one, Form other) {
  if (one == other) return false;
  if (one == Form::kUntilFail || other == Form::kUntilFail) return true;
  return (one == Form::kTimes && other == Form::kNew) || (one == Form::kNew && other == Form::kTimes);
}

Result<int> read_times(std::string_view text, std::string_view part) {
  int times = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), times);
  if (error == std::errc() && end == text.data() + text.size() && times >= 1 && times <= kMostTimes)
    return times;
  return Error::refused(fmt::format("`{}` must have a whole number from 1 to {}", part, kMostTimes),
                        std::string(kForms));
}

Result<Form> read_new(std::string_view part, Repeats& repeats) {
  const auto equals = part.find('=');
  const auto times = read_times(part.substr(kNew.size(), equals - kNew.size()), part);
  if (!times) return times.error();
  repeats.times_if_new = *times;
  if (equals != part.npos) repeats.known_from = part.substr(equals + 1);
  return Form::kNew;
}

Result<Form> read_part(std::string_view part, Repeats& repeats) {
  if (part == kUntilFail) {
    repeats.until_fail = true;
    return Form::kUntilFail;
  }
  if (part.starts_with(kNew)) return read_new(part, repeats);
  if (part.find_first_of("%:") != part.npos) {
    const auto exclusion = parse_exclusion(part);
    if (!exclusion) return exclusion.error();
    repeats.exclusion = *exclusion;
    return Form::kExclusion;
  }
  const auto digits = part.find_first_not_of("0123456789");
  if (digits == 0 || part.empty()) {
    return Error::refused(fmt::format("`{}` is not a way to repeat cases", part),
                          did_you_mean(part, {std::string(kUntilFail), "new:50"}, std::string(kForms)));
  }
  if (digits == part.npos) {
    const auto times = read_times(part, part);
    if (!times) return times.error();
    repeats.times = *times;
    return Form::kTimes;
  }
  const auto turns = parse_duration(part);
  if (!turns) return turns.error();
  if (turns->count() == 0)
    return Error::refused(fmt::format("`{}` is too short", part), "For example --repeat 2h.");
  repeats.turns = *turns;
  return Form::kTurns;
}

// Returns the first part of the value. PATH of `new:N=PATH` extends to the end of the value.
std::string_view first_part(std::string_view text) {
  const std::string_view part = text.substr(0, text.find(','));
  return part.starts_with(kNew) && part.find('=') != part.npos ? text : part;
}

}  // namespace

Result<Repeats> parse_repeats(std::string_view text) {
  Repeats repeats;
  std::vector<std::pair<Form, std::string_view>> parts;
  for (bool is_last = false; !is_last;) {
    const std::string_view part = first_part(text);
    const auto form = read_part(part, repeats);
    if (!form) return form.error();
    for (const auto& [other_form, other] : parts) {
      if (!go_together(other_form, *form))
        return Error::refused(fmt::format("`{}` cannot be combined with `{}`", part, other));
    }
    parts.emplace_back(*form, part);
    is_last = part.size() == text.size();
    text.remove_prefix(is_last ? part.size() : part.size() + 1);
  }
  return repeats;
}

Result<void> check_repeats(std::string_view text) {
  const auto repeats = parse_repeats(text);
  return repeats ? Result<void>() : repeats.error();
}

}  // namespace proctor
