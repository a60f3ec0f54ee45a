// The steps by which `proctor accept` judges a device: which cases belong to each, from which level on, and what a pass
// proves. A case belongs to the first step whose glob matches it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

inline constexpr int kLowestAcceptLevel = 1;
inline constexpr int kHighestAcceptLevel = 4;

struct AcceptStep {
  std::string_view name;
  int level;      // the first that has it
  bool required;  // a device on which none of its cases passed is not accepted
  int seconds;    // about as long as it takes on a device of 80 GB; of --budget
  std::string_view proves;
  std::string_view cases;     // globs over SUITE/GROUP.NAME, where SUITE has no backend
  double covers_percent = 0;  // the least share of the memory that each of its cases covers
  bool all_devices = false;   // a case of several devices gets all of them: it tries each two
  bool every_case = false;    // a case that a need skips is a gap
};

// In the order in which --budget takes those that are not required: what finds the most in a second comes first.
std::span<const AcceptStep> accept_steps();

// "memory.cuda/Copy.IsByteExact" -> "memory/Copy.IsByteExact".
std::string without_backend(std::string_view case_id);

// Null: it belongs to none.
const AcceptStep* step_of(std::string_view case_id);

// Takes the required steps of this level, and the others whose times fit into the rest of the budget. Without a budget it
// takes all.
struct ChosenSteps {
  std::vector<const AcceptStep*> taken;
  std::vector<const AcceptStep*> left_out;
};
ChosenSteps choose_steps(int level, std::optional<int> budget_s = {});

// The smallest budget of a level: that of its required steps.
int smallest_budget_s(int level);

// The size of our suites at this level.
std::string_view size_of_level(int level);

}  // namespace proctor
