#include "harness/cli/slurm_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/cli/commands.h"
#include "harness/cli/steps/run_options.h"
#include "harness/cli/usage_errors.h"

namespace proctor::cli {
namespace {

struct Unfit {
  const char* option;
  const char* hint;
};

// Each task would do it for itself, or to the same file as all the others.
constexpr Unfit kUnfitForTask[] = {
    {"--shard", "Say how many shards there are: proctor slurm run --shards N"},
    {"--out", "Put it before `--`: proctor slurm run --out DIR"},
    {"--join", "The shards are merged into DIR/merged."},
    {"--junit", "The merged run has its JUnit report in DIR/merged/junit.xml."},
    {"--dry-run", "Use `proctor run --dry-run` to see the cases."},
    {"--no-capture", "A task has no terminal. Use `srun --pty proctor run --no-capture`."},
    {"--debugger", "A task has no terminal. Use `srun --pty proctor run --debugger`."},
};

Result<void> check_fit(const CLI::App& run) {
  for (const Unfit& unfit : kUnfitForTask) {
    const CLI::Option* option = run.get_option_no_throw(unfit.option);
    if (option == nullptr || option->count() == 0) continue;
    return Error::refused(fmt::format("{} cannot be given to the tasks of `proctor slurm run`", unfit.option),
                          unfit.hint);
  }
  return {};
}

// As on a command line again.
void add_as_typed(const CLI::Option& option, Words& words) {
  if (option.get_positional()) {
    words.insert(words.end(), option.results().begin(), option.results().end());
  } else if (option.get_items_expected_max() == 0) {
    words.push_back(option.get_name());
  } else {
    for (const std::string& value : option.results())
      words.push_back(fmt::format("{}={}", option.get_name(), value));
  }
}

Words take_command(Words& arguments, AfterDashes& command) {
  const auto dashes = std::ranges::find(arguments, "--");
  if (dashes == arguments.end()) return arguments;
  command.emplace(dashes + 1, arguments.end());
  return {arguments.begin(), dashes};
}

// The command line of `plan`, for its names alone.
class PlanCommand {
 public:
  PlanCommand() {
    add_plan_command(app_, action_, none_);
    add_machine_options(machine_, options_);
  }
  bool has(const std::string& option) const {
    return app_.get_subcommand("plan")->get_option_no_throw(option) != nullptr;
  }
  // What a plan does not hold: what is about the machine that lists, and about the one that runs.
  bool leaves(const std::string& option) const {
    return !has(option) || option == "--lease-wait" || machine_.get_option_no_throw(option) != nullptr;
  }

 private:
  CLI::App app_;
  CLI::App machine_;
  Action action_;
  AfterDashes none_;
  MachineOptions options_;
};

Result<void> check_with_plan(const RunArguments& arguments) {
  if (arguments.plan_file.empty()) return {};
  if (arguments.command) return Error::refused("`--plan` cannot be combined with a command after `--`");
  // A selection makes another plan of it, by which the tasks could not be merged.
  const auto selects = [](const std::string& word) {
    return std::ranges::any_of(std::array{"--filter=", "--case=", "--exclude=", "--tag="},
                               [&](const char* option) { return word.starts_with(option); });
  };
  const auto found = std::ranges::find_if(arguments.of_plan, selects);
  if (found == arguments.of_plan.end()) return {};
  return Error::refused(
      fmt::format("`--plan` cannot be combined with {}", found->substr(0, found->find('='))),
      "Select the cases when the plan is made: proctor plan -o FILE.");
}

constexpr Unfit kOfProctor[] = {
    {"--array", "Say how many shards there are: --shards N"},
    {"--parsable", ""},
    {"--wait", "Proctor waits; --no-wait makes it return at once."},
    {"--wrap", "Put the arguments of `proctor run` after `--`."},
    {"--test-only", ""},
};

bool is_option(const std::string& word, std::string_view name) {
  return word == name || (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=');
}

const char* short_name_of(const Unfit& option) {
  if (std::string_view(option.option) == "--array") return "-a";
  return std::string_view(option.option) == "--wait" ? "-W" : nullptr;
}

// The value of the option at `at`, which is --name=VALUE, --name VALUE, -nVALUE or -n VALUE.
std::optional<std::string> value_at(const Words& words, std::size_t at, std::string_view name,
                                    std::string_view letter) {
  const std::string& word = words[at];
  const bool has_next = at + 1 < words.size();
  if (word == name || (!letter.empty() && word == letter))
    return has_next ? std::optional(words[at + 1]) : std::nullopt;
  if (is_option(word, name)) return word.substr(name.size() + 1);
  const bool is_short = !letter.empty() && word.starts_with(letter) && !word.starts_with("--");
  return is_short ? std::optional(word.substr(letter.size())) : std::nullopt;
}

// 0: there is none.
int number_at_end(std::string_view text) {
  const std::size_t digits = text.find_last_not_of("0123456789") + 1;
  int number = 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), number);
  return number;
}

// "gpu:2", "gpu:a100:4", "gpu:2(S:0-1)", "gpu" (one), beside others: "license:1,gpu:2".
int gpus_of_gres(std::string_view text) {
  int gpus = 0;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    part = part.substr(0, part.find('('));
    if (part.starts_with("gres:")) part.remove_prefix(5);
    if (part == "gpu") ++gpus;
    if (part.starts_with("gpu:")) gpus += std::max(1, number_at_end(part));
  }
  return gpus;
}

