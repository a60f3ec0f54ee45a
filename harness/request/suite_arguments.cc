#include "harness/request/suite_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include "harness/base/axes.h"
#include "harness/base/text.h"
#include "harness/journal/child_protocol.h"

namespace proctor {
namespace {

struct Values {
  Extent& extent;
  std::string& provider;
};

Error not_one_of(const std::string& what, const std::string& value, const std::vector<std::string>& all) {
  return Error::refused(fmt::format("{} {}: `{}` is not a {}", kSuiteArgument, what, value, what),
                        suggestion(value, all, what + "s"));
}

Result<void> read_size(const std::string& value, const Values& values) {
  const std::vector<std::string> sizes = {"smoke", "ci", "full", "stress"};
  if (std::ranges::find(sizes, value) == sizes.end()) return not_one_of("size", value, sizes);
  values.extent.size = value;
  return {};
}

Result<void> read_seed(const std::string& value, const Values& values) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seed);
  if (error != std::errc() || end != value.data() + value.size()) {
    return Error::refused(fmt::format("{} seed must be from 0 to {} (got `{}`)", kSuiteArgument,
                                      std::numeric_limits<std::uint64_t>::max(), value));
  }
  values.extent.seed = seed;
  return {};
}

Result<void> read_point(const std::string& value, const Values& values) {
  if (const auto point = parse_point(value); !point) return point.error();
  values.extent.point = value;
  return {};
}

Result<void> read_provider(const std::string& value, const Values& values) {
  const std::vector<std::string> providers(child::kProviders.begin(), child::kProviders.end());
  if (std::ranges::find(providers, value) == providers.end()) return not_one_of("provider", value, providers);
  values.provider = value;
  return {};
}

struct Argument {
  const char* name;
  Result<void> (*read)(const std::string& value, const Values& values);
};

constexpr std::array<Argument, 4> kArguments = {
    {{"size", read_size}, {"seed", read_seed}, {"point", read_point}, {"provider", read_provider}}};

Result<void> read_argument(const std::string& word, const std::vector<std::string>& names,
                           const Values& values) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (std::ranges::find(names, name) == names.end()) {
    return Error::refused(
        fmt::format("{} `{}` is not an argument of the built-in suites", kSuiteArgument, name),
        suggestion(name, names, "arguments"));
  }
  if (equals == word.npos)
    return Error::refused(fmt::format("{0} {1} has no value", kSuiteArgument, name),
                          fmt::format("Write {0} {1}=VALUE.", kSuiteArgument, name));
  return std::ranges::find(kArguments, name, &Argument::name)->read(word.substr(equals + 1), values);
}

}  // namespace

std::vector<std::string> suite_argument_names() {
  std::vector<std::string> names;
  for (const Argument& argument : kArguments) names.emplace_back(argument.name);
  return names;
}

GateEffect effect_of_suite_argument(std::string_view argument) {
  const std::string_view name = argument.substr(0, argument.find('='));
  return name == "size" || name == "seed" ? GateEffect::kInGateRule : GateEffect::kInPlan;
}

Result<void> read_suite_arguments(const std::vector<std::string>& typed,
                                  const std::vector<std::string>& names, Extent& extent,
                                  std::string& provider) {
  for (const std::string& word : typed) {
    if (auto read = read_argument(word, names, {extent, provider}); !read) return read;
  }
  return {};
}

}  // namespace proctor
