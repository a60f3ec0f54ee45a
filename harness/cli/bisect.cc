#include "harness/cli/bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "harness/base/minimal_subset.h"
#include "harness/base/outside_program.h"
#include "harness/base/temp_dir.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/runner/machine/installation.h"
#include "reports/resolve/rerun.h"

namespace proctor::cli {
namespace {

using Cases = std::vector<std::string>;

constexpr Milliseconds kLongestTry{std::chrono::hours(1)};

class Bisection {
 public:
  Bisection(const ResolvedRun& run, std::string case_id, std::string directory)
      : run_(run), case_id_(std::move(case_id)), directory_(std::move(directory)) {}

  int tries() const { return tries_; }
  RerunCommand command(const Cases& before) const;
  // Returns whether the case fails after these cases.
  Result<bool> is_bad_after(const Cases& before);

 private:
  const ResolvedRun& run_;
  std::string case_id_;
  std::string directory_;
  int tries_ = 0;
};

RerunCommand Bisection::command(const Cases& before) const {
  Cases all = before;
  all.push_back(case_id_);
  RerunCommand command = rerun_of(run_, all, RerunOn::kOfRun);
  // With one job, cases start in the planned order.
  command.words = without_options(command.words, {"--process", "--repeat", "--jobs", "-j"});
  const std::vector<std::string> more = {"--process", "suite,verify:off", "--jobs", "1"};
  command.words.insert(std::ranges::find(command.words, "--"), more.begin(), more.end());
  return command;
}

Result<bool> Bisection::is_bad_after(const Cases& before) {
  RerunCommand rerun = command(before);
  const std::string out = fmt::format("{}/{}", directory_, ++tries_);
  const std::vector<std::string> more = {"--quiet", "--out", out};
  rerun.words.insert(std::ranges::find(rerun.words, "--"), more.begin(), more.end());
  rerun.words.front() = Installation().program();
  rerun.words.insert(rerun.words.begin(), {"env", "-C", rerun.directory});
  rerun.words.insert(rerun.words.begin() + 3, rerun.environment.begin(), rerun.environment.end());
  const auto ran = run_outside_program({.argv = rerun.words, .time = kLongestTry});
  if (!ran) return ran.error();
  const auto run = load_run(out);
  if (!run)
    return Error::usage("run " + case_id_ + " again: " + std::string(lines_of(ran->errors + "\n").front()));
  const ResolvedCase* test = run->find(case_id_);
  if (test == nullptr || test->attempts.empty() || !test->attempts.front().end)
    return Error::usage("run " + case_id_ + " again: it was not run");
  return is_bad(verdict_of(test->attempts.front()).outcome);
}

int say_that_it_does_not_depend(const std::string& id, bool bad_alone) {
  std::printf("%s %s alone, too: it does not depend on other cases\n", shown(id).c_str(),
              bad_alone ? "fails" : "passes");
  return kExitRed;
}

}  // namespace

int bisect(const ResolvedRun& run, const std::string& id) {
  const auto shared = shared_process_of(run, id);
  if (!shared)
    return fail(Error::refused(id + " shared no process with another case in this run",
                               "Only cases that share a process depend on others."));
  if (shared->before.empty())
    return fail(Error::refused(id + " was the first case of its process: nothing ran before it"));
  const TempDir directory;
  Bisection bisection(run, id, directory.string());

  const auto alone = bisection.is_bad_after({});
  if (!alone) return fail(alone.error());
  if (*alone == shared->was_bad) return say_that_it_does_not_depend(id, *alone);
  const auto turns = [&](const Cases& part) -> Result<bool> {
    const auto bad = bisection.is_bad_after(part);
    return bad ? Result<bool>(*bad == shared->was_bad) : bad;
  };
  const auto all = turns(shared->before);
  if (!all) return fail(all.error());
  if (!*all) {
    std::printf("%s %s after the %zu cases before it, unlike in the run: it is flaky\n", shown(id).c_str(),
                *alone ? "fails" : "passes", shared->before.size());
    return kExitRed;
  }
  const auto found = minimal_subset<std::string>(shared->before, turns);
  if (!found) return fail(found.error());
  std::printf("%s %s after:\n", shown(id).c_str(), shared->was_bad ? "fails" : "passes only");
  for (const std::string& before : *found) std::printf("  %s\n", shown(before).c_str());
  std::printf("found in %d runs\n", bisection.tries());
  std::printf("again: %s\n", shown(command_text(bisection.command(*found), "")).c_str());
  return kExitGreen;
}

}  // namespace proctor::cli
