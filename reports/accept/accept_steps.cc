#include "reports/accept/accept_steps.h"

#include <algorithm>

#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr AcceptStep kSteps[] = {
    {"driver", 1, true, 5, "the driver lists the device, by its identity",
     "visibility/Enumerate.* visibility/Identity.*"},
    {"copy", 1, true, 2, "a copy keeps every byte", "memory/Copy.OddAddressesAreByteExact*"},
    {"kernel", 1, true, 2, "each group of a launch runs once", "kernels/Launch.EveryGroupRunsOnce*"},
    {"inventory", 1, false, 10, "links, remaps, firmware and resets are as they should be",
     "management/Inventory.* management/Management.EachQueryIsAnswered"},
    {"transfers", 2, false, 5, "a copy between each two devices keeps every byte", "memory/Copy.Between*", 0,
     true},
    {"errors", 2, false, 5, "no error of memory is left uncorrected under load",
     "management/Management.ErrorsUnderLoadAreCorrected"},
    {"silent errors", 3, true, 60, "each core computes the same bits", "kernels/Cores.*", 0, false, true},
    {"memory patterns", 3, true, 30, "75 % of the free memory keeps four patterns",
     "memory/Contents.MostOfTheMemoryKeepsAPattern*", 75, false, true},
    {"links", 3, false, 20, "the link between each two devices has its speed", "memory/Links.*", 0, true},
    {"training", 3, false, 20, "a training step has the same bits each time", "kernels/Training.*"},
    {"bandwidth", 2, false, 20, "copies and kernels have their speed", "memory/Bandwidth.* kernels/Speed.*"},
    {"sensors", 2, false, 15, "sensors and processes are reported as they are",
     "management/Sensors.* management/Management.*"},
    {"memory", 2, true, 80, "allocations, copies and fills follow their rules", "memory/*"},
    {"kernels", 2, true, 100, "launches, events and arithmetic follow their rules", "kernels/*"},
    {"management", 2, false, 10, "errors and resets are reported as they are", "management/*"},
    {"visibility", 2, false, 30, "masks select devices", "visibility/*"},
};

}  // namespace

std::span<const AcceptStep> accept_steps() { return kSteps; }

std::string without_backend(std::string_view case_id) {
  const auto slash = case_id.find('/');
  const auto dot = case_id.rfind('.', slash);
  if (slash == std::string_view::npos || dot == std::string_view::npos) return std::string(case_id);
  return std::string(case_id.substr(0, dot)).append(case_id.substr(slash));
}

const AcceptStep* step_of(std::string_view case_id) {
  const std::string name = without_backend(case_id);
  const auto has = [&](const AcceptStep& step) {
    return std::ranges::any_of(split(step.cases, ' '),
                               [&](std::string_view glob) { return glob_match(glob, name); });
  };
  const auto found = std::ranges::find_if(kSteps, has);
  return found == std::end(kSteps) ? nullptr : &*found;
}

ChosenSteps choose_steps(int level, std::optional<int> budget_s) {
  ChosenSteps chosen;
  int left = budget_s.value_or(0) - smallest_budget_s(level);
  for (const AcceptStep& step : accept_steps()) {
    if (step.level > level) continue;
    const bool fits = !budget_s || step.required || step.seconds <= left;
    (fits ? chosen.taken : chosen.left_out).push_back(&step);
    if (fits && !step.required) left -= step.seconds;
  }
  return chosen;
}

int smallest_budget_s(int level) {
  int seconds = 0;
  for (const AcceptStep& step : accept_steps())
    seconds += step.required && step.level <= level ? step.seconds : 0;
  return seconds;
}

std::string_view size_of_level(int level) { return level == 1 ? "smoke" : level == 2 ? "ci" : "full"; }

}  // namespace proctor
