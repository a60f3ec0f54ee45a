#include "harness/base/surroundings.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace proctor {
namespace {

std::string_view value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

}  // namespace

bool in_github_actions() { return value_of("GITHUB_ACTIONS") == "true"; }

bool in_ci() {
  const std::string_view text = value_of("CI");
  return !text.empty() && text != "false" && text != "0";
}

namespace {

using SlurmVariables = std::map<std::string, std::string>;

constexpr std::size_t kMostIdDigits = 10;
constexpr const char* kJobId = "SLURM_JOB_ID";
constexpr const char* kClusterName = "SLURM_CLUSTER_NAME";
constexpr const char* kNodeName = "SLURMD_NODENAME";

std::string slurm_value(const SlurmVariables& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::string short_host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return {};
  const std::string_view whole = name;
  return std::string(whole.substr(0, whole.find('.')));
}

std::string own_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the first of these variables that is a number, or 1.
int first_number(const SlurmVariables& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::string text = slurm_value(environment, name);
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number > 0) return number;
  }
  return 1;
}

}  // namespace

bool is_slurm_job_id(std::string_view text) {
  return !text.empty() && text.size() <= kMostIdDigits && text.find_first_not_of("0123456789") == text.npos;
}

std::optional<SlurmJob> slurm_job_of(const SlurmVariables& environment) {
  SlurmJob job{.id = slurm_value(environment, kJobId),
               .cluster = slurm_value(environment, kClusterName),
               .node = slurm_value(environment, kNodeName)};
  if (!is_slurm_job_id(job.id)) return std::nullopt;
  return job;
}

std::optional<SlurmJob> own_slurm_job() {
  SlurmVariables variables;
  for (const char* name : {kJobId, kClusterName, kNodeName}) variables[name] = own_value(name);
  return slurm_job_of(variables);
}

int slurm_nodes(const SlurmVariables& environment) {
  return first_number(environment, {"SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"});
}

std::string own_slurm_node() {
  std::string node = own_value(kNodeName);
  return node.empty() && own_slurm_job() ? short_host_name() : node;
}

// scontrol parses its command line again, and a line break would end the command there.
std::vector<std::string> slurm_drain_command(const std::string& node, const std::string& reason) {
  std::string line = reason;
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\''; }, ' ');
  return {"scontrol", "update", "NodeName=" + node, "State=DRAIN", "Reason=" + line};
}

}  // namespace proctor
