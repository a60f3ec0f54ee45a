#include <algorithm>
#include <cstring>
#include <iostream>

#include "harness/core/child_protocol.h"
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

nlohmann::json listed(const CheckInfo& info, std::vector<std::string> needs) {
  const CheckTraits& traits = info.traits;
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
  return fields;
}

// One "case" event per check. Without a descriptor, prints the names on stdout.
int list_checks(EventWriter writer, const std::vector<std::string>& needs) {
  for (const CheckInfo& info : Session::get().checks()) {
    if (!writer.listening()) {
      std::cout << info.full_name() << "\n";
      continue;
    }
    writer.write(info.full_name(), "case", listed(info, needs));
  }
  return 0;
}

}  // namespace

int run_main(int argc, char** argv, const std::vector<std::string>& needs, const VisibleDevices& visible) {
  testing::InitGoogleTest(&argc, argv);
  const EventWriter writer = EventWriter::from_environment();
  const std::size_t case_option = std::strlen(child::kCaseOption);
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], child::kListOption) == 0) return list_checks(writer, needs);
    if (std::strncmp(argv[i], child::kCaseOption, case_option) != 0) {
      std::cerr << "unknown option '" << argv[i] << "'\n";
      return kUsage;
    }
    // GoogleTest's filter is a pattern. It is exact here because every name was found in the list.
    const std::string name = argv[i] + case_option;
    if (Session::get().find(name) == nullptr) {
      std::cerr << "unknown case '" << name << "'; --proctor-list shows them\n";
      return kUsage;
    }
    testing::GTEST_FLAG(filter) = name;
  }
  Session::get().compare_with_lease(visible);
  Session::get().listen(writer);
  return RUN_ALL_TESTS();
}

int run_main_with_helpers(int argc, char** argv, const std::vector<std::string>& needs,
                          const VisibleDevices& visible) {
  if (argc < 3 || std::string_view(argv[1]) != kHelperOption) return run_main(argc, argv, needs, visible);
  return run_helper(argv[2], {argv + 3, argv + argc});
}

}  // namespace proctor::suite
