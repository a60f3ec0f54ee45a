#include "harness/cli/slurm_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "harness/base/text.h"
#include "harness/cli/add_options.h"
#include "harness/cli/usage_errors.h"

namespace proctor::cli {
namespace {

// Proctor needs 4.5 s before the time limit to end its cases and write its reports. Slurm may be some seconds late, and
// so may a shared file system. B: the signal goes to the batch script, which has been replaced by Proctor. Without B,
// Slurm signals only the steps, and there are none.
constexpr const char* kEarlyTerm = "--signal=B:TERM@30";

constexpr const char* kScript = R"sh(#!/bin/sh
# Written by `proctor slurm run`. Each task of the array runs one shard of plan.json. A task that Slurm starts again runs
# what is left of its shard, in the next directory: shard-2, shard-2.2, shard-2.3, ...
cd {start} || exit 75
proctor={proctor}
dir={directory}
shard=$SLURM_ARRAY_TASK_ID
last='' number=1 out=$dir/shard-$shard
while [ -e "$out" ]; do
  # A journal counts from its first whole line on, which is the plan.
  if [ "$(head -n 1 "$out/journal.jsonl" 2>/dev/null | wc -l)" -eq 1 ]; then last=$out; fi
  number=$((number + 1))
  out=$dir/shard-$shard.$number
done
if [ -n "$last" ]; then exec "$proctor" run --resume "$last" --out "$out"; fi
exec "$proctor" run --plan "$dir/plan.json" --shard "$shard/{shards}" --out "$out"{arguments}
)sh";

// Returns each word, quoted, after a space.
std::string quoted_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + shell_quote(word);
  return text;
}

// Escapes percent signs, which begin a field in the pattern of --output.
std::string output_pattern(const std::string& directory) {
  std::string pattern;
  for (const char c : directory) pattern += c == '%' ? std::string("%%") : std::string(1, c);
  return pattern + "/slurm-%a.out";
}

}  // namespace

std::string plan_of(const SlurmArray& array) { return array.directory + "/plan.json"; }

std::string script_of(const SlurmArray& array) { return array.directory + "/task.sh"; }

std::string script_text(const SlurmArray& array) {
  return fmt::format(kScript, fmt::arg("start", shell_quote(array.start)),
                     fmt::arg("proctor", shell_quote(array.proctor)),
                     fmt::arg("directory", shell_quote(array.directory)), fmt::arg("shards", array.shards),
                     fmt::arg("arguments", quoted_words(array.task_arguments)));
}

std::vector<std::string> sbatch_line(const SlurmArray& array, const std::string& tasks) {
  std::vector<std::string> words = {
      "sbatch",           "--parsable",         "--job-name=proctor",
      "--array=" + tasks, "--open-mode=append", "--output=" + output_pattern(array.directory)};
  const bool has_signal = std::ranges::any_of(
      array.sbatch_options, [](const std::string& word) { return word.starts_with("--signal"); });
  if (!has_signal) words.push_back(kEarlyTerm);
  words.insert(words.end(), array.sbatch_options.begin(), array.sbatch_options.end());
  words.push_back(script_of(array));
  return words;
}

std::string continue_line(const SlurmArray& array, const std::vector<int>& shards) {
  std::vector<std::string> words = sbatch_line(array, fmt::format("{}", fmt::join(shards, ",")));
  words[1] = "--wait";
  return quoted_words(words).substr(1);
}

std::string merge_line(const SlurmArray& array, const std::string& out) {
  return fmt::format("proctor report merge {}/shard-* --out {}", shell_quote(array.directory),
                     shell_quote(out));
}

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
