#include "harness/cli/slurm_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "harness/cli/add_options.h"
#include "harness/cli/usage_errors.h"

namespace proctor::cli {
namespace {

struct Unfit {
  std::string_view option;
  const char* hint;
  std::string_view letter = {};
};

constexpr const char* kOfThePlan = "Select the cases when the plan is made: proctor plan -o FILE.";

constexpr Unfit kUnfitForTask[] = {
    {"suites", kOfThePlan},
    {"--filter", kOfThePlan},
    {"--case", kOfThePlan},
    {"--exclude", kOfThePlan},
    {"--tag", kOfThePlan},
    {"--plan", "Put it before `--`: proctor slurm run --plan FILE"},
    {"--shard", "Say how many shards there are: proctor slurm run --shards N"},
    {"--out", "Put it before `--`: proctor slurm run --out DIR"},
    {"--join", "The shards are merged into DIR/merged."},
    {"--junit", "The merged run has its JUnit report in DIR/merged/junit.xml."},
    {"--dry-run", "Use `proctor run --dry-run` to see the cases."},
    {"--no-capture", "A task has no terminal. Use `srun --pty proctor run --no-capture`."},
    {"--debugger", "A task has no terminal. Use `srun --pty proctor run --debugger`."},
};

constexpr Unfit kOfProctor[] = {
    {"--array", "Say how many shards there are: --shards N", "-a"},
    {"--parsable", ""},
    {"--wait", "Proctor waits; --no-wait makes it return at once.", "-W"},
    {"--wrap", "Put the arguments of `proctor run` after `--`."},
    {"--test-only", ""},
};

bool is_option(std::string_view word, const Unfit& option) {
  const bool is_letter = !option.letter.empty() && word.starts_with(option.letter) && !word.starts_with("--");
  return is_letter || word.substr(0, word.find('=')) == option.option;
}

}  // namespace

Result<void> check_task_arguments(const Words& arguments) {
  if (std::ranges::find(arguments, "--") != arguments.end())
    return Error::refused("The tasks of `proctor slurm run` take no command after a second `--`",
                          "Put it into the plan: proctor plan -o FILE -- COMMAND");
  CLI::App app{"", "proctor"};
  CLI::App* run = app.add_subcommand("run");
  TypedRequest typed;
  add_options(*run, kForRun, typed);
  Words words(arguments.rbegin(), arguments.rend());
  words.emplace_back("run");
  try {
    app.parse(std::move(words));
  } catch (const CLI::Success&) {
    return Error::refused("`--help` cannot be given to the tasks of `proctor slurm run`",
                          "See `proctor run --help`.");
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  if (typed.mistake) return *typed.mistake;
  for (const Unfit& unfit : kUnfitForTask) {
    const CLI::Option* option = run->get_option_no_throw(std::string(unfit.option));
    if (option == nullptr || option->count() == 0) continue;
    const std::string name = option->get_positional() ? "A suite" : std::string(unfit.option);
    return Error::refused(fmt::format("{} cannot be given to the tasks of `proctor slurm run`", name),
                          unfit.hint);
  }
  return {};
}

Result<void> check_sbatch_options(const Words& options) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& word = options[i];
    const auto* own =
        std::ranges::find_if(kOfProctor, [&](const Unfit& unfit) { return is_option(word, unfit); });
    if (own != std::end(kOfProctor))
      return Error::refused(
          fmt::format("{} cannot be given to `proctor slurm run`, which sets it itself", own->option),
          own->hint);
    if (word.starts_with('-')) continue;
    const bool may_be_value =
        i > 0 && options[i - 1].starts_with('-') && options[i - 1].find('=') == std::string::npos;
    if (!may_be_value)
      return Error::refused(fmt::format("`proctor slurm run` takes no argument `{}` before `--`", word),
                            "Put the arguments of `proctor run` after `--`, those of sbatch before.");
  }
  return {};
}

}  // namespace proctor::cli
