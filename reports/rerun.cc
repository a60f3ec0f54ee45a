#include <algorithm>
#include <array>
#include <string_view>

#include "harness/core/text.h"
#include "reports/explain.h"

namespace proctor {
namespace {

struct Option {
  std::string_view name;
  bool has_value;
};

// Options of `proctor run` that choose the cases, how often they run, or where the reports go: a rerun of one
// case replaces them. Everything else (suites, backend, simulation, limits, config) stays.
constexpr std::array kDropped = {
    Option{"--filter", true},      Option{"--case", true},         Option{"--exclude", true},
    Option{"--label", true},       Option{"--shard", true},        Option{"--repeat", true},
    Option{"--retries", true},     Option{"--deadline", true},     Option{"--out", true},
    Option{"--junit", true},       Option{"--min-executed", true}, Option{"--jobs", true},
    Option{"--until-fail", false}, Option{"--fail-fast", false},   Option{"--dry-run", false}};

const Option* dropped_option(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  const auto found =
      std::find_if(kDropped.begin(), kDropped.end(), [name](const Option& o) { return o.name == name; });
  return found != kDropped.end() ? &*found : nullptr;
}

// Everything of `proctor exec` but where the reports go.
std::string exec_again(const std::vector<std::string>& words) {
  const auto command = std::find(words.begin(), words.end(), "--");
  std::string out;
  for (auto word = words.begin(); word != words.end(); ++word) {
    const Option* option = word < command ? dropped_option(*word) : nullptr;
    const bool reports = option != nullptr && (option->name == "--out" || option->name == "--junit");
    if (!reports) {
      out += (out.empty() ? "" : " ") + shell_quote(*word);
    } else if (word->find('=') == word->npos && word + 1 < command) {
      ++word;
    }
  }
  return out;
}

}  // namespace

std::string rerun_command(const RunModel& model, const CaseRecord& record) {
  std::vector<std::string> words = model.plan().command_line;
  if (model.plan().exec) return exec_again(words);
  if (words.size() < 2 || words[1] != "run") {
    words = {words.empty() ? "proctor" : words[0], "run", record.planned.suite};
  }
  std::string out;
  for (const auto& [name, value] : model.plan().stack) {
    if (name == kSimFaultsEntry) out += "PROCTOR_SIM_FAULTS=" + shell_quote(value) + ' ';
  }
  // Options end at `--`: what follows is the command of an ad hoc suite.
  const auto command = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin(); word != command; ++word) {
    if (const Option* option = dropped_option(*word)) {
      const bool value_follows = option->has_value && word->find('=') == word->npos;
      if (value_follows && word + 1 != command) ++word;
      continue;
    }
    out += shell_quote(*word) + ' ';
  }
  out += "--case " + shell_quote(record.planned.id);
  for (auto word = command; word != words.end(); ++word) out += ' ' + shell_quote(*word);
  return out;
}

}  // namespace proctor
