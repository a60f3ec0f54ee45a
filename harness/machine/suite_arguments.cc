#include "harness/machine/suite_arguments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include "harness/core/axes.h"
#include "harness/core/child_protocol.h"
#include "harness/core/text.h"

namespace proctor {
namespace {

Error not_one_of(const std::string& what, const std::string& value, const std::vector<std::string>& all) {
  return Error::refused(fmt::format("{} {}: `{}` is not a {}", kSuiteArgument, what, value, what),
                        suggestion(value, all, what + "s"));
}

Result<void> read_size(const std::string& value, PlanOptions& options) {
  const std::vector<std::string> sizes = {"smoke", "ci", "full", "stress"};
  if (std::ranges::find(sizes, value) == sizes.end()) return not_one_of("size", value, sizes);
  options.extent.size = value;
  return {};
}

Result<void> read_seed(const std::string& value, PlanOptions& options) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seed);
  if (error != std::errc() || end != value.data() + value.size()) {
    return Error::refused(fmt::format("{} seed must be from 0 to {} (got `{}`)", kSuiteArgument,
                                      std::numeric_limits<std::uint64_t>::max(), value));
  }
  options.extent.seed = seed;
  return {};
}

Result<void> read_point(const std::string& value, PlanOptions& options) {
  if (const auto point = parse_point(value); !point) return point.error();
  options.extent.point = value;
  return {};
}

Result<void> read_provider(const std::string& value, PlanOptions& options) {
  const std::vector<std::string> providers(child::kProviders.begin(), child::kProviders.end());
  if (std::ranges::find(providers, value) == providers.end())
    return not_one_of("provider", value, providers);
  options.provider = value;
  return {};
}

struct Argument {
  const char* name;
  const char* example;
  Result<void> (*read)(const std::string& value, PlanOptions& options);
};

constexpr std::array<Argument, 4> kArguments = {{{"size", "full", read_size},
                                                 {"seed", "7", read_seed},
                                                 {"point", "bytes=65537,offset=3", read_point},
                                                 {"provider", "gloo", read_provider}}};

Result<void> read_argument(const std::string& word, PlanOptions& options) {
  const std::vector<std::string>& names = options.suite_arguments.names;
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (std::ranges::find(names, name) == names.end()) {
    return Error::refused(fmt::format("{} `{}` is not an argument of the built-in suites", kSuiteArgument, name),
                          suggestion(name, names, "arguments"));
  }
  const Argument& argument = *std::ranges::find(kArguments, name, &Argument::name);
  if (equals == word.npos) {
    return Error::refused(fmt::format("{} {} has no value", kSuiteArgument, name),
                          fmt::format("For example {} {}={}.", kSuiteArgument, name, argument.example));
  }
  return argument.read(word.substr(equals + 1), options);
}

}  // namespace

std::vector<std::string> suite_argument_names() {
  std::vector<std::string> names;
  for (const Argument& argument : kArguments) names.emplace_back(argument.name);
  return names;
}

void add_suite_arguments(CLI::App& command, SuiteArguments& arguments, std::vector<std::string> names) {
  arguments.names = std::move(names);
  command
      .add_option(kSuiteArgument, arguments.typed,
                  fmt::format("Argument of the built-in tests, for example {}={}; repeatable. Names: {}",
                              arguments.names.front(),
                              std::ranges::find(kArguments, arguments.names.front(), &Argument::name)->example,
                              fmt::join(arguments.names, ", ")))
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

Result<void> read_suite_arguments(PlanOptions& options) {
  for (const std::string& word : options.suite_arguments.typed) {
    if (auto read = read_argument(word, options); !read) return read;
  }
  return {};
}

}  // namespace proctor
