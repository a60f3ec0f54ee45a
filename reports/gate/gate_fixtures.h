// A release that a gate lets pass, and the wrong ways to green: each one changes that release a little. For the tests.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "reports/gate/gate.h"

namespace proctor::testing_support {

struct SceneCase {
  std::string id{};
  std::vector<Verdict> attempts{};  // empty: it was never started
  std::optional<Verdict> end{};     // none: as the last attempt
  std::string device = "xpu:0000:03:00.0";
  std::string suite = "memory";
};

struct SceneRun {
  std::string directory{};
  RunPlanned plan{};
  std::vector<SceneCase> cases{};
  std::vector<EnvironmentVariable> environment{};  // of each attempt
  std::vector<Event> extra{};                      // before the end of the run
  bool ended = true;
  bool says_rendered = false;  // behind its end, as a runner does
  std::string finished = "2026-01-31T12:00:09Z";
  std::function<void(std::vector<std::string>& lines)> change_lines{};           // with the right digests
  std::function<void(const std::filesystem::path& run_dir)> change_directory{};  // when all is written
};

struct GateScene {
  std::string gate_keys{};
  std::string skips{};
  std::string cell_keys{};
  std::string more_policy{};
  std::optional<std::string> whole_policy{};  // in place of these
  std::vector<std::string> plan_ids{};
  std::vector<SceneRun> runs{};
  std::optional<GateKnownFailures> known_failures{};
  std::map<std::string, std::string> files{};  // beside the policy: what these are read from
  std::map<std::string, GateLock> locks{};
  std::optional<std::set<std::string>> signed_digests{};
  std::optional<GateBaseline> baseline{};
  std::map<std::string, std::string> subject = {{"commit", "c0ffee"}};
  std::string at = "2026-01-31T13:00:00Z";

  SceneRun& run() { return runs.front(); }
};

// One run of four cases on two cards, of which all is good.
GateScene good_scene();
// A case passed, and the list predicts that it fails.
GateScene unmet_prediction_scene();
// The same on hardware, as the kernel says.
GateScene hardware_scene();
// The same cases as four shards of one plan, of which the last one has none.
GateScene sharded_scene();

struct WrongWay {
  int number = 0;  // in docs/reference/gate.md; 0: it has none
  std::string name{};
  GateScene scene{};
  std::string rule{};               // that is red; "": it cannot be read
  std::vector<std::string> says{};  // parts of what is said
};
std::vector<WrongWay> wrong_ways();

std::string policy_text(const GateScene& scene);
// gate.toml, plan.json and the run directories.
void write_scene(const GateScene& scene, const std::filesystem::path& directory);
// What is read of a scene that was written, with the runs in this order.
Result<GateInputs> read_scene(const GateScene& scene, const std::filesystem::path& directory,
                              bool backwards = false);

// All that a verdict says, for a search in it.
std::string words_of(const GateVerdict& verdict);

}  // namespace proctor::testing_support
