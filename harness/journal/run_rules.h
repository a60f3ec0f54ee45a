// The rules by which the cases of a whole run are judged. RunRequest has the requested rules, and RunPlanned
// those in force. To add a rule, add a member and its line in for_each_rule(). The journal, the comparison of
// the parts of a run and their joining use that list. Then add its row to the table of options
// (harness/request/option.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace proctor {

template <template <typename> typename As>
struct RunRulesAs {
  As<int> min_executed{};  // a run with fewer executed cases is incomplete
  // glob over the reasons of skips: a match leaves the run incomplete; "": none
  As<std::string> fail_on_skip{};
  As<bool> strict{};           // a warning counts as a failure
  As<bool> each_device{};      // every case runs on every device
  As<bool> allow_no_device{};  // a run without any device can be complete
};
using RunRules = RunRulesAs<std::type_identity_t>;
using AskedRules = RunRulesAs<std::optional>;

// The name of a rule, and the option that sets it.
struct RunRule {
  const char* member;  // the member of the journal's JSON
  // option for which all parts of a run must have the same value; "": values may differ
  std::string_view option{};
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

// A rule that was not requested has its default, which has no effect.
inline RunRules rules_in_force(const AskedRules& asked) {
  RunRules rules;
  for_each_rule([](const RunRule&, auto& rule, const auto& value) { rule = value.value_or(rule); }, rules,
                asked);
  return rules;
}

}  // namespace proctor
