#include "harness/plan/concurrency_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.h"

namespace proctor {
namespace {

constexpr int kMostAtOnce = 100'000;

}  // namespace

const std::vector<std::string>& concurrency_group_keys() {
  static const std::vector<std::string> keys = {"max"};
  return keys;
}

void ConcurrencyGroups::read_group(TableReader& reader, const std::string& name, const std::string& origin) {
  Definition& group = definitions_[name];
  group.origin = origin;
  reader.require({"max"}, "Write how many of its cases may run at once: max = 1.");
  reader.read_number("max", group.max, 1, kMostAtOnce);
}

void ConcurrencyGroups::read_key(TableReader& reader, const std::string& file,
                                 std::optional<std::string>& group) {
  std::optional<std::string> name;
  reader.declare("group", R"({"type": "string", "pattern": "^[A-Za-z0-9_-]+$"})");
  reader.read("group", name);
  if (!name) return;
  if (*name != kNoConcurrencyGroup) uses_.push_back({*name, position(file, *reader.node("group"))});
  group = *name == kNoConcurrencyGroup ? "" : *name;
}

std::optional<Error> ConcurrencyGroups::problem() const {
  for (const Use& use : uses_) {
    if (definitions_.contains(use.name)) continue;
    std::vector<std::string> names;
    for (const auto& [name, group] : definitions_) names.push_back(name);
    return Error::refused(fmt::format("{}: `group` is \"{}\", but there is no [group.{}]", use.origin,
                                      clean_text(use.name), clean_text(use.name)),
                          names.empty() ? fmt::format("Write [group.{}] with max = 1.", clean_text(use.name))
                                        : suggestion(use.name, names, "groups"));
  }
  for (const auto& [name, group] : definitions_) {
    if (std::ranges::find(uses_, name, &Use::name) != uses_.end()) continue;
    return Error::refused(fmt::format("{}: no suite and no case is in [group.{}]", group.origin, name),
                          fmt::format("Write group = \"{}\" in a suite or an [[override]].", name));
  }
  return std::nullopt;
}

std::map<std::string, int> ConcurrencyGroups::limits() const {
  std::map<std::string, int> limits;
  for (const auto& [name, group] : definitions_) limits[name] = group.max;
  return limits;
}

}  // namespace proctor
