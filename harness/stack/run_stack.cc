#include "harness/stack/run_stack.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "harness/stack/fingerprint.h"

namespace proctor {

RunStack::RunStack(std::string root)
    : root_(std::move(root)), before_(capture_stack(root_, image_digest_of_caller())) {}

void RunStack::describe(RunPlanned& planned) const {
  planned.fingerprint = before_;
  for (const StackFact& fact : before_) {
    if (fact.value) planned.stack.emplace_back(fact.name, *fact.value);
  }
}

std::vector<Warning> RunStack::check_again() const {
  const auto changed = changes(before_, capture_stack(root_, image_digest_of_caller()));
  if (changed.empty()) return {};
  return {
      {WarningCode::kStackChanged,
       fmt::format("the driver stack changed during the run, so its results do not belong to one stack: {}",
                   fmt::join(changed, "; "))}};
}

}  // namespace proctor
