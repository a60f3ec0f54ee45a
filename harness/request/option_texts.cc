#include "harness/plan/flaky_policy.h"

#include <fmt/format.h>

#include <optional>

#include "harness/core/text.h"
#include "harness/plan/shard.h"

namespace proctor {
namespace {

constexpr std::string_view kPass = "pass:";
constexpr int kAll = 100;

std::optional<int> percentage(std::string_view text) {
  if (!text.starts_with(kPass) || !text.ends_with('%')) return std::nullopt;
  const auto number = shard_number(text.substr(kPass.size(), text.size() - kPass.size() - 1));
  return number && *number <= kAll ? number : std::nullopt;
}

}  // namespace

Result<void> read_flaky_policy(std::string_view text, RunPolicy& policy) {
  const auto budget = percentage(text);
  if (!budget && text != "fail") {
    return Error::refused(
        fmt::format("`{}` must be fail, or pass with a whole percentage from 0% to 100%", text),
        did_you_mean(text, {"fail", "pass:2%"}, "For example pass:2%."));
  }
  policy.flaky_passes = budget.has_value();
  policy.flaky_budget = budget.value_or(0);
  return {};
}

}  // namespace proctor
