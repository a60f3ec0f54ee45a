#include "reports/resolve/rerun.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

// How a rerun treats an option of the run.
enum class Role {
  kReports,    // reports, display and subject: the new run has its own
  kSelection,  // selection of cases: a rerun of cases has --case instead
  kShard,      // like kSelection, but a rerun of the complete run repeats this shard
  kRest,       // like kSelection: which cases of the command line this run executes
  kWholeRun,   // meaningless for a part of the cases
  kClock,      // a time limit for the complete run
  kDevices,    // a rerun of cases uses the devices on which they ran
};

// An option of `proctor run` or `proctor exec` that a rerun treats specially.
struct Option {
  std::string_view name;
  bool has_value;
  Role role;
};

constexpr std::array kOptions = {
    Option{"--out", true, Role::kReports},         Option{"--join", true, Role::kReports},
    Option{"--junit", true, Role::kReports},       Option{"--history", true, Role::kReports},
    Option{"--subject", true, Role::kReports},     Option{"--dry-run", false, Role::kReports},
    Option{"--show-output", true, Role::kReports}, Option{"--durations", true, Role::kReports},
    Option{"--color", true, Role::kReports},       Option{"--verbose", false, Role::kReports},
    Option{"-v", false, Role::kReports},           Option{"--quiet", false, Role::kReports},
    Option{"-q", false, Role::kReports},           Option{"--filter", true, Role::kSelection},
    Option{"--case", true, Role::kSelection},      Option{"--exclude", true, Role::kSelection},
    Option{"--label", true, Role::kSelection},     Option{"--tag", true, Role::kSelection},
    Option{"--shard", true, Role::kShard},         Option{"--min-executed", true, Role::kWholeRun},
    Option{"--deadline", true, Role::kClock},      Option{"--devices", true, Role::kDevices},
    Option{"--pin", true, Role::kDevices},         Option{"--remaining-of", true, Role::kRest}};

// The variables by which a caller hides devices, by their names in the stack of a run.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kMasks = {
    {{"xpu.caller_mask", "ZE_AFFINITY_MASK"},
     {"xpu.caller_order", "ZE_ENABLE_PCI_ID_DEVICE_ORDER"},
     {"cuda.caller_mask", "CUDA_VISIBLE_DEVICES"},
     {"cuda.caller_order", "CUDA_DEVICE_ORDER"}}};
constexpr std::string_view kHierarchy = "ZE_FLAT_DEVICE_HIERARCHY";
constexpr std::string_view kUsualHierarchy = "COMPOSITE";

// Returns "--jobs" for "--jobs=4", and "-j" for "-j4". No other short option has a value.
std::string_view name_of(std::string_view word) {
  return word.starts_with("-j") ? word.substr(0, 2) : word.substr(0, word.find('='));
}

const Option* option_of(std::string_view word) {
  const auto* const found = std::ranges::find(kOptions, name_of(word), &Option::name);
  return found != kOptions.end() ? found : nullptr;
}

using Words = std::vector<std::string>;

// Returns the words before `--` for which `is_dropped(option)` returns nothing, and all words after it. Each dropped
// option is added to `dropped`.
template <typename IsDropped>
Words without(const Words& words, const IsDropped& is_dropped, Words* dropped = nullptr) {
  const auto command = std::find(words.begin(), words.end(), "--");
  Words kept;
  for (auto word = words.begin(); word != command; ++word) {
    const std::optional<Option> option = is_dropped(*word);
    if (!option) {
      kept.push_back(*word);
      continue;
    }
    std::string text = *word;
    if (option->has_value && *word == name_of(*word) && word + 1 != command) text += ' ' + *++word;
    if (dropped != nullptr) dropped->push_back(text);
  }
  kept.insert(kept.end(), command, words.end());
  return kept;
}

Words without_roles(const Words& words, const std::vector<Role>& roles, Words* dropped = nullptr) {
  const auto has_role = [&](std::string_view word) -> std::optional<Option> {
    const Option* option = option_of(word);
    if (option == nullptr || std::ranges::find(roles, option->role) == roles.end()) return std::nullopt;
    return *option;
  };
  return without(words, has_role, dropped);
}

bool has_option(const Words& words, std::string_view name) {
  const auto command = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), command, [&](const std::string& word) { return name_of(word) == name; });
}

// Inserts words before the `--` that ends the options of Proctor.
void add_words(Words& words, const Words& more) {
  words.insert(std::find(words.begin(), words.end(), "--"), more.begin(), more.end());
}

// Keeps all options of `proctor exec` except those about the subject and the reports.
Words exec_again(const Words& words) { return without_roles(words, {Role::kReports}); }

