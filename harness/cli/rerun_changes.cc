#include "harness/cli/rerun_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/digest.h"
#include "harness/base/read_file.h"
#include "harness/base/words.h"
#include "harness/cli/shared_options.h"
#include "harness/runner/machine/machine.h"
#include "harness/runner/record/program_digests.h"

namespace proctor::cli {
namespace {

constexpr std::size_t kShownDigits = 12;

std::string change(const std::string& path, const std::string& then, const std::string& now) {
  return fmt::format("{}: sha256 was {}, and is {} now", path, then.substr(0, kShownDigits),
                     now.substr(0, kShownDigits));
}

void compare_file(const std::string& path, const std::string& then, std::vector<std::string>& changes) {
  const auto text = read_file(path);
  if (!text) {
    changes.push_back(fmt::format("{}: sha256 was {}, and now failed to {}", path,
                                  then.substr(0, kShownDigits), text.error().what));
  } else if (const std::string now = sha256_hex(*text); now != then) {
    changes.push_back(change(path, then, now));
  }
}

class DigestsNow : public EventSink {
 public:
  void on(const Event& event) override {
    if (const auto* read = std::get_if<ProgramRead>(&event)) digests_[read->program] = *read;
  }
  const std::map<std::string, ProgramRead>& digests() const { return digests_; }

 private:
  std::map<std::string, ProgramRead> digests_;
};

std::vector<PlannedSuite> suites_of(const ResolvedRun& run, const std::vector<std::string>& case_ids) {
  std::set<std::string> names;
  for (const std::string& id : case_ids) {
    if (const ResolvedCase* test = run.find(id)) names.insert(test->planned.suite);
  }
  std::vector<PlannedSuite> suites = run.plan.suites;
  if (!names.empty())
    std::erase_if(suites, [&](const PlannedSuite& suite) { return !names.contains(suite.name); });
  return suites;
}

// Compares the programs whose digests are in the journal.
void compare_programs(const ResolvedRun& run, const std::vector<PlannedSuite>& suites,
                      std::vector<std::string>& changes) {
  DigestsNow now;
  for (ProgramDigests programs(suites); !programs.is_done();) programs.read_piece(now);
  std::set<std::string> seen;
  for (const PlannedSuite& suite : suites) {
    const std::string then = run.program_read(suite).sha256;
    if (then.empty() || !seen.insert(suite.program).second) continue;
    const auto read = now.digests().find(suite.program);
    if (read == now.digests().end() || read->second.sha256.empty()) {
      changes.push_back(fmt::format("{}: sha256 was {}, and now the file cannot be read", suite.program,
                                    then.substr(0, kShownDigits)));
    } else if (read->second.sha256 != then) {
      changes.push_back(change(suite.program, then, read->second.sha256));
    }
  }
}

// ---- Devices ----

// Returns the device ids in --devices and --pin of a rerun.
std::set<std::string> devices_named_in(const std::vector<std::string>& words) {
  std::set<std::string> ids;
  std::string list = option_value(words, "--devices");
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    if (*word == "--pin" && word + 1 != words.end()) list += ',' + word[1].substr(word[1].rfind('=') + 1);
  }
  for (const std::string_view id : split(list, ',')) ids.emplace(id);
  return ids;
}

std::vector<Backend> backends_of(const std::vector<PlannedDevice>& devices) {
  std::vector<Backend> backends;
  for (const PlannedDevice& device : devices) {
    const auto backend = parse_backend(device.backend);
    if (backend && std::ranges::find(backends, *backend) == backends.end()) backends.push_back(*backend);
  }
  return backends;
}

Result<FoundDevices> devices_here(const ResolvedRun& run, const RerunCommand& command,
                                  const std::vector<PlannedDevice>& wanted) {
  MachineOptions options;
  if (run.plan.sim) options.sim = option_value(command.words, "--sim");
  const auto machine = Machine::open(options, "rerun");
  if (!machine) return machine.error();
  return (*machine)->devices(backends_of(wanted));
}

// A missing device is an error of the machine, not a usage error.
Error not_here(const std::string& what) {
  return {ErrorKind::kSystem, "run again on the same device: " + what,
          "Use `proctor rerun --any-device` to use any device of this machine.", 0};
}

}  // namespace

std::vector<std::string> changes_since(const ResolvedRun& run, const std::vector<std::string>& case_ids) {
  std::vector<std::string> changes;
  for (const InputFile& input : run.plan.inputs) compare_file(input.file, input.sha256, changes);
  if (const auto& known = run.plan.known_failures) compare_file(known->file, known->sha256, changes);
  compare_programs(run, suites_of(run, case_ids), changes);
  return changes;
}

std::vector<std::string> untold_by(const ResolvedRun& run, const std::vector<std::string>& case_ids) {
  std::vector<std::string> untold;
  for (const PlannedSuite& suite : suites_of(run, case_ids)) {
    if (!suite.program.empty() && run.program_read(suite).sha256.empty())
      untold.push_back("the journal has no digest of " + suite.program);
  }
  return untold;
}

Result<void> check_same_devices(const ResolvedRun& run, const RerunCommand& command) {
  const std::set<std::string> ids = devices_named_in(command.words);
  std::vector<PlannedDevice> wanted = run.plan.devices;
  std::erase_if(wanted, [&](const PlannedDevice& device) { return !ids.contains(device.id); });
  if (wanted.empty()) return {};
  const auto here = devices_here(run, command, wanted);
  if (!here) return here.error();
  for (const PlannedDevice& device : wanted) {
    const PoolDevice* found = here->find(device.id);
    if (found == nullptr) {
      std::string all;
      for (const PoolDevice& other : here->pool) all += (all.empty() ? "" : ", ") + other.device.id;
      return not_here(fmt::format("{} is not on this machine; {}", device.id,
                                  all.empty() ? "there is no device" : "its devices are " + all));
    }
    if (found->device.uuid != device.uuid) {
      return not_here(fmt::format("{} is another card: its UUID was {}, and is {} now", device.id,
                                  device.uuid, found->device.uuid));
    }
  }
  return {};
}

}  // namespace proctor::cli
