#include "harness/request/option_texts.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "harness/base/text.h"

namespace proctor {
namespace {

constexpr std::string_view kPass = "pass:";
constexpr int kAllCases = 100;
constexpr std::string_view kAtLeast = ">=";

std::optional<int> percentage(std::string_view text) {
  if (!text.starts_with(kPass) || !text.ends_with('%')) return std::nullopt;
  text = text.substr(kPass.size(), text.size() - kPass.size() - 1);
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && number <= kAllCases ? std::optional(number) : std::nullopt;
}

template <typename Value>
Result<void> without_value(const Result<Value>& read) {
  return read ? Result<void>() : read.error();
}

}  // namespace

Result<FlakyPolicy> parse_flaky(std::string_view text) {
  const auto budget = percentage(text);
  if (!budget && text != "fail") {
    return Error::refused(
        fmt::format("`{}` must be fail, or pass with a whole percentage from 0% to 100%", text),
        did_you_mean(text, {"fail", "pass:2%"}, "For example pass:2%."));
  }
  return FlakyPolicy{.passes = budget.has_value(), .budget = budget.value_or(0)};
}

Result<void> check_flaky(std::string_view text) { return without_value(parse_flaky(text)); }

Result<Layers> parse_layers(std::string_view text) {
  if (text == kAnyLayer || text.empty()) return Layers{};
  const bool at_least = text.starts_with(kAtLeast);
  const std::string_view name = at_least ? text.substr(kAtLeast.size()) : text;
  if (const auto layer = parse_layer(name))
    return at_least ? Layers{.required = layer} : Layers{.wanted = layer};
  auto choices = layer_names();
  if (!at_least) choices.insert(choices.begin(), kAnyLayer);
  return Error::refused(fmt::format("`{}` is not a containment layer", text),
                        suggestion(name, choices, "layers"));
}

Result<void> check_layers(std::string_view text) { return without_value(parse_layers(text)); }

}  // namespace proctor
