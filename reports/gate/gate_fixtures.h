// A release that a gate lets pass, as files, and changes of it. For the tests.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/base/json.h"
#include "harness/base/result.h"
#include "reports/gate/gate.h"

namespace proctor::testing_support {

using Json = nlohmann::json;

struct SceneRun {
  std::string directory{};
  std::vector<Json> records{};  // of its journal: first the plan, last the end
  bool lists_rendered = false;  // behind its end, as a runner does
  std::vector<Json> files{};    // changes of its files, when all are written (change_file())

  Json& plan() { return records.front(); }
};

struct GateScene {
  std::string policy{};
  std::vector<std::string> plan_ids{};
  std::vector<SceneRun> runs{};
  std::optional<GateKnownFailures> known_failures{};
  std::map<std::string, std::string> files{};  // in the directory of the policy
  std::map<std::string, GateLock> locks{};
  std::optional<std::set<std::string>> signed_digests{};
  std::optional<GateBaseline> baseline{};
  std::map<std::string, std::string> subject = {{"commit", "c0ffee"}};
  std::string at = "2026-01-31T13:00:00Z";

  SceneRun& run() { return runs.front(); }
};

// One run of four cases on two cards, of which all is good.
GateScene good_scene();
// The good scene on hardware, with the evidence of the kernel.
GateScene hardware_scene();
// The same cases as four shards of one plan, of which the last one has none.
GateScene sharded_scene();

// ---- changes of a scene ----

void add_gate_key(GateScene& scene, const std::string& line);
// A verdict is written as in "fail(wrong answer)". A case without attempts has no end.
void set_case(SceneRun& run, const std::string& id, const std::vector<std::string>& attempts);
void set_end(SceneRun& run, const std::string& id, const std::string& verdict);
void remove_case(SceneRun& run, const std::string& id);
// The policy has a list with these entries (case, reason, device, owner, issue, added, expires, predicted, and the mistake
// that is found in it), and the last case fails as expected.
void expect_failures(GateScene& scene, const Json& entries);
// The cases of the run are those of the plan.
void plan_again(GateScene& scene);
// The members of a plan's file that a gate reads. `extent`: more members.
std::string plan_text(const std::vector<std::string>& ids, const Json& extent = Json::object());

// ---- files ----

// gate.toml, plan.json and the run directories.
void write_scene(const GateScene& scene, const std::filesystem::path& directory);
// Reads a scene that was written, with the runs in this order.
Result<GateInputs> read_scene(const GateScene& scene, const std::filesystem::path& directory,
                              bool backwards = false);

// The text of each rule that does not hold, to search in it.
std::string describe(const GateVerdict& verdict);

}  // namespace proctor::testing_support