// Returns whether `--repeat` has until-fail without a bound. Only the path of `new:N=PATH` follows an equals sign.
bool is_endless(std::string_view repeats) {
  const auto parts = split(repeats.substr(0, repeats.find('=')), ',');
  const auto is_bound = [](std::string_view part) {
    return part.starts_with("new:") || (!part.empty() && part[0] >= '0' && part[0] <= '9');
  };
  return std::ranges::find(parts, "until-fail") != parts.end() && std::ranges::none_of(parts, is_bound);
}

// Repeats the complete run if there are no ids. A run that repeats until a case fails keeps its deadline, because it
// has no other end.
void run_again(const Words& words, const std::vector<std::string>& case_ids, RerunCommand& again) {
  again.words = without_roles(words, {Role::kReports});
  const bool needs_deadline = is_endless(option_value(words, "--repeat"));
  if (!needs_deadline) again.words = without_roles(again.words, {Role::kClock}, &again.left_out);
  if (case_ids.empty()) {
    again.words = without_roles(again.words, {Role::kShard});
    return;
  }
  again.words = without_roles(again.words, {Role::kSelection, Role::kRest});
  again.words = without_roles(again.words, {Role::kShard, Role::kWholeRun}, &again.left_out);
}

// ---- The same devices ----

// Each process simulates all Intel cards itself, so that none can be selected.
bool can_choose(const ResolvedRun& run, const ResolvedCase& test) {
  const auto& sim = run.plan.sim;
  return test.planned.devices > 0 && !(sim && sim->driver == "intel" && test.planned.backend == "xpu");
}

// Returns whether the simulated machine has only these devices, so that every run gets them.
bool are_all_of_simulation(const ResolvedRun& run, const std::vector<std::string>& devices) {
  const bool is_masked = std::ranges::any_of(run.plan.stack, [](const auto& entry) {
    return std::ranges::find(kMasks, entry.first, &std::pair<std::string_view, std::string_view>::first) !=
           kMasks.end();
  });
  if (is_masked) return false;
  std::vector<std::string> all;
  for (const PlannedDevice& device : run.plan.devices) all.push_back(device.id);
  return run.plan.sim && devices == all;
}

// If all cases had the same devices, the rerun gets exactly these. Otherwise each case is bound to the first device
// that it had.
void add_devices(const ResolvedRun& run, const std::vector<std::string>& case_ids, RerunCommand& again) {
  std::vector<const ResolvedCase*> records;
  std::set<std::vector<std::string>> lists;
  for (const std::string& id : case_ids) {
    const ResolvedCase* test = run.find(id);
    if (test == nullptr || !can_choose(run, *test)) continue;
    records.push_back(test);
    lists.insert(devices_of(*test));
  }
  if (lists.empty() || has_option(again.words, "--each-device")) return;
  if (lists.size() == 1) {
    const std::vector<std::string>& devices = *lists.begin();
    if (devices.empty() || are_all_of_simulation(run, devices)) return;
    again.words = without_options(again.words, {"--devices", "--pin"});
    add_words(again.words, {"--devices", joined(devices, ",")});
    return;
  }
  again.words = without_options(again.words, {"--pin"});
  for (const ResolvedCase* test : records) {
    const auto devices = devices_of(*test);
    if (test->planned.devices != 1 && !devices.empty()) again.on_others.push_back(test->planned.id);
    if (test->planned.devices != 1 || devices.empty()) continue;
    add_words(again.words, {"--pin", test->planned.id + "=" + devices.front()});
  }
}

std::vector<std::string> all_ids(const ResolvedRun& run) {
  std::vector<std::string> ids;
  for (const ResolvedCase& test : run.cases) ids.push_back(test.planned.id);
  return ids;
}

// ---- The caller's variables ----

void add_variable(const std::string& name, const std::string& value, std::vector<std::string>& environment) {
  const bool is_there = std::ranges::any_of(
      environment, [&](const std::string& variable) { return variable.starts_with(name + "="); });
  if (!is_there) environment.push_back(name + "=" + value);
}

// Adds the device hierarchy of Intel cards with several tiles, if the caller set it and not the configuration.
void add_hierarchy(const ResolvedCase& test, std::vector<std::string>& environment) {
  if (test.attempts.empty()) return;
  for (const EnvironmentVariable& variable : test.attempts.front().environment()) {
    const bool is_unusual = variable.value && *variable.value != kUsualHierarchy;
    if (variable.name == kHierarchy && is_unusual) add_variable(variable.name, *variable.value, environment);
  }
}

std::set<std::string> suites_of(const ResolvedRun& run, const std::vector<std::string>& case_ids) {
  std::set<std::string> suites;
  for (const auto& id : case_ids) {
    if (const ResolvedCase* test = run.find(id)) suites.insert(test->planned.suite);
  }
  return suites;
}

