// The main() of every suite: lists the checks, or runs the checks that the command line selects.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/journal/child_protocol.h"
#include "suites/main/helper.h"
#include "suites/main/session.h"

namespace proctor::suite {
namespace {

constexpr int kUsage = 2;

// Writes only members that are set. Readers use the default for absent ones.
nlohmann::json listed_sizes(const Sizes& sizes) {
  nlohmann::json fields = nlohmann::json::object();
  if (sizes.smoke != 0) fields["smoke"] = sizes.smoke;
  if (sizes.ci != 0) fields["ci"] = sizes.ci;
  if (sizes.full != 0) fields["full"] = sizes.full;
  if (sizes.stress != 0) fields["stress"] = sizes.stress;
  if (!fields.empty()) fields["unit"] = sizes.unit;
  return fields;
}

nlohmann::json listed(const CheckInfo& info, const SuiteTraits& suite) {
  const CheckTraits& traits = info.traits;
  std::vector<std::string> needs = suite.needs;
  needs.insert(needs.end(), traits.needs.begin(), traits.needs.end());
  nlohmann::json fields = {{"devices", traits.devices * std::max(traits.ranks, 1)},
                           {"rule", info.rule},
                           {"source", info.source},
                           {"severity", to_string(info.severity)}};
  if (traits.ranks > 0) fields["ranks"] = traits.ranks;
  if (!traits.faults.empty()) fields["faults"] = traits.faults;
  if (!needs.empty()) fields["needs"] = std::move(needs);
  if (!traits.axes.empty()) {
    for (const Axis& axis : traits.axes) {
      fields["axes"].push_back({{"name", axis.name}, {"values", axis.values}});
      if (!axis.full.empty()) fields["axes"].back()["full"] = axis.full;
    }
    fields["points"] = traits.points;
  }
  if (auto sizes = listed_sizes(traits.sizes); !sizes.empty()) fields["sizes"] = std::move(sizes);
  if (traits.expects != kFail) fields["expects"] = to_string(traits.expects);
  if (suite.batch && !traits.alone) fields["batch"] = true;
  return fields;
}

// Writes one "case" event per check. Without a descriptor for events, prints the names on stdout.
int list_checks(EventWriter writer, const SuiteTraits& traits) {
  for (const CheckInfo& info : Session::get().checks()) {
    if (!writer.listening()) {
      std::cout << info.full_name() << "\n";
      continue;
    }
    writer.write(info.full_name(), "case", listed(info, traits));
  }
  return 0;
}

std::vector<std::string> names_in(const std::string& file) {
  std::ifstream stream(file);
  const auto names = nlohmann::json::parse(stream, nullptr, false);
  if (!names.is_array()) return {};
  return names.get<std::vector<std::string>>();
}

// The names of the checks that the option selects; nullopt: the option is neither --proctor-case nor
// --proctor-cases.
std::optional<std::vector<std::string>> checks_of(std::string_view option) {
  const std::string_view one = child::kCaseOption;
  const std::string_view several = child::kCasesOption;
  if (option.starts_with(one)) return std::vector{std::string(option.substr(one.size()))};
  if (option.starts_with(several)) return names_in(std::string(option.substr(several.size())));
  return std::nullopt;
}

bool choose(const std::vector<std::string>& names) {
  std::string filter;
  for (const std::string& name : names) {
    if (Session::get().find(name) == nullptr) {
      std::cerr << "unknown case '" << name << "'; --proctor-list shows them\n";
      return false;
    }
    filter += name + ":";
  }
  // The filter is a pattern. It selects exactly these checks, because every name was found in the list.
  testing::GTEST_FLAG(filter) = filter;
  return !names.empty();
}

}  // namespace

int run_main(int argc, char** argv, const SuiteTraits& traits) {
  testing::InitGoogleTest(&argc, argv);
  const EventWriter writer = EventWriter::from_environment();
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], child::kListOption) == 0) return list_checks(writer, traits);
    const auto names = checks_of(argv[i]);
    if (!names) std::cerr << "unknown option '" << argv[i] << "'\n";
    if (!names || !choose(*names)) return kUsage;
  }
  Session::get().compare_with_lease(traits.visible);
  Session::get().listen(writer);
  return RUN_ALL_TESTS();
}

int run_main_with_helpers(int argc, char** argv, const SuiteTraits& traits) {
  if (argc < 3 || std::string_view(argv[1]) != kHelperOption) return run_main(argc, argv, traits);
  return run_helper(argv[2], {argv + 3, argv + argc});
}

}  // namespace proctor::suite
