// The rules by which the cases of a whole run are judged. A request has those that were asked for (RunRequest), and the journal
// those that hold (RunPlanned). To add one: a member, and its line in for_each_rule(); the journal, the comparison of the
// parts of a run and their joining are made of it. Then its row in the table of options (harness/request/option.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace proctor {

template <template <typename> typename As>
struct RunRulesAs {
  As<int> min_executed{};          // fewer executed cases leave the run incomplete
  As<std::string> fail_on_skip{};  // glob over the reasons of skips that leave it incomplete; "": none
  As<bool> strict{};               // a warning counts as a failure
  As<bool> each_device{};          // every case runs on every device
  As<bool> allow_no_device{};      // that there is no device leaves the run complete
};
using RunRules = RunRulesAs<std::type_identity_t>;
using AskedRules = RunRulesAs<std::optional>;

struct RunRule {
  const char* member;         // of the journal
  std::string_view option{};  // all parts of a run must have the same value of it; "": each may have its own
};

// Calls `use(rule, value...)` with the values of each rule. The structs are RunRules or AskedRules.
template <typename Use, typename... Rules>
void for_each_rule(const Use& use, Rules&... rules) {
  use(RunRule{.member = "min_executed"}, rules.min_executed...);
  use(RunRule{.member = "fail_on_skip"}, rules.fail_on_skip...);
  use(RunRule{.member = "strict", .option = "--strict"}, rules.strict...);
  use(RunRule{.member = "each_device", .option = "--each-device"}, rules.each_device...);
  use(RunRule{.member = "allow_no_device"}, rules.allow_no_device...);
}

// A rule that was not asked for has no effect.
inline RunRules rules_in_force(const AskedRules& asked) {
  RunRules rules;
  for_each_rule([](const RunRule&, auto& rule, const auto& value) { rule = value.value_or(rule); }, rules,
                asked);
  return rules;
}

}  // namespace proctor
