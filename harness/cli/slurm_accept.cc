#include "harness/cli/slurm_accept.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "harness/base/number_text.h"
#include "harness/base/outside_program.h"
#include "harness/base/read_file.h"
#include "harness/base/slurm_job.h"
#include "harness/base/text.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/text_table.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/record/run_directory.h"
#include "reports/accept/accept_nodes.h"
#include "reports/resolve/truncate.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* kPackage = "slurm-client";
constexpr Milliseconds kQuestion{30'000};
constexpr Milliseconds kLongestStep{31LL * 24 * 3'600'000};  // Slurm has the limit of the job

// Of the allocation, one name each.
Result<Words> nodes_of_job() {
  const char* list = std::getenv("SLURM_JOB_NODELIST");
  if (!own_slurm_job() || list == nullptr || *list == '\0') {
    return Error::refused("`proctor slurm accept` runs in a Slurm job, and this is none",
                          "For example: salloc --nodes=4 --exclusive proctor slurm accept");
  }
  const auto done = run_outside_program(
      {.argv = {"scontrol", "show", "hostnames", list}, .package = kPackage, .time = kQuestion});
  if (!done) return done.error();
  Words names;
  std::istringstream lines(done->output);
  for (std::string name; lines >> name;) names.push_back(name);
  if (names.empty())
    return Error{
        ErrorKind::kSystem, fmt::format("list the nodes of the job: {}", one_line(done->errors, 200)), {}, 0};
  return names;
}

Result<std::string> make_directory(const std::string& out) {
  const fs::path path = out.empty() ? fs::path("proctor-out") / ("accept-" + new_run_id()) : fs::path(out);
  if (auto usable = check_run_directory(path.string()); !usable) return usable.error();
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (!error) fs::create_directories(absolute, error);
  if (error) return Error::system("make the directory " + path.string(), error.value());
  return absolute.string();
}

// One task on each node, which a broken one does not end for the others.
Words srun_line(const SlurmAcceptRequest& request, const Words& nodes, const std::string& directory,
                const Words& accept) {
  Words line = {"srun",
                fmt::format("--nodes={}", nodes.size()),
                "--ntasks-per-node=1",
                "--kill-on-bad-exit=0",
                "--wait=0",
                "--output=" + directory + "/%N.out",
                "--error=" + directory + "/%N.out"};
  line.insert(line.end(), request.srun_options.begin(), request.srun_options.end());
  line.insert(line.end(), {Installation().program(), "accept", "--out", directory + "/%N", "--json",
                           directory + "/%N.json"});
  line.insert(line.end(), accept.begin(), accept.end());
  return line;
}

AcceptedNode node_of(const std::string& name, const std::string& directory) {
  const std::string file = directory + "/" + name + ".json";
  const auto text = read_file(file);
  if (!text) {
    std::string said = read_file_or_empty(directory + "/" + name + ".out");
    while (!said.empty() && said.back() == '\n') said.pop_back();
    const std::string last = said.substr(said.rfind('\n') + 1);
    return {.name = name, .reason = "it gave no verdict" + (last.empty() ? "" : ": " + one_line(last, 160))};
  }
  auto node = read_accepted_node(name, *text);
  return node ? *std::move(node) : AcceptedNode{.name = name, .reason = "failed to " + node.error().what};
}

int tell(std::vector<AcceptedNode> nodes, const std::string& directory) {
  compare_nodes(nodes);
  std::vector<TextRow> rows;
  AcceptVerdict worst = AcceptVerdict::kAccepted;
  for (const AcceptedNode& node : nodes) {
    rows.push_back({node.name, count_text(static_cast<std::size_t>(node.devices), "device"),
                    std::string(to_string(node.verdict)), clean_text(node.reason)});
    worst = std::max(worst, node.verdict);
  }
  std::printf("%s\n",
              shown(text_table({"NODE", "DEVICES", "VERDICT", "REASON"}, rows, columns_of_stdout())).c_str());
  std::printf("not proven: the fabric between the nodes\n");
  std::printf("reports: %s\n", shown(directory).c_str());
  if (const std::string option = exclude_option(nodes); !option.empty())
    std::printf("to leave out what is not accepted: %s\n", shown(option).c_str());
  std::printf("%s · exit %d\n", std::string(to_string(worst)).c_str(), exit_code(worst));
  return said_all(exit_code(worst), "the verdicts");
}

}  // namespace

int slurm_accept(const SlurmAcceptRequest& request, const AfterDashes& after_dashes) {
  const auto nodes = nodes_of_job();
  if (!nodes) return fail(nodes.error());
  const auto directory = make_directory(request.out);
  if (!directory) return fail(directory.error());
  std::printf("%s, each accepted by itself, in %s\n", count_text(nodes->size(), "node").c_str(),
              shown(*directory).c_str());
  std::fflush(stdout);
  const auto done =
      run_outside_program({.argv = srun_line(request, *nodes, *directory, after_dashes.value_or(Words{})),
                           .package = kPackage,
                           .time = kLongestStep});
  if (!done) return fail(done.error());
  if (!done->errors.empty()) std::fprintf(stderr, "%s\n", shown(done->errors).c_str());
  std::vector<AcceptedNode> judged;
  for (const std::string& name : *nodes) judged.push_back(node_of(name, *directory));
  return tell(std::move(judged), *directory);
}

}  // namespace proctor::cli