constexpr std::string_view kNodes = "--nodes";
constexpr std::string_view kNodesLetter = "-N";

}  // namespace

Result<RunArguments> split_run_arguments(const Words& arguments) {
  RunArguments split;
  Words all = arguments;
  Words words = take_command(all, split.command);
  CLI::App app{"", "proctor"};
  CLI::App* run = app.add_subcommand("run");
  RunOptions options;
  add_run_options(*run, options);
  words.insert(words.begin(), "run");
  try {
    app.parse(Words(words.rbegin(), words.rend()));
  } catch (const CLI::Success&) {
    return Error::refused("`--help` cannot be given to the tasks of `proctor slurm run`",
                          "See `proctor run --help`.");
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  if (options.mistake) return *options.mistake;
  if (auto fits = check_fit(*run); !fits) return fits.error();
  const PlanCommand plan;
  for (const CLI::Option* option : run->get_options()) {
    if (option->count() == 0 || option->get_name() == "--plan") continue;
    const std::string name = option->get_positional() ? "suites" : option->get_name();
    if (plan.has(name)) add_as_typed(*option, split.of_plan);
    if (plan.leaves(name)) add_as_typed(*option, split.of_task);
  }
  split.plan_file = options.plan_file;
  split.console = options.console;
  if (auto fits = check_with_plan(split); !fits) return fits.error();
  return split;
}

Result<void> check_sbatch_options(const Words& options) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& word = options[i];
    for (const Unfit& own : kOfProctor) {
      const char* letter = short_name_of(own);
      const bool is_short = letter != nullptr && word.starts_with(letter) && !word.starts_with("--");
      if (is_option(word, own.option) || is_short)
        return Error::refused(
            fmt::format("{} cannot be given to `proctor slurm run`, which sets it itself", own.option),
            own.hint);
    }
    if (word.starts_with('-')) continue;
    const bool may_be_value =
        i > 0 && options[i - 1].starts_with('-') && options[i - 1].find('=') == std::string::npos;
    if (!may_be_value)
      return Error::refused(fmt::format("`proctor slurm run` takes no argument `{}` before `--`", word),
                            "Put the arguments of `proctor run` after `--`, those of sbatch before.");
  }
  return {};
}

ArrayShape shape_of(const Words& sbatch_options) {
  ArrayShape shape;
  for (std::size_t i = 0; i < sbatch_options.size(); ++i) {
    if (const auto gres = value_at(sbatch_options, i, "--gres", "")) shape.devices = gpus_of_gres(*gres);
    if (const auto gpus = value_at(sbatch_options, i, "--gpus-per-node", ""))
      shape.devices = std::max(1, number_at_end(*gpus));
    if (const auto nodes = value_at(sbatch_options, i, kNodes, kNodesLetter))
      shape.nodes = std::max(1, number_at_end(*nodes));
  }
  return shape;
}

Words without_nodes(const Words& sbatch_options) {
  Words kept;
  for (std::size_t i = 0; i < sbatch_options.size(); ++i) {
    const std::string& word = sbatch_options[i];
    if (!value_at(sbatch_options, i, kNodes, kNodesLetter)) {
      kept.push_back(word);
    } else if (word == kNodes || word == kNodesLetter) {
      ++i;  // its value
    }
  }
  return kept;
}

bool has_option(const Words& sbatch_options, const std::string& name) {
  return std::ranges::any_of(sbatch_options, [&](const std::string& word) { return is_option(word, name); });
}

}  // namespace proctor::cli
