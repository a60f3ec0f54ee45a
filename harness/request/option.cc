#include "harness/request/option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

bool has_value(bool flag) { return flag; }
bool has_value(const std::string& text) { return !text.empty(); }
bool has_value(const std::vector<std::string>& texts) { return !texts.empty(); }
template <typename T>
bool has_value(const std::optional<T>& value) {
  return value.has_value();
}

// Calls `use` with the function that finds the value in a request.
template <typename Use>
auto with_member(const OptionValue& value, const Use& use) {
  return std::visit([&](const auto& type) { return std::visit(use, type.of); }, value);
}

Result<void> put_value(const FlagValue& flag, const std::string& text, RunRequest& request) {
  std::visit([&](auto of) { of(request) = text.empty() || text == "true"; }, flag.of);
  return {};
}

Result<void> put_value(const NumberValue& number, const std::string& text, RunRequest& request) {
  const auto value = whole_number(text, number.least, number.most);
  if (!value) return value.error();
  std::get<0>(number.of)(request) = *value;
  return {};
}

Result<void> put_value(const DurationValue& duration, const std::string& text, RunRequest& request) {
  if (text.empty()) return {};
  const auto value = parse_duration(text);
  if (!value) return value.error();
  std::get<0>(duration.of)(request) = *value;
  return {};
}

Result<void> put_value(const TextValue& type, const std::string& text, RunRequest& request) {
  if (!type.choices.empty()) {
    if (auto checked = check_choice(text, type.choices); !checked) return checked;
  }
  if (type.check != nullptr) {
    if (auto checked = type.check(text); !checked) return checked;
  }
  std::visit([&](auto of) { of(request) = text; }, type.of);
  return {};
}

Result<void> put_value(const TextsValue& texts, const std::string& text, RunRequest& request) {
  std::get<0>(texts.of)(request).push_back(text);
  return {};
}

}  // namespace

const Option* find_option(std::string_view name, unsigned command) {
  const auto found = std::ranges::find_if(
      options(), [&](const Option& row) { return (row.in & command) != 0 && row.long_name() == name; });
  return found == options().end() ? nullptr : &*found;
}

const Option* find_key(std::string_view key) {
  const auto found = std::ranges::find(options(), key, &Option::key);
  return found == options().end() || key.empty() ? nullptr : &*found;
}

bool is_given(const Option& option, const RunRequest& request) {
  return with_member(option.value, [&](auto of) { return has_value(get(of, request)); });
}

void take(const Option& option, RunRequest& to, const RunRequest& from) {
  with_member(option.value, [&](auto of) {
    if (has_value(get(of, from))) of(to) = get(of, from);
  });
}

std::string text_of(const Option& option, const RunRequest& request) {
  const Overloaded to_text{[](bool) { return std::string(); },
                           [](int number) { return std::to_string(number); },
                           [](Milliseconds duration) { return format_duration(duration); },
                           [](const std::string& text) { return text; },
                           [](const std::vector<std::string>& texts) { return joined(texts); }};
  if (!is_given(option, request)) return {};
  return with_member(option.value, [&](auto of) {
    const auto& value = get(of, request);
    if constexpr (requires { value.value(); }) {
      return to_text(value.value());
    } else {
      return to_text(value);
    }
  });
}

Result<void> put(const Option& option, const std::string& text, RunRequest& request) {
  return std::visit([&](const auto& type) { return put_value(type, text, request); }, option.value);
}

Result<int> whole_number(std::string_view text, int least, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most)
    return number;
  if (least == std::numeric_limits<int>::min())
    return Error::refused(fmt::format("must be a whole number (got `{}`)", text));
  return Error::refused(fmt::format("must be a whole number from {} to {} (got `{}`)", least, most, text));
}

Result<void> check_choice(std::string_view text, const std::vector<std::string>& choices) {
  if (std::ranges::find(choices, text) != choices.end()) return {};
  return Error::refused(fmt::format("must be {} or {} (got `{}`)",
                                    fmt::join(choices.begin(), choices.end() - 1, ", "), choices.back(),
                                    text));
}

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
