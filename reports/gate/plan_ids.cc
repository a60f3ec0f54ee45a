#include "reports/gate/plan_ids.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/digest.h"
#include "harness/base/json.h"
#include "harness/base/named_file.h"

namespace proctor {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& array_of(const Json& object, const char* member) {
  static const Json kNone = Json::array();
  const auto found = object.find(member);
  return found != object.end() && found->is_array() ? *found : kNone;
}

// Returns "" if each case belongs to a suite, otherwise the mistake.
std::string read_cases(const Json& file, GatePlan& plan) {
  const Json& suites = array_of(file, "suites");
  for (const Json& test : array_of(file, "cases")) {
    const std::string id = text_of(test, "id");
    const auto number = test.find("suite");
    if (number == test.end() || !number->is_number_unsigned() || number->get<std::size_t>() >= suites.size())
      return fmt::format("its case {} belongs to no suite", id);
    const Json& suite = suites[number->get<std::size_t>()];
    plan.cases[{text_of(suite, "name"), text_of(suite, "backend")}].push_back(id);
  }
  for (auto& [suite, ids] : plan.cases) std::ranges::sort(ids);
  return "";
}

// Returns "" if the file is a plan, otherwise the mistake. The digest covers all members except `digest`
// (harness/plan/plan_file.cc).
std::string read_plan(Json file, GatePlan& plan) {
  if (!file.is_object() || text_of(file, "format") != "proctor-plan") return "it is not a Proctor plan";
  if (const Json version = file.value("version", Json()); version != kPlanFileVersion)
    return fmt::format("its format is version {}, and this Proctor reads version {}", version.dump(),
                       kPlanFileVersion);
  plan.digest = text_of(file, "digest");
  file.erase("digest");
  if (sha256_hex(file.dump()) != plan.digest)
    return "it was changed after it was written: its digest does not match its content";
  if (const std::string point = text_of(file, "point"); !point.empty())
    return fmt::format("it was written with --suite-arg point={}, and runs each check with that point only",
                       point);
  plan.size = text_of(file, "size");
  plan.plan_digest = text_of(file, "plan_digest");
  if (const Json seed = file.value("seed", Json(0)); seed != 0) plan.seed = seed.dump();
  return read_cases(file, plan);
}

}  // namespace

Result<GatePlan> parse_gate_plan(std::string_view text, const std::string& file) {
  GatePlan plan;
  plan.file = file;
  const std::string why = read_plan(parse_json(text), plan);
  if (why.empty()) return plan;
  return Error::usage(fmt::format("read the plan {}: {}", file, why),
                      "Write it with `proctor plan -o FILE`, and do not change it.");
}

}  // namespace proctor
