#include "harness/request/merge_requests.h"

#include <string>
#include <utility>

namespace proctor {
namespace {

template <typename IsWanted>
RunRequest part_of(const RunRequest& request, const IsWanted& is_wanted) {
  RunRequest part;
  for (const Option& option : options()) {
    if (is_wanted(option)) take(option, part, request);
  }
  return part;
}

std::string covered_by(GateEffect effect) {
  if (effect == GateEffect::kInPlan) return std::string(kCoveredByPlan);
  return effect == GateEffect::kInGateRule ? std::string(kCoveredByRule) : "";
}

void add_narrowing(const Option& option, const std::string& name, const RunRequest& request,
                   std::vector<NarrowingOption>& narrowing) {
  const auto* texts = std::get_if<TextsValue>(&option.value);
  if (texts != nullptr && texts->effect_of != nullptr) {
    for (const std::string& text : get(std::get<0>(texts->of), request))
      narrowing.push_back({name, text, covered_by(texts->effect_of(text))});
    return;
  }
  const std::string value = text_of(option, request);
  const bool does_nothing = !option.without_effect.empty() && value == option.without_effect;
  if (option.effect == GateEffect::kNone || does_nothing) return;
  narrowing.push_back({name, value, covered_by(option.effect)});
}

}  // namespace

RunRequest merge(RunRequest stronger, const RunRequest& weaker) {
  for (const Option& option : options()) {
    if (!is_given(option, stronger)) take(option, stronger, weaker);
  }
  return stronger;
}

RunRequest keys_for(const RunRequest& keys, Command command) {
  return part_of(keys,
                 [&](const Option& option) { return !option.key.empty() && (option.key_in & command) != 0; });
}

RunRequest part_in_plan_file(const RunRequest& request) {
  return part_of(request, [](const Option& option) { return option.in_plan_file; });
}

std::vector<NarrowingOption> narrowing_options(const RunRequest& typed, unsigned command) {
  std::vector<NarrowingOption> narrowing;
  for (const Option& option : options()) {
    if ((option.in & command) != 0 && is_given(option, typed))
      add_narrowing(option, std::string(option.long_name()), typed, narrowing);
  }
  return narrowing;
}

std::vector<NarrowingOption> narrowing_keys(const RunRequest& typed, const RunRequest& keys) {
  std::vector<NarrowingOption> narrowing;
  for (const Option& option : options()) {
    if (!option.key.empty() && is_given(option, keys) && !is_given(option, typed))
      add_narrowing(option, option.key, keys, narrowing);
  }
  return narrowing;
}

}  // namespace proctor
