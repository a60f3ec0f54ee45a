#include "harness/cli/completion_words.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "harness/classify/rules.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/journal/containment_layer.h"
#include "harness/plan/load_config.h"
#include "harness/runner/machine/installation.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_resolver.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRuns = "proctor-out";

std::vector<std::string> suites() {
  std::error_code error;
  const ConfigOptions where{
      .directory = fs::current_path(error).string(),
      .config_file = {},
      .user_file = user_config_file(std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME")),
      .profile = {}};
  const auto config = load_config(where, {}, Installation().builtin_suites());
  std::vector<std::string> names;
  if (!config) return names;
  const bool has_own = std::ranges::any_of(config->suites, [](const auto& suite) { return !suite.built_in; });
  for (const SuiteConfig& suite : config->suites) {
    if (suite.built_in == has_own) continue;  // as `run` without names chooses
    if (std::ranges::find(names, suite.suite.name) == names.end()) names.push_back(suite.suite.name);
  }
  return names;
}

std::vector<std::string> runs() {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kRuns, error)) {
    if (fs::exists(entry.path() / "journal.jsonl", error)) found.push_back(entry.path().string());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::vector<std::string> completion_words(std::string_view kind, const std::string& run) {
  if (kind == "suites") return suites();
  if (kind == "runs") return runs();
  if (kind == "layers") return layer_names();
  if (kind == "frameworks") return kind_names();
  std::vector<std::string> words;
  if (kind == "rules") {
    for (const Rule& rule : rules()) words.push_back(rule.id);
  }
  if (kind != "cases" && kind != "devices") return words;
  const auto resolved =
      load_journal((run.empty() ? fs::path(kRuns) / "latest" : fs::path(run)) / "journal.jsonl");
  if (!resolved) return words;
  for (const ResolvedCase& test : resolved->cases) {
    if (kind == "cases") words.push_back(test.planned.id);
  }
  for (const PlannedDevice& device : resolved->plan.devices) {
    if (kind == "devices") words.push_back(device.id);
  }
  return words;
}

}  // namespace proctor::cli
