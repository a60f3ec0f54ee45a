#include "harness/frameworks/all_kinds.h"

#include <algorithm>

#include "harness/frameworks/benchmark.h"
#include "harness/frameworks/boost.h"
#include "harness/frameworks/catch2.h"
#include "harness/frameworks/command.h"
#include "harness/frameworks/doctest.h"
#include "harness/frameworks/gtest.h"
#include "harness/frameworks/proctor.h"
#include "harness/frameworks/pytest.h"

namespace proctor {

const std::vector<const Kind*>& all_kinds() {
  static const std::vector<const Kind*> kKinds{&proctor_kind(), &gtest_kind(),  &catch2_kind(),
                                               &doctest_kind(), &pytest_kind(), &benchmark_kind(),
                                               &boost_kind(),   &command_kind()};
  return kKinds;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind* kind : all_kinds()) names.emplace_back(kind->name());
  return names;
}

const Kind* find_kind(std::string_view name) {
  const auto& kinds = all_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind* kind) { return kind->name() == name; });
  return found == kinds.end() ? nullptr : *found;
}

const Kind* kind_of_command(const std::vector<std::string>& command) {
  const auto& kinds = all_kinds();
  const auto found = std::ranges::find_if(kinds, [&](const Kind* kind) { return kind->is_command(command); });
  return found == kinds.end() ? nullptr : *found;
}

std::vector<std::string> all_caller_filters() {
  std::vector<std::string> names;
  for (const Kind* kind : all_kinds())
    names.insert(names.end(), kind->traits().caller_filters.begin(), kind->traits().caller_filters.end());
  return names;
}

}  // namespace proctor
