// A release that a gate accepts, as files, and changes of it. For the tests.
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

// One run of a scene, as records of its journal.
struct SceneRun {
  std::string directory{};
  std::vector<Json> records{};  // records of its journal: the plan first, the end last
  bool lists_rendered = false;  // the list of reports follows the end, as a runner writes it
  std::vector<Json> files{};    // changes of its files after all files are written (change_file())

  Json& plan() { return records.front(); }
};

// All inputs of a gate, before they are written to files.
struct GateScene {
  std::string policy{};
  std::vector<std::string> plan_ids{};
  std::vector<SceneRun> runs{};
  std::optional<GateKnownFailures> known_failures{};
  std::map<std::string, std::string> files{};  // files in the directory of the policy
  std::map<std::string, GateLock> locks{};
  std::optional<std::set<std::string>> signed_digests{};
  std::optional<GateBaseline> baseline{};
  std::map<std::string, std::string> subject = {{"commit", "c0ffee"}};
  std::string at = "2026-01-31T13:00:00Z";

  SceneRun& run() { return runs.front(); }
};

// One run of four cases on two cards, in which all cases pass.
GateScene good_scene();
// The good scene on hardware, with evidence from the kernel.
GateScene hardware_scene();
// The same cases as four shards of one plan. The last shard has no cases.
GateScene sharded_scene();

// ---- Changes of a scene ----

void add_gate_key(GateScene& scene, const std::string& line);
// Sets the attempts of a case. A verdict has the form "fail(wrong answer)". A case without attempts has no end.
void set_case(SceneRun& run, const std::string& id, const std::vector<std::string>& attempts);
void set_end(SceneRun& run, const std::string& id, const std::string& verdict);
void remove_case(SceneRun& run, const std::string& id);
// Adds a list with these entries to the policy (case, reason, device, owner, issue, added, expires, predicted, and the
// mistake in the entry), and makes the last case fail as expected.
void expect_failures(GateScene& scene, const Json& entries);
// Makes the cases of the plan equal to those of the run.
void plan_again(GateScene& scene);
// Returns the members of a plan file that a gate reads. `extent` has more members.
std::string plan_text(const std::vector<std::string>& ids, const Json& extent = Json::object());

// ---- Files ----

// Writes gate.toml, plan.json and the run directories.
void write_scene(const GateScene& scene, const std::filesystem::path& directory);
// Reads a written scene. `backwards` reverses the order of the runs.
Result<GateInputs> read_scene(const GateScene& scene, const std::filesystem::path& directory,
                              bool backwards = false);

// Returns the text of each rule that does not hold, for searches.
std::string describe(const GateVerdict& verdict);

}  // namespace proctor::testing_support
