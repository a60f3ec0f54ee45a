#include "reports/model/rerun.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "harness/core/text.h"

namespace proctor {
namespace {

struct Option {
  std::string_view name;
  bool has_value;
};

// Options of `proctor run` that choose the cases, how often they run, or where the reports go: a rerun of one
// case replaces them. What is tested then is what is there then. Everything else (suites, backend, simulation, limits, config) stays.
constexpr std::array kDropped = {
    Option{"--filter", true}, Option{"--case", true}, Option{"--exclude", true}, Option{"--label", true},
    Option{"--tag", true}, Option{"--shard", true}, Option{"--subject", true}, Option{"--repeat", true},
    Option{"--retries", true}, Option{"--deadline", true}, Option{"--out", true}, Option{"--join", true},
    Option{"--junit", true}, Option{"--min-executed", true}, Option{"--jobs", true},
    Option{"--until-fail", false}, Option{"--fail-fast", false}, Option{"--dry-run", false},
    Option{"--each-device", false}, Option{"-j", true},
    // What is shown of it.
    Option{"--show-output", true}, Option{"--durations", true}, Option{"--color", true},
    Option{"--verbose", false}, Option{"-v", false}, Option{"--quiet", false}, Option{"-q", false}};

const Option* dropped_option(std::string_view word) {
  const std::string_view name = word.starts_with("-j") ? "-j" : word.substr(0, word.find('='));
  const auto found =
      std::find_if(kDropped.begin(), kDropped.end(), [name](const Option& o) { return o.name == name; });
  return found != kDropped.end() ? &*found : nullptr;
}

// Everything of `proctor exec` but what was tested and where the reports go.
std::vector<std::string> exec_again(const std::vector<std::string>& words) {
  const auto command = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> again;
  for (auto word = words.begin(); word != words.end(); ++word) {
    const Option* option = word < command ? dropped_option(*word) : nullptr;
    const bool left_out = option != nullptr && (option->name == "--out" || option->name == "--junit" ||
                                                option->name == "--subject");
    if (!left_out) {
      again.push_back(*word);
    } else if (word->find('=') == word->npos && word + 1 < command) {
      ++word;
    }
  }
  return again;
}

// Options end at `--`: what follows is the command of an ad hoc suite.
std::vector<std::string> run_again(const std::vector<std::string>& words,
                                   const std::vector<std::string>& case_ids) {
  const auto command = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> again;
  for (auto word = words.begin(); word != command; ++word) {
    if (const Option* option = dropped_option(*word)) {
      const bool value_follows =
          option->has_value && word->find('=') == word->npos && (option->name != "-j" || *word == "-j");
      if (value_follows && word + 1 != command) ++word;
      continue;
    }
    again.push_back(*word);
  }
  for (const auto& id : case_ids) again.insert(again.end(), {"--case", id});
  again.insert(again.end(), command, words.end());
  return again;
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

// The suites of a run that was joined from parts were started one by one; nullopt: it is no such run.
std::optional<RerunCommand> joined_again(const RunModel& model, const std::vector<std::string>& case_ids) {
  std::map<std::string, std::string> commands;
  for (const auto& [name, value] : model.plan().stack) {
    if (name.starts_with(kCommandEntry)) commands.emplace(name.substr(kCommandEntry.size()), value);
  }
  if (commands.empty()) return std::nullopt;
  std::set<std::string> wanted;
  for (const auto& [suite, command] : commands) {
    if (case_ids.empty()) wanted.insert(command);
  }
  for (const auto& id : case_ids) {
    const CaseRecord* record = model.find(id);
    const auto found = record == nullptr ? commands.end() : commands.find(record->planned.suite);
    wanted.insert(found == commands.end() ? "" : found->second);
  }
  if (wanted.size() != 1) return RerunCommand{.environment = {}, .words = {}, .directory = {}};
  RerunCommand command = command_of(*wanted.begin(), model.plan().directory);
  command.words = run_again(command.words, case_ids);
  return command;
}

}  // namespace

std::string command_text(const RerunCommand& command, const std::string& directory) {
  std::string out;
  if (command.directory != directory) out += "cd " + shell_quote(command.directory) + " && ";
  for (const auto& variable : command.environment) {
    const std::size_t value = variable.find('=') + 1;
    out += variable.substr(0, value) + shell_quote(variable.substr(value)) + ' ';
  }
  for (const auto& word : command.words) out += shell_quote(word) + ' ';
  out.pop_back();
  return out;
}

RerunCommand rerun_of(const RunModel& model, const std::vector<std::string>& case_ids) {
  if (auto joined = joined_again(model, case_ids)) return *std::move(joined);
  std::vector<std::string> words = model.plan().command_line;
  RerunCommand again{.environment = {}, .words = {}, .directory = model.plan().directory};
  for (const auto& [name, value] : model.plan().stack) {
    if (name == kSimFaultsEntry) again.environment.push_back("PROCTOR_SIM_FAULTS=" + value);
  }
  if (model.plan().exec) {
    again.words = exec_again(words);
    return again;
  }
  if (words.size() < 2 || words[1] != "run") {
    words = {words.empty() ? "proctor" : words[0], "run"};
    for (const auto& id : case_ids) {
      const CaseRecord* record = model.find(id);
      if (record != nullptr && std::find(words.begin(), words.end(), record->planned.suite) == words.end())
        words.push_back(record->planned.suite);
    }
  }
  again.words = run_again(words, case_ids);
  if (const auto& shard = model.plan().shard; shard && case_ids.empty()) {  // all of it is all of this part
    const auto command = std::find(again.words.begin(), again.words.end(), "--");
    again.words.insert(command, fmt::format("--shard={}/{}", shard->index, shard->count));
  }
  return again;
}

std::string command_of_part(const RunModel& model, const std::string& directory) {
  return command_text(rerun_of(model, {}), directory);
}

std::string rerun_command(const RunModel& model, const CaseRecord& record) {
  return command_text(rerun_of(model, {record.planned.id}), model.plan().directory);
}

const RerunCommands::Command& RerunCommands::around(const CaseRecord& record) {
  const auto [found, is_new] = by_suite_.try_emplace(record.planned.suite);
  Command& command = found->second;
  if (is_new) {
    const std::string selection = " --case ";
    const std::string id = shell_quote(record.planned.id);
    command.before = rerun_command(model_, record);
    const std::size_t at = command.before.find(selection + id);
    if (at != std::string::npos && !model_.plan().exec) {
      command.after = command.before.substr(at + selection.size() + id.size());
      command.before.resize(at + selection.size());
    }
  }
  return command;
}

std::string RerunCommands::of(const CaseRecord& record) {
  const Command& command = around(record);
  return command.after ? command.before + shell_quote(record.planned.id) + *command.after : command.before;
}

}  // namespace proctor