// Returns the variables for these cases; without ids, for all cases.
std::vector<std::string> variables_of(const ResolvedRun& run, const std::vector<std::string>& case_ids) {
  const RunPlanned& plan = run.plan;
  const std::set<std::string> suites = suites_of(run, case_ids);
  std::vector<std::string> environment;
  for (const auto& [name, value] : plan.stack) {
    if (name == kSimFaultsEntry) add_variable("PROCTOR_SIM_FAULTS", value, environment);
    for (const auto& [entry, variable] : kMasks) {
      if (name == entry) add_variable(std::string(variable), value, environment);
    }
  }
  for (const std::string& id : case_ids.empty() ? all_ids(run) : case_ids) {
    if (const ResolvedCase* test = run.find(id)) add_hierarchy(*test, environment);
  }
  for (const NarrowingVariable& variable : plan.restrictions.variables) {
    const bool is_wanted = suites.empty() || suites.contains(variable.suite);
    if (is_wanted && variable.by == "caller") add_variable(variable.name, variable.value, environment);
  }
  return environment;
}

RerunCommand command_of(const std::string& text, const std::string& directory) {
  RerunCommand command{.environment = {}, .words = {}, .directory = directory};
  auto words = shell_words(text);
  if (!words) return command;
  auto word = words->begin();
  if (words->size() > 3 && *word == "cd") {
    command.directory = word[1];
    word += 3;
  }
  for (; word != words->end() && word->find('=') != word->npos && word->find('/') > word->find('='); ++word)
    command.environment.push_back(*word);
  command.words.assign(word, words->end());
  return command;
}

// Returns nothing for a run that was not joined from parts. The suites of a joined run were started one by one.
std::optional<RerunCommand> joined_again(const ResolvedRun& run, const std::vector<std::string>& case_ids) {
  const auto& stack = run.plan.stack;
  const auto is_command = [](const auto& entry) { return entry.first.starts_with(kCommandEntry); };
  if (std::ranges::none_of(stack, is_command)) return std::nullopt;
  std::set<std::string> wanted;
  for (const auto& [name, value] : stack) {
    if (case_ids.empty() && name.starts_with(kCommandEntry)) wanted.insert(value);
  }
  for (const auto& id : case_ids) {
    const ResolvedCase* test = run.find(id);
    const auto found = std::ranges::find_if(stack, [&](const auto& entry) {
      return test != nullptr && is_command(entry) &&
             std::string_view(entry.first).substr(kCommandEntry.size()) == test->planned.suite;
    });
    wanted.insert(found == stack.end() ? "" : found->second);
  }
  if (wanted.size() != 1) return RerunCommand{.environment = {}, .words = {}, .directory = {}};
  RerunCommand command = command_of(*wanted.begin(), run.plan.directory);
  run_again(Words(command.words), case_ids, command);
  return command;
}

// For a run of another subcommand, it returns `proctor run` with the suites of the cases.
Words describe_run(const ResolvedRun& run, const std::vector<std::string>& case_ids) {
  const Words& words = run.plan.command_line;
  if (words.size() >= 2 && words[1] == "run") return words;
  Words command = {words.empty() ? "proctor" : words[0], "run"};
  for (const auto& id : case_ids) {
    const ResolvedCase* test = run.find(id);
    if (test != nullptr && std::find(command.begin(), command.end(), test->planned.suite) == command.end())
      command.push_back(test->planned.suite);
  }
  return command;
}

}  // namespace

std::vector<std::string> devices_of(const ResolvedCase& test) {
  std::vector<std::string> devices;
  for (const Attempt& attempt : test.attempts) {
    for (const std::string& device : attempt.start.devices) {
      if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
    }
  }
  return devices;
}

std::vector<std::string> without_options(const std::vector<std::string>& words,
                                         const std::vector<std::string>& names) {
  return without(words, [&](std::string_view word) -> std::optional<Option> {
    if (std::ranges::find(names, name_of(word)) == names.end()) return std::nullopt;
    const Option* option = option_of(word);
    return option != nullptr ? *option : Option{name_of(word), word != "--each-device", Role::kReports};
  });
}

std::string option_value(const std::vector<std::string>& words, std::string_view option) {
  const auto command = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin(); word != command; ++word) {
    if (*word == option && word + 1 != command) return word[1];
    if (name_of(*word) == option && word->size() > option.size()) return word->substr(option.size() + 1);
  }
  return {};
}

std::string directory_of_run(const RunPlanned& plan) {
  const std::string out = option_value(plan.command_line, "--out");
  return out.empty() ? "proctor-out/" + plan.run_id : out;
}

