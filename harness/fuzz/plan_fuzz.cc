// Fuzzes the plan readers of a run and of the gate. The fuzzer corrects the digest, so that the code after the digest
// check is reached.
#include "harness/base/digest.h"
#include "harness/base/json.h"
#include "harness/fuzz/fuzz.h"
#include "harness/plan/plan_file.h"
#include "harness/process/ranks/rank_plan.h"
#include "reports/gate/plan_ids.h"

namespace {

using namespace proctor;

std::string with_digest(const std::string& text) {
  nlohmann::json plan = parse_json(text);
  if (!plan.is_object()) return text;
  plan.erase("digest");
  plan["digest"] = sha256_hex(plan.dump());
  return plan.dump();
}

void plan(const std::string& text) {
  const PlanDirectories here{.start = "/s", .programs = "/p", .shared = "/d"};
  const std::string whole = with_digest(text);
  const auto file = parse_plan_file(whole, "f", here);
  if (!file) return;
  const auto again = plan_file_text(*file, here);
  fuzz::check(again && parse_plan_file(*again, "f", here));
  static_cast<void>(parse_gate_plan(whole, "f"));
}

void ids(const std::string& text) { static_cast<void>(parse_gate_plan(text, "f")); }

void ranks(const std::string& text) {
  const auto plan = parse_rank_plan(text);
  if (plan) fuzz::check(parse_rank_plan(to_text(*plan)).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::give(data, size, {plan, ids, ranks});
  return 0;
}
