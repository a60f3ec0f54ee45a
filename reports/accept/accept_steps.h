// The steps by which `proctor accept` judges a device: which cases belong to each, from which level on, and what a pass
// proves. A case belongs to the first step whose glob matches it.
#pragma once

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
  std::vector<std::string_view> cases;  // globs over SUITE/GROUP.NAME, where SUITE has no backend
};

// In the order in which --budget takes them: what finds the most in a second comes first.
std::span<const AcceptStep> accept_steps();

// "memory.cuda/Copy.IsByteExact" -> "memory/Copy.IsByteExact".
std::string without_backend(std::string_view case_id);

// Null: it belongs to none.
const AcceptStep* step_of(std::string_view case_id);

// Those of this level whose times add up to no more than `budget_s`; the rest in `left_out`. 0: no budget.
struct ChosenSteps {
  std::vector<const AcceptStep*> taken;
  std::vector<const AcceptStep*> left_out;
};
ChosenSteps choose_steps(int level, int budget_s);

// --size of our suites at this level.
std::string_view size_of_level(int level);

}  // namespace proctor