std::string command_text(const RerunCommand& command, const std::string& directory) {
  std::string out;
  if (command.directory != directory) out += "cd " + quoted_word(command.directory) + " && ";
  for (const auto& variable : command.environment) {
    const std::size_t value = variable.find('=') + 1;
    out += variable.substr(0, value) + quoted_word(variable.substr(value)) + ' ';
  }
  for (const auto& word : command.words) out += quoted_word(word) + ' ';
  out.pop_back();
  return out;
}

RerunCommand rerun_of(const ResolvedRun& run, const std::vector<std::string>& case_ids, RerunOn on) {
  const auto part = joined_again(run, case_ids);
  RerunCommand again = part.value_or(
      RerunCommand{.environment = variables_of(run, case_ids), .words = {}, .directory = run.plan.directory});
  if (part && again.words.empty()) return again;
  if (run.plan.exec) {
    again.words = exec_again(run.plan.command_line);
  } else if (!part) {
    run_again(describe_run(run, case_ids), case_ids, again);
  }
  if (on == RerunOn::kAny) {
    again.words = without_roles(again.words, {Role::kDevices});
  } else if (on == RerunOn::kSame) {
    add_devices(run, run.plan.exec ? all_ids(run) : case_ids, again);
  }
  if (run.plan.exec) return again;
  for (const auto& id : case_ids) add_words(again.words, {"--case", id});
  if (const auto& shard = run.plan.shard; shard && case_ids.empty() && !part)
    add_words(again.words, {fmt::format("--shard={}/{}", shard->index, shard->count)});
  return again;
}

std::optional<SharedProcess> shared_process_of(const ResolvedRun& run, const std::string& case_id) {
  const ResolvedCase* test = run.find(case_id);
  for (const Attempt& attempt : test != nullptr ? std::span(test->attempts) : std::span<const Attempt>()) {
    if (!attempt.end || attempt.start.log.empty() || is_unproven(attempt)) continue;
    bool is_shared = false;
    SharedProcess shared{.was_bad = is_bad(verdict_of(attempt).outcome)};
    for (const ResolvedCase& other : run.cases) {
      const auto sibling = std::ranges::find(other.attempts, attempt.start.log,
                                             [](const Attempt& each) { return each.start.log; });
      if (&other == test || sibling == other.attempts.end()) continue;
      is_shared = true;
      if (sibling->start.at_ms <= attempt.start.at_ms) shared.before.push_back(other.planned.id);
    }
    if (is_shared) return shared;
  }
  return std::nullopt;
}

std::string command_of_part(const ResolvedRun& run, const std::string& directory) {
  return command_text(rerun_of(run, {}), directory);
}

namespace {

// The options before the id of the case.
constexpr std::string_view kCaseOption = " --case ";
constexpr std::string_view kBisect = " --bisect ";

// Returns the command that runs the case after its predecessors, because the case passes alone.
std::string bisect_command(const ResolvedRun& run, const ResolvedCase& test) {
  const Words& words = run.plan.command_line;
  return shell_quote(words.empty() ? "proctor" : words.front()) + " rerun " +
         shell_quote(directory_of_run(run.plan)) + std::string(kBisect) + quoted_word(test.planned.id);
}

RerunLine line_of(const ResolvedRun& run, const ResolvedCase& test) {
  const bool bisects = test.fails_only_after_others;
  const RerunCommand again = bisects ? RerunCommand() : rerun_of(run, {test.planned.id});
  RerunLine line;
  line.before = bisects ? bisect_command(run, test) : command_text(again, run.plan.directory);
  line.left_out = joined(again.left_out, ", ");
  const std::string selection(bisects ? kBisect : kCaseOption);
  const std::string id = quoted_word(test.planned.id);
  const std::size_t at = line.before.find(selection + id);
  if (at == std::string::npos || run.plan.exec) return line;
  line.after = line.before.substr(at + selection.size() + id.size());
  line.before.resize(at + selection.size());
  return line;
}

// Cases with the same key share a line.
std::string key_of_line(const ResolvedCase& test) {
  if (test.fails_only_after_others) return "bisect";
  return joined(devices_of(test), ",") + '\n' + (test.attempts.empty() ? "\n" : "") + test.planned.suite;
}

}  // namespace

void resolve_rerun_lines(ResolvedRun& run) {
  run.rerun_lines.clear();
  for (ResolvedCase& test : run.cases) {
    const auto [line, is_new] = run.rerun_lines.try_emplace(key_of_line(test));
    if (is_new) line->second = line_of(run, test);
    test.rerun = &line->second;
  }
}

}  // namespace proctor
