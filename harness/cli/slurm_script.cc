#include "harness/cli/slurm_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/text.h"

namespace proctor::cli {
namespace {

// Before the time limit Proctor needs 4.5 s to end its cases and to write its reports; Slurm may be some seconds late,
// and a shared file system, too. B: the signal is for the batch script, which has become Proctor; without it Slurm
// signals the steps alone, of which there are none.
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

// Each after a space.
std::string quoted_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + shell_quote(word);
  return text;
}

// In the pattern of --output a percent sign begins a field.
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

}  // namespace proctor::cli
